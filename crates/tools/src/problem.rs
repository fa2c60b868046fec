//! Why a call cannot be run.

use mainpath_types::ToolOutput;

/// Why a call cannot be run as it was written: a stable code, and the words that the model sees.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Problem {
    /// A stable code, such as `invalid_arguments`.
    pub code: &'static str,
    /// What is wrong, where, and what to do.
    pub text: String,
}

impl Problem {
    /// A problem.
    pub fn new(code: &'static str, text: impl Into<String>) -> Problem {
        Problem { code, text: text.into() }
    }
}

impl From<Problem> for ToolOutput {
    fn from(problem: Problem) -> ToolOutput {
        ToolOutput::failed(problem.code, problem.text)
    }
}
