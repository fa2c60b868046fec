//! What is done about requests that would fail again: the least context, half the context, another model.

use crate::support::*;
use mainpath_core::*;
use mainpath_testkit::world;
use mainpath_types::*;
use std::sync::Arc;

fn fails(agent: &mut Agent, kind: ModelErrorKind) -> Vec<String> {
    let (request, retry_at) = (agent.request(), Some(agent.now + 500));
    let error = ModelError { kind, message: "no".into(), status: None, retry_after_ms: None };
    agent.takes(InputKind::ModelFailed { request, error, retry_at, usage: None, received: 0 })
}

fn with_fallback(models: &[(&str, u32)]) -> Agent {
    let mut agent = Agent::new(Limits { model_retries: 1, ..no_limits() });
    let mut spec = world::spec(Limits { model_retries: 1, ..no_limits() }, 100_000);
    let price = Price { input: 1_000_000, ..Price::default() };
    let other = |(model, window): &(&str, u32)| Fallback {
        model: (*model).into(),
        model_by: None,
        context_window: *window,
        reserved_output: 32,
        price,
        temperature: None,
    };
    spec.fallback = models.iter().map(other).collect();
    agent.takes(InputKind::SetSpec { spec: Arc::new(spec), by: None });
    agent.says(MessageMode::Message, "do it");
    agent
}

#[test]
fn a_404_in_the_first_turn_is_tried_again_once_with_the_system_text_and_the_last_message() {
    let mut agent = Agent::asked(no_limits());
    agent.answers("done");
    agent.says(MessageMode::Message, "and now this");
    assert_eq!(agent.shown(), ["User: do it", "Assistant: done", "User: and now this"]);
    assert_eq!(
        fails(&mut agent, ModelErrorKind::NotFound),
        ["model_failed NotFound retry=false", "model_requested 3 at 3"]
    );
    assert_eq!(agent.shown(), ["User: and now this"]);
    // Found: from here on everything is shown again.
    agent.works();
    assert_eq!(
        agent.shown(),
        ["User: do it", "Assistant: done", "User: and now this", "Assistant: let me see <read>", "Tool: 4.0 it worked"]
    );
    // In a later turn it is what it says.
    fails(&mut agent, ModelErrorKind::NotFound);
    assert_eq!(agent.ended().reason, FinishReason::ModelError);
}

#[test]
fn a_second_404_ends_the_run() {
    let mut agent = Agent::asked(no_limits());
    fails(&mut agent, ModelErrorKind::NotFound);
    let minimal =
        agent.newest(|kind| if let EventKind::ModelRequested(data) = kind { Some(data.minimal) } else { None });
    assert!(minimal);
    fails(&mut agent, ModelErrorKind::NotFound);
    assert_eq!((agent.ended().reason, agent.ended().turns), (FinishReason::ModelError, 1));
}

#[test]
fn the_least_context_survives_a_crash_before_its_request_is_answered() {
    let mut agent = Agent::asked(no_limits());
    agent.answers("done");
    agent.says(MessageMode::Message, "and now this");
    fails(&mut agent, ModelErrorKind::NotFound);
    let mut again = agent.crashed();
    assert_eq!(again.shown(), ["User: and now this"]);
    again.takes(InputKind::Recovered { lost: true, tail_cut: None });
    // The lost request is made anew, and in full: nobody knows whether the least would have been found.
    assert_eq!(again.shown(), ["User: do it", "Assistant: done", "User: and now this"]);
}

