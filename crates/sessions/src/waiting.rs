//! Adding to a session: one after another, and what waits for the results of its calls.

use crate::pointers::{SessionError, Sessions, check, gone, io};
use mainpath_providers::history::Loose;
use mainpath_store::{create_private_parent, write_private};
use mainpath_types::TraceId;
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long those who add to the same session are waited for.
const PATIENCE: Duration = Duration::from_secs(30);

impl Sessions {
    /// Keeps others from adding to a session as long as what it gives is there; they are waited for, in any order. Errors: it
    /// takes too long.
    pub(crate) async fn hold(&self, name: &str) -> Result<File, SessionError> {
        check(name)?;
        let path = self.folder().join(format!("{name}.lock"));
        let wrong = |error| io(format!("lock {}", path.display()))(error);
        create_private_parent(&path).map_err(wrong)?;
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path).map_err(wrong)?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(wrong(error)),
                Err(TryLockError::WouldBlock) if begun.elapsed() > PATIENCE => {
                    return Err(SessionError::Busy(name.into()));
                }
                Err(TryLockError::WouldBlock) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }

    /// The messages at the end of a trace's conversation whose calls wait for their results. They are in no log yet. Errors:
    /// their file cannot be read.
    pub fn waiting(&self, trace: &TraceId) -> Result<Loose, SessionError> {
        let file = self.waiting_file(trace);
        let text = match std::fs::read(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Loose::default()),
            text => text.map_err(io(format!("read {}", file.display())))?,
        };
        serde_json::from_slice(&text)
            .map_err(|error| SessionError::Damaged { file: file.display().to_string(), problem: error.to_string() })
    }

    /// Puts these in their place; none of them removes the file. They are durable when it answers.
    pub(crate) fn keep_waiting(&self, trace: &TraceId, waiting: &Loose) -> Result<(), SessionError> {
        if waiting.is_empty() {
            return self.forget_waiting(trace);
        }
        let file = self.waiting_file(trace);
        let bytes = serde_json::to_vec(waiting)
            .map_err(|error| SessionError::Damaged { file: file.display().to_string(), problem: error.to_string() })?;
        let synced = || {
            write_private(&file, &bytes)?;
            File::open(&file)?.sync_all()?;
            file.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
        };
        synced().map_err(io(format!("write {}", file.display())))
    }

    /// Removes them, with all that they say. Errors: the file cannot be removed.
    pub fn forget_waiting(&self, trace: &TraceId) -> Result<(), SessionError> {
        gone(&self.waiting_file(trace))
    }

    fn waiting_file(&self, trace: &TraceId) -> PathBuf {
        self.folder().join("waiting").join(format!("{trace}.json"))
    }
}
