//! The runs that a server set aside: it died again and again while each of them was under way.
//!
//! `DATA/set-aside` has a line for each: its trace and the length of its log then. Once the log has grown, the line counts no more.

use crate::Logs;
use mainpath_store::{read_regular_text, write_private};
use mainpath_types::TraceId;
use std::io;
use std::path::PathBuf;

impl Logs {
    /// Records that a server does not continue the run of a trace by itself.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn set_aside(&self, trace: &TraceId) -> io::Result<()> {
        let is_kept = |(known, len): &(TraceId, u64)| known != trace && self.log_len(known) == Some(*len);
        let mut lines: Vec<(TraceId, u64)> = self.aside().into_iter().filter(is_kept).collect();
        lines.extend(self.log_len(trace).map(|len| (trace.clone(), len)));
        let text: String = lines.iter().map(|(trace, len)| format!("{trace} {len}\n")).collect();
        write_private(&self.aside_file(), text.as_bytes())
    }

    /// Returns true if a server set the run of a trace aside, and it was not continued since.
    pub fn is_set_aside(&self, trace: &TraceId) -> bool {
        self.aside().iter().any(|(known, len)| known == trace && self.log_len(trace) == Some(*len))
    }

    fn aside(&self) -> Vec<(TraceId, u64)> {
        let text = read_regular_text(&self.aside_file()).unwrap_or_default();
        let read =
            |line: &str| line.split_once(' ').and_then(|(trace, len)| Some((trace.parse().ok()?, len.parse().ok()?)));
        text.lines().filter_map(read).collect()
    }

    fn aside_file(&self) -> PathBuf {
        self.home.data.join("set-aside")
    }

    /// The length of a log in bytes.
    fn log_len(&self, trace: &TraceId) -> Option<u64> {
        let log = self.store.trace_dir(&self.scope.tenant, trace).join("events.jsonl");
        log.metadata().ok().map(|meta| meta.len())
    }
}
