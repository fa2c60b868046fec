//! Runs that only summarise, because somebody asked for it: they ask nothing else, and leave alone what waits.

use crate::support::*;
use mainpath_core::*;
use mainpath_types::*;
use std::sync::Arc;

fn compact() -> InputKind {
    InputKind::Compact { hint: None, by: user() }
}

/// An agent with much to summarise, whose run ended without an answer; a follow-up waits if there is to be one.
fn stopped(limits: Limits, follow_up: bool) -> Agent {
    let mut agent = Agent::asked(limits);
    (0..6).for_each(|_| agent.works());
    if follow_up {
        agent.says(MessageMode::FollowUp, "later");
    }
    agent.takes(stop());
    agent
}

#[test]
fn what_is_said_during_a_summary_is_read_after_it() {
    let mut agent = stopped(no_limits(), false);
    agent.takes(compact());
    agent.says(MessageMode::Message, "and then");
    let answered = agent.answers("it was long");
    let after = ["run_finished stopped turns=0 calls=0", "run_started 3 Continue", "message_joined 17"];
    assert_eq!(answered[3..6], after, "{answered:#?}");
    assert_eq!(agent.shown().last().unwrap(), "User: and then");
}

#[test]
fn what_waits_since_a_run_was_stopped_waits_on_after_a_summary() {
    let mut agent = stopped(no_limits(), true);
    assert_eq!(agent.pending(), [""; 0]);
    agent.takes(compact());
    let answered = agent.answers("it was long");
    assert_eq!(answered.last().unwrap(), "run_finished stopped turns=0 calls=0");
    // It is read once somebody has it go on, after the answer.
    agent.takes(InputKind::Continue { by: user() });
    assert!(!agent.shown().contains(&"User: later".to_string()));
    let answered = agent.answers("done");
    assert_eq!(answered[1..3], ["run_finished final turns=1 calls=0", "run_started 4 Continue"]);
    assert_eq!(agent.shown().last().unwrap(), "User: later");
}

#[test]
fn what_is_said_during_a_summary_that_is_stopped_waits() {
    let mut agent = stopped(no_limits(), false);
    agent.takes(compact());
    agent.says(MessageMode::Message, "and then");
    let events = [
        "run_closing stopped",
        "model_abandoned 8 lost=false",
        "branch_closed Compaction done=false",
        "run_finished stopped turns=0 calls=0",
    ];
    agent.gives(stop(), &events);
    assert_eq!(agent.pending(), [""; 0]);
}

#[test]
fn whoever_stops_a_run_wants_no_summary_either() {
    let mut agent = Agent::asked(no_limits());
    (0..6).for_each(|_| agent.works());
    agent.takes(compact());
    let events = ["run_closing stopped", "model_abandoned 7 lost=false", "run_finished stopped turns=7 calls=6"];
    agent.gives(stop(), &events);
}

#[test]
fn a_summary_that_somebody_asked_for_is_made_after_the_final_answer() {
    let mut agent = Agent::asked(no_limits());
    (0..6).for_each(|_| agent.works());
    agent.takes(compact());
    let answered = agent.answers("done");
    let after = ["run_finished final turns=7 calls=6", "run_started 2 Compact", "branch_opened Compaction 15"];
    assert_eq!(answered[1..4], after);
}

#[test]
fn a_summary_for_which_there_is_no_budget_is_not_tried_again() {
    let agent = stopped(no_limits(), false);
    let mut agent = agent;
    let limits = Limits { tokens: Some(100), ..no_limits() };
    let spec = mainpath_testkit::world::spec(limits, 100_000);
    agent.takes(InputKind::SetSpec { spec: Arc::new(spec), by: None });
    let events = [
        "compaction_requested",
        "run_started 2 Compact",
        "branch_opened Compaction 14",
        "run_closing token_budget",
        "branch_closed Compaction done=false",
        "run_finished token_budget turns=0 calls=0",
    ];
    agent.gives(compact(), &events);
}

#[test]
fn a_summary_that_outgrows_the_window_is_made_by_rules_at_once() {
    let mut agent = stopped(no_limits(), false);
    agent.takes(compact());
    let events = [
        "model_failed Overflow retry=false",
        "branch_closed Compaction done=false",
        "branch_opened Compaction 15 by Rules",
    ];
    agent.gives(model_failed(agent.request(), ModelErrorKind::Overflow, None), &events);
}

#[test]
fn a_soft_budget_that_a_summary_has_spent_before_the_first_turn_ends_the_run() {
    let mut agent = stopped(no_limits(), false);
    let limits = Limits { tokens: Some(100), budget: BudgetMode::Soft, window_messages: Some(4), ..no_limits() };
    let spec = mainpath_testkit::world::spec(limits, 100_000);
    agent.takes(InputKind::SetSpec { spec: Arc::new(spec), by: None });
    agent.says(MessageMode::Message, "and then");
    let answered = agent.answers("it was long");
    assert_eq!(answered[3..], ["run_closing token_budget", "run_finished token_budget turns=0 calls=0"]);
}

