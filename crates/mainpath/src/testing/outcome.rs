//! What a test came to.

use serde::Serialize;

/// What a test came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TestOutcome {
    /// Its name.
    pub name: String,
    /// Whether everything that is expected holds.
    pub passed: bool,
    /// What does not hold, the first thing first.
    pub problems: Vec<TestProblem>,
    /// What else is to be known.
    pub notes: Vec<String>,
    /// How many answers the model gave.
    pub turns: u32,
    /// How many calls it made.
    pub calls: u32,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
}

/// Something that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TestProblem {
    /// Where, such as `call 2` or `answer`.
    pub at: String,
    /// What does not hold there, in one line.
    pub what: String,
    /// The step as it was recorded, a line for each thing of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recorded: Vec<String>,
    /// As it was played.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub played: Vec<String>,
}

impl TestProblem {
    /// Something without steps to show.
    pub(super) fn new(at: impl Into<String>, what: impl Into<String>) -> TestProblem {
        TestProblem { at: at.into(), what: what.into(), recorded: Vec::new(), played: Vec::new() }
    }
}
