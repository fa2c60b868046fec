//! What sessions hold of a trace that is cleared.

use crate::ui::text::one_line;
use mainpath::Logs;
use mainpath::sessions::Held;
use mainpath::types::TraceId;

/// Mirrors do not show what was cleared. Says what may still be there; whoever prepares a session next writes its mirror anew.
pub async fn forget_said(logs: &Logs, trace: &TraceId, waits: bool) {
    let left = match Held::new(logs) {
        Ok(held) => held.forget(std::slice::from_ref(trace), waits).await,
        Err(error) => vec![error.message().into()],
    };
    left.iter().for_each(|left| eprintln!("! {}", one_line(left)));
}
