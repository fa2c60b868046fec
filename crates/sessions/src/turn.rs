//! Turns: of the processes that want to run with one session, one runs at a time.

use crate::SessionError;
use crate::pointers::{Sessions, check, io};
use mainpath_store::create_private_parent;
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;

/// The right to run with a session. It ends when this is dropped, also by the end of the process.
#[derive(Debug)]
pub struct Turn(#[expect(dead_code, reason = "the lock ends with the file")] File);

impl Sessions {
    /// Takes the turn of a session, which need not exist yet. `None` while another process or thread has it.
    ///
    /// # Errors
    /// It is no name, or its lock file cannot be written.
    pub fn try_turn(&self, name: &str) -> Result<Option<Turn>, SessionError> {
        check(name)?;
        let path = self.folder().join(format!("{name}.turn"));
        let wrong = |error| io(format!("lock {}", path.display()))(error);
        create_private_parent(&path).map_err(wrong)?;
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path).map_err(wrong)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Turn(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(wrong(error)),
        }
    }
}
