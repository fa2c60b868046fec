//! What failed responses mean.

use mainpath_providers::{Codec, OpenAiChat};
use mainpath_types::{ModelError, ModelErrorKind};
use serde_json::{Value, json};

fn error(status: u16, body: &Value) -> ModelError {
    OpenAiChat::default().decode_error(status, None, body.to_string().as_bytes())
}

fn kind(status: u16, code: &str, message: &str) -> ModelErrorKind {
    error(status, &json!({"error": {"message": message, "type": "t", "param": null, "code": code}})).kind
}

#[test]
fn a_status_has_a_kind() {
    use ModelErrorKind::*;
    let expected = [
        (400, BadRequest),
        (401, Auth),
        (402, BadRequest),
        (403, Auth),
        (404, NotFound),
        (408, Timeout),
        (413, Overflow),
        (418, BadRequest),
        (422, BadRequest),
        (429, RateLimit),
        (500, Server),
        (502, Server),
        (503, Overloaded),
        (504, Timeout),
        (529, Overloaded),
    ];
    for (status, expected) in expected {
        assert_eq!((status, kind(status, "x", "m")), (status, expected));
    }
}

#[test]
fn codes_and_words_say_more_than_the_status() {
    use ModelErrorKind::*;
    assert_eq!(kind(400, "context_length_exceeded", ""), Overflow);
    assert_eq!(kind(400, "", "This model's maximum context length is 8192 tokens."), Overflow);
    assert_eq!(kind(500, "", "the request exceeds the available context size"), Overflow);
    assert_eq!(kind(401, "", "maximum context length"), Auth);
    assert_eq!(kind(429, "insufficient_quota", "You exceeded your current quota"), BadRequest);
    assert_eq!(kind(400, "content_filter", ""), ContentFilter);
    assert_eq!(kind(400, "invalid_api_key", ""), Auth);
    assert_eq!(kind(500, "overloaded_error", ""), Overloaded);
    assert!(!kind(429, "insufficient_quota", "").is_retryable());
}

#[test]
fn the_line_says_what_the_server_said_in_whatever_shape() {
    let message = |body: Value| error(400, &body).message;
    let expected = "the server does not accept the request: no good";
    assert_eq!(message(json!({"error": {"message": "no\n  good", "code": 7}})), expected);
    assert_eq!(message(json!({"error": "no good"})), expected);
    assert_eq!(message(json!({"object": "error", "message": "no good", "code": 400})), expected);
    assert_eq!(message(json!({"detail": "no good"})), expected);
    assert_eq!(message(json!("no good")), expected);
    assert_eq!(message(json!({"detail": [{"loc": 1}]})), "the server does not accept the request: [{\"loc\":1}]");
    let bare = |body: &[u8]| OpenAiChat::default().decode_error(502, None, body).message;
    assert_eq!(bare(b""), "the server failed");
    assert_eq!(bare(b"<h1>Bad\r\nGateway</h1>"), "the server failed: <h1>Bad Gateway</h1>");
    assert_eq!(bare(&[0xff, 0xfe]), "the server failed");
    assert!(bare("x".repeat(100_000).as_bytes()).len() < 300);
}

#[test]
fn retry_after_counts_as_seconds_or_not_at_all() {
    let wait = |header: &str| OpenAiChat::default().decode_error(429, Some(header), b"{}").retry_after_ms;
    assert_eq!(wait("2"), Some(2000));
    assert_eq!(wait(" 0.25 "), Some(250));
    assert_eq!(wait("0"), Some(0));
    for header in ["-1", "NaN", "inf", "Wed, 21 Oct 2026 07:28:00 GMT", ""] {
        assert_eq!(wait(header), None, "{header}");
    }
}
