//! What a failed response means.

use crate::mended::mended;
use crate::words::{error, one_line, readable};
use mainpath_types::{ModelError, ModelErrorKind};
use serde_json::Value;
use std::ops::RangeInclusive;

/// What a server says about an error, as far as it says anything.
#[derive(Default)]
struct Said {
    message: String,
    /// `code`, `type`, `status`, Anthropic's `details.error_code` and the reasons in Google's details, in lower case.
    codes: Vec<String>,
    /// A numeric `code` that is an HTTP status.
    status: Option<u16>,
    /// How long to wait, in milliseconds, from Google's details.
    retry_after_ms: Option<u64>,
}

/// The meaning of a response without success.
pub(crate) fn decode(status: u16, retry_after: Option<&str>, body: &[u8]) -> ModelError {
    let said = match serde_json::from_slice::<Value>(&mended(body)) {
        Ok(value) => said(&value),
        Err(_) => {
            Said { message: readable(body).map(|text| one_line(&text, 200)).unwrap_or_default(), ..Said::default() }
        }
    };
    let mut meaning = meaning(status, &said);
    meaning.status = Some(status);
    meaning.retry_after_ms = retry_after.and_then(milliseconds).or(meaning.retry_after_ms);
    meaning
}

/// The meaning of an error that came inside a successful response: the text of its `error` field, or all there is.
pub(crate) fn in_answer(text: &str) -> ModelError {
    let said = match serde_json::from_str::<Value>(text) {
        Ok(value) => said(&value),
        Err(_) => Said { message: one_line(text, 200), ..Said::default() },
    };
    let status = said.status.or_else(|| said.codes.iter().find_map(|code| status_of(code))).unwrap_or(500);
    meaning(status, &said)
}

/// The status that comes with an error's type or code where it is no part of a stream: `anthropic` 2.12.0,
/// `anthropic/types/shared/error_type.py` and `anthropic/_exceptions.py`; `openai` 3.54.0,
/// `openai/types/responses/response_error.py`, where most codes are about images that cannot be read.
fn status_of(kind: &str) -> Option<u16> {
    Some(match kind {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        "invalid_prompt" | "data_residency_mismatch" => 400,
        code if code.contains("image") => 400,
        _ => return None,
    })
}

fn milliseconds(retry_after: &str) -> Option<u64> {
    let seconds: f64 = retry_after.trim().parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then_some((seconds * 1000.0).ceil() as u64)
}

/// Finds the words in the shapes that servers use: `{"error": {…}}` and `{"error": "…"}` (most), the object itself (vLLM,
/// errors in streams), `{"detail": …}` (FastAPI), one of these in a list (Gemini).
fn said(value: &Value) -> Said {
    let value = value.as_array().and_then(|list| list.first()).unwrap_or(value);
    let inner = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let fields = ["message", "detail", "error"];
    let message = match inner {
        Value::String(text) => text.clone(),
        _ => fields.iter().find_map(|field| inner.get(field)).map_or_else(|| inner.to_string(), text),
    };
    // `google.rpc.ErrorInfo` has a reason, `google.rpc.RetryInfo` a delay such as "3.5s".
    let details = || inner.get("details").and_then(Value::as_array).into_iter().flatten();
    let reasons = details().filter_map(|detail| detail.get("reason")?.as_str());
    let delay = details().find_map(|detail| detail.get("retryDelay")?.as_str()?.strip_suffix('s'));
    let places = ["/code", "/type", "/status", "/details/error_code"];
    let codes = places.iter().filter_map(|place| inner.pointer(place)?.as_str());
    let codes = codes.chain(reasons).map(str::to_lowercase).collect();
    let number = inner.get("code").and_then(|code| code.as_u64().or_else(|| code.as_str()?.parse().ok()));
    let status = number.and_then(|code| u16::try_from(code).ok()).filter(|code| (400..600).contains(code));
    Said { message: one_line(&message, 300), codes, status, retry_after_ms: delay.and_then(milliseconds) }
}

/// What a status, a code or the words of a server mean.
struct Row {
    /// The statuses that it is for; empty for any.
    on: &'static [RangeInclusive<u16>],
    /// The codes that it is for, in lower case.
    codes: &'static [&'static str],
    /// The words that it is for, in lower case, where there is no such code. Without both, the status is enough.
    words: &'static [&'static str],
    kind: ModelErrorKind,
    /// What it means, and what to do.
    what: &'static str,
}

