//! `run --messages`: conversations that are kept elsewhere, in every format, answered; and what is no conversation.

use crate::support::*;
use mainpath_testkit::model_server::{Answer, ModelServer};
use serde_json::{Value, json};

fn one_answer() -> ModelServer {
    scripted(vec![Answer::text("It has two herons."); 9])
}

/// What the last request says to the system and what was said in it, role and text.
fn asked(server: &ModelServer) -> (String, Vec<(String, String)>) {
    let request = server.requests().pop().unwrap();
    let body = request.body();
    let text = |content: &Value| match content {
        Value::Array(pieces) => pieces.iter().filter_map(|piece| piece["text"].as_str()).collect::<Vec<_>>().join("\n"),
        other => other.as_str().unwrap_or_default().to_string(),
    };
    let messages = body["messages"].as_array().unwrap();
    let said =
        messages.iter().map(|message| (message["role"].as_str().unwrap().to_string(), text(&message["content"])));
    let (system, said): (Vec<_>, Vec<_>) = said.partition(|(role, _)| role == "system");
    (system.into_iter().map(|(_, text)| text).collect(), said)
}

fn pair(role: &str, text: &str) -> (String, String) {
    (role.into(), text.into())
}

#[test]
fn a_conversation_in_any_format_is_answered_and_what_it_says_to_the_system_holds() {
    let call = json!({"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"at\":\"pond\"}"}});
    let openai = json!([
        {"role": "system", "content": "Speak of birds only."},
        {"role": "user", "content": "What is in the pond?"},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "2 herons"},
        {"role": "assistant", "content": "Two herons."},
        {"role": "user", "content": [{"type": "text", "text": "Say it again."}]},
    ]);
    let anthropic = json!({"model": "x", "max_tokens": 9, "system": [{"type": "text", "text": "Speak of birds only."}], "messages": [
        {"role": "user", "content": "What is in the pond?"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "pond"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "2 herons"}]},
        {"role": "assistant", "content": "Two herons."},
        {"role": "user", "content": "Say it again."},
    ]});
    let gemini = json!({"systemInstruction": {"parts": [{"text": "Speak of birds only."}]}, "contents": [
        {"role": "user", "parts": [{"text": "What is in the pond?"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {"at": "pond"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"output": "2 herons"}}}]},
        {"role": "model", "parts": [{"text": "Two herons."}]},
        {"role": "user", "parts": [{"text": "Say it again."}]},
    ]});
    let responses = json!({"instructions": "Speak of birds only.", "input": [
        {"role": "user", "content": "What is in the pond?"},
        {"type": "function_call", "call_id": "f1", "name": "look", "arguments": "{\"at\":\"pond\"}"},
        {"type": "function_call_output", "call_id": "f1", "output": "2 herons"},
        {"role": "assistant", "content": [{"type": "output_text", "text": "Two herons."}]},
        {"role": "user", "content": [{"type": "input_text", "text": "Say it again."}]},
    ]});
    for (name, body) in [("openai", openai), ("anthropic", anthropic), ("gemini", gemini), ("responses", responses)] {
        let (place, server) = (Place::new(), one_answer());
        std::fs::write(place.work.join("said.json"), body.to_string()).unwrap();
        let done = place.run_on(&server, &["--messages", "said.json"]);
        assert_eq!((done.code, done.out.as_str()), (0, "It has two herons.\n"), "{name}: {done:#?}");
        assert!(
            done.err.contains("! 1 system message (20 characters) kept as instructions of this trace\n"),
            "{name}: {}",
            done.err
        );
        let (system, said) = asked(&server);
        assert!(system.contains("Speak of birds only."), "{name}: {system}");
        let expected = [
            pair("user", "What is in the pond?"),
            pair("assistant", ""),
            pair("tool", "2 herons"),
            pair("assistant", "Two herons."),
            pair("user", "Say it again."),
        ];
        assert_eq!(said, expected, "{name}");
        assert_eq!(server.violations(), Vec::<String>::new());
        // They hold for what follows, too.
        place.run_on(&server, &["--trace", &place.trace(), "And again."]);
        assert!(asked(&server).0.contains("Speak of birds only."), "{name}");
        place.ok(&["verify"]);
        place.ok(&["replay"]);
        // The same in Mainpath's own form.
        let (neutral, other, again) = (place.ok(&["export", "--format", "neutral"]), Place::new(), one_answer());
        let done =
            other.run_with(&["run", "--model", &again.model(), "--messages", "-", "Once more."], neutral.as_bytes());
        assert_eq!(done.code, 0, "{done:#?}");
        assert_eq!(asked(&again).1.last().unwrap(), &pair("user", "Once more."));
        assert_eq!(asked(&again).1.len(), 9, "{:?}", asked(&again).1);
    }
}

