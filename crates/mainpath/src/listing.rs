//! Which traces there are: the rows of the index, with where each stands now.

use crate::trace::Read;
use crate::{Error, ErrorKind, Host, Logs, Trace};
use mainpath_core::{State, pending, short_name, status};
use mainpath_index::{Hit, HitPlace, Index, IndexError, Row, Wanted, row};
use mainpath_runtime::Waiting;
use mainpath_store::{Owner, ScopedStore, Store, TraceEntry};
use mainpath_types::{FinishReason, Micros, TraceId, format_time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::UNIX_EPOCH;

/// What is said of a trace whose log says that it runs, while nobody drives it: its process was killed.
pub const INTERRUPTED: &str = "interrupted";

/// A trace in a list, as JSON says it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListedTrace {
    /// Which.
    pub trace_id: TraceId,
    /// Where it stands: `running`, `waiting`, `interrupted`, `completed`, `stopped`, `failed`, `imported`, `damaged`
    pub status: String,
    /// Why its last run ended.
    pub finish_reason: Option<FinishReason>,
    /// Model turns.
    pub turns: u32,
    /// Tokens, input and output together.
    pub tokens: u64,
    /// What they cost, in millionths.
    pub cost_micros: Micros,
    /// Whether some of that was estimated.
    pub about: bool,
    /// When its log last changed, as RFC 3339 in UTC.
    pub modified: String,
    /// When it began.
    pub created: String,
    /// The model.
    pub model: String,
    /// The folder that it works in.
    pub workspace: String,
    /// The beginning of what it was first asked to do.
    pub task: String,
    /// What it is called.
    pub name: String,
    /// The preset that it was made from, if it was.
    pub agent: Option<String>,
}

impl From<&Row> for ListedTrace {
    fn from(row: &Row) -> ListedTrace {
        ListedTrace {
            trace_id: row.trace.clone(),
            status: row.status.clone(),
            finish_reason: row.reason,
            turns: row.turns,
            tokens: row.tokens,
            cost_micros: row.cost,
            about: row.about,
            modified: format_time(row.modified),
            created: format_time(row.created),
            model: row.model.clone(),
            workspace: row.workspace.clone(),
            task: row.task.clone(),
            name: row.name.clone().unwrap_or_else(|| short_name(&row.task)),
            agent: row.agent.clone(),
        }
    }
}

/// All words for where a trace stands.
pub const STANDINGS: [&str; 8] =
    ["running", "waiting", INTERRUPTED, "completed", "stopped", "failed", "imported", "damaged"];

/// The index as it is now. Errors: it cannot be kept.
pub fn refreshed(logs: &Logs) -> Result<Index, IndexError> {
    let mut index = Index::open(&logs.store, &logs.scope)?;
    index.refresh()?;
    Ok(index)
}

/// Corrects where a trace is said to stand. Whether anybody drives it or its agents is asked of those only that claim to run or to wait for
/// agents, and so is whether the log has lost its end: one that is cut off in a run looks like one.
pub async fn stand(logs: &Logs, row: &mut Row) {
    stand_among(logs, row, &|trace| logs.is_driven(trace).unwrap_or(true)).await;
}

async fn stand_among(logs: &Logs, row: &mut Row, drives: &Drives<'_>) {
    let log = || logs.store.trace_dir(&logs.scope.tenant, &row.trace).join("events.jsonl");
    let modified = || log().metadata().and_then(|meta| meta.modified()).ok();
    let below = row.below.as_ref();
    // Whoever drives it follows an agent on another machine: for people it is let go of.
    if row.status == "waiting" && logs.store.owner(&logs.scope, &row.trace).is_ok_and(|owner| owner.is_some()) {
        row.status = "running".into();
        return;
    }
    let may_be_cut_off = match row.status.as_str() {
        "running" => true,
        "waiting" => below.is_some(),
        _ => false,
    };
    if !may_be_cut_off || drives(&row.trace) || below.is_some_and(|below| below.running.iter().any(drives)) {
        return;
    }
    // What its owner wrote before it went may not be in the index yet.
    let age = modified().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    if age.is_none_or(|age| age.as_millis() != u128::from(row.modified)) {
        return;
    }
    row.status = match below {
        _ if logs.has_lost_its_end(&row.trace).await => "damaged".into(),
        // Whether they were heard is in its log.
        Some(_) => match Read::of(logs.at(&row.trace)).await {
            Ok(read) => stands(logs.scoped(), &read.state, false, drives).await.into(),
            Err(_) => return,
        },
        None => INTERRUPTED.into(),
    };
}

