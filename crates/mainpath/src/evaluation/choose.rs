//! Which runs a suite means.

use super::suite::SuiteRuns;
use crate::Remedy;
use crate::listing::stand;
use crate::{Error, ErrorKind, Host, Logs};
use mainpath_index::{Index, IndexError, Row, Wanted};
use mainpath_store::scheduler::system_clock;
use mainpath_types::{Millis, TraceId};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// Between the name of a trace and the rest in the name of a model's grade of it.
const GRADE: &str = "@grade-";

/// The traces that are meant, newest first. `folder`: that of the project. Errors: there is no such trace, or the index cannot be used.
pub(super) async fn choose(host: &Host, runs: &SuiteRuns, folder: &Path) -> Result<Vec<TraceId>, Error> {
    let Some(logs) = host.logs() else { return named_only(host, runs).await };
    let mut named = BTreeSet::new();
    for wanted in &runs.traces {
        named.insert(logs.find(Some(wanted)).await?);
    }
    let mut rows = looked_up(logs, runs).await?;
    let is_filtered = runs.query.is_some() || runs.since.is_some() || runs.until.is_some() || !runs.tool.is_empty();
    // One whose log cannot be read is in no list; whoever names it is told.
    let mut unlisted = named.clone();
    unlisted.retain(|trace| rows.iter().all(|row| row.trace != *trace));
    rows.retain(|row| !row.trace.as_str().contains(GRADE) && (named.is_empty() || named.contains(&row.trace)));
    // What was only tried, in a copy of a folder, is judged where it is named.
    let copies = logs.home.copies();
    let is_tried = |row: &Row| copies.as_ref().is_some_and(|copies| Path::new(&row.workspace).starts_with(copies));
    rows.retain(|row| named.contains(&row.trace) || !is_tried(row));
    let place = |wanted: &String| folder.join(wanted).canonicalize().unwrap_or_else(|_| folder.join(wanted));
    let at = runs.folder.as_ref().map(place);
    let has = |list: &[String], word: &str| list.is_empty() || list.iter().any(|wanted| wanted == word);
    let mut chosen: Vec<TraceId> = Vec::new();
    for mut row in rows {
        stand(logs, &mut row).await;
        let stands = match runs.state.is_empty() {
            // What goes on has come to nothing yet.
            true => !matches!(row.status.as_str(), "running" | "waiting") || named.contains(&row.trace),
            false => has(&runs.state, &row.status),
        };
        let is_there = at.as_ref().is_none_or(|at| Path::new(&row.workspace) == at);
        if stands && is_there && has(&runs.agent, row.agent.as_deref().unwrap_or_default()) {
            chosen.push(row.trace);
        }
        if runs.most.is_some_and(|most| chosen.len() >= most) {
            return Ok(chosen);
        }
    }
    if !is_filtered {
        chosen.extend(unlisted);
    }
    Ok(chosen)
}

/// The traces of a host that keeps them in no files: those that are named by their whole ids.
async fn named_only(host: &Host, runs: &SuiteRuns) -> Result<Vec<TraceId>, Error> {
    if runs.traces.is_empty() {
        return Err(Error::new(
            ErrorKind::Refused,
            "traces that are kept in no files are not listed: name them by their ids",
        ));
    }
    let mut named = Vec::new();
    for wanted in &runs.traces {
        let none =
            || Error::new(ErrorKind::NotFound, format!("there is no trace {wanted:?}")).with_remedy(Remedy::ListTraces);
        let trace: TraceId = wanted.parse().map_err(|_| none())?;
        named.push(host.trace(&trace).await?.id().clone());
    }
    Ok(named)
}

/// The rows of the index that time, tools and the predicate leave.
async fn looked_up(logs: &Logs, runs: &SuiteRuns) -> Result<Vec<Row>, Error> {
    let ago = |time: Duration| system_clock().saturating_sub(Millis::try_from(time.as_millis()).unwrap_or(Millis::MAX));
    let wanted = Wanted {
        most: usize::MAX,
        since: runs.ago(runs.since.as_deref(), "since")?.map(ago),
        until: runs.ago(runs.until.as_deref(), "until")?.map(ago),
        with_children: runs.children || !runs.traces.is_empty(),
        ..Wanted::default()
    };
    let (logs, tools, predicate) = (logs.clone(), runs.tool.clone(), runs.predicate()?);
    let looking = tokio::task::spawn_blocking(move || -> Result<Vec<Row>, IndexError> {
        let index = Index::up_to_date(&logs.store, &logs.scope)?;
        let mut rows = index.page(&wanted)?;
        rows.retain(|row| logs.has_log(&row.trace));
        if !tools.is_empty() {
            let mut called = BTreeSet::new();
            for tool in tools {
                let by = index.page(&Wanted { tool: Some(tool), ..wanted.clone() })?;
                called.extend(by.into_iter().map(|row| row.trace));
            }
            rows.retain(|row| called.contains(&row.trace));
        }
        if let Some(predicate) = predicate {
            let found = index.query(&predicate, usize::MAX)?;
            let found: BTreeSet<TraceId> = found.steps.into_iter().map(|step| step.row.trace).collect();
            rows.retain(|row| found.contains(&row.trace));
        }
        Ok(rows)
    });
    Ok(looking.await.map_err(|error| Error::failed(error.to_string()))??)
}
