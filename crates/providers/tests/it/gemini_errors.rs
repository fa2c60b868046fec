//! What errors of a Gemini server mean.

use mainpath_providers::{Codec, Gemini, Quirks};
use mainpath_types::{ModelError, ModelErrorKind};
use serde_json::{Value, json};

fn error(status: u16, body: &Value) -> ModelError {
    Gemini::new(Quirks::default(), "gemini").decode_error(status, None, body.to_string().as_bytes())
}

fn kind(code: u16, status: &str, message: &str) -> ModelErrorKind {
    error(code, &json!({"error": {"code": code, "message": message, "status": status}})).kind
}

#[test]
fn each_status_has_its_kind() {
    use ModelErrorKind::*;
    let expected = [
        (400, "INVALID_ARGUMENT", BadRequest),
        (400, "FAILED_PRECONDITION", BadRequest),
        (401, "UNAUTHENTICATED", Auth),
        (403, "PERMISSION_DENIED", Auth),
        (404, "NOT_FOUND", NotFound),
        (429, "RESOURCE_EXHAUSTED", RateLimit),
        (500, "INTERNAL", Server),
        (503, "UNAVAILABLE", Overloaded),
        (504, "DEADLINE_EXCEEDED", Timeout),
    ];
    for (code, status, expected) in expected {
        assert_eq!((status, kind(code, status, "m")), (status, expected));
    }
}

#[test]
fn the_words_and_the_details_say_more_than_the_status() {
    let overflow = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).";
    assert_eq!(kind(400, "INVALID_ARGUMENT", overflow), ModelErrorKind::Overflow);
    let details = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}]);
    let body = json!({"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "INVALID_ARGUMENT", "details": details}});
    let expected = ModelError {
        kind: ModelErrorKind::Auth,
        message: "the server does not accept the key: API key not valid. Please pass a valid API key.".into(),
        status: Some(400),
        retry_after_ms: None,
    };
    assert_eq!(error(400, &body), expected);
    // Some errors of streams come in a list.
    assert_eq!(error(400, &json!([body])), expected);
}

#[test]
fn the_time_to_wait_is_in_the_header_or_in_the_details() {
    let body = |delay: Value| {
        let details = json!([{"@type": "type.googleapis.com/google.rpc.QuotaFailure"}, {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]);
        json!({"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED", "details": details}})
    };
    let wait = |delay: Value| error(429, &body(delay)).retry_after_ms;
    assert_eq!(wait(json!("37s")), Some(37_000));
    assert_eq!(wait(json!("3.5s")), Some(3500));
    for odd in [json!("37"), json!("-1s"), json!("s"), json!(37), json!("NaNs"), Value::Null] {
        assert_eq!(wait(odd.clone()), None, "{odd}");
    }
    let codec = Gemini::new(Quirks::default(), "gemini");
    let both = codec.decode_error(429, Some("2"), body(json!("37s")).to_string().as_bytes());
    assert_eq!(both.retry_after_ms, Some(2000));
}
