//! Problems in OpenAI's form, which its clients read.

use crate::problem::{FieldProblem, Kind, Problem};
use crate::reply;
use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is wrong, in OpenAI's form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorAnswer {
    /// What is wrong.
    pub error: ErrorBody,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    /// In one line, for people.
    pub message: String,
    /// `invalid_request_error`, `permission_error`, `rate_limit_error` or `server_error`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The field that cannot be used, such as `messages[0].role`.
    pub param: Option<String>,
    /// What kind of problem it is, for programs.
    pub code: Option<String>,
}

/// The status under which a problem is answered: wrong fields are 400.
pub fn status(status: u16) -> u16 {
    if status == Kind::INVALID.status { 400 } else { status }
}

/// The answer.
pub fn response(problem: &Problem) -> Response<Body> {
    let answer = ErrorAnswer { error: body(problem) };
    let mut response = reply::json(status(problem.status), &answer);
    let headers = response.headers_mut();
    if problem.status == 401 {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if let Some(seconds) = problem.retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if !may_retry(problem) {
        headers.insert("x-should-retry", HeaderValue::from_static("false"));
    }
    response
}

/// The answer for a run that failed. It must not be begun again by itself: its tools may have done something.
pub fn run_failed(error: &ErrorBody) -> Response<Body> {
    let answer = ErrorAnswer { error: error.clone() };
    let mut response = reply::json(502, &answer);
    response.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
    response
}

/// Whether the clients may do by themselves what they do after a 409 or a 5xx: ask again.
fn may_retry(problem: &Problem) -> bool {
    let is = |kind: Kind| name(problem) == kind.name;
    !is(Kind::CUT_OFF) && !is(Kind::REFUSED) && !is(Kind::REUSED) && !is(Kind::BUSY) && !is(Kind::INTERNAL)
}

fn name(problem: &Problem) -> &str {
    problem.kind.rsplit('/').next().unwrap_or_default()
}

fn body(problem: &Problem) -> ErrorBody {
    let line = |field: &FieldProblem| match param(&field.pointer) {
        Some(param) => format!("{param}: {}", field.detail),
        None => field.detail.clone(),
    };
    let message = match problem.errors.as_slice() {
        [] => problem.detail.clone(),
        fields => fields.iter().map(line).collect::<Vec<_>>().join("; "),
    };
    let kind = match problem.status {
        403 => "permission_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    let param = problem.errors.first().and_then(|field| param(&field.pointer));
    let code = Some(code(problem).replace('-', "_"));
    ErrorBody { message, kind: kind.into(), param, code }
}

fn code(problem: &Problem) -> &str {
    let first = problem.errors.first();
    match name(problem) {
        known if known == Kind::UNAUTHENTICATED.name => "invalid_api_key",
        known if known == Kind::UNSUPPORTED.name => "unsupported_parameter",
        known if known == Kind::RATE.name => "rate_limit_exceeded",
        known if known == Kind::NOT_FOUND.name && first.is_some_and(|field| field.pointer == "/model") => {
            "model_not_found"
        }
        known if known == Kind::INVALID.name => match first {
            Some(field) if field.is_unknown => "unknown_parameter",
            _ => "invalid_value",
        },
        known => known,
    }
}

/// A JSON pointer as OpenAI writes it: `/messages/0/role` is `messages[0].role`.
fn param(pointer: &str) -> Option<String> {
    let mut written = String::new();
    for part in pointer.split('/').filter(|part| !part.is_empty()) {
        match part.bytes().all(|byte| byte.is_ascii_digit()) {
            true => written.push_str(&format!("[{part}]")),
            false if written.is_empty() => written.push_str(part),
            false => written.push_str(&format!(".{part}")),
        }
    }
    Some(written).filter(|written| !written.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_named_as_openai_names_it_and_every_wrong_one_is_told() {
        let first = FieldProblem::new("body", "/messages/0/role", "is nobody's");
        let second = FieldProblem::unknown("body", "/colour", "");
        let of = |errors: Vec<FieldProblem>| body(&Problem::fields(errors));
        let told = of(vec![first.clone(), second.clone()]);
        assert_eq!(told.message, "messages[0].role: is nobody's; colour: is no field here");
        assert_eq!((told.param.as_deref(), told.code.as_deref()), (Some("messages[0].role"), Some("invalid_value")));
        assert_eq!(of(vec![second]).code.as_deref(), Some("unknown_parameter"));
        let none = body(&Problem::not_found("there is no model").of_field("/model"));
        assert_eq!((none.kind.as_str(), none.code.as_deref()), ("invalid_request_error", Some("model_not_found")));
    }
}
