//! What goes wrong, as problem details (RFC 9457): a stable type, a status, one line for people, and every wrong field.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use mainpath::{Error, ErrorKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A problem, as it is answered: `application/problem+json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// What kind of problem it is: `/problems/NAME`, which never changes.
    #[serde(rename = "type")]
    pub kind: String,
    /// The same in words.
    pub title: String,
    /// The status of the answer.
    pub status: u16,
    /// What is wrong here, in one line.
    pub detail: String,
    /// Every wrong field, where a request has some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldProblem>,
    /// After how many seconds it may be tried again, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
}

/// A field that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FieldProblem {
    /// Where it stands: `body`, `query` or `header`.
    #[serde(rename = "in")]
    pub place: String,
    /// The field, as a JSON pointer; empty for the whole.
    pub pointer: String,
    /// What is wrong with it.
    pub detail: String,
    /// True if the request may not have this field.
    #[serde(skip)]
    pub is_unknown: bool,
}

impl FieldProblem {
    /// A field of this place that cannot be used.
    pub fn new(place: impl Into<String>, pointer: impl Into<String>, detail: impl Into<String>) -> FieldProblem {
        FieldProblem { place: place.into(), pointer: pointer.into(), detail: detail.into(), is_unknown: false }
    }

    /// A field that the request may not have. `instead` follows in the detail: the fields that it may have.
    pub fn unknown(place: &str, pointer: &str, instead: &str) -> FieldProblem {
        let new = FieldProblem::new(place, pointer, format!("is no field here{instead}"));
        FieldProblem { is_unknown: true, ..new }
    }
}

/// The kinds of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name, the end of its type.
    pub name: &'static str,
    /// The status of the answer.
    pub status: u16,
    /// The kind in words.
    pub title: &'static str,
    /// What to do about it.
    pub advice: &'static str,
}

