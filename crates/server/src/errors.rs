//! The forms in which routes say what is wrong: problem details, or that of the vendor whose clients they serve.

use crate::openai::error;
use crate::problem::{Kind, Problem};
use axum::body::Body;
use axum::http::{Response, StatusCode};
use schemars::SchemaGenerator;
use serde_json::{Value, json};

/// A form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errors {
    /// Problem details (RFC 9457).
    Problems,
    /// That of OpenAI, which its clients read.
    OpenAi,
}

impl Errors {
    /// The form for an address at which there is nothing.
    pub fn at(path: &str) -> Errors {
        let is_ours = path.starts_with("/v1/") && !path.starts_with("/v1/agent_core/");
        if is_ours { Errors::OpenAi } else { Errors::Problems }
    }

    /// A problem in this form.
    pub fn response(self, problem: &Problem) -> Response<Body> {
        match self {
            Errors::Problems => problem.response(),
            Errors::OpenAi => error::response(problem),
        }
    }

    /// The status under which it is answered in this form.
    pub fn status(self, status: u16) -> u16 {
        match self {
            Errors::Problems => status,
            Errors::OpenAi => error::status(status),
        }
    }

    /// What the document says of the problems with a status of this form.
    pub fn failure(self, status: u16, schemas: &mut SchemaGenerator) -> Value {
        let kinds: Vec<&Kind> = Kind::ALL.iter().filter(|kind| self.status(kind.status) == status).collect();
        let word = |kind: &&Kind| match self {
            Errors::Problems => format!("{} (`/problems/{}`)", kind.title, kind.name),
            Errors::OpenAi => kind.title.to_string(),
        };
        let words = match kinds.as_slice() {
            [] => {
                StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or("").to_string()
            }
            kinds => kinds.iter().map(word).collect::<Vec<_>>().join("; "),
        };
        let content = match self {
            Errors::Problems => {
                json!({"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}})
            }
            Errors::OpenAi => json!({"application/json": {"schema": schemas.subschema_for::<error::ErrorAnswer>()}}),
        };
        json!({"description": words, "content": content})
    }
}
