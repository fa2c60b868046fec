//! What calls have written, for who let them do so without a question: the beginning of the difference.

use crate::ui::text::count;
use crate::ui::whole::changes;
use mainpath::Logs;
use mainpath::types::{CallResolved, FileChange, FileState, Resolution};

/// So many lines of it are shown.
const LINES: usize = 20;
/// A file larger than this is not compared.
const LARGEST: u64 = 1024 * 1024;

/// What a file tool has changed, line by line; nothing of a command, whose own output says what it did.
pub async fn written(logs: &Logs, call: &CallResolved) -> Vec<String> {
    let output = call.output.as_ref().filter(|output| output.command.is_none() && call.resolution == Resolution::Ok);
    let mut lines = Vec::new();
    for change in output.map(|output| output.changes.as_slice()).unwrap_or_default() {
        lines.extend(difference(logs, change).await.unwrap_or_default());
    }
    if lines.len() > LINES {
        let more = lines.len() - LINES;
        lines.truncate(LINES);
        lines.push(format!("… {}", count(more as u64, "more line")));
    }
    lines
}

async fn difference(logs: &Logs, change: &FileChange) -> Option<Vec<String>> {
    let before = text(logs, &change.before).await?;
    let after = text(logs, &change.after).await?;
    let mut lines = Vec::new();
    changes(&mut lines, &before, &after);
    Some(lines)
}

/// The text of a file at a moment; `None` where it cannot be shown.
async fn text(logs: &Logs, state: &FileState) -> Option<String> {
    match state {
        FileState::Absent => Some(String::new()),
        FileState::File { hash, bytes, .. } if *bytes <= LARGEST => {
            String::from_utf8(logs.scoped().get_blob(hash).await.ok()?).ok()
        }
        _ => None,
    }
}