#[test]
fn of_a_request_that_the_server_finds_too_large_the_model_summarises_what_it_was_shown_before() {
    let mut agent = Agent::asked(no_limits());
    for number in 0..6 {
        let reply = Reply { tokens: 200, ..*agent.reply(&format!("look {number}"), &[allowed("read")]) };
        agent.takes(InputKind::ModelFinished(Box::new(reply)));
        let call = agent.state().turn_calls()[0].id;
        agent.takes(done(&call.to_string(), 1));
    }
    let before = agent.shown();
    let events = fails(&mut agent, ModelErrorKind::Overflow);
    assert_eq!(events[1..], ["branch_opened Compaction 14", "model_requested 8 at 14"]);
    let asked = agent.shown();
    assert_eq!(asked[..asked.len() - 1], before[..before.len() - 2], "all but the newest turn");
    let events = agent.answers("it was long");
    assert_eq!(events.last().unwrap(), "model_requested 9 at 16");
    let shown = agent.shown();
    assert!(shown.len() == 8 && shown[1].contains(":\n\nit was long\n\n[From"), "{shown:#?}");
}

#[test]
fn a_request_that_is_too_large_is_made_once_more_with_half_of_the_context() {
    let mut agent = Agent::asked(no_limits());
    (0..4).for_each(|_| agent.works());
    assert_eq!(agent.shown().len(), 9);
    let events = fails(&mut agent, ModelErrorKind::Overflow);
    assert_eq!(events, ["model_failed Overflow retry=false", "branch_opened Compaction 10 by Rules"]);
    // A summary of so little would be no shorter, so what is old goes without one.
    let events =
        ["branch_closed Compaction done=false", "context_cut 10 keeps 6 pins 1 Overflow", "model_requested 6 at 10"];
    assert_eq!(agent.summarises(), events);
    let shown = agent.shown();
    assert_eq!((shown.len(), shown[0].as_str()), (6, "User: do it"), "{shown:?}");
    assert_eq!(
        shown[1],
        "User: [From the system: 4 earlier messages, #2 to #5, with 2 tool results, are not shown here.]"
    );
    fails(&mut agent, ModelErrorKind::Overflow);
    assert_eq!(agent.ended().reason, FinishReason::ContextLimit);
}

#[test]
fn where_nothing_can_be_left_out_a_request_that_is_too_large_ends_the_run() {
    let mut agent = Agent::asked(no_limits());
    fails(&mut agent, ModelErrorKind::Overflow);
    assert_eq!(agent.ended().reason, FinishReason::ContextLimit);
}

#[test]
fn after_its_retries_a_model_is_followed_by_the_next_which_has_retries_of_its_own() {
    let mut agent = with_fallback(&[("second", 5_000), ("third", 5_000)]);
    let model = |agent: &Agent| pack(agent.state()).unwrap().under.model;
    fails(&mut agent, ModelErrorKind::Overloaded);
    agent.now += 500;
    agent.takes(InputKind::Timer { key: TimerKey::Retry });
    assert_eq!(model(&agent), 0);
    let events = fails(&mut agent, ModelErrorKind::Overloaded);
    assert_eq!(events, ["model_failed Overloaded retry=false", "model_requested 3 at 1"]);
    assert_eq!((model(&agent), agent.state().spec.as_ref().unwrap().model().context_window), (1, 5_000));
    fails(&mut agent, ModelErrorKind::Overloaded);
    agent.now += 500;
    agent.takes(InputKind::Timer { key: TimerKey::Retry });
    fails(&mut agent, ModelErrorKind::Auth);
    assert_eq!(model(&agent), 2);
    fails(&mut agent, ModelErrorKind::Auth);
    assert_eq!(agent.ended().reason, FinishReason::ModelError);
    // The next run begins with the first model again.
    agent.says(MessageMode::Message, "again");
    assert_eq!(model(&agent), 0);
}

#[test]
fn a_fallback_is_charged_at_its_own_price_and_stays_in_use_for_the_run() {
    let mut agent = with_fallback(&[("second", 5_000)]);
    fails(&mut agent, ModelErrorKind::Auth);
    let usage = Some(Usage { input: 1_000, output: 10, ..Usage::default() });
    let reply = Box::new(Reply { usage, ..*agent.reply("let me see", &[allowed("read")]) });
    agent.takes(InputKind::ModelFinished(reply));
    assert_eq!(agent.state().run.as_ref().unwrap().cost, 1_000);
    let open = agent.state().turn_calls()[0].id;
    agent.takes(done(&open.to_string(), 1));
    assert_eq!(pack(agent.state()).unwrap().under.model, 1);
}

