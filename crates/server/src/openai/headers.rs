//! The headers of a request that say what OpenAI's bodies have no field for.

use crate::call::Call;
use crate::problem::{FieldProblem, Problem};

/// The headers that this face takes.
pub const HEADERS: [(&str, &str); 3] = [
    (
        "Mainpath-Session",
        "The conversation: the name of a session, which is made if there is none, or the id of a trace. What is new in the request is said there.",
    ),
    (
        "Mainpath-Approvals",
        "What happens to calls that need a person: `deny` (the default), `ask` (they wait until somebody decides, at `/api/traces/{id}/approvals`), or `yes`, which needs the scope `approve`.",
    ),
    ("Mainpath-Workspace", "The folder that the agent works in, within those that the server allows."),
];

/// The text of a header; `None` where it is missing or empty. Errors: it is not ASCII.
pub fn header<'a, Q, B>(call: &'a Call<Q, B>, name: &str) -> Result<Option<&'a str>, Problem> {
    let Some(value) = call.headers.get(name.to_ascii_lowercase()) else { return Ok(None) };
    let text = value.to_str().map_err(|_| wrong_header(name, "is no ASCII text"))?;
    Ok(Some(text.trim()).filter(|text| !text.is_empty()))
}

/// The problem of a header that cannot be used.
pub fn wrong_header(name: &str, detail: &str) -> Problem {
    Problem::fields(vec![FieldProblem::new("header", format!("/{name}"), detail)])
}
