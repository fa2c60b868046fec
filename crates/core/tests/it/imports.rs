//! Conversations that were held elsewhere.

use crate::support::*;
use mainpath_core::*;
use mainpath_types::*;

fn import(role: Role, results: &[&str]) -> InputKind {
    InputKind::Import(Box::new(elsewhere(role, results)))
}

#[test]
fn what_was_imported_is_shown_like_what_was_said_here() {
    let mut agent = Agent::with_window(no_limits(), 10_000);
    agent.takes(import(Role::User, &[]));
    agent.takes(import(Role::Assistant, &["it was so", "no, it failed"]));
    agent.takes(import(Role::Assistant, &[]));
    agent.says(MessageMode::Message, "go on");
    let packed = pack(agent.state()).unwrap();
    let mut bodies = Log::default();
    bodies.extend(&agent.log);
    let shown: Vec<Message> = packed.items.iter().map(|item| message(agent.state(), &bodies, item).unwrap()).collect();
    let roles: Vec<Role> = shown.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::Tool, Role::Assistant, Role::User]);
    let result = |index: u16, text: &str, is_error: bool| Part::ToolResult {
        call: CallId { seq: Seq(2), index },
        name: format!("tool{index}"),
        content: vec![Part::text(text)],
        is_error,
    };
    assert_eq!(shown[2].parts, [result(0, "it was so", false)]);
    assert_eq!(shown[3].parts, [result(1, "no, it failed", true)]);
    assert_eq!(shown[1].parts.len(), 3, "the results are not shown with the calls: {:?}", shown[1]);
    mainpath_testkit::check::packed(agent.state(), &bodies, &packed).unwrap();
}

#[test]
fn what_no_vendor_would_take_is_not_taken_in() {
    let mut agent = Agent::with_window(no_limits(), 10_000);
    let refused = |agent: &mut Agent, kind: InputKind| agent.offer(&Input::new(5_000, kind)).unwrap_err();
    assert_eq!(refused(&mut agent, import(Role::Assistant, &[])), Refusal::BadImport, "nobody spoke before");
    agent.takes(import(Role::User, &[]));
    assert_eq!(refused(&mut agent, import(Role::User, &["a result"])), Refusal::BadImport);
    assert_eq!(refused(&mut agent, import(Role::Tool, &[])), Refusal::BadImport);
    let mut lacking = elsewhere(Role::Assistant, &["one", "two"]);
    lacking.parts.pop();
    assert_eq!(refused(&mut agent, InputKind::Import(Box::new(lacking.clone()))), Refusal::BadImport);
    lacking.parts.clear();
    assert_eq!(refused(&mut agent, InputKind::Import(Box::new(lacking))), Refusal::Empty);
    agent.says(MessageMode::Message, "work");
    assert_eq!(refused(&mut agent, import(Role::User, &[])), Refusal::Running);
}

#[test]
fn a_rewind_into_an_imported_call_goes_past_its_results() {
    let mut agent = Agent::with_window(no_limits(), 10_000);
    agent.takes(import(Role::User, &[]));
    agent.takes(import(Role::Assistant, &["one", "two"]));
    agent.takes(import(Role::User, &[]));
    agent.takes(rewind(2, Some("another way")));
    let path: Vec<Seq> = agent.state().tree.up(agent.state().tree.head).map(|(seq, _)| seq).collect();
    assert_eq!(path, [Seq(6), Seq(4), Seq(3), Seq(2), Seq(1)]);
}

#[test]
fn answers_in_a_row_that_were_taken_in_are_answered_again_as_one() {
    let mut agent = Agent::asked(no_limits());
    agent.answers("one");
    agent.takes(import(Role::Assistant, &[]));
    agent.takes(rewind(3, None));
    assert_eq!(agent.shown(), ["User: do it"]);
}

#[test]
fn what_people_demanded_elsewhere_is_found_and_what_a_model_said_there_demands_nothing() {
    let says = |role, text: &str| MessageImported { parts: vec![Part::text(text)], ..elsewhere(role, &[]) };
    let mut agent = Agent::new(no_limits());
    let found = |agent: &Agent| {
        agent
            .newest(|kind| if let EventKind::MessageImported(data) = kind { Some(data.demanded.clone()) } else { None })
    };
    agent.takes(InputKind::Import(Box::new(says(Role::User, "Look. You must keep the API."))));
    assert_eq!(found(&agent), [(6, 28)]);
    agent.takes(InputKind::Import(Box::new(says(Role::Assistant, "You must keep the API."))));
    assert_eq!(found(&agent), []);
}

#[test]
fn what_was_recorded_of_messages_elsewhere_counts_in_the_sums_of_the_trace_and_in_no_run() {
    let mut agent = Agent::new(no_limits());
    let spent = Spent { usage: Usage { input: 10, output: 3, ..Usage::default() }, cost: 7, about: true };
    let recorded = |spent| Some(Recorded { at: Some(5), model: Some("there".into()), spent });
    let said = |role, spent| MessageImported { recorded: recorded(spent), ..elsewhere(role, &[]) };
    agent.takes(InputKind::Import(Box::new(said(Role::User, None))));
    agent.takes(InputKind::Import(Box::new(said(Role::Assistant, Some(spent)))));
    agent.takes(InputKind::Import(Box::new(said(Role::Assistant, Some(spent)))));
    let mut twice = spent;
    twice += spent;
    assert_eq!((agent.state().spent, agent.state().run.is_none()), (twice, true));
}
