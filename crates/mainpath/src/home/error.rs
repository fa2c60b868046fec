//! Why values of `config.toml` cannot be used.

use crate::Remedy;
use mainpath_policy::ToolNameError;
use mainpath_runtime::BadForm;

/// A value that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{problem}")]
pub(super) struct ValueError {
    /// Where it is in the file, in bytes.
    pub at: usize,
    /// The cause.
    pub problem: ValueProblem,
}

/// Why a value cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ValueProblem {
    /// An entry of a list of `[redact]`.
    #[error("redact.{list}: {source}")]
    Redact { list: &'static str, source: BadForm },
    #[error("two {kind}s have the name {name:?}; give each its own name")]
    SameHook { kind: &'static str, name: String },
    /// A hook names tools that do not exist.
    #[error("the hook {hook:?}: {source}")]
    HookTools { hook: String, source: ToolNameError },
    #[error("tool_limits: {0}")]
    LimitedTool(#[from] ToolNameError),
    #[error("tool_limits: {0} has two limits, one under another name of it")]
    TwoLimits(String),
}

impl ValueProblem {
    /// The advice for this problem.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            ValueProblem::HookTools { source, .. } | ValueProblem::LimitedTool(source) => Remedy::of(source),
            _ => None,
        }
    }
}

/// Why a key of the file as a whole can never hold.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeyError {
    #[error("allowed_tools names no tool; name some, or leave it out for all")]
    NoTools,
    #[error(
        "[shares]: {system} + {summary} + {recent} + {current} is {}; together they may be at most 100, and only system may be 0",
        u32::from(*system) + u32::from(*summary) + u32::from(*recent) + u32::from(*current)
    )]
    Shares { system: u8, summary: u8, recent: u8, current: u8 },
}

impl KeyError {
    /// The key.
    pub fn key(&self) -> &'static [&'static str] {
        match self {
            KeyError::NoTools => &["allowed_tools"],
            KeyError::Shares { .. } => &["shares"],
        }
    }
}
