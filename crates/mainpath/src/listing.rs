//! Which traces there are: the rows of the index, with where each stands now.

use crate::standing::{DAMAGED, Drives, cut_off, standing};
use crate::trace::Read;
use crate::{Error, ErrorKind, Host, Logs};
use mainpath_core::short_name;
use mainpath_index::{Hit, HitPlace, Index, IndexError, Row, Wanted, row};
use mainpath_store::{Store, TraceEntry};
use mainpath_types::{FinishReason, Micros, TraceId, format_time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::UNIX_EPOCH;

/// A trace in a list, as JSON says it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListedTrace {
    /// Which.
    pub trace_id: TraceId,
    /// The status: `running`, `waiting`, `interrupted`, `set_aside`, `completed`, `stopped`, `failed`, `imported`, `damaged`
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
        _ if logs.has_lost_its_end(&row.trace).await => DAMAGED.into(),
        // Whether they were heard is in its log.
        Some(_) => match Read::of(logs.at(&row.trace)).await {
            Ok(read) => standing(Some(logs), logs.scoped(), &read, false, drives).await.into(),
            Err(_) => return,
        },
        None => cut_off(Some(logs), &row.trace).await.into(),
    };
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
            let mut index = Index::at_hand(&store, &scope)?;
            let rows = index.page(&wanted)?;
            if index.reread_changed(&rows) { index.page(&wanted) } else { Ok(rows) }
        };
        let mut rows = tokio::task::spawn_blocking(read).await.map_err(|error| Error::failed(error.to_string()))??;
        for row in &mut rows {
            stand_among(logs, row, &|trace| self.drives(trace)).await;
        }
        Ok(rows)
    }

    /// Where these words were said, at most so many places, of those after one. Errors: no words, or it keeps its traces in no files.
    pub async fn search(&self, words: &str, most: usize, after: Option<HitPlace>) -> Result<Vec<Hit>, Error> {
        let logs = self.filed()?;
        let (store, scope, words) = (std::sync::Arc::clone(&logs.store), logs.scope.clone(), words.to_string());
        let read = move || -> Result<Vec<Hit>, IndexError> {
            let mut index = Index::at_hand(&store, &scope)?;
            let hits = index.search(&words, most, after.as_ref())?;
            let rows: Vec<Row> = hits.iter().map(|hit| hit.row.clone()).collect();
            if index.reread_changed(&rows) { index.search(&words, most, after.as_ref()) } else { Ok(hits) }
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
