//! Whole exchanges with every wire format, recorded and played: see CONTRIBUTING.md for how to record them anew.

use crate::conformance::{ISSUER, Vendor, vendor};
use crate::{assistant, call, head, result, user};
use bytes::Bytes;
use mainpath_providers::{Call, Endpoint, HttpClient, HttpProvider, Key, Provider, encode};
use mainpath_testkit::model_server::{Answer, Behaviour, Cassette, Format, ModelServer, Reply};
use mainpath_types::{
    Message, ModelError, ModelErrorKind, ModelReply, ModelRequest, Part, Signature, StopReason, Usage,
};
use serde_json::json;
use std::path::PathBuf;

const KEY: &str = "sk-cassette-secret";
const FORMATS: [Format; 4] = [Format::Chat, Format::Responses, Format::Anthropic, Format::Gemini];

fn file(format: Format) -> PathBuf {
    let name = format!("{format:?}.json").to_lowercase();
    [env!("CARGO_MANIFEST_DIR"), "tests", "cassettes", &name].iter().collect()
}

/// What the server that is recorded says: it thinks and calls twice, it answers, it fails.
fn said() -> Vec<Reply> {
    let first = Answer {
        thinking: "Both, to compare.".into(),
        signature: "T1BBUVVF".into(),
        text: "Ich schaue nach … 🦀".into(),
        usage: Usage { input: 100, output: 20, cache_read: 64, cache_write: 0, reasoning: 7 },
        ..Answer::call("look", json!({"at": "Straße"})).and_call("look", json!({"at": "b"}))
    };
    let error = json!({"error": {"message": "come back later", "type": "overloaded_error", "code": null}});
    let busy = Reply::Error { status: 503, headers: Vec::new(), body: error.to_string() };
    vec![first.into(), Answer::text("They are the same.").into(), busy]
}

/// The conversations that the server answers. The second goes on from the first answer.
fn conversation(n: usize, answer: &[Part], observation: &str) -> Vec<Message> {
    let mut messages = vec![user(1, "Are they the same?")];
    if n > 0 {
        messages.push(assistant(2, answer.to_vec()));
        messages.extend([result(3, (2, 0), observation), result(4, (2, 1), "stone")]);
    }
    if n > 1 {
        messages.extend([assistant(5, vec![Part::text("They are the same.")]), user(6, "Sure?")]);
    }
    messages
}

/// What the model says in the three conversations, each asked for as a stream.
fn ask(server: &ModelServer, format: Format, observation: &str) -> Vec<Result<ModelReply, ModelError>> {
    let mut endpoint = Endpoint::new(&server.url_of(format)).unwrap();
    endpoint.key = Key::new(KEY);
    let Vendor { codec, headers, .. } = vendor(format, ISSUER);
    endpoint.headers = headers;
    let provider = HttpProvider::new(&HttpClient::new(), endpoint, codec);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut replies: Vec<Result<ModelReply, ModelError>> = Vec::new();
    for n in 0..3 {
        let answer = replies.first().and_then(|reply| reply.as_ref().ok()).map_or(&[][..], |reply| &reply.parts);
        let request = ModelRequest { head: head(true), messages: conversation(n, answer, observation) };
        let body = vec![Bytes::from(encode(provider.codec(), &request))];
        let call = Call { body, head: &request.head, request: 1 };
        replies.push(runtime.block_on(provider.call(call, &mut |_| {})));
    }
    replies
}