impl Row {
    const fn of_codes(codes: &'static [&'static str], kind: ModelErrorKind, what: &'static str) -> Row {
        Row { on: &[], codes, words: &[], kind, what }
    }

    const fn of_status(on: &'static [RangeInclusive<u16>], kind: ModelErrorKind, what: &'static str) -> Row {
        Row { on, codes: &[], words: &[], kind, what }
    }

    /// `words`: the message in lower case.
    fn fits(&self, status: u16, said: &Said, words: &str) -> bool {
        let on = self.on.is_empty() || self.on.iter().any(|range| range.contains(&status));
        on && (self.codes.is_empty() && self.words.is_empty()
            || said.codes.iter().any(|code| self.codes.contains(&code.as_str()))
            || self.words.iter().any(|part| words.contains(part)))
    }
}

const NO_CREDIT: &str = "the account has no credit left; add credit or use another key";
const TOO_LARGE: &str = "the request is larger than the model's window";
const TOO_MANY: &str = "too many requests; wait a little";
const FULL: &str = "the server is over capacity";

/// The one place where the codes and words of vendors are read. The first row that fits counts.
static TABLE: [Row; 17] = {
    use ModelErrorKind::*;
    [
        // OpenAI and Anthropic send these with status 429 when an account has reached its limit. Waiting does not help, so this is
        // not a rate limit.
        Row::of_codes(
            &[
                "insufficient_quota",
                "billing_hard_limit_reached",
                "contract_spend_limit_reached",
                "enforced_spend_limit_reached",
            ],
            BadRequest,
            NO_CREDIT,
        ),
        // Of Chat Completions, and of a failed response (`openai` 3.54.0, `types/responses/response_error.py`).
        Row::of_codes(
            &[
                "content_filter",
                "content_policy_violation",
                "image_content_policy_violation",
                "bio_policy",
                "misalignment_policy_violation",
            ],
            ContentFilter,
            "the server's content filter refused the request",
        ),
        // `context_length_exceeded` is OpenAI's code; the words are those of vLLM, llama.cpp, LM Studio, Ollama, Gemini and
        // gateways, which have no common code.
        Row {
            on: &[400..=400, 413..=413, 422..=422, 500..=500],
            codes: &["context_length_exceeded", "exceed_context_size_error", "string_above_max_length"],
            words: &[
                "maximum context length",
                "context length exceeded",
                "exceeds the context",
                "exceed the context",
                "exceed context limit",
                "exceeds the available context",
                "larger than the context",
                "greater than the context length",
                "context window",
                "context size",
                "prompt is too long",
                "input is too long",
                "too many tokens",
                "exceeds the maximum number of tokens",
            ],
            kind: Overflow,
            what: TOO_LARGE,
        },
        Row::of_status(&[413..=413], Overflow, TOO_LARGE),
        Row::of_codes(&["rate_limit_exceeded", "rate_limit_error"], RateLimit, TOO_MANY),
        Row::of_codes(&["overloaded_error", "engine_overloaded", "server_is_overloaded"], Overloaded, FULL),
        Row::of_codes(
            &["invalid_api_key", "api_key_invalid", "authentication_error"],
            Auth,
            "the server does not accept the key",
        ),
        Row::of_status(&[401..=401], Auth, "the server does not accept the key, or needs one"),
        Row::of_status(&[402..=402], BadRequest, NO_CREDIT),
        Row::of_status(&[403..=403], Auth, "the key has no permission for this"),
        Row::of_status(
            &[404..=404],
            NotFound,
            "no such model or address; check the model's name and the base URL (it often ends in /v1)",
        ),
        Row::of_status(&[408..=408, 504..=504], Timeout, "the server timed out"),
        Row::of_status(&[429..=429], RateLimit, TOO_MANY),
        Row::of_status(&[503..=503, 529..=529], Overloaded, FULL),
        Row::of_status(&[500..=599], Server, "the server failed"),
        Row::of_status(
            &[300..=399],
            BadRequest,
            "the server redirects, and Mainpath does not follow; use the address it points to",
        ),
        Row::of_status(&[], BadRequest, "the server does not accept the request"),
    ]
};

fn meaning(status: u16, said: &Said) -> ModelError {
    let words = said.message.to_lowercase();
    let [.., any] = &TABLE;
    let Row { kind, what, .. } = TABLE.iter().find(|row| row.fits(status, said, &words)).unwrap_or(any);
    let message = if said.message.is_empty() { (*what).to_owned() } else { format!("{what}: {}", said.message) };
    ModelError { retry_after_ms: said.retry_after_ms, ..error(*kind, message) }
}

/// Why a server was not reached, as far as the HTTP client tells it in words alone.
#[cfg(feature = "http")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unreached {
    UnknownHost,
    Proxy,
    Other,
}

#[cfg(feature = "http")]
impl Unreached {
    /// Reads the words of `reqwest` and `hyper-util`, all causes together.
    pub fn read(words: &str) -> Unreached {
        let words = words.to_lowercase();
        match words.contains("dns error") {
            true => Unreached::UnknownHost,
            false if words.contains("proxy") || words.contains("tunnel") => Unreached::Proxy,
            false => Unreached::Other,
        }
    }
}
