//! The HTTP driver against a real server on this machine.

use crate::{assistant, call, head, result, user};
use bytes::Bytes;
use mainpath_providers::{Call, Codec, Endpoint, HttpClient, HttpProvider, Key, Provider, Timeouts, encode, groups};
use mainpath_testkit::model_server::{Answer, Behaviour, ModelServer, Reply, render};
use mainpath_types::{Delta, Message, ModelError, ModelErrorKind, ModelReply, ModelRequest, Part, StopReason, Usage};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

const KEY: &str = "sk-very-secret";

fn start(replies: Vec<Reply>) -> ModelServer {
    ModelServer::start(Behaviour::in_order(replies)).unwrap()
}

fn provider(url: &str) -> HttpProvider {
    let mut endpoint = Endpoint::new(url).unwrap();
    endpoint.key = Key::new(KEY);
    endpoint.timeouts = Timeouts { first_byte: Duration::from_secs(20), idle: Duration::from_secs(20) };
    HttpProvider::openai_chat(&HttpClient::new(), endpoint)
}

/// The body as a caller with a cache has it: one segment per piece.
fn segments(codec: &dyn Codec, request: &ModelRequest) -> Vec<Bytes> {
    let frame = codec.encode_frame(&request.head);
    let mut segments = vec![Bytes::from(frame.before)];
    for (number, group) in groups(&request.messages).enumerate() {
        let mut out = if number > 0 { b",".to_vec() } else { Vec::new() };
        codec.encode_group(group, &mut out);
        segments.push(out.into());
        segments.push(Bytes::new());
    }
    segments.push(frame.after.into());
    segments
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

async fn ask_with(
    provider: &HttpProvider,
    messages: Vec<Message>,
    stream: bool,
) -> (Result<ModelReply, ModelError>, String) {
    let request = ModelRequest { head: head(stream), messages };
    let mut text = String::new();
    let mut deltas = |delta: Delta| {
        if let Delta::Text { text: more } = delta {
            text.push_str(&more);
        }
    };
    let call = Call { body: segments(provider.codec(), &request), head: &request.head, request: 1 };
    let reply = provider.call(call, &mut deltas).await;
    (reply, text)
}

fn ask(provider: &HttpProvider, stream: bool) -> Result<ModelReply, ModelError> {
    run(ask_with(provider, vec![user(1, "hi")], stream)).0
}

fn refused(provider: &HttpProvider, stream: bool) -> ModelError {
    let error = ask(provider, stream).unwrap_err();
    assert!(!error.message.contains('\n') && !error.message.contains(KEY), "{}", error.message);
    error
}

#[test]
fn a_conversation_runs_whole_and_streamed_over_one_connection() {
    let first = Answer { thinking: "hm".into(), ..Answer::call("look", json!({"at": "x"})) };
    let server = start(vec![first.into(), Answer::text("Grüße, that was a longer text.").into()]);
    let provider = provider(&server.url());
    let usage = Some(Usage { input: 10, output: 5, ..Usage::default() });
    run(async {
        for stream in [false, true] {
            let conversation =
                vec![user(1, "hi"), assistant(2, vec![call("look", "{\"at\": 1}")]), result(3, (2, 0), "x")];
            let (reply, text) = ask_with(&provider, conversation, stream).await;
            let reply = reply.unwrap();
            assert_eq!((reply.usage, reply.model.as_deref()), (usage, Some("test-model")));
            if stream {
                assert_eq!(
                    (reply.parts, reply.stop),
                    (vec![Part::text("Grüße, that was a longer text.")], StopReason::End)
                );
                assert_eq!(text, "Grüße, that was a longer text.");
            } else {
                let thinking = Part::Thinking { text: "hm".into(), signature: None };
                let parts = vec![thinking, call("look", "{\"at\":\"x\"}")];
                assert_eq!((reply.parts, reply.stop, text), (parts, StopReason::ToolCalls, String::new()));
            }
        }
    });
    assert_eq!((server.count(), server.connections()), (2, 1));
    assert_eq!(server.violations(), Vec::<String>::new());
}

#[test]
fn the_segments_arrive_as_one_body_with_its_length_and_the_key() {
    let server = start(vec![Answer::text("ok").into()]);
    let provider = provider(&server.url());
    ask(&provider, true).unwrap();
    let request = &server.requests()[0];
    let whole = encode(provider.codec(), &ModelRequest { head: head(true), messages: vec![user(1, "hi")] });
    assert_eq!(*request.bytes, whole);
    assert_eq!(request.path, "/v1/chat/completions");
    assert_eq!(request.header("content-length"), Some(whole.len().to_string().as_str()));
    assert_eq!(request.header("transfer-encoding"), None);
    assert_eq!(request.header("authorization"), Some("Bearer sk-very-secret"));
    assert_eq!(request.header("content-type"), Some("application/json"));
}

#[test]
fn no_key_means_no_header() {
    let server = start(vec![Answer::text("ok").into()]);
    let endpoint = Endpoint::new(&server.url()).unwrap();
    ask(&HttpProvider::openai_chat(&HttpClient::new(), endpoint), false).unwrap();
    assert_eq!(server.requests()[0].header("authorization"), None);
}

#[test]
fn a_huge_request_and_a_huge_answer_pass() {
    let (long, answer) = ("x".repeat(8 << 20), "y".repeat(100_000));
    let server = start(vec![Answer::text(&answer).into()]);
    let provider = provider(&server.url());
    let (reply, text) = run(ask_with(&provider, vec![user(1, &long)], true));
    assert_eq!((reply.unwrap().parts, text), (vec![Part::text(answer.as_str())], answer));
    assert_eq!(server.requests()[0].body()["messages"][1]["content"], long.as_str());
}

#[test]
fn of_an_answer_over_the_limit_the_beginning_is_kept_and_it_says_so() {
    for stream in [true, false] {
        let server = start(vec![Answer::text(&"x".repeat(50_000)).into()]);
        let mut endpoint = Endpoint::new(&server.url()).unwrap();
        endpoint.max_response = 10_000;
        let reply = ask(&HttpProvider::openai_chat(&HttpClient::new(), endpoint), stream).unwrap();
        let [Part::Text { text }] = &reply.parts[..] else { panic!("{reply:?}") };
        let note = "\n\n[The answer was larger than what is read; the rest is not here.]";
        let said = text.strip_suffix(note).unwrap();
        assert!(said.len() < 10_000 && said.len() > 500 && said.chars().all(|c| c == 'x'), "{}", said.len());
        assert_eq!(reply.stop, StopReason::MaxTokens);
    }
}

fn reply(status: u16, headers: &[(&str, &str)], body: &str) -> Reply {
    let headers = headers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    Reply::Error { status, headers, body: body.into() }
}

#[test]
fn refusals_of_the_server_keep_their_status_waiting_time_and_words() {
    let quota = r#"{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}"#;
    let server = start(vec![
        reply(401, &[], &format!("{{\"error\":{{\"message\":\"Incorrect API key provided: {KEY}.\"}}}}")),
        reply(429, &[("retry-after", "7")], quota),
        reply(429, &[("retry-after", "7"), ("retry-after-ms", "6500")], quota),
        reply(
            429,
            &[("date", "Sun, 06 Nov 1994 08:49:30 GMT"), ("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")],
            quota,
        ),
        reply(503, &[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")], ""),
        reply(500, &[], "oops"),
        reply(307, &[("location", "http://elsewhere/v1?key=1")], ""),
    ]);
    // Each asks with a client of its own: a client that was refused waits as long as it was told.
    let refused_anew = || refused(&provider(&server.url()), true);
    let url = format!("{}/chat/completions", server.url());
    let expected = |kind, status, retry_after_ms, words: &str| ModelError {
        kind,
        message: format!("{url} answered {status}: {words}"),
        status: Some(status),
        retry_after_ms,
    };
    use ModelErrorKind::*;
    let slow = "too many requests; wait a little: slow down";
    let words = "the server does not accept the key, or needs one: Incorrect API key provided: [key].";
    assert_eq!(refused_anew(), expected(Auth, 401, None, words));
    assert_eq!(refused_anew(), expected(RateLimit, 429, Some(7000), slow));
    assert_eq!(refused_anew(), expected(RateLimit, 429, Some(6500), slow));
    // A date counts by the server's own clock; one that has passed asks for no wait.
    assert_eq!(refused_anew(), expected(RateLimit, 429, Some(7000), slow));
    assert_eq!(refused_anew().retry_after_ms, Some(0));
    assert_eq!(refused_anew(), expected(Server, 500, None, "the server failed: oops"));
    let moved = "the server redirects to http://elsewhere/v1; use that address";
    assert_eq!(refused_anew(), expected(BadRequest, 307, None, moved));
}

#[test]
fn what_a_profile_sends_in_headers_is_masked_where_a_server_repeats_it() {
    let said = r#"{"error":{"message":"no tenant-7f3a9b2c4d5e or Zm9vYmFyYmF6 on 2026-10-21"}}"#;
    let server = start(vec![reply(403, &[], said)]);
    let mut endpoint = Endpoint::new(&server.url()).unwrap();
    let headers = [("x-tenant", "tenant-7f3a9b2c4d5e"), ("x-auth", "Basic Zm9vYmFyYmF6"), ("x-version", "2026-10-21")];
    endpoint.headers = headers.map(|(name, value)| (name.to_string(), value.to_string())).to_vec();
    let error = refused(&HttpProvider::openai_chat(&HttpClient::new(), endpoint), true);
    let words = "the key has no permission for this: no [x-tenant] or [x-auth] on 2026-10-21";
    assert_eq!(error.message, format!("{}/chat/completions answered 403: {words}", server.url()));
}

#[test]
fn a_server_that_is_not_there_is_named_with_what_to_do() {
    // Bound but never listening: the port is ours, so nobody else can answer.
    let socket = tokio::net::TcpSocket::new_v4();
    let port = run(async {
        let socket = socket.unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let addr = socket.local_addr().unwrap();
        let provider = provider(&format!("http://{addr}/v1"));
        let error = ask_with(&provider, vec![user(1, "hi")], true).await.0.unwrap_err();
        (addr, error)
    });
    let (addr, error) = port;
    let expected =
        format!("cannot reach http://{addr}/v1/chat/completions: connection refused; is the server running?");
    assert_eq!((error.kind, error.message), (ModelErrorKind::Connection, expected));
}

#[test]
fn an_unknown_host_is_named() {
    let error = refused(&provider("http://no-such-host.localhost.invalid/v1"), true);
    assert_eq!(error.kind, ModelErrorKind::Connection);
    assert!(error.message.contains("http://no-such-host.localhost.invalid/v1/chat/completions"), "{}", error.message);
}

#[test]
fn https_to_a_plain_server_is_a_connection_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        // Until the client leaves.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let error = refused(&provider(&format!("https://{addr}/v1")), true);
    assert_eq!(error.kind, ModelErrorKind::Connection);
    assert!(error.message.starts_with(&format!("no secure connection to https://{addr}/v1")), "{}", error.message);
    server.join().unwrap();
}

#[test]
fn a_cut_answer_is_a_cut_stream_wherever_it_is_cut() {
    let answer = Answer::text("Hello, this is an answer.");
    for stream in [true, false] {
        let length = render(&answer, stream).len();
        let head = render(&answer, stream).windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
        for bytes in [head, head + 20, length / 2, length - 40] {
            let server = start(vec![Reply::CutAfter(answer.clone(), bytes)]);
            let error = refused(&provider(&server.url()), stream);
            assert_eq!(error.kind, ModelErrorKind::StreamCut, "{bytes}, {}", error.message);
            let start = format!("the answer from {}/chat/completions broke off after ", server.url());
            assert!(error.message.starts_with(&start), "{}", error.message);
        }
    }
}

#[test]
fn a_connection_closed_without_an_answer_is_a_connection_error() {
    for reply in [Reply::Close, Reply::CutAfter(Answer::text("x"), 12)] {
        let server = start(vec![reply]);
        let error = refused(&provider(&server.url()), true);
        assert_eq!(error.kind, ModelErrorKind::Connection);
        let start = format!("{}/chat/completions closed the connection without an answer: ", server.url());
        assert!(error.message.starts_with(&start), "{}", error.message);
    }
}

#[test]
fn garbage_is_a_server_error_that_shows_what_came() {
    let html = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 9\r\n\r\n<p>hi</p>";
    let cases: [(&[u8], bool, &str); 4] = [
        (b"SSH-2.0-OpenSSH_9.9\r\n", true, "answered with something that is not HTTP"),
        (html.as_bytes(), true, "something that is not an event stream: \"<p>hi</p>\""),
        (html.as_bytes(), false, "something that is not a chat completion: \"<p>hi</p>\""),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", false, "not a chat completion: nothing"),
    ];
    for (bytes, stream, words) in cases {
        let server = start(vec![Reply::Garbage(bytes.into())]);
        let error = refused(&provider(&server.url()), stream);
        assert_eq!(error.kind, ModelErrorKind::Server, "{}", error.message);
        assert!(error.message.contains(words) && error.message.contains(&server.url()), "{}", error.message);
    }
}

#[test]
fn a_server_that_falls_silent_is_a_timeout_before_and_within_the_answer() {
    let answer = Answer::text("Hello");
    let middle = render(&answer, true).len() / 2;
    let (short, long) = (Duration::from_millis(60), Duration::from_secs(20));
    let cases = [(0, short, long, "no answer from"), (middle, long, short, "and nothing came for 60 ms")];
    for (bytes, first_byte, idle, words) in cases {
        let server = start(vec![Reply::Stall(answer.clone(), bytes)]);
        let mut endpoint = Endpoint::new(&server.url()).unwrap();
        endpoint.timeouts = Timeouts { first_byte, idle };
        let error = refused(&HttpProvider::openai_chat(&HttpClient::new(), endpoint), true);
        assert_eq!(error.kind, ModelErrorKind::Timeout);
        assert!(error.message.contains(words) && error.message.contains(&server.url()), "{}", error.message);
    }
}

#[test]
fn a_server_that_does_not_stream_or_streams_unasked_is_understood() {
    let answer = Answer::text("Hello there, all of you.");
    for (asked, streamed) in [(true, false), (false, true)] {
        let server = start(vec![Reply::Rendered(render(&answer, streamed).into(), 0)]);
        let provider = provider(&server.url());
        let reply = ask(&provider, asked).unwrap();
        assert_eq!(reply.parts, [Part::text("Hello there, all of you.")]);
    }
}

#[test]
fn a_key_that_cannot_be_a_header_is_an_auth_error_without_the_key() {
    let mut endpoint = Endpoint::new("http://127.0.0.1:9/v1").unwrap();
    endpoint.key = Key::new("sk-very\nsecret");
    let error = refused(&HttpProvider::openai_chat(&HttpClient::new(), endpoint), true);
    let expected = "the key contains characters that cannot be sent; check the variable that holds it";
    assert_eq!((error.kind, error.message.as_str()), (ModelErrorKind::Auth, expected));
}

#[test]
fn a_thousand_calls_at_once_are_all_answered() {
    let server = ModelServer::start(Behaviour::new(|request| {
        let said = request.body()["messages"][1]["content"].as_str().unwrap_or_default().to_owned();
        Answer { delay_ms: 20, ..Answer::text(&format!("you said {said}")) }.into()
    }))
    .unwrap();
    let provider = provider(&server.url());
    run(async {
        let calls = (0..1000).map(|n| ask_with(&provider, vec![user(1, &n.to_string())], true));
        for ((reply, _), n) in futures_util::future::join_all(calls).await.into_iter().zip(0..) {
            assert_eq!(reply.unwrap().parts, [Part::text(format!("you said {n}"))]);
        }
    });
    assert_eq!((server.count(), server.violations()), (1000, Vec::new()));
}

#[test]
fn dropping_a_call_ends_it() {
    let server = start(vec![Reply::Stall(Answer::text("x"), 0), Answer::text("next").into()]);
    let provider = provider(&server.url());
    run(async {
        let arrived = async {
            while server.count() == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            _ = ask_with(&provider, vec![user(1, "hi")], true) => panic!("nobody answered"),
            () = arrived => {}
        }
        let (reply, _) = ask_with(&provider, vec![user(1, "hi")], true).await;
        assert_eq!(reply.unwrap().parts, [Part::text("next")]);
    });
}

#[test]
fn a_limit_that_one_model_meets_holds_back_all_that_use_the_same_key_and_nobody_else() {
    let body = json!({"error": {"message": "slow down", "type": "rate_limit_error"}}).to_string();
    let refusal = |seconds: &str| Reply::Error {
        status: 429,
        headers: vec![("retry-after".into(), seconds.into())],
        body: body.clone(),
    };
    let server = start(vec![refusal("60"), Answer::text("now").into(), refusal("1"), Answer::text("now").into()]);
    let client = HttpClient::new();
    let with_key = |key: &str| {
        let mut endpoint = Endpoint::new(&server.url()).unwrap();
        endpoint.key = Key::new(key);
        HttpProvider::openai_chat(&client, endpoint)
    };
    let (first, second, stranger) = (with_key("sk-one"), with_key("sk-one"), with_key("sk-two"));
    let (third, fourth) = (with_key("sk-three"), with_key("sk-three"));
    run(async {
        let (refused, _) = ask_with(&first, vec![user(1, "hi")], false).await;
        assert_eq!(refused.unwrap_err().kind, ModelErrorKind::RateLimit);
        let mut waiting = Box::pin(ask_with(&second, vec![user(1, "hi")], false));
        let early = tokio::time::timeout(Duration::ZERO, &mut waiting).await;
        assert!(early.is_err(), "it waits before it asks");
        // Meanwhile the stranger has asked and is answered.
        tokio::select! {
            biased;
            _ = &mut waiting => panic!("it did not wait"),
            (answer, _) = ask_with(&stranger, vec![user(1, "hi")], false) => assert!(answer.is_ok()),
        }
        assert_eq!(server.count(), 2);
        drop(waiting);
        // Whoever has waited for long enough asks.
        let begun = std::time::Instant::now();
        let (refused, _) = ask_with(&third, vec![user(1, "hi")], false).await;
        assert_eq!(refused.unwrap_err().kind, ModelErrorKind::RateLimit);
        assert!(ask_with(&fourth, vec![user(1, "hi")], false).await.0.is_ok());
        assert!(begun.elapsed() >= Duration::from_secs(1), "it waits before it asks");
    });
    assert_eq!(server.count(), 4);
}
