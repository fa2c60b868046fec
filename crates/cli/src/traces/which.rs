//! Which trace is meant where nobody names one: the one that waits, the last one of a folder, or the only one.

use crate::exit::Failure;
use crate::traces::wanted::tell_unasked;
use crate::ui::text::{one_line, short};
use mainpath::Logs;
use mainpath::index::Row;
use mainpath::listing::{refreshed, rows_of_logs};
use mainpath::trace::CallStanding;
use mainpath::types::TraceId;
use std::io::IsTerminal;

/// So many traces are named where several could be meant.
const NAMED: usize = 5;
/// The most of a task that names a trace.
const TASK: usize = 60;

/// What is known of all traces that belong to no other, the one that changed last first.
pub async fn rows(logs: &Logs) -> Result<Vec<Row>, Failure> {
    Ok(all_rows(logs).await?.into_iter().filter(|row| row.trace.parent().is_none()).collect())
}

/// The same with those that agents were started for.
async fn all_rows(logs: &Logs) -> Result<Vec<Row>, Failure> {
    match refreshed(logs).and_then(|index| index.newest(usize::MAX)) {
        Ok((rows, _)) => Ok(rows),
        // The index is only a cache.
        Err(_) => Ok(rows_of_logs(logs, usize::MAX).await?.0),
    }
}

/// The traces whose calls wait for a decision, those of agents on other machines too.
async fn all_waiting(logs: &Logs) -> Result<Vec<Row>, Failure> {
    let rows: Vec<Row> = all_rows(logs).await?.into_iter().filter(|row| row.status == "waiting").collect();
    // One that waits for its agents has nothing to be decided itself.
    let waits_for = |row: &Row| rows.iter().any(|other| other.trace.parent() == Some(row.trace.as_str()));
    let mut waiting = Vec::new();
    for row in rows.iter().filter(|row| !waits_for(row)) {
        // One that asks a question waits for an answer, not for a decision.
        let (log, state, bodies) = logs.read(&row.trace).await?;
        let waits = logs.of(&row.trace, &log, &state, &bodies).waits().await?;
        if !waits.calls.is_empty() {
            waiting.push(row.clone());
        }
        if !waits.remote.is_empty() {
            let agents = agents_to_decide(logs, &row.trace).await?;
            let remote = agents.into_iter().filter(|agent| agent.elsewhere().is_some());
            waiting.extend(remote.map(|trace| Row { trace, ..row.clone() }));
        }
    }
    Ok(waiting)
}

/// The agents of a trace whose calls wait for a decision. Agents that cannot be read are named to the user.
async fn agents_to_decide(logs: &Logs, trace: &TraceId) -> Result<Vec<TraceId>, Failure> {
    let waits = logs.agent_waits(trace).await?;
    tell_unasked(&waits);
    Ok(waits.to_decide())
}

/// Which others wait, as the end of a sentence; empty where none does.
pub async fn waiting_elsewhere(logs: &Logs, trace: &TraceId) -> Result<String, Failure> {
    let others: Vec<Row> = all_waiting(logs).await?.into_iter().filter(|row| row.trace != *trace).collect();
    Ok(if others.is_empty() { String::new() } else { format!("; waiting elsewhere: {}", names(&others)) })
}

/// The trace whose calls wait for a decision; the one that changed last where none does. For one that waits for an agent that it has
/// started, that agent's. Errors: several wait.
pub async fn waiting(logs: &Logs, named: Option<&str>) -> Result<TraceId, Failure> {
    if named.is_some() {
        let trace = logs.find_anywhere(named).await?;
        let (log, state, bodies) = logs.read(&trace).await?;
        let calls = logs.of(&trace, &log, &state, &bodies).decidable_calls().await?;
        if calls.iter().any(|call| call.standing != CallStanding::Approved) {
            return Ok(trace);
        }
        let agents = agents_to_decide(logs, &trace).await?;
        return match agents.as_slice() {
            [] => Ok(trace),
            [one] => Ok(one.clone()),
            more => {
                let names: Vec<&str> = more.iter().map(TraceId::as_str).collect();
                Err(Failure::usage(format!("several agents of {trace} wait; choose one: {}", names.join(", "))))
            }
        };
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
        // What an agent is told first is more than its task.
        Some(name) if row.trace.parent().is_some() => name.clone(),
        Some(name) if !row.task.is_empty() && row.task != *name => format!("{name} · {}", row.task),
        Some(name) => name.clone(),
        None => row.task.clone(),
    }
}

/// A trace with its name and its task.
pub fn name(row: &Row) -> String {
    match short(&label(row), TASK).as_str() {
        "" => row.trace.to_string(),
        task => format!("{} ({})", row.trace, one_line(task)),
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