#[test]
fn a_request_says_what_it_is_for() {
    let limits = Limits { summary: SummaryMode::Agent, ..no_limits() };
    let mut agent = Agent::asked(limits);
    (0..6).for_each(|_| agent.works());
    agent.answers("done");
    agent.takes(compact());
    agent.answers("so much was learned");
    let purpose = |event: &Event| match &event.kind {
        EventKind::ModelRequested(data) => Some(data.purpose),
        _ => None,
    };
    let purposes: Vec<_> = agent.log.iter().filter_map(purpose).skip(6).collect();
    assert_eq!(purposes, [None, Some(Purpose::Reflection), Some(Purpose::Summary)]);
}

/// The newest summary.
fn summary(agent: &Agent) -> Compacted {
    agent.newest(|kind| if let EventKind::Compacted(data) = kind { Some(data.clone()) } else { None })
}

/// An agent whose model has just summarised in words of this size, and whose rules are asked what they leave out.
fn summarising(tokens: u32) -> Agent {
    let mut agent = Agent::asked(no_limits());
    let long = |agent: &Agent| Box::new(Reply { tokens: 4_000, ..*agent.reply("a long text", &[]) });
    for _ in 0..4 {
        let reply = long(&agent);
        agent.takes(InputKind::ModelFinished(reply));
        agent.says(MessageMode::Message, "go on");
    }
    agent.takes(stop());
    agent.takes(compact());
    let reply = Reply { tokens, ..*agent.reply("it was long", &[]) };
    agent.offer(&Input::new(agent.now, InputKind::ModelFinished(Box::new(reply)))).unwrap();
    assert!(agent.words().is_some());
    agent
}

#[test]
fn what_rules_find_stands_below_a_models_words_unless_it_is_too_large_or_nothing() {
    let with = |text: &str, tokens: u32, all: bool| {
        let mut agent = summarising(10);
        let found = InputKind::Summarised { text: text.into(), tokens, all };
        agent.offer(&Input::new(agent.now, found)).unwrap();
        summary(&agent).floor
    };
    let floor = |all| Some(SummaryFloor { text: "- also".into(), all });
    assert_eq!([with("- also", 5, false), with("- also", 5, true)], [floor(false), floor(true)]);
    assert_eq!([with("- also", 1_000_000, true), with("", 0, true)], [None, None]);
}

#[test]
fn at_least_a_quarter_of_the_room_is_left_to_a_models_words() {
    let most = |tokens: u32| {
        let pending = summarising(tokens).machine.pending().unwrap();
        pending.values().find_map(|effect| if let Effect::Summarise { most, .. } = effect { Some(*most) } else { None })
    };
    let (few, many) = (most(1).unwrap() + 1, most(1_000_000).unwrap());
    assert_eq!(many, few - few / 4);
}

#[test]
fn a_summary_by_rules_names_its_own_event() {
    let mut agent = Agent::asked(windowed(6));
    (0..8).for_each(|_| agent.works_on());
    let event = agent.log.iter().rfind(|event| event.kind.name() == "compacted").expect("a summary");
    assert_eq!(summary(&agent).summary, event.id);
}

#[test]
fn what_a_summary_is_to_keep_in_mind_is_not_forgotten_where_reflecting_fails() {
    let mut agent = stopped(Limits { summary: SummaryMode::Agent, ..no_limits() }, false);
    agent.takes(InputKind::Compact { hint: Some("the numbers".into()), by: user() });
    agent.takes(model_failed(agent.request(), ModelErrorKind::ContentFilter, None));
    let asked = agent.shown().pop().unwrap();
    assert!(asked.ends_with("Do not call tools. Keep in mind: the numbers"), "{asked}");
}

#[test]
fn once_rules_have_summarised_what_the_server_found_too_large_the_request_is_made_again() {
    let mut agent = Agent::asked(Limits { summary: SummaryMode::Rules, ..no_limits() });
    for _ in 0..6 {
        let reply = Reply { tokens: 900, ..*agent.reply("a long text", &[allowed("read")]) };
        agent.takes(InputKind::ModelFinished(Box::new(reply)));
        let call = agent.state().turn_calls()[0].id;
        agent.takes(done(&call.to_string(), 1));
    }
    agent.takes(model_failed(agent.request(), ModelErrorKind::Overflow, None));
    let events = agent.summarises();
    let names: Vec<&str> = events.iter().map(|event| event.split(' ').next().unwrap()).collect();
    assert_eq!(names, ["compacted", "branch_closed", "model_requested"]);
}
