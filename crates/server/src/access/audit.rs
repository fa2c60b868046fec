//! What was done that is not in a trace's log: keys made and revoked, the server begun and ended. A file of JSON lines.

use mainpath::Error;
use mainpath::types::{Millis, format_time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Something that was done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Act {
    /// When, as RFC 3339 in UTC.
    pub ts: String,
    /// By which key, or by the command of this machine.
    pub by: String,
    /// What: `key_made`, `key_revoked`, `server_started`, `server_ended`, `trace_set_aside`, `signed_in`.
    pub act: String,
    /// To what, and how.
    pub what: Value,
}

/// The file.
pub struct Audit {
    file: PathBuf,
}

impl Audit {
    /// The file in a folder.
    pub fn new(folder: &Path) -> Audit {
        Audit { file: folder.join("audit.jsonl") }
    }

    /// Adds a line; it is durable when this returns. Errors: it cannot be written.
    pub fn add(&self, at: Millis, by: &str, act: &str, what: Value) -> Result<(), Error> {
        let act = Act { ts: format_time(at), by: by.into(), act: act.into(), what };
        let mut line = serde_json::to_vec(&act).map_err(|error| Error::failed(error.to_string()))?;
        line.push(b'\n');
        let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.file)?;
        file.write_all(&line)?;
        Ok(file.sync_data()?)
    }

    /// The lines, newest first, at most so many. A line that cannot be read is left out.
    pub fn read(&self, most: usize) -> Result<Vec<Act>, Error> {
        let text = match std::fs::read_to_string(&self.file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            text => text?,
        };
        Ok(text.lines().rev().filter_map(|line| serde_json::from_str(line).ok()).take(most).collect())
    }
}
