//! Scripted and recorded models.

use crate::{assistant, call, result, user};
use bytes::Bytes;
use mainpath_providers::{BadScript, Call, Neutral, Provider, Script, Scripted, encode};
use mainpath_types::{
    Delta, Message, ModelError, ModelErrorKind, ModelReply, ModelRequest, Part, RequestHead, StopReason, Usage,
};

const SCRIPT: &str = r#"
[[turn]]
thinking = "First a look."
text = "I look."
calls = [{ tool = "look", args = { at = "a", deep = true, n = 3 } }, { tool = "stop" }]
usage = { input = 12, output = 3 }

[[turn]]
when = "No such file"
text = "Then I make it."
calls = [{ tool = "write", args = "{\"cut" }]
stop = "max_tokens"

[[turn]]
final = "Done, with pleasure."
"#;

const SCRIPT_AS_JSON: &str = r#"{"turn": [
  {"thinking": "First a look.", "text": "I look.",
   "calls": [{"tool": "look", "args": {"at": "a", "deep": true, "n": 3}}, {"tool": "stop"}],
   "usage": {"input": 12, "output": 3}},
  {"when": "No such file", "text": "Then I make it.", "calls": [{"tool": "write", "args": "{\"cut"}], "stop": "max_tokens"},
  {"final": "Done, with pleasure."}
]}"#;

pub const USED_UP: &str = "The script is over. To continue, choose a model: mainpath models.";

pub fn ask_as(
    provider: &dyn Provider,
    messages: &[Message],
    request: u32,
    stream: bool,
) -> (Result<ModelReply, ModelError>, Vec<Delta>) {
    let head = RequestHead { model: "scripted".into(), stream, ..RequestHead::default() };
    let body = encode(&Neutral, &ModelRequest { head: head.clone(), messages: messages.to_vec() });
    let mut deltas = Vec::new();
    let mut take = |delta| deltas.push(delta);
    // Cut anywhere: the provider has to cope with segments.
    let body = body.chunks(7).map(Bytes::copy_from_slice).collect();
    let call = provider.call(Call { body, head: &head, request }, &mut take);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let reply = runtime.block_on(call);
    (reply, deltas)
}

pub fn ask(provider: &dyn Provider, messages: &[Message]) -> ModelReply {
    ask_as(provider, messages, 1, false).0.unwrap()
}

pub fn text(provider: &dyn Provider, messages: &[Message]) -> String {
    mainpath_types::text_of(&ask(provider, messages).parts)
}

fn scripted(script: &str) -> Scripted {
    Scripted::new(Script::parse("s.toml", script).unwrap())
}

#[test]
fn toml_and_json_say_the_same() {
    let toml = Script::parse("s.toml", SCRIPT).unwrap();
    assert_eq!(Script::parse("s.JSON", SCRIPT_AS_JSON).unwrap(), toml);
    assert_eq!(toml.turns.len(), 3);
}

