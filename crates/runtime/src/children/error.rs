//! Why a child agent cannot be started.

use crate::children::peers::Unbegun;
use crate::error::RuntimeError;
use crate::unusable::HostCause;
use mainpath_store::StoreError;
use mainpath_tools::{EvaluateTool, Tool};
use mainpath_types::{GoalId, TraceId};

/// Why a child cannot be started, or cannot continue: one line for its parent's model.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// The call's arguments are invalid.
    #[error("{problem}")]
    Call {
        /// What is wrong with them.
        problem: String,
    },
    /// The call continues an agent that its trace has not started.
    #[error("there is no agent {0} that this one has started")]
    Unknown(TraceId),
    /// The call continues an agent whose trace was removed.
    #[error("the agent {0} is not there any more: start another")]
    Gone(TraceId),
    /// The child was given no trace.
    #[error("it has no trace")]
    NoTrace,
    /// The call has no task for it.
    #[error("it has no task")]
    NoTask,
    /// The call names no goal to judge.
    #[error("there is no goal in focus; name one in {}", EvaluateTool::NAME)]
    NoFocus,
    /// The call names a goal that is not in the plan.
    #[error("there is no goal {}", .0.0)]
    NoGoal(GoalId),
    /// The parent was given no spec.
    #[error("the trace has no spec")]
    NoSpec,
    /// The parent's spec was erased.
    #[error("the trace's spec was erased")]
    SpecErased,
    /// The call names a preset, and there are none.
    #[error("there is no preset {0:?}; leave agent_type out")]
    NoPreset(String),
    /// The call names skills, and there are none.
    #[error("this agent has no skills to give; leave skills out")]
    NoSkills,
    /// The host has no spec for the child.
    #[error(transparent)]
    Host(HostCause),
    /// The workspace cannot be copied for it.
    #[error("no copy of the folder can be made for it: {why}")]
    NoCopy {
        /// Why not, redacted.
        why: String,
    },
    /// The call names another machine, and none is configured.
    #[error("no other machine is set up here")]
    NoPeers,
    /// The server of another machine refuses it.
    #[error(transparent)]
    Refused(#[from] Unbegun),
    /// The server of another machine did not answer for too long.
    #[error("{why}, for {minutes} minutes; it may go on there: continue it later (continue_from)")]
    Unanswered {
        /// Why it did not answer the last time.
        why: String,
        /// How long it was asked.
        minutes: u64,
    },
    /// Its log cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its trace cannot be started, or refuses mail.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
}

impl ChildError {
    /// The host has no spec for the child, for this reason.
    pub fn host(cause: impl Into<HostCause>) -> ChildError {
        ChildError::Host(cause.into())
    }
}
