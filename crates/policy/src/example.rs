//! Calls with the verdict that a policy is to give, as rule files have them.

use mainpath_types::{Access, ApprovalMode, Decision, Origin};
use serde_json::Value;

/// A call in a rule file, with the verdict that all rules together are to give.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyExample {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What it is called.
    pub name: Option<String>,
    /// The call, such as `bash(git push)`; with arguments, the tool's name.
    pub call: String,
    /// The tool's arguments, where the call does not say them.
    pub arguments: Option<Value>,
    /// The verdict that is expected.
    pub expect: Decision,
    /// The rule that is expected to decide, if it matters.
    pub rule: Option<String>,
    /// What the run may do unasked.
    pub access: Access,
    /// What happens to calls that a person is to decide.
    pub mode: ApprovalMode,
    /// Where the arguments came from.
    pub origins: Vec<Origin>,
    /// Values in the arguments that come from somebody's text and that no person named.
    pub from_text: Vec<String>,
}
