//! What a run's caller says of all its calls, beside the rules: which tools there are at all, and whether they run by themselves.

use mainpath_policy::{Breakpoints, NON_INTERACTIVE, ToolNames};
use mainpath_types::{ApprovalMode, Decision, Spec, Verdict};

/// What a spec says of all its calls, beside the rules.
pub struct CallTerms {
    /// The tools that the caller allows, if not all.
    pub allowed: Option<Vec<ToolNames>>,
    /// Whether calls that rules allow run by themselves.
    pub auto_execute: bool,
    /// Where it stops.
    pub(crate) breakpoints: Breakpoints,
}

impl CallTerms {
    /// The terms of a spec. A name that cannot be read allows nothing.
    pub fn of(spec: &Spec) -> CallTerms {
        let read = || spec.allowed_tools.iter().filter_map(|names| names.parse().ok()).collect();
        CallTerms {
            allowed: (!spec.allowed_tools.is_empty()).then(read),
            auto_execute: spec.auto_execute_tools,
            breakpoints: Breakpoints::of(spec),
        }
    }

    /// Whether the caller allows a tool.
    pub fn allow(&self, tool: &str) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.iter().any(|names| names.matches(tool)))
    }

    /// The verdict on a call where nothing runs by itself.
    pub fn hold(&self, verdict: Verdict, mode: ApprovalMode) -> Verdict {
        if self.auto_execute || verdict.decision != Decision::Allow {
            return verdict;
        }
        let (decision, reason) = match mode {
            ApprovalMode::Ask | ApprovalMode::Yes => {
                (Decision::Ask, "Every call needs approval in this run (--no-auto-execute).".to_string())
            }
            ApprovalMode::Deny => (
                Decision::Deny,
                format!("Every call needs approval in this run (--no-auto-execute). {NON_INTERACTIVE}"),
            ),
        };
        Verdict { decision, rule: "run.auto-execute-tools".into(), reason }
    }
}
