//! Checking a trace: everything of it that can be lost.

use crate::history::views;
use mainpath_store::{Report, StoreError, TraceStore};

/// Checks a log with all that it names ([`Store::verify`](mainpath_store::Store::verify)), and its end against the views that were written of it. Mirrors of
/// sessions do not count: they are made again from the log. Errors: there is no such trace, or it cannot be read.
pub async fn verify(trace: TraceStore<'_>) -> Result<Report, StoreError> {
    // Before the log: while somebody drives the trace, both grow.
    let known = views::last_known(trace).await?;
    let mut report = trace.verify().await?;
    if report.damage.is_none() {
        report.faults.extend(views::missing_end(report.events, known));
    }
    report.unchecked.push("the views: a replay without changes compares them with the log".into());
    Ok(report)
}