/// The parts of the first answer: alike in all formats, but for what the vendor signed and where it puts that.
fn first_parts(format: Format) -> Vec<Part> {
    let signed = |value: &str| Some(Signature { issuer: ISSUER.into(), value: value.into() });
    let thought = match format {
        Format::Chat => signed(
            r#"[{"data":"T1BBUVVF","format":"openai-responses-v1","id":"rs_1","index":0,"type":"reasoning.encrypted"}]"#,
        ),
        Format::Responses => signed(
            r#"{"encrypted_content":"T1BBUVVF","id":"rs_1","summary":[{"text":"Both, to compare.","type":"summary_text"}],"type":"reasoning"}"#,
        ),
        Format::Anthropic => signed("Signed+ac1a26cc43407fa2/=="),
        Format::Gemini => None,
    };
    let called = signed("T1BBUVVF").filter(|_| format == Format::Gemini);
    vec![
        Part::Thinking { text: "Both, to compare.".into(), signature: thought },
        Part::text("Ich schaue nach … 🦀"),
        Part::ToolCall { name: "look".into(), arguments: r#"{"at":"Straße"}"#.into(), signature: called },
        call("look", r#"{"at":"b"}"#),
    ]
}

fn expected(format: Format) -> Vec<Result<ModelReply, ModelError>> {
    let reply = |parts, usage, stop| ModelReply { parts, usage: Some(usage), stop, model: Some("test-model".into()) };
    let first = Usage { input: 100, output: 20, cache_read: 64, cache_write: 0, reasoning: 7 };
    let last = Usage { input: 10, output: 5, ..Usage::default() };
    let busy = ModelError {
        kind: ModelErrorKind::Overloaded,
        message: String::new(),
        status: Some(503),
        retry_after_ms: None,
    };
    vec![
        Ok(reply(first_parts(format), first, StopReason::ToolCalls)),
        Ok(reply(vec![Part::text("They are the same.")], last, StopReason::End)),
        Err(busy),
    ]
}

/// A server that says what the file says, or under MAINPATH_RECORD=1 one whose words are then written to the file.
fn check(format: Format) {
    let is_recording = std::env::var("MAINPATH_RECORD").is_ok_and(|value| value == "1");
    let behaviour =
        if is_recording { Behaviour::in_order(said()) } else { Behaviour::cassette(&Cassette::read(&file(format))) };
    let server = ModelServer::start(behaviour).unwrap();
    let mut replies = ask(&server, format, "stone");
    assert_eq!(server.violations(), Vec::<String>::new());
    if is_recording {
        server.recorded().write(&file(format));
    }
    // The rest of the line is the address, with a port of its own each time.
    let told =
        replies[2].as_mut().map_or_else(|error| std::mem::take(&mut error.message), |reply| format!("{reply:?}"));
    assert!(told.contains("come back later") && !told.contains(KEY), "{told}");
    assert_eq!(replies, expected(format));
    assert_eq!(server.recorded(), Cassette::read(&file(format)), "nothing of the cassette is left");
}

#[test]
fn a_recorded_tool_loop_and_a_failure_are_understood_in_chat_completions() {
    check(Format::Chat);
}

#[test]
fn a_recorded_tool_loop_and_a_failure_are_understood_in_responses() {
    check(Format::Responses);
}

#[test]
fn a_recorded_tool_loop_and_a_failure_are_understood_in_anthropics_messages() {
    check(Format::Anthropic);
}

#[test]
fn a_recorded_tool_loop_and_a_failure_are_understood_in_gemini() {
    check(Format::Gemini);
}

#[test]
fn a_request_that_was_not_recorded_is_told_with_its_place_and_nothing_more_is_played() {
    let places = [
        (Format::Chat, "/messages/3/content"),
        (Format::Responses, "/input/5/output"),
        (Format::Anthropic, "/messages/2/content/0/content/0/text"),
        (Format::Gemini, "/contents/2/parts/0/functionResponse/response/output"),
    ];
    for (format, place) in places {
        let server = ModelServer::start(Behaviour::cassette(&Cassette::read(&file(format)))).unwrap();
        let mut replies = ask(&server, format, "sand").into_iter();
        assert_eq!(replies.next().unwrap().unwrap().parts, first_parts(format));
        let kinds: Vec<_> = replies.map(|reply| reply.unwrap_err().kind).collect();
        assert_eq!(kinds, [ModelErrorKind::BadRequest; 2]);
        let expected = [
            format!("request 2: {place} is \"sand\", recorded was \"stone\""),
            "request 3: an earlier request was not the recorded one".into(),
        ];
        assert_eq!(server.violations(), expected);
    }
}

#[test]
fn a_request_to_another_address_or_after_the_last_is_refused() {
    let mut cassette = Cassette::read(&file(Format::Chat));
    cassette.exchanges.truncate(2);
    let server = ModelServer::start(Behaviour::cassette(&cassette)).unwrap();
    let replies = ask(&server, Format::Chat, "stone");
    assert_eq!(replies.iter().filter(|reply| reply.is_ok()).count(), 2);
    assert_eq!(server.violations(), ["request 3: the cassette has only 2 exchanges"]);
    let server = ModelServer::start(Behaviour::cassette(&cassette)).unwrap();
    ask(&server, Format::Responses, "stone");
    assert_eq!(server.violations()[0], "request 1: the path is /v1/responses, recorded was /v1/chat/completions");
}

#[test]
fn a_key_is_sent_and_is_in_no_cassette() {
    for format in FORMATS {
        let server = ModelServer::start(Behaviour::in_order(said())).unwrap();
        ask(&server, format, "stone");
        let has_key = |(_, value): &(String, String)| value.contains(KEY);
        assert!(server.requests().iter().all(|request| request.headers.iter().any(has_key)), "{format:?}");
        let fresh = serde_json::to_string(&server.recorded()).unwrap();
        let kept = std::fs::read_to_string(file(format)).unwrap();
        assert!(!fresh.contains(KEY) && !kept.contains(KEY), "{format:?}");
    }
}
