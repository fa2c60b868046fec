//! What a person can do about an error. Each interface says it in its own words.

use mainpath_policy::ToolNameError;

/// What a person can do about an error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Switch this tool on in the configuration.
    SwitchOnTool(String),
    /// Look which tools there are.
    ListTools,
    /// Look which traces there are.
    ListTraces,
    /// Start a first trace.
    StartTrace,
    /// Read this preset of a repository, and trust it.
    TrustPreset(String),
    /// Read the suite, and trust it.
    TrustSuite,
    /// Deny the tool by a rule.
    DenyTool,
}

impl Remedy {
    /// What helps where a text names no tool.
    pub(crate) fn of(error: &ToolNameError) -> Option<Remedy> {
        matches!(error, ToolNameError::Unknown { .. }).then_some(Remedy::ListTools)
    }
}