#[test]
fn a_turn_is_played_with_thinking_text_calls_usage_and_stop_reason() {
    let model = scripted(SCRIPT);
    let thinking = Part::Thinking { text: "First a look.".into(), signature: None };
    let expected = ModelReply {
        parts: vec![
            thinking,
            Part::text("I look."),
            call("look", r#"{"at":"a","deep":true,"n":3}"#),
            call("stop", "{}"),
        ],
        usage: Some(Usage { input: 12, output: 3, ..Usage::default() }),
        stop: StopReason::ToolCalls,
        model: None,
    };
    assert_eq!(ask(&model, &[user(1, "go")]), expected);
}

#[test]
fn turns_follow_the_assistant_messages_and_what_was_said_wins() {
    let model = scripted(SCRIPT);
    let mut said = vec![user(1, "go"), assistant(2, vec![call("look", "{}"), call("stop", "{}")])];
    said.push(result(3, (2, 0), "error: No such file a"));
    said.push(result(4, (2, 1), "stopped"));
    let made = ask(&model, &said);
    assert_eq!(made.parts, [Part::text("Then I make it."), call("write", "{\"cut")]);
    assert_eq!((made.stop, made.usage), (StopReason::MaxTokens, None));
    // The turn that answered to `when` does not count: the next one in order is played, not skipped.
    said.push(assistant(5, made.parts));
    said.push(result(6, (5, 0), "written"));
    assert_eq!(text(&model, &said), "Done, with pleasure.");
    said.push(assistant(7, vec![Part::text("Done, with pleasure.")]));
    said.push(user(8, "more"));
    assert_eq!(text(&model, &said), USED_UP);
    assert_eq!(ask(&model, &said).stop, StopReason::End);
    // Going back in the conversation goes back in the script, in any process.
    assert_eq!(text(&scripted(SCRIPT), &said[..1]), "I look.");
    assert_eq!(text(&scripted(SCRIPT), &said[..4]), "Then I make it.");
}

#[test]
fn injected_messages_do_not_move_the_script() {
    let model = scripted(SCRIPT);
    let said = [user(1, "go"), user(2, "note: budget left"), assistant(3, vec![Part::text("x")]), user(4, "note")];
    assert_eq!(text(&model, &said[..2]), "I look.");
    assert_eq!(text(&model, &said), "Done, with pleasure.");
}

#[test]
fn a_streamed_turn_comes_in_pieces_that_add_up() {
    let model = scripted(SCRIPT);
    let long = scripted("[[turn]]\nfinal = \"Zwölf schöne Wörter, eins nach dem anderen.\"");
    let (reply, deltas) = ask_as(&long, &[user(1, "go")], 1, true);
    assert_eq!(reply.unwrap().parts, [Part::text("Zwölf schöne Wörter, eins nach dem anderen.")]);
    let piece = |text: &str| Delta::Text { text: text.into() };
    assert_eq!(deltas, [piece("Zwölf schöne "), piece("Wörter, eins "), piece("nach dem anderen."),]);
    let (_, deltas) = ask_as(&model, &[user(1, "go")], 1, true);
    let call = |index, name: &str, text: &str| Delta::Arguments { index, name: Some(name.into()), text: text.into() };
    assert_eq!(deltas[deltas.len() - 2..], [call(0, "look", r#"{"at":"a","deep":true,"n":3}"#), call(1, "stop", "{}")]);
    let (_, none) = ask_as(&model, &[user(1, "go")], 1, false);
    assert_eq!(none, []);
}

#[test]
fn an_error_is_played_for_its_attempts_and_then_the_answer() {
    let model = scripted(
        "[[turn]]\nerror = { kind = \"overloaded\", message = \"busy\", times = 2 }\nfinal = \"at last\"\ndelay_ms = 1\n\
         [[turn]]\nerror = { kind = \"auth\" }\n",
    );
    let go = [user(1, "go")];
    let error =
        |kind, message: &str| Err(ModelError { kind, message: message.into(), status: None, retry_after_ms: None });
    let busy = error(ModelErrorKind::Overloaded, "scripted model: busy");
    assert_eq!(ask_as(&model, &go, 1, false).0, busy);
    // Another trace with the same words is at its first attempt.
    assert_eq!(ask_as(&model, &go, 1, false).0, busy);
    assert_eq!(ask_as(&model, &go, 2, false).0, busy);
    assert_eq!(ask_as(&model, &go, 3, false).0.unwrap().parts, [Part::text("at last")]);
    let later = [user(1, "go"), assistant(2, vec![Part::text("at last")]), user(3, "on")];
    assert_eq!(ask_as(&model, &later, 4, false).0, error(ModelErrorKind::Auth, "scripted model: the script says so"));
}

#[test]
fn a_bad_script_is_refused_with_file_line_and_what() {
    let refused = |file: &str, text: &str| Script::parse(file, text).unwrap_err().to_string();
    assert_eq!(
        refused("d/s.toml", "[[turn]]\ntext = \"a\"\n\n[[turn]]\ntxt = \"b\"\n"),
        "d/s.toml:5: unknown field `txt`, expected one of `at`, `when`, `thinking`, `text`, `calls`, `final`, `error`, `delay_ms`, `usage`, `stop`"
    );
    let syntax = refused("s.toml", "[[turn]]\ntext = \n");
    assert!(syntax.starts_with("s.toml:2: ") && !syntax.contains('\n'), "{syntax}");
    let kind = refused("s.toml", "[[turn]]\nerror = { kind = \"bad\" }\n");
    assert!(kind.starts_with("s.toml:2: unknown variant `bad`"), "{kind}");
    let json = refused("s.json", "{\"turn\": [\n{\"text\": 1}]}");
    assert_eq!(json, "s.json:2: invalid type: integer `1`, expected a string");
    assert_eq!(refused("s.json", "{\"turn\": []}"), "s.json:1: the script has no [[turn]]");
    assert!(refused("s.toml", "").starts_with("s.toml:1: missing field `turn`"));
    let turn = |text: &str| match Script::parse("s.toml", text).unwrap_err() {
        BadScript::Turn { file, turn, what } => (file, turn, what),
        other => panic!("{other}"),
    };
    let wrong = |turn, what| (String::from("s.toml"), turn, what);
    assert_eq!(
        turn("[[turn]]\nfinal = \"a\"\n[[turn]]\nfinal = \"a\"\ncalls = [{ tool = \"t\" }]"),
        wrong(2, "`final` ends the run, so there can be no `calls` beside it")
    );
    assert_eq!(turn("[[turn]]\ndelay_ms = 1"), wrong(1, "it says nothing; give `text`, `calls`, `final` or `error`"));
    assert_eq!(
        turn("[[turn]]\nat = 1\nfinal = \"a\""),
        wrong(1, "`at` is for what replaces a recorded turn; a script's turns come in order")
    );
    assert_eq!(
        turn("[[turn]]\nwhen = \"\"\ntext = \"a\""),
        wrong(1, "`when` is empty, so it would always match; leave it out")
    );
}

#[test]
fn a_body_in_another_format_is_refused() {
    let head = RequestHead::default();
    let model = scripted(SCRIPT);
    let mut deltas = |_| {};
    let call = model.call(Call { body: vec![Bytes::from_static(b"{\"mess")], head: &head, request: 1 }, &mut deltas);
    let error = tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(call).unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::BadRequest);
}

#[test]
fn the_bundled_script_says_first_that_it_is_one_and_uses_the_four_tools() {
    let script = Script::bundled().unwrap();
    assert!(script.turns[0].text.as_deref().unwrap().contains("scripted demonstration: no model"));
    let tools: Vec<&str> = script.turns.iter().flat_map(|turn| &turn.calls).map(|call| call.tool.as_str()).collect();
    assert_eq!(tools, ["write_text_file", "read_text_file", "edit_text_file", "bash"]);
    let model = Scripted::new(script);
    let said = |reply: &str| vec![user(1, "go"), assistant(2, vec![call("bash", "{}")]), result(3, (2, 0), reply)];
    assert_eq!(text(&model, &said("4 lines")), "Next I read it back.");
    // A refused step is never followed by a claim that it was done.
    assert!(
        text(&model, &said("Denied (builtin.headless): nobody can be asked.")).starts_with("A rule refused a step")
    );
    assert!(text(&model, &said("A person denied this call.")).starts_with("You refused a step"));
}
