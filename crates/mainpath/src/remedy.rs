//! Typed advice for errors. Each interface turns it into its own commands.

use mainpath_policy::ToolNameError;
use mainpath_types::TraceId;

/// Advice for an error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Switch this tool on in the configuration.
    SwitchOnTool(String),
    /// List the tools.
    ListTools,
    /// List the traces.
    ListTraces,
    /// Start a first trace.
    StartTrace,
    /// Read this preset of a repository, and trust it.
    TrustPreset(String),
    /// Read the suite, and trust it.
    TrustSuite,
    /// Deny the tool by a rule.
    DenyTool,
    /// Send this trace a message.
    SayMore(TraceId),
    /// Continue in a fork of this trace.
    ForkTrace(TraceId),
}

impl Remedy {
    /// The advice for a text that does not name a tool.
    pub(crate) fn of(error: &ToolNameError) -> Option<Remedy> {
        matches!(error, ToolNameError::Unknown { .. }).then_some(Remedy::ListTools)
    }
}
