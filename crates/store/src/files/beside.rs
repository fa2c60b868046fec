//! Lines beside a log, of which the store knows nothing but that they are lines: signatures of its heads, and scores.

use super::layout::{Layout, open_beside};
use crate::checks::one_kept_line;
use crate::regular::{open_regular, read_regular};
use crate::store::StoreError;
use mainpath_types::{TenantId, TraceId};
use rustix::fs::{FlockOperation, flock};
use std::io::{self, Read, Write};
use std::path::PathBuf;

/// The signatures of a log's heads.
pub(crate) const SIGNATURES: &str = "signatures.jsonl";
/// What runs of it were graded.
pub(crate) const SCORES: &str = "scores.jsonl";
/// The most bytes of scores that are read: more than that nobody has graded.
const MOST_SCORES: u64 = 64 << 20;

/// A file of lines beside the log of a trace.
pub(crate) struct Beside<'a> {
    pub layout: &'a Layout,
    pub tenant: &'a TenantId,
    pub trace: &'a TraceId,
    pub name: &'static str,
}

impl Beside<'_> {
    fn place(&self) -> Result<PathBuf, StoreError> {
        self.layout.existing_log(self.tenant, self.trace)?;
        Ok(self.layout.trace(self.tenant, self.trace).join(self.name))
    }

    /// See [`Store::add_signature`](crate::Store::add_signature) and [`Store::add_score`](crate::Store::add_score).
    pub fn add(&self, line: &str) -> Result<(), StoreError> {
        one_kept_line(line)?;
        let path = self.place()?;
        let write = || -> io::Result<()> {
            let mut file = open_beside(&path)?;
            if !file.metadata()?.is_file() {
                return Err(io::Error::other("it is not a file"));
            }
            flock(&file, FlockOperation::LockExclusive)?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            let end = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at as u64 + 1);
            // A piece of a line that a crash left was never acknowledged.
            file.set_len(end)?;
            let written = file.write_all(format!("{line}\n").as_bytes()).and_then(|()| file.sync_data());
            if let Err(error) = written {
                let _ = file.set_len(end);
                return Err(error);
            }
            if end == 0 { self.layout.place(self.tenant, self.trace) } else { Ok(()) }
        };
        write().map_err(|e| StoreError::io(format!("write {}", path.display()), e))
    }

    /// See [`Store::signatures`](crate::Store::signatures).
    pub fn read(&self) -> Result<Vec<u8>, StoreError> {
        let path = self.place()?;
        match read_regular(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            read => read.map_err(|e| StoreError::io(format!("read {}", path.display()), e)),
        }
    }

    /// See [`Store::scores`](crate::Store::scores).
    pub fn read_scores(&self) -> Result<Vec<u8>, StoreError> {
        let path = self.place()?;
        let read = || -> io::Result<Vec<u8>> {
            let mut bytes = Vec::new();
            open_regular(&path)?.take(MOST_SCORES + 1).read_to_end(&mut bytes)?;
            if bytes.len() as u64 > MOST_SCORES {
                return Err(io::Error::other("it is larger than 64 MiB; remove it"));
            }
            Ok(bytes)
        };
        match read() {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            read => read.map_err(|e| StoreError::io(format!("read {}", path.display()), e)),
        }
    }

    /// See [`Store::remove_scores`](crate::Store::remove_scores).
    pub fn remove(&self) -> Result<(), StoreError> {
        let path = self.place()?;
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                Err(StoreError::io(format!("remove {}", path.display()), e))
            }
            _ => Ok(()),
        }
    }
}
