//! Going back: to go on from there in another way, or to have it answered again.

use crate::support::*;
use mainpath_core::*;
use mainpath_types::*;

#[test]
fn a_rewind_continues_from_the_message_with_another_one() {
    let mut agent = told();
    let spent = (agent.state().spent.usage, agent.state().spent.cost);
    let events =
        ["rewind_requested 1", "rewound 1 to 1", "run_started 2 Rewind", "message_joined 5", "model_requested 3 at 5"];
    agent.gives(rewind(1, Some("another way")), &events);
    assert_eq!(agent.shown(), ["User: do it", "User: another way"]);
    assert_eq!((agent.state().spent.usage, agent.state().spent.cost), spent, "a rewind refunds nothing");
}

#[test]
fn a_rewind_never_splits_a_call_from_its_results() {
    for after in [2, 3] {
        let mut agent = told();
        let rewound = format!("rewound {after} to 3");
        let asked = format!("rewind_requested {after}");
        let events = [&asked, &rewound, "run_started 2 Rewind", "message_joined 5", "model_requested 3 at 5"];
        agent.gives(rewind(after, Some("another way")), &events);
    }
}

#[test]
fn a_rewind_to_an_answer_keeps_it_where_something_new_is_said() {
    let mut agent = told();
    let events =
        ["rewind_requested 4", "rewound 4 to 4", "run_started 2 Rewind", "message_joined 5", "model_requested 3 at 5"];
    agent.gives(rewind(4, Some("and then?")), &events);
}

#[test]
fn to_regenerate_is_to_answer_again_what_the_answer_answered() {
    let mut agent = told();
    let events = ["rewind_requested 4", "rewound 4 to 3", "run_started 2 Regenerate", "model_requested 3 at 3"];
    agent.gives(rewind(4, None), &events);
    let reply = agent.reply("done better", &[]);
    agent.gives(InputKind::ModelFinished(reply), &["model_finished 5 calls=0", "run_finished final turns=1 calls=0"]);
    agent.says(MessageMode::Message, "more");
    let shown = ["User: do it", "Assistant: let me see <bash>", "Tool: 2.0 it worked", "Assistant: done better"];
    assert_eq!(agent.shown()[..4], shown);
}

#[test]
fn a_rewind_to_before_the_first_message_needs_a_new_one() {
    let mut agent = told();
    agent.refuses(rewind(0, None), Refusal::NothingToAnswer);
    let events =
        ["rewind_requested 0", "rewound 0 to -", "run_started 2 Rewind", "message_joined 5", "model_requested 3 at 5"];
    agent.gives(rewind(0, Some("start over")), &events);
    assert_eq!(agent.shown(), ["User: start over"]);
}

#[test]
fn a_rewind_goes_only_to_messages_of_the_main_path() {
    let mut agent = told();
    agent.refuses(rewind(99, Some("?")), Refusal::NoSuchMessage(Seq(99)));
    agent.takes(rewind(1, Some("another way")));
    agent.answers("done");
    agent.refuses(rewind(3, Some("?")), Refusal::OffPath(Seq(3)));
}

#[test]
fn a_rewind_in_mid_turn_first_ends_what_runs() {
    let mut agent = Agent::calling(no_limits(), &[allowed("bash"), allowed("bash")]);
    let events = ["rewind_requested 1", "call_resolved 2.1 Interrupted Closing", "call_cancelling 2.0 Closing"];
    agent.gives(rewind(1, Some("another way")), &events);
    agent.refuses(rewind(1, Some("a third")), Refusal::Rewinding);
    let events = [
        "call_resolved 2.0 Interrupted Stopped",
        "turn_finished 3 results=2",
        "run_finished stopped turns=1 calls=1",
        "rewound 1 to 1",
        "run_started 2 Rewind",
        "message_joined 5",
        "model_requested 2 at 5",
    ];
    agent.gives(dead("2.0", 1), &events);
}

#[test]
fn a_rewind_during_a_model_call_gives_the_call_up_and_charges_it() {
    let mut agent = Agent::asked(no_limits());
    let events = [
        "rewind_requested 1",
        "model_abandoned 1 lost=false",
        "run_finished stopped turns=1 calls=0",
        "rewound 1 to 1",
        "run_started 2 Regenerate",
        "model_requested 2 at 1",
    ];
    agent.gives(rewind(1, None), &events);
    assert_eq!((agent.state().spent.usage.total(), agent.state().spent.about), (74, true));
}

#[test]
fn message_numbers_are_never_used_twice() {
    let mut agent = told();
    agent.takes(rewind(1, Some("another way")));
    agent.answers("done");
    agent.takes(rewind(1, Some("a third")));
    agent.answers("done");
    let parents: Vec<(u32, u32)> =
        agent.state().tree.iter().map(|(seq, node)| (seq.0, node.parent.map_or(0, |parent| parent.0))).collect();
    assert_eq!(parents, [(1, 0), (2, 1), (3, 2), (4, 3), (5, 1), (6, 5), (7, 1), (8, 7)]);
}