#[test]
fn a_refused_or_filtered_request_is_not_sent_to_another_vendor() {
    let mut agent = with_fallback(&[("second", 5_000)]);
    fails(&mut agent, ModelErrorKind::ContentFilter);
    assert_eq!(agent.ended().reason, FinishReason::ModelError);
}

#[test]
fn an_answer_that_misses_its_schema_twice_ends_with_a_reason_of_its_own() {
    let mut agent = Agent::asked(no_limits());
    let malformed = |agent: &Agent| InputKind::ModelMalformed {
        reply: agent.reply("{}", &[]),
        problem: "the final answer does not match its schema.".into(),
        breach: Breach::Schema,
        repair_tokens: 12,
    };
    let input = malformed(&agent);
    agent.takes(input);
    assert_eq!(agent.state().branch.unwrap().kind, BranchKind::Repair);
    let input = malformed(&agent);
    agent.takes(input);
    assert_eq!(agent.ended().reason, FinishReason::SchemaError);
    assert_eq!(ending(agent.state(), &agent.bodies).unwrap().reason, FinishReason::SchemaError);
}

#[test]
fn what_answers_the_least_context_or_was_a_last_answer_is_not_as_it_was_signed() {
    let signed = |agent: &Agent| {
        let packed = pack(agent.state()).unwrap();
        is_as_signed(agent.state(), packed.under, agent.state().tree.head.unwrap())
    };
    let mut agent = Agent::asked(no_limits());
    agent.answers("done");
    assert!(signed(&agent));
    agent.says(MessageMode::Message, "and now this");
    fails(&mut agent, ModelErrorKind::NotFound);
    agent.answers("done");
    assert!(!signed(&agent), "it saw less");
    let mut agent = Agent::asked(Limits { tokens: Some(80), budget: BudgetMode::Soft, ..no_limits() });
    agent.works();
    agent.answers("what I have");
    assert!(!signed(&agent), "it saw more");
}

#[test]
fn what_the_least_context_counted_is_not_taken_for_the_whole_path() {
    let mut agent = Agent::asked(no_limits());
    (0..6).for_each(|_| agent.works());
    agent.answers("done");
    agent.says(MessageMode::Message, "and now this");
    fails(&mut agent, ModelErrorKind::NotFound);
    let usage = Some(Usage { input: 7, output: 3, ..Usage::default() });
    let reply = Box::new(Reply { usage, ..*agent.reply("let me see", &[allowed("read")]) });
    agent.takes(InputKind::ModelFinished(reply));
    assert_eq!(agent.state().counting.counted, None);
    assert!(agent.state().request_tokens() > 100, "{}", agent.state().request_tokens());
}

#[test]
fn a_conversation_too_large_for_the_next_model_is_cut_before_it_is_asked() {
    let mut agent = with_fallback(&[("small", 180)]);
    (0..6).for_each(|_| agent.works());
    let shown = agent.shown().len();
    fails(&mut agent, ModelErrorKind::Auth);
    let events = agent.summarises();
    assert!(events[1].starts_with("context_cut") && events[2].starts_with("model_requested"), "{events:?}");
    assert!(agent.shown().len() < shown && agent.shown()[0] == "User: do it", "{:?}", agent.shown());
    assert_eq!(pack(agent.state()).unwrap().under.model, 1);
}

#[test]
fn a_repair_that_the_server_finds_too_large_ends_the_run() {
    let mut agent = Agent::asked(no_limits());
    (0..4).for_each(|_| agent.works());
    let problem = "no".to_string();
    let reply = agent.reply("{}", &[]);
    agent.takes(InputKind::ModelMalformed { reply, problem, breach: Breach::Protocol, repair_tokens: 12 });
    fails(&mut agent, ModelErrorKind::Overflow);
    assert_eq!(agent.ended().reason, FinishReason::ContextLimit);
}
