//! Mail that no process has read.

use crate::exit::Failure;
use mainpath::Logs;
use mainpath::core::State;
use mainpath::store::ReadLog;

/// What to do about a trace in which nothing was said yet, so that there is nothing to carry on with.
pub async fn says_first(logs: &Logs, log: &ReadLog, state: &State) -> Result<Option<String>, Failure> {
    let is_new = state.counts.runs == 0 && state.run.is_none() && state.tree.head.is_none() && state.queues.is_empty();
    if !is_new || log.read_only() || !logs.unread_mail(state).await?.is_empty() {
        return Ok(None);
    }
    let trace = &state.trace;
    let how = "has no message yet; give it one: mainpath run --trace";
    Ok(Some(format!("trace {trace} {how} {trace} \"TASK\"")))
}
