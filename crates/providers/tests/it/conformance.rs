//! The same scenarios for every wire format, against a real server that checks each request.

use crate::played::{Outcome, play};
use crate::{assistant, call, conversations, head, result, user};
use bytes::Bytes;
use mainpath_providers::{
    Anthropic, Call, Codec, Endpoint, Gemini, HttpClient, HttpProvider, OpenAiChat, OpenAiResponses, Provider, Quirks,
    Timeouts, encode, resolve,
};
use mainpath_testkit::model_server::{Answer, Behaviour, Format, ModelServer, Reply};
use mainpath_types::{
    Delta, Message, ModelError, ModelErrorKind, ModelReply, ModelRequest, Part, Role, Seq, Signature, Source,
    StopReason, Usage,
};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn chat_completions_conforms() {
    scenarios(Format::Chat);
}

#[test]
fn responses_conforms() {
    scenarios(Format::Responses);
}

#[test]
fn anthropic_messages_conforms() {
    scenarios(Format::Anthropic);
}

#[test]
fn gemini_conforms() {
    scenarios(Format::Gemini);
}

/// What differs between the formats.
pub struct Vendor {
    pub codec: Box<dyn Codec>,
    /// Headers that the endpoint's profile brings.
    pub headers: Vec<(String, String)>,
    /// Its word for the output limit.
    limit: &'static str,
    /// Its word for a filter.
    filter: &'static str,
}

pub fn vendor(format: Format, issuer: &str) -> Vendor {
    let quirks = Quirks::default();
    let with = |codec: Box<dyn Codec>, limit, filter| Vendor { codec, headers: Vec::new(), limit, filter };
    match format {
        Format::Chat => with(Box::new(OpenAiChat::new(quirks, issuer)), "length", "content_filter"),
        Format::Responses => {
            with(Box::new(OpenAiResponses::new(quirks, issuer)), "max_output_tokens", "content_filter")
        }
        Format::Anthropic => {
            let headers = vec![("anthropic-version".to_owned(), "2026-10-21".to_owned())];
            Vendor { headers, ..with(Box::new(Anthropic::new(quirks, issuer)), "max_tokens", "refusal") }
        }
        Format::Gemini => with(Box::new(Gemini::new(quirks, issuer)), "MAX_TOKENS", "SAFETY"),
    }
}

