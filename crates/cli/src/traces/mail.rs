//! Mail that nobody has read.

use crate::exit::Failure;
use mainpath::Logs;
use mainpath::core::State;
use mainpath::runtime::Mail;
use mainpath::store::ReadLog;
use mainpath::types::{Millis, TraceId};

/// What to do about a trace in which nothing was said yet, so that there is nothing to carry on with.
pub async fn says_first(logs: &Logs, log: &ReadLog, state: &State) -> Result<Option<String>, Failure> {
    let is_new = state.counts.runs == 0 && state.run.is_none() && state.tree.head.is_none() && state.queues.is_empty();
    if !is_new || log.read_only() || !unread(logs, &state.trace, state).await?.is_empty() {
        return Ok(None);
    }
    let trace = &state.trace;
    let how = "has no message yet; give it one: mainpath run --trace";
    Ok(Some(format!("trace {trace} {how} {trace} \"TASK\"")))
}

/// The mail that has not been read, and when each was sent.
pub async fn unread(logs: &Logs, trace: &TraceId, state: &State) -> Result<Vec<(Millis, Mail)>, Failure> {
    let mail = logs.at(trace).mail(state.log.mail.upto).await?;
    let unread = mail.iter().filter(|entry| !state.log.mail.has(entry.id));
    Ok(unread.filter_map(|entry| Some((entry.at, serde_json::from_str(&entry.body).ok()?))).collect())
}
