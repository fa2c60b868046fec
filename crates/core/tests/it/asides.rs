//! What the model looks into that is no longer shown: when it may, and how much there is room for.

use crate::support::*;
use mainpath_core::*;
use mainpath_types::*;

/// An answer that only looks something up.
fn looks(agent: &mut Agent) -> Vec<String> {
    let looked = PlannedCall { answer: Some("as it was".into()), ..allowed("read") };
    let reply = Reply { aside: true, ..*agent.reply("let me see", &[looked]) };
    agent.takes(InputKind::ModelFinished(Box::new(reply)))
}

/// Whether the newest answer was taken as an aside.
fn was_aside(agent: &Agent) -> bool {
    agent.newest(|kind| if let EventKind::ModelFinished(data) = kind { Some(data.aside) } else { None })
}

#[test]
fn a_request_has_as_much_room_left_as_its_window_but_a_fiftieth() {
    let mut agent = Agent::with_window(no_limits(), 5_064);
    assert_eq!(free_tokens(agent.state()), 4_900 - 64, "of 5,000 without the answer");
    agent.takes(sized("do it", 1_000));
    assert_eq!(free_tokens(agent.state()), 4_900 - 1_064);
    agent.answers("yes");
    agent.takes(sized("more", 3_900));
    assert_eq!(free_tokens(agent.state()), 0);
}

#[test]
fn neither_a_last_answer_nor_one_to_the_least_context_is_an_aside() {
    let mut usual = Agent::asked(no_limits());
    looks(&mut usual);
    assert!(was_aside(&usual));
    let mut last = Agent::asked(Limits { tokens: Some(80), budget: BudgetMode::Soft, ..no_limits() });
    last.works();
    let decided = looks(&mut last);
    assert_eq!(
        (decided.last().unwrap().as_str(), was_aside(&last)),
        ("run_finished token_budget turns=2 calls=1", false)
    );
    let mut least = Agent::asked(no_limits());
    least.takes(model_failed(1, ModelErrorKind::NotFound, None));
    looks(&mut least);
    assert!(!was_aside(&least));
}
