//! Models that play a recording, as it was and otherwise.

use crate::scripts::{USED_UP, ask, ask_as, text};
use crate::{assistant, call, result, user};
use mainpath_providers::{BadScript, Playback, Substitutions};
use mainpath_types::{Message, ModelError, ModelErrorKind, ModelReply, Part, Signature, StopReason, Usage};

#[test]
fn a_recording_is_played_by_its_place_and_says_when_it_is_used_up() {
    let first = (
        vec![Part::text("a"), call("t", "{}")],
        Usage { input: 1, output: 2, ..Usage::default() },
        StopReason::ToolCalls,
    );
    let second = (vec![Part::text("b")], Usage::default(), StopReason::MaxTokens);
    let model = Playback::new(vec![first.clone(), second.clone()]);
    let said = [user(1, "go"), assistant(2, first.0.clone()), result(3, (2, 0), "r"), assistant(4, second.0.clone())];
    let reply = |(parts, usage, stop): &(Vec<Part>, Usage, StopReason)| ModelReply {
        parts: parts.clone(),
        usage: Some(*usage),
        stop: *stop,
        model: None,
    };
    assert_eq!(ask(&model, &said[..1]), reply(&first));
    assert_eq!(ask(&model, &said[..3]), reply(&second));
    assert_eq!(text(&model, &said), USED_UP.replace("script", "recording"));
}

type Answer = (Vec<Part>, Usage, StopReason);

fn signed() -> Option<Signature> {
    Some(Signature { issuer: "i".into(), value: "v".into() })
}

fn thinking(text: &str, signature: Option<Signature>) -> Part {
    Part::Thinking { text: text.into(), signature }
}

