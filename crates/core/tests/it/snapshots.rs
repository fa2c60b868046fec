//! What a model is shown, word for word: every request of a scenario, a line of JSON a message.
//! After a deliberate change of the words: `INSTA_UPDATE=always cargo test -p mainpath-core snapshots`, and look at the diff.

use crate::support::*;
use insta::assert_snapshot;
use mainpath_core::*;
use mainpath_types::*;

/// The pending request: what asks for it, then its messages.
fn request(agent: &Agent) -> String {
    let packed = pack(agent.state()).unwrap();
    let line = |item: &Item| {
        let message = message(agent.state(), &agent.bodies, item).expect("a body");
        serde_json::to_string(&message).unwrap() + "\n"
    };
    let lines: String = packed.items.iter().map(line).collect();
    format!("request {} under the spec of event {}\n{lines}", agent.request(), packed.under.spec)
}

/// Requests one after the other, an empty line between two.
fn requests(shown: &[String]) -> String {
    shown.join("\n")
}

fn finishes(id: &str, output: ToolOutput) -> InputKind {
    InputKind::ToolFinished { call: call(id), attempt: 1, output, tokens: 5 }
}

#[test]
fn a_tool_loop() {
    let mut agent = Agent::new(no_limits());
    agent.says(MessageMode::Message, "What is in the folder?");
    let mut shown = vec![request(&agent)];
    agent.calls(&[allowed("bash")]);
    agent.takes(finishes("2.0", ToolOutput::text("a.txt\nb.txt\n")));
    shown.push(request(&agent));
    agent.calls(&[allowed("read")]);
    agent.takes(finishes("4.0", ToolOutput::text("")));
    shown.push(request(&agent));
    agent.answers("Two files, one of them empty.");
    agent.says(MessageMode::Message, "Thank you. Which one?");
    shown.push(request(&agent));
    assert_snapshot!(requests(&shown));
}

#[test]
fn parallel_calls_with_denials_a_failure_and_an_edit() {
    let mut agent = Agent::asked(no_limits());
    let unknown = PlannedCall { problem: Some("there is no such tool".into()), ..PlannedCall::default() };
    let (denied, asked) = (planned("put", Decision::Deny), |tool| planned(tool, Decision::Ask));
    agent.calls(&[allowed("read"), allowed("read"), unknown, denied, asked("write"), asked("bash"), asked("bash")]);
    agent.takes(finishes("2.1", ToolOutput::text("the second, which came first")));
    agent.takes(finishes("2.0", ToolOutput::failed("not_found", "there is no such file")));
    let verdict = Verdict { decision: Decision::Allow, rule: "fresh".into(), reason: String::new() };
    let edit = Some(Edit {
        arguments: r#"{"path":"other.txt"}"#.into(),
        verdict,
        places: vec![],
        changed_by: Vec::new(),
        asking: None,
    });
    agent.takes(InputKind::Approve { call: call("2.4"), by: user(), edit, rule: None });
    agent.takes(finishes("2.4", ToolOutput::text("written")));
    agent.takes(InputKind::Deny { call: call("2.5"), by: user(), reason: Some("not in this folder".into()) });
    agent.takes(InputKind::Deny { call: call("2.6"), by: user(), reason: None });
    assert_snapshot!(request(&agent));
}

#[test]
fn a_stop_in_mid_tool_and_going_on() {
    let mut agent = Agent::calling(no_limits(), &[allowed("bash"), allowed("write")]);
    agent.takes(stop());
    let output = Some(ToolOutput::text("half of it"));
    agent.takes(InputKind::ToolDead { call: call("2.0"), attempt: 1, output, tokens: 3 });
    agent.takes(InputKind::Continue { by: user() });
    assert_snapshot!(request(&agent));
}

#[test]
fn a_rewind_with_another_message_and_one_to_answer_again() {
    let mut agent = Agent::calling(no_limits(), &[allowed("bash")]);
    agent.takes(done("2.0", 1));
    agent.answers("done one way");
    agent.takes(rewind(2, Some("another way, please")));
    let mut shown = vec![request(&agent)];
    agent.answers("done the other way");
    agent.takes(rewind(6, None));
    shown.push(request(&agent));
    assert_snapshot!(requests(&shown));
}

#[test]
fn a_repair() {
    let mut agent = Agent::calling(no_limits(), &[allowed("read")]);
    agent.takes(done("2.0", 1));
    let (reply, problem) = (agent.reply("", &[]), "there was neither a text nor a call".into());
    agent.takes(InputKind::ModelMalformed { reply, problem, breach: Breach::Protocol, repair_tokens: 12 });
    let mut shown = vec![request(&agent)];
    agent.calls(&[allowed("read")]);
    let open = agent.state().turn_calls()[0].id.to_string();
    agent.takes(done(&open, 1));
    shown.push(request(&agent));
    assert_snapshot!(requests(&shown));
}

#[test]
fn a_compaction_with_its_pinned_task() {
    let mut agent = Agent::with_window(no_limits(), 400);
    agent.says(MessageMode::Message, "Find the number, and never delete a file.");
    for id in ["2.0", "4.0"] {
        let reply = Box::new(Reply { tokens: 120, ..*agent.reply("a long text", &[allowed("read")]) });
        agent.takes(InputKind::ModelFinished(reply));
        agent.takes(done(id, 1));
    }
    let mut shown = vec![request(&agent)];
    agent.answers("Goal: the number. Open Items: all.");
    shown.push(request(&agent));
    agent.calls(&[allowed("read")]);
    let open = agent.state().turn_calls()[0].id.to_string();
    agent.takes(done(&open, 1));
    shown.push(request(&agent));
    assert_snapshot!(requests(&shown));
}

#[test]
fn a_recall() {
    let mut agent = Agent::calling(windowed(4), &[allowed("bash")]);
    agent.takes(finishes("2.0", ToolOutput::text("the number is 7")));
    agent.works_on();
    agent.answers("done");
    agent.takes(InputKind::RecallCalls { calls: vec![call("2.0")] });
    agent.says(MessageMode::Message, "What was the number?");
    let mut shown = vec![request(&agent)];
    agent.works_on();
    shown.push(request(&agent));
    assert_snapshot!(requests(&shown));
}

#[test]
fn a_last_answer() {
    let limits = Limits { tokens: Some(80), budget: BudgetMode::Soft, ..no_limits() };
    let mut agent = Agent::calling(limits, &[allowed("bash")]);
    agent.takes(done("2.0", 1));
    assert_snapshot!(request(&agent));
}
