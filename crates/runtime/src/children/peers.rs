//! Agents on other machines.

use mainpath_store::Fut;
use mainpath_tools::AgentCall;
use mainpath_types::{ApprovalMode, EventId, Share, TraceId};

/// What an agent on another machine is to do.
#[derive(Clone, Copy, Debug)]
pub struct RemoteTask<'a> {
    /// Its trace: a [remote](TraceId::elsewhere) one.
    pub trace: &'a TraceId,
    /// The last event of that trace, where it goes on; 0: it is to be begun.
    pub after: EventId,
    /// A key of this task: asked for again under it, it is begun once.
    pub key: &'a str,
    /// Who asks.
    pub parent: &'a TraceId,
    /// What is asked for.
    pub call: &'a AgentCall,
    /// All that it is told.
    pub message: &'a str,
    /// What it is given of the parent's budgets.
    pub share: &'a Share,
    /// What happens to calls that need a person.
    pub approvals: ApprovalMode,
}

/// Why an agent on another machine was not begun.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Unbegun {
    /// One line for the parent's model.
    pub why: String,
    /// Whether it may be asked for again.
    pub is_for_now: bool,
}

/// Begins agents on other machines. What comes of them is read from the store, which knows their traces by their ids.
pub trait Peers: Send + Sync {
    /// Begins an agent, or has it go on, once. Errors: it could not be asked for, or is refused there.
    fn begin<'a>(&'a self, task: RemoteTask<'a>) -> Fut<'a, Result<(), Unbegun>>;

    /// Asks the server of a remote trace to resume it. Errors: the server cannot be reached, or refuses it.
    fn resume<'a>(&'a self, trace: &'a TraceId) -> Fut<'a, Result<(), Unbegun>>;
}
