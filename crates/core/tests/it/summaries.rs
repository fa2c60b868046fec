//! What a summary by rules reads in a trace: what people said, what the model answered, and what calls were about.

use crate::support::*;
use mainpath_core::*;
use mainpath_types::*;

/// An answer with one call of this tool with these arguments.
fn calls(agent: &mut Agent, tool: &str, arguments: &str) -> CallId {
    let parts = vec![
        Part::text("let me see"),
        Part::ToolCall { name: tool.into(), arguments: arguments.into(), signature: None },
    ];
    let reply = Reply { tokens: 10, ..Reply::new(agent.request(), parts, vec![allowed(tool)]) };
    agent.takes(InputKind::ModelFinished(Box::new(reply)));
    agent.state().turn_calls()[0].id
}

fn ends(agent: &mut Agent, call: CallId, output: ToolOutput) {
    agent.takes(InputKind::ToolFinished { call, attempt: 1, output, tokens: 5 });
}

fn asked(number: u32, question: &str, answer: &str) -> Asked {
    let number = Some(number).filter(|number| *number > 0).map(Seq);
    Asked { number, question: question.into(), answer: answer.into() }
}

fn touched(what: &str, came: Option<&str>, call: &str) -> Touched {
    Touched { what: what.into(), came: came.map(Into::into), call: call.into() }
}

#[test]
fn what_was_said_done_and_kept_is_found() {
    let hash = BlobHash::try_from("0".repeat(64)).unwrap();
    let mut agent = Agent::new(no_limits());
    let piped = Part::StoredText { hash: hash.clone(), bytes: 1_000 };
    agent.takes(attached(vec![Part::text("Port it."), Part::text("12345"), piped]));
    let read = calls(&mut agent, "read", "{\"line\":3,\"path\":\"src/a.rs\"}");
    let artifact = Artifact { name: "../log".into(), hash, bytes: 9, media_type: "text/plain".into() };
    ends(&mut agent, read, ToolOutput { artifacts: vec![artifact], ..ToolOutput::text("the path is long") });
    let bash = calls(&mut agent, "bash", "{\"seconds\":1}");
    ends(
        &mut agent,
        bash,
        ToolOutput {
            command: Some(CommandEnd { exit_code: Some(2), stdout_bytes: 0, stderr_bytes: 3 }),
            ..ToolOutput::failed("x", "no")
        },
    );
    let nothing = calls(&mut agent, "write", "{}");
    ends(&mut agent, nothing, ToolOutput::text("done"));
    agent.answers("I will use a map.");
    agent.takes(rewind_to(8, "You must not stop. How is it?", 10));
    agent.answers("fine");
    agent.takes(attached(vec![Part::text("Go on.")]));
    agent.answers("gone on");
    let expected = Summary {
        goal: "Port it. (with 1005 characters of input)".into(),
        constraints: vec!["You must not stop.".into()],
        decisions: vec!["I will use a map.".into()],
        tool_facts: vec!["read (2.0): the path is long".into(), "read (2.0): kept as artifacts/2.0/_log".into()],
        touched: vec![
            touched("read src/a.rs", None, "call 2.0, event 8"),
            touched("bash {\"seconds\":1}, which failed", Some("exit code 2: no"), "call 4.0, event 13"),
        ],
        exchanges: vec![
            asked(0, "(the goal above)", "I will use a map."),
            asked(9, "You must not stop. How is it?", "fine"),
            asked(11, "Go on.", "gone on"),
        ],
        ..Summary::default()
    };
    assert_eq!(summarise(agent.state(), &agent.bodies), expected);
}

#[test]
fn a_conversation_from_elsewhere_is_read_as_one_from_here() {
    let mut agent = Agent::new(no_limits());
    agent.takes(InputKind::Import(Box::new(elsewhere(Role::User, &[]))));
    let mut answer = elsewhere(Role::Assistant, &["the path is long", "no luck"]);
    for part in &mut answer.parts {
        if let Part::ToolCall { arguments, .. } = part {
            *arguments = "{\"path\":\"b.rs\"}".into();
        }
    }
    agent.takes(InputKind::Import(Box::new(answer)));
    agent.takes(InputKind::Import(Box::new(elsewhere(Role::User, &[]))));
    let expected = Summary {
        goal: "said elsewhere".into(),
        tool_facts: vec!["tool0 (2.0): the path is long".into()],
        touched: vec![
            touched("tool0 b.rs", None, "call 2.0, event 3"),
            touched("tool1 b.rs, which failed", None, "call 2.1, event 3"),
        ],
        exchanges: vec![asked(0, "(the goal above)", "said elsewhere"), asked(5, "said elsewhere", "")],
        ..Summary::default()
    };
    assert_eq!(summarise(agent.state(), &agent.bodies), expected);
}
