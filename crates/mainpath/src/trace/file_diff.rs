//! What becomes of a file that is put back, as people see it.

use super::handle::Trace;
use super::restore::Restored;
use crate::Error;
use mainpath_runtime::Vault;
use mainpath_runtime::files::{Fate, FilePlan};
use mainpath_store::ScopedStore;
use mainpath_tools::FileNow;
use mainpath_types::FileState;
use similar::TextDiff;
use std::time::Duration;

/// So many lines of one file's difference are shown at most,
const MOST_LINES: usize = 200;
/// and so many characters of one line.
const MOST_CHARS: usize = 2_000;
/// Of a file of more bytes only its sizes are told: its lines would have to be compared for seconds, and nobody reads that many.
pub const LARGEST_COMPARED: u64 = 2 * 1024 * 1024;
/// A difference that is not found in so long is told coarsely.
const PATIENCE: Duration = Duration::from_secs(1);

/// How a file is now, against what it was then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileDiff {
    /// Both are text, or one is and the other is not there.
    Text {
        /// The lines of a unified diff from now to then, each without its line feed. A carriage return is shown as `␍`. Where the mode differs,
        /// the first two say so (`old mode 644`).
        lines: Vec<String>,
        /// How many more there are.
        more: usize,
    },
    /// One of them is no text, or large.
    Bytes {
        /// How many bytes it has now.
        now: u64,
        /// How many it had then.
        then: u64,
    },
}

/// What a file holds now, and what it held then.
struct Both {
    now: Vec<u8>,
    then: Vec<u8>,
    /// What says that its mode differs.
    modes: Vec<String>,
}

/// The difference of a file that is not as it was; `None` where nothing can be done about it, or nothing need be. Errors: what was kept of it
/// cannot be read.
pub async fn file_diff(store: ScopedStore<'_>, plan: &FilePlan) -> Result<Option<FileDiff>, Error> {
    Ok(both(store, plan).await?.map(|both| diff(&both)))
}

async fn both(store: ScopedStore<'_>, plan: &FilePlan) -> Result<Option<Both>, Error> {
    if matches!(plan.fate, Fate::Same | Fate::Lost(_)) {
        return Ok(None);
    }
    let then = match plan.then.blob() {
        Some(hash) => store.get_blob(hash).await?,
        None => Vec::new(),
    };
    let then = if matches!(plan.then, FileState::Link { .. }) { link_to(&then) } else { then };
    let now = match &plan.now {
        FileNow::File { content, .. } => content.clone(),
        FileNow::Link { target } => link_to(target),
        FileNow::Absent | FileNow::Folder | FileNow::Large | FileNow::Other => Vec::new(),
    };
    let modes = match (&plan.now, &plan.then) {
        (FileNow::File { mode: old, .. }, FileState::File { mode: new, .. }) if old != new => {
            vec![format!("old mode {old:03o}"), format!("new mode {new:03o}")]
        }
        _ => Vec::new(),
    };
    Ok(Some(Both { now, then, modes }))
}

/// A link as a difference shows it.
fn link_to(target: &[u8]) -> Vec<u8> {
    [b"a link to ", target, b"\n"].concat()
}

fn diff(Both { now, then, modes }: &Both) -> FileDiff {
    let (Some(from), Some(to)) = (text(now), text(then)) else {
        return FileDiff::Bytes { now: now.len() as u64, then: then.len() as u64 };
    };
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(from, to);
    let shown = diff.unified_diff().to_string();
    let of_text = shown.split_terminator('\n').map(|line| cut(&line.replace('\r', "␍")));
    let mut lines: Vec<String> = modes.iter().cloned().chain(of_text).collect();
    let more = lines.len().saturating_sub(MOST_LINES);
    lines.truncate(MOST_LINES);
    FileDiff::Text { lines, more }
}

/// What can be compared by lines.
fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| text.len() as u64 <= LARGEST_COMPARED && !text.contains('\0'))
}

