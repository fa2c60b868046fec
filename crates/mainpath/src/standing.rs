//! The status of a trace: one word, computed from one snapshot of its log.

use crate::trace::Read;
use crate::{Error, Host, Logs, Trace};
use mainpath_core::{State, pending, status};
use mainpath_runtime::Waiting;
use mainpath_store::{Owner, ReadLog, ScopedStore};
use mainpath_types::TraceId;

/// A run is open and no process drives it: its process was killed.
pub const INTERRUPTED: &str = "interrupted";
/// A run that a server does not continue by itself: the server died again and again while it was under way.
pub const SET_ASIDE: &str = "set_aside";
/// The log is damaged, missing or not a file.
pub const DAMAGED: &str = "damaged";

/// All words for the status of a trace.
pub const STANDINGS: [&str; 9] =
    ["running", "waiting", INTERRUPTED, SET_ASIDE, "completed", "stopped", "failed", "imported", DAMAGED];

/// Tells whether a process drives a trace.
pub(crate) type Drives<'a> = dyn Fn(&TraceId) -> bool + Sync + 'a;

/// The status of a trace by a snapshot of its log. `is_driven`: a process drove it before the log was read.
pub(crate) async fn standing(
    logs: Option<&Logs>,
    store: ScopedStore<'_>,
    read: &Read,
    is_driven: bool,
    drives: &Drives<'_>,
) -> &'static str {
    standing_of(logs, store, Snapshot { log: &read.log, state: &read.state }, is_driven, drives).await
}

/// A log that was read, and the state that it makes.
struct Snapshot<'a> {
    log: &'a ReadLog,
    state: &'a State,
}

async fn standing_of(
    logs: Option<&Logs>,
    store: ScopedStore<'_>,
    Snapshot { log, state }: Snapshot<'_>,
    is_driven: bool,
    drives: &Drives<'_>,
) -> &'static str {
    if log.damage.is_some() || log.events.is_empty() {
        return DAMAGED;
    }
    match stands(store, state, is_driven, drives).await {
        INTERRUPTED => cut_off(logs, &state.trace).await,
        status => status,
    }
}

/// The status of a trace with an open run that no process drives. A log that was cut within a run looks the same.
pub(crate) async fn cut_off(logs: Option<&Logs>, trace: &TraceId) -> &'static str {
    match logs {
        Some(logs) if logs.has_lost_its_end(trace).await => DAMAGED,
        Some(logs) if logs.is_set_aside(trace) => SET_ASIDE,
        _ => INTERRUPTED,
    }
}

/// The status by the log and by whether a process drives the trace. A trace that waits only for its agents has the status of its agents: it
/// runs while one of them works, and is interrupted if one of them is, or if one has ended and its result was not read.
async fn stands(store: ScopedStore<'_>, state: &State, is_driven: bool, drives: &Drives<'_>) -> &'static str {
    // Its own timers may also be pending.
    let is_agent_or_time = |one: &Waiting| matches!(one, Waiting::Child(_) | Waiting::Timer);
    let waits_for_agents = || Waiting::among(&pending(state)).iter().all(is_agent_or_time);
    match status(state) {
        "running" if !is_driven => INTERRUPTED,
        "waiting" if waits_for_agents() => stands_with_agents(store, state, is_driven, drives).await,
        status => status,
    }
}

async fn stands_with_agents(
    store: ScopedStore<'_>,
    state: &State,
    is_driven: bool,
    drives: &Drives<'_>,
) -> &'static str {
    let mut stand = "waiting";
    for child in state.children.open().filter_map(|child| child.trace.as_ref()) {
        if child.elsewhere().is_some() {
            match store.of(&state.trace).driver().await {
                Ok(Some(owner)) if owner != Owner::Unnamed => return "running",
                _ => continue,
            }
        }
        let is_child_driven = drives(child);
        let agent = match Read::of(store.of(child)).await {
            Ok(read) if read.state.run.is_some() => Box::pin(stands(store, &read.state, is_child_driven, drives)).await,
            // It is not there yet, or has ended and will be heard.
            _ => INTERRUPTED,
        };
        match agent {
            "running" => return "running",
            INTERRUPTED if is_driven => return "running",
            INTERRUPTED => stand = INTERRUPTED,
            _ => {}
        }
    }
    stand
}

impl Host {
    /// Returns true if a process drives a trace. One that waits for its next try in this process has no owner and continues all the same.
    pub(crate) fn drives(&self, trace: &TraceId) -> bool {
        self.runtime().goes_on(self.scope(), trace)
            || self.logs().is_some_and(|logs| logs.is_driven(trace).unwrap_or(true))
    }
}

impl Logs {
    /// The status of a trace, as lists have it, by its log. `is_driven`: a process drove it before the log was read.
    pub async fn standing(&self, log: &ReadLog, state: &State, is_driven: bool) -> &'static str {
        let drives = |trace: &TraceId| self.is_driven(trace).unwrap_or(true);
        standing_of(Some(self), self.scoped(), Snapshot { log, state }, is_driven, &drives).await
    }
}

impl Trace {
    /// The status of the trace now, as lists have it: see [`STANDINGS`].
    ///
    /// # Errors
    /// The log cannot be read.
    pub async fn standing(&self) -> Result<&'static str, Error> {
        let is_driven = self.is_driven_now().await?;
        Ok(self.standing_in(&*self.look().await?, is_driven).await)
    }

    /// Returns true if a process drives the trace. Call it before the log is read: what its driver wrote before it ended is then in
    /// the snapshot.
    pub(crate) async fn is_driven_now(&self) -> Result<bool, Error> {
        Ok(self.host().drives(self.id()) || self.is_driven().await?)
    }

    /// The status by a snapshot of the log.
    pub(crate) async fn standing_in(&self, read: &Read, is_driven: bool) -> &'static str {
        let host = self.host();
        let store = ScopedStore::new(host.store(), host.scope());
        standing(host.logs(), store, read, is_driven, &|trace| host.drives(trace)).await
    }
}
