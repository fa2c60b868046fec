//! Which trace is meant where nobody names one: the one that waits, the last one of a folder, or the only one.

use crate::exit::Failure;
use crate::traces::rows::{refreshed, rows_of_logs};
use crate::ui::text::{plain, short};
use mainpath::Logs;
use mainpath::index::Row;
use mainpath::types::TraceId;
use std::io::IsTerminal;

/// So many traces are named where several could be meant.
const NAMED: usize = 5;
/// The most of a task that names a trace.
const TASK: usize = 60;

/// What is known of all traces, the one that changed last first.
pub async fn rows(logs: &Logs) -> Result<Vec<Row>, Failure> {
    match refreshed(logs).and_then(|index| index.newest(usize::MAX)) {
        Ok((rows, _)) => Ok(rows),
        // The index is only a cache.
        Err(_) => Ok(rows_of_logs(logs, usize::MAX).await?.0),
    }
}

/// The traces whose calls wait for a decision.
async fn all_waiting(logs: &Logs) -> Result<Vec<Row>, Failure> {
    Ok(rows(logs).await?.into_iter().filter(|row| row.status == "waiting").collect())
}

/// Which others wait, as the end of a sentence; empty where none does.
pub async fn waiting_elsewhere(logs: &Logs, trace: &TraceId) -> Result<String, Failure> {
    let others: Vec<Row> = all_waiting(logs).await?.into_iter().filter(|row| row.trace != *trace).collect();
    Ok(if others.is_empty() { String::new() } else { format!("; waiting elsewhere: {}", names(&others)) })
}

/// The trace whose calls wait for a decision; the one that changed last where none does. Errors: several wait.
pub async fn waiting(logs: &Logs, named: Option<&str>) -> Result<TraceId, Failure> {
    if named.is_some() {
        return Ok(logs.find(named).await?);
    }
    match all_waiting(logs).await?.as_slice() {
        [] => Ok(logs.find(None).await?),
        [one] => Ok(one.trace.clone()),
        more => Err(Failure::usage(format!("several traces are waiting for approval; choose one: {}", names(more)))),
    }
}

/// The trace that something is to be done to which cannot be taken back. Where there are several, a person is asked, and
/// without one it has to be named.
pub async fn surely(logs: &Logs, named: Option<&str>, what: &str) -> Result<TraceId, Failure> {
    if named.is_some() {
        return Ok(logs.find(named).await?);
    }
    let found = rows(logs).await?;
    let [newest, _, ..] = found.as_slice() else { return Ok(logs.find(None).await?) };
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        let all = names(&found);
        return Err(Failure::usage(format!("there are several traces; choose the one to {what}: {all}")));
    }
    eprint!("{what} {}? [y]es, [n]o: ", name(newest));
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(newest.trace.clone()),
        _ => Err(Failure::usage(format!(
            "nothing was done; the other traces: {}",
            names(found.get(1..).unwrap_or_default())
        ))),
    }
}

/// What people know a trace by: its name, if it was given one, and its task.
pub fn label(row: &Row) -> String {
    match &row.name {
        Some(name) if !row.task.is_empty() => format!("{name} · {}", row.task),
        Some(name) => name.clone(),
        None => row.task.clone(),
    }
}

/// A trace with its name and its task.
pub fn name(row: &Row) -> String {
    match short(&label(row), TASK).as_str() {
        "" => row.trace.to_string(),
        task => format!("{} ({})", row.trace, plain(task)),
    }
}

/// The first of them by name, and how many more there are.
fn names(rows: &[Row]) -> String {
    let mut names: Vec<String> = rows.iter().take(NAMED).map(name).collect();
    if rows.len() > NAMED {
        names.push(format!("and {} more: mainpath ls", rows.len() - NAMED));
    }
    names.join(", ")
}