type Scenario = (&'static str, fn(Format));

fn scenarios(format: Format) {
    let all: [Scenario; 14] = [
        ("a model is found by its full name", full_name),
        ("a text comes whole and streamed", text),
        ("a tool loop runs to its answer", tool_loop),
        ("calls made together are answered together", parallel_calls),
        ("thinking goes back to who made it and to nobody else", thinking),
        ("pictures are accepted", pictures),
        ("every status has its kind", statuses),
        ("the answer is the same wherever the stream is cut", cut_everywhere),
        ("the bytes before a new message never change", earlier_bytes),
        ("a connection that breaks, stalls or brings garbage is told apart", broken_connections),
        ("a call that the limit cut never looks complete", output_limit),
        ("a text that was cut or filtered is told from a whole one", cut_texts),
        ("one wrong byte never panics", wrong_bytes),
        ("whatever the conversation, the request is accepted", odd_conversations),
    ];
    for (name, scenario) in all {
        // Seen only when a scenario fails.
        println!("{format:?}: {name}");
        scenario(format);
    }
}

pub const ISSUER: &str = "conformance";

fn codec(format: Format) -> Box<dyn Codec> {
    vendor(format, ISSUER).codec
}

/// A server, and a model that speaks to it.
struct Place {
    server: ModelServer,
    provider: Arc<dyn Provider>,
}

fn place(format: Format, replies: Vec<Reply>) -> Place {
    waiting(format, replies, Duration::from_secs(20))
}

/// The same with a model that waits this long for the next piece.
fn waiting(format: Format, replies: Vec<Reply>, idle: Duration) -> Place {
    let server = ModelServer::start(Behaviour::in_order(replies)).unwrap();
    let mut endpoint = Endpoint::new(&server.url_of(format)).unwrap();
    endpoint.timeouts = Timeouts { first_byte: Duration::from_secs(20), idle };
    let Vendor { codec, headers, .. } = vendor(format, ISSUER);
    endpoint.headers = headers;
    Place { server, provider: Arc::new(HttpProvider::new(&HttpClient::new(), endpoint, codec)) }
}

impl Place {
    /// Asks once; the answer, and its text as watchers saw it.
    fn ask(&self, messages: &[Message], stream: bool) -> (Result<ModelReply, ModelError>, String) {
        let request = ModelRequest { head: head(stream), messages: messages.to_vec() };
        let body = vec![Bytes::from(encode(self.provider.codec(), &request))];
        let mut text = String::new();
        let mut deltas = |delta: Delta| {
            if let Delta::Text { text: more } = delta {
                text.push_str(&more);
            }
        };
        let call = Call { body, head: &request.head, request: 1 };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let reply = runtime.block_on(self.provider.call(call, &mut deltas));
        assert_eq!(self.server.violations(), Vec::<String>::new());
        (reply, text)
    }

    fn answer(&self, messages: &[Message], stream: bool) -> ModelReply {
        self.ask(messages, stream).0.unwrap()
    }

    fn refusal(&self, stream: bool) -> ModelError {
        let error = self.ask(&[user(1, "hi")], stream).0.unwrap_err();
        assert!(!error.message.contains('\n'), "{}", error.message);
        error
    }

    /// The last request's body as text.
    fn last_body(&self) -> String {
        String::from_utf8(self.server.requests().pop().unwrap().bytes.to_vec()).unwrap()
    }
}

/// Text with all that is hard to cut: letters of two to four bytes, escapes.
fn rich() -> Answer {
    Answer {
        thinking: "Zwölf … 🦀".into(),
        signature: "T1BBUVVF/+==".into(),
        text: "Grüße \u{1F469}\u{200D}\u{1F680} \"so\" \\ \n".into(),
        usage: Usage { input: 100, output: 20, cache_read: 64, cache_write: 0, reasoning: 7 },
        ..Answer::default()
    }
    .and_call("look", json!({"at": "Straße 🛣\n"}))
}

fn signatures(parts: &[Part]) -> Vec<Signature> {
    let signature = |part: &Part| match part {
        Part::Thinking { signature, .. } | Part::ToolCall { signature, .. } => signature.clone(),
        _ => None,
    };
    parts.iter().filter_map(signature).collect()
}

fn full_name(format: Format) {
    let Place { server, .. } = place(format, vec![Answer::text("Here.").into()]);
    let provider = resolve(&server.model_of(format), &|_| None).unwrap();
    let reply = Place { server, provider }.answer(&[user(1, "Where?")], true);
    assert_eq!(reply.parts, [Part::text("Here.")]);
}

fn text(format: Format) {
    let place = place(format, vec![Answer::text("Grüße, that was a longer text.").into()]);
    for stream in [false, true] {
        let (reply, seen) = place.ask(&[user(1, "hi")], stream);
        let usage = Some(Usage { input: 10, output: 5, ..Usage::default() });
        let expected = ModelReply {
            parts: vec![Part::text("Grüße, that was a longer text.")],
            usage,
            stop: StopReason::End,
            model: Some("test-model".into()),
        };
        assert_eq!(reply, Ok(expected));
        assert_eq!(seen, if stream { "Grüße, that was a longer text." } else { "" });
    }
}

fn tool_loop(format: Format) {
    for stream in [false, true] {
        let replies = vec![Answer::call("look", json!({"at": "x"})).into(), Answer::text("Seen.").into()];
        let place = place(format, replies);
        let mut messages = vec![user(1, "Look.")];
        let reply = place.answer(&messages, stream);
        assert_eq!((&reply.parts, reply.stop), (&vec![call("look", "{\"at\":\"x\"}")], StopReason::ToolCalls));
        messages.extend([assistant(2, reply.parts), result(3, (2, 0), "RESULT")]);
        let reply = place.answer(&messages, stream);
        assert_eq!((reply.parts, reply.stop), (vec![Part::text("Seen.")], StopReason::End));
        assert_eq!(place.last_body().matches("RESULT").count(), 1);
    }
}

fn parallel_calls(format: Format) {
    for stream in [false, true] {
        let first = Answer { text: "Both.".into(), ..Answer::call("look", json!({"at": "a"})) };
        let first = first.and_call("look", json!({"at": "b"}));
        let place = place(format, vec![first.into(), Answer::text("Seen.").into()]);
        let reply = place.answer(&[user(1, "Look.")], stream);
        let expected = vec![Part::text("Both."), call("look", "{\"at\":\"a\"}"), call("look", "{\"at\":\"b\"}")];
        assert_eq!((&reply.parts, reply.stop), (&expected, StopReason::ToolCalls));
        let results = [result(3, (2, 0), "FIRST"), result(4, (2, 1), "SECOND")];
        let messages = [vec![user(1, "Look."), assistant(2, reply.parts)], results.into(), vec![user(5, "And?")]];
        place.answer(&messages.concat(), stream);
        let body = place.last_body();
        assert!(body.find("FIRST").unwrap() < body.find("SECOND").unwrap());
    }
}

fn thinking(format: Format) {
    for stream in [false, true] {
        let place = place(format, vec![rich().into(), Answer::text("Seen.").into()]);
        let reply = place.answer(&[user(1, "Look.")], stream);
        let made = signatures(&reply.parts);
        assert!(!made.is_empty() && made.iter().all(|signature| signature.issuer == ISSUER), "{made:?}");
        let thought = |part: &Part| matches!(part, Part::Thinking { text, .. } if *text == rich().thinking);
        assert!(reply.parts.iter().any(thought), "{:?}", reply.parts);
        let messages = vec![user(1, "Look."), assistant(2, reply.parts), result(3, (2, 0), "x")];
        place.answer(&messages, stream);
        let body = place.last_body();
        assert!(made.iter().all(|signature| body.contains(&signature.value)), "{body}");
        // Another server of the same format, and every other.
        let request = ModelRequest { head: head(stream), messages };
        let elsewhere = String::from_utf8(encode(&*vendor(format, "other").codec, &request)).unwrap();
        assert!(!made.iter().any(|signature| elsewhere.contains(&signature.value)), "{elsewhere}");
    }
}

fn pictures(format: Format) {
    let place = place(format, vec![Answer::text("Nice.").into()]);
    let picture =
        |data: &str| Part::Image { source: Source::Base64 { data: data.into(), media_type: "image/png".into() } };
    let url = Part::Image { source: Source::Url { url: "https://example.com/a.png".into() } };
    let mut seen = result(3, (2, 0), "here");
    if let Part::ToolResult { content, .. } = &mut seen.parts[0] {
        content.push(picture("UkVTVUxU"));
    }
    let asked =
        Message { seq: Some(Seq(1)), role: Role::User, parts: vec![Part::text("See"), picture("VVNFUg=="), url] };
    place.answer(&[asked, assistant(2, vec![call("look", "{}")]), seen], true);
    assert_eq!(place.last_body().matches("VVNFUg==").count(), 1);
}

fn statuses(format: Format) {
    use ModelErrorKind::*;
    let expected = [
        (400, BadRequest),
        (401, Auth),
        (403, Auth),
        (404, NotFound),
        (413, Overflow),
        (429, RateLimit),
        (500, Server),
        (502, Server),
        (503, Overloaded),
        (504, Timeout),
        (529, Overloaded),
    ];
    for (status, kind) in expected {
        let headers = vec![("retry-after".to_owned(), "2".to_owned())];
        let body = json!({"error": {"message": "no good"}}).to_string();
        let error = place(format, vec![Reply::Error { status, headers, body }]).refusal(true);
        assert_eq!((error.kind, error.status, error.retry_after_ms), (kind, Some(status), Some(2000)), "{status}");
        assert!(error.message.contains("no good"), "{}", error.message);
    }
}

/// The body of a response in chunks.
fn body(mut response: &[u8]) -> Vec<u8> {
    let after =
        |bytes: &[u8], mark: &[u8]| bytes.windows(mark.len()).position(|part| part == mark).unwrap() + mark.len();
    response = &response[after(response, b"\r\n\r\n")..];
    let mut body = Vec::new();
    loop {
        let start = after(response, b"\r\n");
        let size = std::str::from_utf8(&response[..start - 2]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return body;
        }
        body.extend_from_slice(&response[start..start + size]);
        response = &response[start + size + 2..];
    }
}

fn cut_everywhere(format: Format) {
    let codec = codec(format);
    let answer = rich().and_call("stop", json!({}));
    let stream = body(&format.render(&answer, true));
    let expected = play(&*codec, &[&stream]);
    let Answer { text, thinking, calls, usage, .. } = answer;
    let reply = expected.reply.clone().unwrap();
    assert_eq!((reply.usage, reply.stop), (Some(usage), StopReason::ToolCalls));
    assert_eq!(expected, Outcome { reply: Ok(reply), text, thinking, calls });
    for cut in 0..=stream.len() {
        let (start, end) = stream.split_at(cut);
        assert_eq!(play(&*codec, &[start, end]), expected, "cut at {cut}");
    }
    let single: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(play(&*codec, &single), expected);
    let with_carriage_returns = String::from_utf8(stream).unwrap().replace('\n', "\r\n");
    assert_eq!(play(&*codec, &[with_carriage_returns.as_bytes()]), expected);
}

/// What makes an encoded conversation worth keeping.
fn earlier_bytes(format: Format) {
    let codec = codec(format);
    let after = codec.encode_frame(&head(true)).after;
    let mut messages = vec![user(1, "go")];
    let encoded = |messages: &[Message]| {
        let body = encode(&*codec, &ModelRequest { head: head(true), messages: messages.into() });
        body.strip_suffix(&after[..]).unwrap().to_vec()
    };
    let mut before = encoded(&messages);
    for seq in (2..40).step_by(3) {
        messages.push(assistant(seq, vec![call("look", "{}"), call("look", "not json")]));
        messages.push(result(seq + 1, (seq, 0), "x"));
        messages.push(result(seq + 2, (seq, 1), "y"));
        let now = encoded(&messages);
        assert!(now.starts_with(&before), "message {seq}");
        before = now;
    }
}

fn broken_connections(format: Format) {
    use ModelErrorKind::*;
    let rendered = format.render(&rich(), true).len();
    for cut in [rendered / 3, rendered / 2] {
        assert_eq!(place(format, vec![Reply::CutAfter(rich(), cut)]).refusal(true).kind, StreamCut, "cut at {cut}");
        let stalled = waiting(format, vec![Reply::Stall(rich(), cut)], Duration::from_millis(100));
        assert_eq!(stalled.refusal(true).kind, Timeout, "stall at {cut}");
    }
    assert_eq!(place(format, vec![Reply::Close]).refusal(true).kind, Connection);
    let page = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>".to_vec();
    assert_eq!(place(format, vec![Reply::Garbage(page.clone())]).refusal(true).kind, Server);
    assert_eq!(place(format, vec![Reply::Garbage(page)]).refusal(false).kind, Server);
    assert_eq!(place(format, vec![Reply::Garbage(b"\x00\xff\r\n\r\n".to_vec())]).refusal(true).kind, Server);
}

fn output_limit(format: Format) {
    let limit = vendor(format, ISSUER).limit.to_owned();
    let calls = vec![("look".to_owned(), "{\"at\": \"ha".to_owned())];
    let cut = Answer { calls, finish_reason: Some(limit), ..Answer::default() };
    for stream in [false, true] {
        let reply = place(format, vec![cut.clone().into()]).answer(&[user(1, "hi")], stream);
        assert_eq!(reply.stop, StopReason::MaxTokens);
        // A format whose arguments are objects has no place for half of one; at Gemini a call comes whole or not at all.
        let half = |arguments: &str| "{\"at\": \"ha".starts_with(arguments);
        match &reply.parts[..] {
            [] if format == Format::Gemini => {}
            [Part::ToolCall { name, arguments, .. }] => assert!(name == "look" && half(arguments), "{arguments}"),
            other => panic!("{other:?}"),
        }
    }
}

fn cut_texts(format: Format) {
    let Vendor { limit, filter, .. } = vendor(format, ISSUER);
    for (word, stop) in [(limit, StopReason::MaxTokens), (filter, StopReason::ContentFilter)] {
        for stream in [false, true] {
            let answer = Answer { finish_reason: Some(word.into()), ..Answer::text("The first half") };
            let reply = place(format, vec![answer.into()]).answer(&[user(1, "hi")], stream);
            assert_eq!(
                (reply.stop, mainpath_types::text_of(&reply.parts).as_str()),
                (stop, "The first half"),
                "{word}"
            );
        }
    }
}

fn wrong_bytes(format: Format) {
    let stream = body(&format.render(&rich(), true));
    for at in 0..stream.len() {
        let mut broken = stream.clone();
        broken[at] ^= 0x55;
        let _ = play(&*codec(format), &[&broken]);
    }
}

/// Encodes a request and holds it against the vendor's rules.
pub fn request_check(format: Format) -> impl Fn(&ModelRequest) -> Result<(), String> {
    let Vendor { codec, headers, .. } = vendor(format, ISSUER);
    let endpoint = Endpoint::new("http://127.0.0.1:1").unwrap();
    move |request| {
        let route = codec.route(&endpoint, &request.head);
        let path = route.url.strip_prefix("http://127.0.0.1:1").unwrap();
        let body = serde_json::from_slice(&encode(&*codec, request)).unwrap();
        format.check(path, &headers, &body)
    }
}

fn odd_conversations(format: Format) {
    let (codec, check) = (codec(format), request_check(format));
    let mut own = play(&*codec, &[&body(&format.render(&rich(), true))]).reply.unwrap().parts;
    own.retain(|part| !signatures(std::slice::from_ref(part)).is_empty());
    let mut runner = TestRunner::deterministic();
    let requests = conversations::request(own);
    for _ in 0..200 {
        let request = requests.new_tree(&mut runner).unwrap().current();
        if request.messages.is_empty() {
            continue;
        }
        assert_eq!(check(&request), Ok(()), "{request:?}");
    }
}
