//! A conversation begun anew.

use crate::support::*;
use mainpath_core::*;
use mainpath_types::*;

fn goal() -> InputKind {
    let op = GoalOp::Add { description: "first".into(), reason: String::new(), under: None, after: None };
    InputKind::ChangeGoals { ops: vec![op], by: user() }
}

/// An agent that has a plan, has worked and has answered.
fn answered() -> Agent {
    let mut agent = Agent::asked(no_limits());
    agent.takes(goal());
    agent.works();
    agent.answers("done");
    agent
}

#[test]
fn after_a_clear_a_request_shows_only_what_was_said_since() {
    let mut agent = answered();
    let plan = agent.state().goals.list().to_vec();
    agent.gives(clear(), &["clear_requested", "session_cleared 4"]);
    let cleared = agent.newest(|kind| if let EventKind::SessionCleared(data) = kind { Some(data) } else { None });
    assert_eq!(*cleared, SessionCleared { upto: Seq(4), goal_tree_snapshot: plan });
    assert_eq!((agent.state().tree.head, agent.state().goals.list()), (None, &[][..]));
    agent.says(MessageMode::Message, "something else");
    assert_eq!(agent.shown(), ["User: something else"]);
    agent.takes(goal());
    assert_eq!(agent.state().goals.list()[0].id, GoalId(2), "numbers are never used twice");
}

#[test]
fn a_clear_during_a_run_first_ends_what_runs_and_empties_the_queues() {
    let mut agent = Agent::calling(no_limits(), &[allowed("bash"), allowed("bash")]);
    agent.says(MessageMode::FollowUp, "later");
    agent.gives(clear(), &["clear_requested", "call_resolved 2.1 Interrupted Closing", "call_cancelling 2.0 Closing"]);
    agent.refuses(clear(), Refusal::Clearing);
    agent.refuses(rewind(1, None), Refusal::Clearing);
    agent.gives(
        dead("2.0", 1),
        &[
            "call_resolved 2.0 Interrupted Stopped",
            "turn_finished 3 results=2",
            "run_finished stopped turns=1 calls=1",
            "session_cleared 4",
        ],
    );
    assert_eq!((agent.pending(), agent.state().queues.is_empty()), (vec![], true));
}

#[test]
fn what_is_said_while_the_run_is_closing_opens_the_new_conversation() {
    let mut agent = Agent::calling(no_limits(), &[allowed("bash")]);
    agent.says(MessageMode::Steer, "before");
    agent.takes(clear());
    agent.says(MessageMode::Message, "after");
    agent.takes(dead("2.0", 1));
    assert_eq!(agent.shown(), ["User: after"]);
}

#[test]
fn a_clear_takes_the_place_of_a_rewind_that_waits() {
    let mut agent = Agent::calling(no_limits(), &[allowed("bash")]);
    agent.takes(rewind(1, Some("another way")));
    agent.takes(clear());
    agent.takes(dead("2.0", 1));
    assert_eq!((agent.state().tree.head, &agent.state().run), (None, &None));
}

#[test]
fn nothing_from_before_a_clear_comes_back_by_asking_for_it() {
    let mut agent = answered();
    agent.takes(clear());
    agent.refuses(InputKind::RecallCalls { calls: vec![call("2.0")] }, Refusal::NoSuchCall(call("2.0")));
    agent.refuses(InputKind::ExpandContext { by: 3 }, Refusal::NothingCut);
    agent.refuses(rewind(1, None), Refusal::OffPath(Seq(1)));
    agent.refuses(InputKind::Continue { by: user() }, Refusal::NothingOpen);
    agent.refuses(clear(), Refusal::NothingToClear);
}

#[test]
fn a_clear_survives_a_crash_at_every_event() {
    let mut agent = Agent::calling(no_limits(), &[allowed("read")]);
    agent.takes(clear());
    agent.takes(dead("2.0", 1));
    let asked = agent.log.iter().position(|event| event.kind.name() == "clear_requested").unwrap();
    for events in asked + 1..=agent.log.len() {
        let mut again = agent.reopened(events);
        again.takes(recovered());
        for key in again.machine.pending().unwrap().into_keys() {
            let EffectKey::Kill(call, attempt) = key else { panic!("{key}") };
            again.takes(dead(&call.to_string(), attempt));
        }
        assert_eq!((again.state().tree.head, &again.state().run, again.state().tree.cleared), (None, &None, Seq(3)));
    }
}

#[test]
fn what_a_plan_is_held_to_is_cleared_even_where_nothing_was_said() {
    let mut agent = Agent::new(no_limits());
    agent.refuses(clear(), Refusal::NothingToClear);
    let terms = GoalOp::Terms { mission: Some("Keep it short".into()), assumptions: None, constraints: None };
    agent.takes(InputKind::ChangeGoals { ops: vec![terms], by: user() });
    agent.gives(clear(), &["clear_requested", "session_cleared 0"]);
    agent.refuses(clear(), Refusal::NothingToClear);
}
