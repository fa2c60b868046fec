//! The rows of the index: which traces there are.

use crate::exit::Failure;
use mainpath::Logs;
use mainpath::index::{Index, IndexError, Row, row};
use mainpath::store::{Store, TraceEntry};
use std::time::UNIX_EPOCH;

/// What is said of a trace whose log says that it runs, while nobody drives it: its process was killed.
pub const INTERRUPTED: &str = "interrupted";

/// Where a trace stands, by what its log says and whether anybody drives it.
pub fn standing(status: &str, is_driven: bool) -> &str {
    if status == "running" && !is_driven { INTERRUPTED } else { status }
}

impl From<IndexError> for Failure {
    fn from(error: IndexError) -> Failure {
        match error {
            IndexError::NoWords(_) => Failure::usage(error.to_string()),
            _ => Failure::error(error.to_string()),
        }
    }
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

pub fn refreshed(logs: &Logs) -> Result<Index, IndexError> {
    let mut index = Index::open(&logs.store, &logs.scope)?;
    index.refresh()?;
    Ok(index)
}

/// The list without an index: every trace that is shown is read.
pub async fn rows_of_logs(logs: &Logs, most: usize) -> Result<(Vec<Row>, usize), Failure> {
    let traces = logs.store.list(&logs.scope).await?;
    let read = |entry: &TraceEntry| row(&logs.store, &logs.scope, &entry.trace);
    let rows = traces.iter().take(most).filter_map(read).collect();
    Ok((rows, traces.len()))
}