#[test]
fn an_imported_question_is_answered_by_resume_and_a_session_may_begin_with_messages() {
    let (place, server) = (Place::new(), one_answer());
    std::fs::write(place.work.join("q.json"), json!([{"role": "user", "content": "What is in the pond?"}]).to_string())
        .unwrap();
    let done = place.run(&["import", "q.json", "--model", &server.model()]);
    assert!(done.err.contains("or answer the last one: mainpath resume"), "{done:#?}");
    assert_eq!(place.ok(&["resume"]), "It has two herons.\n");
    place.run(&["resume"]).fails(1, "ended with its final answer");
    let done = place.run_on(&server, &["--messages", "q.json", "--session", "pond"]);
    assert_eq!(done.code, 0, "{done:#?}");
    assert!(place.ok(&["session", "prepare", "pond"]).contains("It has two herons."));
    let again = place.run_on(&server, &["--messages", "q.json", "--session", "pond"]);
    again.fails(2, "the session pond has the trace");
    assert_eq!(place.traces().len(), 2, "nothing was made of it");
}

#[test]
fn what_is_no_conversation_is_told_in_one_line_and_leaves_no_trace() {
    let (place, server) = (Place::new(), one_answer());
    let cases: [(&[u8], i32, &str); 8] = [
        (b"{\"role\": \"user\", \"content\": ", 1, "bad.json: it is not JSON"),
        (b"[{\"role\": \"user\", \"content\": \"\xff\"}]", 1, "bad.json is not UTF-8 text"),
        (b"[]", 1, "bad.json has no messages"),
        (b"[{\"role\": \"user\", \"content\": \"\"}]", 1, "bad.json has no messages to answer"),
        (b"[{\"role\": \"wizard\", \"content\": \"x\"}]", 1, "message 1 has the unknown role \"wizard\""),
        (b"[7]", 1, "message 1 is not a JSON object"),
        (b"{\"model\": \"x\"}", 1, "the object has no list of"),
        (
            b"[{\"role\": \"user\", \"content\": \"a\"}, {\"role\": \"assistant\", \"content\": \"b\"}]",
            2,
            "the last message is not from a user",
        ),
    ];
    for (bytes, code, words) in cases {
        std::fs::write(place.work.join("bad.json"), bytes).unwrap();
        place.run_on(&server, &["--messages", "bad.json"]).fails(code, words);
    }
    place.run_on(&server, &["--messages", "nowhere.json"]).fails(1, "nowhere.json cannot be read");
    place.run_on(&server, &["--messages", "bad.json", "-c", "x"]).fails(2, "");
    assert!(place.traces().is_empty() && server.count() == 0);
    // Half a character is no reason to lose a conversation: it is said what became of it.
    std::fs::write(place.work.join("half.json"), b"[{\"role\": \"user\", \"content\": \"\\ud800 alone\"}]").unwrap();
    let done = place.run_on(&server, &["--messages", "half.json"]);
    assert_eq!(done.code, 0, "{done:#?}");
    assert!(done.err.contains("half a surrogate pair"), "{}", done.err);
    assert_eq!(asked(&server).1, [pair("user", "\u{fffd} alone")]);
}