fn redacted(vault: &Vault, bytes: Vec<u8>) -> Vec<u8> {
    match String::from_utf8(bytes) {
        Ok(text) => vault.redact(&text).into_bytes(),
        Err(error) => error.into_bytes(),
    }
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(MOST_CHARS) {
        Some((at, _)) => format!("{} […]", line.get(..at).unwrap_or_default()),
        None => line.into(),
    }
}

impl Trace {
    /// The difference of each of [`Restored::files`], without known secrets; `None` where it is as it was, or nothing can be done about it.
    /// Errors: what was kept of one cannot be read.
    pub async fn file_diffs(&self, planned: &Restored) -> Result<Vec<Option<FileDiff>>, Error> {
        let (at, vault) = (self.host().at(self.id()), &self.host().runtime().config().vault);
        let mut diffs = Vec::new();
        for plan in &planned.files {
            let Some(Both { now, then, modes }) = both(at.scoped(), plan).await? else {
                diffs.push(None);
                continue;
            };
            let vault = vault.clone();
            // Secrets go before they are compared: one may have several lines.
            let compare = move || diff(&Both { now: redacted(&vault, now), then: redacted(&vault, then), modes });
            let compared = tokio::task::spawn_blocking(compare).await;
            diffs.push(Some(compared.map_err(|error| Error::failed(error.to_string()))?));
        }
        Ok(diffs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff_of(now: &[u8], then: &[u8]) -> FileDiff {
        diff(&Both { now: now.to_vec(), then: then.to_vec(), modes: Vec::new() })
    }

    #[test]
    fn texts_are_told_by_lines_and_the_rest_is_counted() {
        let (now, then) = ("a\nb\nc\n", "a\nB\nc\n");
        let lines = ["@@ -1,3 +1,3 @@", " a", "-b", "+B", " c"].map(String::from).to_vec();
        assert_eq!(diff_of(now.as_bytes(), then.as_bytes()), FileDiff::Text { lines, more: 0 });
        let long: String = (0..500).map(|n| format!("{n}\n")).collect();
        let FileDiff::Text { lines, more } = diff_of(b"", long.as_bytes()) else { panic!("no text") };
        assert_eq!((lines.len(), more), (MOST_LINES, 301));
        assert_eq!(diff_of(b"", b""), FileDiff::Text { lines: Vec::new(), more: 0 });
    }

    #[test]
    fn line_ends_and_modes_that_differ_are_shown() {
        let lines = ["@@ -1,2 +1,2 @@", "-a", "+a␍", " b"].map(String::from).to_vec();
        assert_eq!(diff_of(b"a\nb\n", b"a\r\nb\n"), FileDiff::Text { lines, more: 0 });
        let modes = ["old mode 644", "new mode 755"].map(String::from).to_vec();
        let both = Both { now: b"a\n".to_vec(), then: b"a\n".to_vec(), modes: modes.clone() };
        assert_eq!(diff(&both), FileDiff::Text { lines: modes, more: 0 });
    }

    #[test]
    fn bytes_are_counted_and_long_lines_cut() {
        assert_eq!(diff_of(&[0xff; 3], b"text"), FileDiff::Bytes { now: 3, then: 4 });
        assert_eq!(diff_of(b"a\0b", b"text"), FileDiff::Bytes { now: 3, then: 4 });
        let large = vec![b'\n'; LARGEST_COMPARED as usize + 1];
        assert_eq!(diff_of(&large, b"text"), FileDiff::Bytes { now: LARGEST_COMPARED + 1, then: 4 });
        let FileDiff::Text { lines, .. } = diff_of(b"", "\u{e9}".repeat(5_000).as_bytes()) else { panic!("no text") };
        let line = lines.get(1).unwrap();
        assert_eq!((line.chars().count(), line.ends_with(" […]")), (MOST_CHARS + 4, true));
    }
}