/// Tells whether anybody drives a trace.
type Drives<'a> = dyn Fn(&TraceId) -> bool + Sync + 'a;

/// Where a trace stands, by what its log says, whether anybody drives it, and where it waits for nothing but its agents, by where they stand:
/// while one works it runs, and it is cut off with one of them, or where one has ended and was not heard.
async fn stands(store: ScopedStore<'_>, state: &State, is_driven: bool, drives: &Drives<'_>) -> &'static str {
    // Its own time goes on meanwhile.
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

/// The list without an index: every trace that is shown is read.
pub async fn rows_of_logs(logs: &Logs, most: usize) -> Result<(Vec<Row>, usize), Error> {
    let traces = logs.store.list(&logs.scope).await?;
    let read = |entry: &TraceEntry| row(&logs.store, &logs.scope, &entry.trace);
    let rows = traces.iter().take(most).filter_map(read).collect();
    Ok((rows, traces.len()))
}

impl Host {
    /// A part of the list of its traces, newest first, as they stand now. Errors: it keeps them in no files.
    pub async fn list(&self, wanted: Wanted) -> Result<Vec<Row>, Error> {
        let logs = self.filed()?;
        let (store, scope) = (std::sync::Arc::clone(&logs.store), logs.scope.clone());
        let read = move || -> Result<Vec<Row>, IndexError> { Index::at_hand(&store, &scope)?.page(&wanted) };
        let mut rows = tokio::task::spawn_blocking(read).await.map_err(|error| Error::failed(error.to_string()))??;
        for row in &mut rows {
            stand_among(logs, row, &|trace| self.drives(trace)).await;
        }
        Ok(rows)
    }

    /// Whether anybody drives a trace. One that waits here for its next try is let go of, and goes on all the same.
    fn drives(&self, trace: &TraceId) -> bool {
        self.runtime().goes_on(self.scope(), trace)
            || self.logs().is_some_and(|logs| logs.is_driven(trace).unwrap_or(true))
    }

    /// Where these words were said, at most so many places, of those after one. Errors: no words, or it keeps its traces in no files.
    pub async fn search(&self, words: &str, most: usize, after: Option<HitPlace>) -> Result<Vec<Hit>, Error> {
        let logs = self.filed()?;
        let (store, scope, words) = (std::sync::Arc::clone(&logs.store), logs.scope.clone(), words.to_string());
        let read = move || -> Result<Vec<Hit>, IndexError> {
            let index = Index::at_hand(&store, &scope)?;
            index.search(&words, most, after.as_ref())
        };
        let found = tokio::task::spawn_blocking(read).await.map_err(|error| Error::failed(error.to_string()))?;
        let mut hits = found.map_err(|error| match error {
            IndexError::NoWords(_) => Error::invalid(error.to_string()),
            error => error.into(),
        })?;
        for hit in &mut hits {
            stand_among(logs, &mut hit.row, &|trace| self.drives(trace)).await;
        }
        Ok(hits)
    }

    fn filed(&self) -> Result<&Logs, Error> {
        self.logs().ok_or_else(|| Error::new(ErrorKind::Failed, "traces that are kept in no files are not listed"))
    }
}

impl Logs {
    /// One word for where a trace stands now, as lists say it, by its state and by whether anybody drives it: that is asked first, and what its
    /// owner wrote before it went is then read.
    pub async fn standing(&self, state: &State, is_driven: bool) -> &'static str {
        stands(self.scoped(), state, is_driven, &|trace| self.is_driven(trace).unwrap_or(true)).await
    }
}

impl Trace {
    /// One word for where it stands now, as lists say it: see [`ListedTrace::status`]. Errors: it cannot be read.
    pub async fn standing(&self) -> Result<&'static str, Error> {
        let host = self.host();
        // Asked first: what its owner wrote before it went is then read.
        let is_driven = host.drives(self.id()) || self.is_driven().await?;
        let read = self.look().await?;
        let store = ScopedStore::new(host.store(), host.scope());
        Ok(match &read.log.damage {
            Some(_) => "damaged",
            // There was something: see `Host::trace`.
            None if read.log.events.is_empty() => "damaged",
            None => stands(store, &read.state, is_driven, &|trace| host.drives(trace)).await,
        })
    }
}
