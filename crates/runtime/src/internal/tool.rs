//! What an internal tool is, and what it answers from.

use crate::internal::problem::BadCall;
use mainpath_core::{Goals, Log, State};
use mainpath_store::ScopedStore;
use mainpath_tools::{Fut, Tools};
use mainpath_types::{EventId, GoalOp, Seq};
use serde::de::DeserializeOwned;

/// What calls of an internal tool are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To change the plan.
    Plan,
    /// To read what other agents sent.
    Read,
    /// To look into what is no longer shown. An answer that does nothing else leaves nothing behind.
    LookBack,
    /// To be shown more from here on. The same holds.
    ShowMore,
}

/// A tool whose calls have no effect outside the trace: they are answered when the answer that makes them is recorded.
pub(crate) trait InternalTool: Sync {
    /// The tool's name.
    fn name(&self) -> &'static str;

    /// What calls of it are for.
    fn purpose(&self) -> Purpose;

    /// Answers a call with these arguments. Errors: what is wrong with it, for the model; nothing has changed then.
    fn answer<'a>(
        &'a self,
        arguments: &'a str,
        context: &'a mut InternalContext<'_>,
    ) -> Fut<'a, Result<String, BadCall>>;
}

/// What internal tools answer from, and what the calls of one answer have changed so far.
pub(crate) struct InternalContext<'a> {
    /// The trace as it is when the answer is recorded.
    pub state: &'a State,
    pub tools: &'a Tools,
    /// The whole log, where a call looks back.
    pub log: &'a Log,
    pub store: ScopedStore<'a>,
    /// So many tokens the window has room for, for each call that looks back.
    pub room: u64,
    /// The plan with what was changed of it.
    pub plan: Goals,
    /// How it was changed.
    pub ops: Vec<GoalOp>,
    /// The number that the answer gets.
    pub head: Option<Seq>,
    /// The messages of other agents that were shown, by their events.
    pub read: Vec<EventId>,
    /// How many more messages are to be shown from here on.
    pub expand: Option<u32>,
}

impl InternalContext<'_> {
    /// Reads the arguments of a call. Errors: what is wrong with them, for the model.
    pub fn read<T: DeserializeOwned>(&self, tool: &str, arguments: &str) -> Result<T, BadCall> {
        let value = self.tools.arguments(tool, arguments)?;
        Ok(serde_json::from_value(value)?)
    }
}