/// Three turns that speak of a folder.
fn recording() -> Vec<Answer> {
    let look =
        |arguments: &str| Part::ToolCall { name: "/old".into(), arguments: arguments.into(), signature: signed() };
    let usage = Usage { input: 7, output: 3, ..Usage::default() };
    vec![
        (
            vec![
                thinking("In /old.", signed()),
                thinking("Hm.", signed()),
                Part::text("I look into /old and /old."),
                look(r#"{"at": "\/old\/a", "/old": [1.0, "x"]}"#),
                look(r#"{ "at" : "b" }"#),
                look(r#"{"at": "/old"#),
            ],
            usage,
            StopReason::ToolCalls,
        ),
        (vec![call("look", r#"{"at":"c"}"#)], usage, StopReason::ToolCalls),
        (vec![Part::text("All in /old.")], usage, StopReason::End),
    ]
}

fn said() -> Vec<Message> {
    vec![
        user(1, "go"),
        assistant(2, vec![call("look", "{}")]),
        result(3, (2, 0), "r"),
        assistant(4, vec![]),
        user(5, "?"),
    ]
}

fn with(file: &str, changes: &str) -> Playback {
    Playback::new(recording()).with(&Substitutions::parse(file, changes).unwrap()).unwrap()
}

#[test]
fn a_text_is_replaced_in_what_remains_of_a_recording_and_a_turn_is_played_instead() {
    let toml = "[[turn]]\nat = 2\ntext = \"Not /old.\"\ncalls = [{ tool = \"stop\" }]\n\
                [[replace]]\nfrom = \"/old\"\nto = '\"new\"'\n[[replace]]\nfrom = \"new\"\nto = \"newer\"\n";
    let json = r#"{"turn": [{"at": 2, "text": "Not /old.", "calls": [{"tool": "stop"}]}],
                   "replace": [{"from": "/old", "to": "\"new\""}, {"from": "new", "to": "newer"}]}"#;
    let look =
        |arguments: &str, signature| Part::ToolCall { name: "/old".into(), arguments: arguments.into(), signature };
    let usage = Some(Usage { input: 7, output: 3, ..Usage::default() });
    let first = vec![
        thinking("In \"newer\".", None),
        thinking("Hm.", signed()),
        Part::text("I look into \"newer\" and \"newer\"."),
        look(r#"{"at": "\"newer\"/a", "/old": [1.0, "x"]}"#, None),
        look(r#"{ "at" : "b" }"#, signed()),
        look(r#"{"at": ""newer""#, None),
    ];
    let second = vec![Part::text("Not /old."), call("stop", "{}")];
    let third = vec![Part::text("All in \"newer\".")];
    let reply = |parts, usage, stop| ModelReply { parts, usage, stop, model: None };
    for model in [with("c.toml", toml), with("c.json", json)] {
        assert_eq!(ask(&model, &said()[..1]), reply(first.clone(), usage, StopReason::ToolCalls));
        assert_eq!(ask(&model, &said()[..3]), reply(second.clone(), None, StopReason::ToolCalls));
        assert_eq!(ask(&model, &said()), reply(third.clone(), usage, StopReason::End));
    }
}

#[test]
fn a_turn_played_instead_may_fail_first_as_in_a_script() {
    let model = with("c.toml", "[[turn]]\nat = 3\nerror = { kind = \"overloaded\" }\nfinal = \"At last.\"");
    let kind = ModelErrorKind::Overloaded;
    let message = "scripted model: the script says so".into();
    let error = ModelError { kind, message, status: None, retry_after_ms: None };
    assert_eq!(ask_as(&model, &said(), 3, true).0, Err(error));
    assert_eq!(ask_as(&model, &said(), 4, true).0.unwrap().parts, [Part::text("At last.")]);
}

#[test]
fn bad_substitutions_are_refused_with_file_line_or_turn_and_what() {
    let refused = |file: &str, text: &str| {
        let changed = Substitutions::parse(file, text).and_then(|changes| Playback::new(recording()).with(&changes));
        changed.map(|_| ()).unwrap_err().to_string()
    };
    let cases = [
        ("d/c.toml", "", "d/c.toml:1: there is no [[turn]] and no [[replace]]"),
        ("c.json", "{}", "c.json:1: there is no [[turn]] and no [[replace]]"),
        ("c.toml", "a = 1", "c.toml:1: unknown field `a`, expected one of `turn`, `turns`, `replace`"),
        (
            "c.toml",
            "[[replace]]\nfrom = \"a\"\nwith = \"b\"",
            "c.toml:3: unknown field `with`, expected `from` or `to`",
        ),
        ("c.toml", "[[replace]]\nfrom = \"a\"", "c.toml:1: missing field `to`"),
        ("c.toml", "\n[[replace]]\nto = \"a\"\nfrom = \"\"", "c.toml:4: `from` is empty; write the text to replace"),
        ("c.toml", "[[turn]]\nat = 0\ntext = \"a\"", "c.toml:2: invalid value: integer `0`, expected a nonzero usize"),
        ("c.json", "{\"turn\": [\n{\"at\": -1}]}", "c.json:2: invalid value: integer `-1`, expected a nonzero usize"),
        (
            "c.toml",
            "[[turn]]\ntext = \"a\"",
            "c.toml: turn 1: `at` is missing: the number of the recorded turn that it replaces, from 1",
        ),
        ("c.toml", "[[turn]]\nat = 1", "c.toml: turn 1: it says nothing; give `text`, `calls`, `final` or `error`"),
        (
            "c.toml",
            "[[turn]]\nat = 1\nwhen = \"a\"\ntext = \"a\"",
            "c.toml: turn 1: it is played at its place, so there can be no `when`",
        ),
        (
            "c.toml",
            "[[turn]]\nat = 3\ntext = \"a\"\n[[turn]]\nat = 3\ntext = \"b\"",
            "c.toml: turn 2: an earlier turn has the same `at`",
        ),
        (
            "c.toml",
            "[[turn]]\nat = 3\ntext = \"a\"\n[[turn]]\nat = 4\ntext = \"b\"",
            "c.toml: turn 2: `at` is 4, and the last recorded turn is 3",
        ),
    ];
    for (file, text, expected) in cases {
        assert_eq!(refused(file, text), expected);
    }
    let missing = Substitutions::read("/no/such/file.toml".as_ref()).unwrap_err();
    let why = "No such file or directory (os error 2)".into();
    assert_eq!(missing, BadScript::Unreadable { file: "/no/such/file.toml".into(), why });
}