macro_rules! kinds {
    ($($name:ident = $text:literal, $status:literal, $title:literal, $advice:literal;)*) => {
        impl Kind {
            $(#[doc = $title] pub const $name: Kind = Kind { name: $text, status: $status, title: $title, advice: $advice };)*
            /// All of them.
            pub const ALL: &[Kind] = &[$(Kind::$name),*];
        }
    };
}

kinds! {
    NOT_JSON = "not-json", 400, "The body is not JSON", "Send a JSON object.";
    INVALID = "invalid", 422, "A field cannot be used", "See errors: each names a field and what is wrong with it.";
    UNSUPPORTED = "unsupported", 400, "That is not supported here", "See detail.";
    UNAUTHENTICATED = "unauthenticated", 401, "A key is needed", "Send Authorization: Bearer KEY. The first key lies in the file that `mainpath serve` names at its start; `mainpath keys new` makes others.";
    FORBIDDEN = "forbidden", 403, "The key may not do that", "Use a key with the scope that detail names.";
    FOREIGN = "foreign-origin", 403, "The request comes from a foreign page or names a foreign host", "Set server.origins or server.hosts in config.toml if it is yours.";
    NOT_FOUND = "not-found", 404, "There is no such thing", "See detail.";
    METHOD = "method-not-allowed", 405, "The address has no such method", "See Allow.";
    TIMEOUT = "timeout", 408, "The request took too long to arrive", "Send it again.";
    BUSY = "busy", 409, "Somebody else works on it", "Wait, or stop it first.";
    REFUSED = "refused", 409, "It cannot do that as it stands", "See detail.";
    DAMAGED = "trace-damaged", 409, "A file of the trace is damaged or missing", "See detail: restore the file from a copy where the server runs, or remove the trace.";
    REUSED = "key-reused", 409, "The Idempotency-Key was used for another request", "Use a new key for a new request.";
    TOO_LARGE = "too-large", 413, "The body is too large", "See server.max_body in config.toml.";
    MODEL_KEY = "model-key", 422, "There is no key for the model", "Set it where the server runs; see GET /api/models.";
    RATE = "rate-limited", 429, "Too many requests", "Wait as long as Retry-After says.";
    INTERNAL = "internal", 500, "Something failed", "See detail; the log of the server says more.";
    ELSEWHERE = "other-machine", 502, "Another machine did not answer as it should", "See detail; try again when it is there.";
    SCARCE = "out-of-files", 503, "The server cannot open more files now", "Wait as long as Retry-After says. If it lasts, raise the limit of open files where the server runs: ulimit -n.";
    CUT_OFF = "run-cut-off", 503, "The server stops before the run has ended", "Resume the trace that detail names; sent again, the request would start another run.";
    UNAVAILABLE = "unavailable", 503, "The server is about to end, or has too much to do", "Try again later.";
    READ_ONLY = "read-only", 507, "Nothing can be written", "Make room on the disk of the server; it goes on by itself.";
}

impl Problem {
    /// A problem of this kind.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Problem {
        Problem {
            kind: format!("/problems/{}", kind.name),
            title: kind.title.into(),
            status: kind.status,
            detail: detail.into(),
            errors: Vec::new(),
            retry_after: None,
        }
    }

    /// Returns true if it is of this kind.
    pub fn is(&self, kind: Kind) -> bool {
        self.kind.strip_prefix("/problems/") == Some(kind.name)
    }

    /// Fields of a part of the request that cannot be used.
    pub fn fields(errors: Vec<FieldProblem>) -> Problem {
        let detail = summary(&errors);
        Problem { errors, ..Problem::new(Kind::INVALID, detail) }
    }

    /// The same with further fields, those that it does not name yet.
    pub fn with(self, more: Vec<FieldProblem>) -> Problem {
        let mut errors = self.errors;
        let is_new = |more: &FieldProblem| errors.iter().all(|known| known.pointer != more.pointer);
        let more: Vec<FieldProblem> = more.into_iter().filter(is_new).collect();
        errors.extend(more);
        Problem::fields(errors)
    }

    /// A field of the query that cannot be used.
    pub fn query(pointer: impl Into<String>, detail: impl Into<String>) -> Problem {
        Problem::field(pointer, detail).of_query()
    }

    /// The same of a request that has no body.
    pub fn of_query(mut self) -> Problem {
        // Others have a detail of their own.
        let is_summary = self.is(Kind::INVALID) && !self.errors.is_empty();
        for field in self.errors.iter_mut().filter(|field| field.place == "body") {
            field.place = "query".into();
        }
        let detail = if is_summary { summary(&self.errors) } else { self.detail };
        Problem { detail, ..self }
    }

    /// What goes wrong with the field here, if it is what the caller gave, and otherwise what it is.
    pub fn at(pointer: &'static str) -> impl Fn(Error) -> Problem {
        move |error| match error.kind() {
            ErrorKind::Invalid if error.field().is_none() => Problem::field(pointer, error.message()),
            _ => error.into(),
        }
    }

    /// A field of the body that cannot be used.
    pub fn field(pointer: impl Into<String>, detail: impl Into<String>) -> Problem {
        Problem::fields(vec![FieldProblem::new("body", pointer, detail)])
    }

    /// The same problem, of a field of the body.
    pub fn of_field(self, pointer: impl Into<String>) -> Problem {
        Problem { errors: vec![FieldProblem::new("body", pointer, self.detail.clone())], ..self }
    }

    /// An `Idempotency-Key` was used for another request.
    pub fn reused() -> Problem {
        Problem::new(Kind::REUSED, "the Idempotency-Key was used for another request before")
    }

    /// There is no such thing.
    pub fn not_found(detail: impl Into<String>) -> Problem {
        Problem::new(Kind::NOT_FOUND, detail)
    }

    /// The answer.
    pub fn response(&self) -> Response<Body> {
        let text = serde_json::to_string(self).unwrap_or_default();
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.status == 401 {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.is(Kind::CUT_OFF) {
            headers.insert("x-should-retry", HeaderValue::from_static("false"));
        }
        response
    }
}

/// What is wrong with these fields, in a line.
fn summary(errors: &[FieldProblem]) -> String {
    match errors {
        [one] if one.pointer.is_empty() => format!("{}: {}", one.place, one.detail),
        [one] => format!("{} {}: {}", one.place, one.pointer, one.detail),
        more => format!("{} fields cannot be used", more.len()),
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        let kind = match (error.kind(), error.field()) {
            (ErrorKind::Invalid, Some(field)) => {
                let element = error.index().map(|index| format!("/{index}")).unwrap_or_default();
                let pointer = format!("/{}{element}", field.replace('.', "/"));
                return Problem::field(pointer, error.problem().trim_start_matches([':', ' ']));
            }
            // Which field it is, is not known.
            (ErrorKind::Invalid, None) => Kind::INVALID,
            (ErrorKind::Auth, _) => Kind::MODEL_KEY,
            (ErrorKind::NotFound, _) => Kind::NOT_FOUND,
            (ErrorKind::Busy, _) => Kind::BUSY,
            (ErrorKind::Refused, _) => Kind::REFUSED,
            (ErrorKind::Damaged, _) => Kind::DAMAGED,
            (ErrorKind::Reused, _) => return Problem::reused(),
            (ErrorKind::ReadOnly, _) => Kind::READ_ONLY,
            (ErrorKind::Scarce, _) => {
                return Problem { retry_after: Some(1), ..Problem::new(Kind::SCARCE, error.message()) };
            }
            _ => Kind::INTERNAL,
        };
        Problem::new(kind, error.message())
    }
}
