//! Which traces there are: the rows of the index, with where each stands now.

use crate::{Error, ErrorKind, Host, Logs};
use mainpath_core::{State, pending, short_name, status};
use mainpath_index::{Hit, HitPlace, Index, IndexError, Row, Wanted, row};
use mainpath_runtime::Waiting;
use mainpath_store::{Store, TraceEntry};
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

/// Where a trace stands, by what its log says and whether anybody drives it.
pub fn standing(status: &str, is_driven: bool) -> &str {
    if status == "running" && !is_driven { INTERRUPTED } else { status }
}

/// The index as it is now. Errors: it cannot be kept.
pub fn refreshed(logs: &Logs) -> Result<Index, IndexError> {
    let mut index = Index::open(&logs.store, &logs.scope)?;
    index.refresh()?;
    Ok(index)
}

/// Corrects where a trace is said to stand. Whether anybody drives it is asked of those only that claim to run, and so is whether
/// the log has lost its end: one that is cut off in a run looks like one.
pub async fn stand(logs: &Logs, row: &mut Row) {
    let log = || logs.store.trace_dir(&logs.scope.tenant, &row.trace).join("events.jsonl");
    let modified = || log().metadata().and_then(|meta| meta.modified()).ok();
    if row.status != "running" || !logs.store.owner(&logs.scope, &row.trace).is_ok_and(|owner| owner.is_none()) {
        return;
    }
    // What its owner wrote before it went may not be in the index yet.
    let age = modified().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    if age.is_some_and(|age| age.as_millis() == u128::from(row.modified)) {
        let has_lost_its_end = logs.has_lost_its_end(&row.trace).await;
        row.status = if has_lost_its_end { "damaged".into() } else { standing(&row.status, false).into() };
    }
}

/// Whether a trace was cut off that seems to run or to wait: nobody drives it, and it waits for nobody, or for agents alone one of which was
/// cut off, or has ended and was not heard.
pub async fn is_cut_off(logs: &Logs, state: &State) -> bool {
    let is_driven = logs.is_driven(&state.trace).unwrap_or(true);
    let waiting = Waiting::among(&pending(state));
    match status(state) {
        _ if is_driven => return false,
        "running" => return true,
        "waiting" if waiting.iter().all(|one| matches!(one, Waiting::Child(_))) => {}
        _ => return false,
    }
    for child in state.children.open().filter_map(|child| child.trace.as_ref()) {
        if child.elsewhere().is_some() {
            continue;
        }
        // One that is not there yet was about to be begun.
        let Ok((_, state, _)) = logs.read(child).await else { return true };
        if state.run.is_none() || Box::pin(is_cut_off(logs, &state)).await {
            return true;
        }
    }
    false
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
        let read = move || -> Result<Vec<Row>, IndexError> {
            let mut index = Index::open(&store, &scope)?;
            index.refresh()?;
            index.page(&wanted)
        };
        let mut rows = tokio::task::spawn_blocking(read).await.map_err(|error| Error::failed(error.to_string()))??;
        for row in &mut rows {
            self.stand(logs, row).await;
        }
        Ok(rows)
    }

    /// Corrects where a trace is said to stand; see [`stand`]. One that waits here for its next try is let go of, and goes on all the same.
    async fn stand(&self, logs: &Logs, row: &mut Row) {
        stand(logs, row).await;
        if row.status == INTERRUPTED && self.runtime().goes_on(self.scope(), &row.trace) {
            row.status = "running".into();
        }
    }

    /// Where these words were said, at most so many places, of those after one. Errors: no words, or it keeps its traces in no files.
    pub async fn search(&self, words: &str, most: usize, after: Option<HitPlace>) -> Result<Vec<Hit>, Error> {
        let logs = self.filed()?;
        let (store, scope, words) = (std::sync::Arc::clone(&logs.store), logs.scope.clone(), words.to_string());
        let read = move || -> Result<Vec<Hit>, IndexError> {
            let mut index = Index::open(&store, &scope)?;
            index.refresh()?;
            index.search(&words, most, after.as_ref())
        };
        let found = tokio::task::spawn_blocking(read).await.map_err(|error| Error::failed(error.to_string()))?;
        let mut hits = found.map_err(|error| match error {
            IndexError::NoWords(_) => Error::invalid(error.to_string()),
            error => error.into(),
        })?;
        for hit in &mut hits {
            self.stand(logs, &mut hit.row).await;
        }
        Ok(hits)
    }

    fn filed(&self) -> Result<&Logs, Error> {
        self.logs().ok_or_else(|| Error::new(ErrorKind::Failed, "traces that are kept in no files are not listed"))
    }
}
