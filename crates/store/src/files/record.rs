//! `owner.lock`: locked by the owner of a trace, and what it says.

use crate::private::open_or_make;
use crate::regular::open_regular;
use crate::store::{Damage, Owner, ReadLog, StoreError};
use crate::strict::is_strict;
use mainpath_types::{EventId, TraceId};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// What `owner.lock` says, for people and for the next owner.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Record {
    pub epoch: u64,
    pub pid: u32,
    /// Whether the trace's folder and log are known to be durable.
    pub placed: bool,
    /// True once the log has an event: a log that is missing later was removed. Older versions do not write it.
    pub begun: bool,
    /// Where the log ended when an owner that had written to it gave it free. No line follows the last one whose `prev` would
    /// hold its head: this does.
    pub head: EventId,
    /// The hash of that line's head; empty where none is known.
    pub hash: String,
}

impl Record {
    /// What a trace's folder says; nothing where it says nothing.
    pub fn of(dir: &Path) -> Record {
        open_regular(&dir.join("owner.lock")).map(|file| Record::read(&file)).unwrap_or_default()
    }

    /// Returns true if the trace had a log with events.
    pub fn has_begun(&self) -> bool {
        self.begun || self.placed || self.head > 0
    }

    /// Notes that a log has lost its end, where it has fewer events than when its last writer left it. Nothing is written to such a
    /// log: what was done in the lines that are gone would be done again. A last line that is there in part is cut, kept aside and
    /// said to be, as after a crash.
    pub fn check(&self, read: &mut ReadLog, path: &Path, torn: bool) {
        if self.head <= read.head + EventId::from(torn) || read.read_only() {
            return;
        }
        let problem = format!("lines are missing at the end: when it was last written it had {} events", self.head);
        read.damage = Some(Damage { file: path.display().to_string(), line: read.head + 1, problem });
    }

    /// A record that cannot be read is as none: it is only lost with everything that could be stale.
    fn read(file: &File) -> Record {
        let mut bytes = [0; 256];
        let len = file.read_at(&mut bytes, 0).unwrap_or(0);
        let text = bytes.get(..len).unwrap_or_default();
        serde_json::from_slice(text).ok().filter(|_| is_strict(text)).unwrap_or_default()
    }

    pub fn write(&self, file: &File) -> io::Result<()> {
        let mut text = serde_json::to_vec(self)?;
        text.push(b'\n');
        file.write_all_at(&text, 0)?;
        // Looking takes a tenth of cutting.
        match file.metadata()?.len() > text.len() as u64 {
            true => file.set_len(text.len() as u64),
            false => Ok(()),
        }
    }
}

/// Locks a trace, and reads what the last owner wrote.
pub(crate) fn take_lock(dir: &Path, trace: &TraceId) -> Result<(File, Record), StoreError> {
    let path = dir.join("owner.lock");
    let locking = |e: io::Error| StoreError::io(format!("lock {}", path.display()), e);
    let file = try_lock(&path).map_err(locking)?;
    match file {
        Ok(file) => {
            let record = Record::read(&file);
            Ok((file, record))
        }
        Err(file) => Err(StoreError::Held { trace: trace.clone(), by: named(&file) }),
    }
}

/// Who has locked the file, by what it says.
pub(crate) fn named(file: &File) -> Owner {
    match Record::read(file).pid {
        0 => Owner::Unnamed,
        pid if pid == std::process::id() => Owner::ThisProcess,
        pid => Owner::Process(pid),
    }
}

/// The file, locked; or, if somebody else has it locked, just the file.
pub(crate) fn try_lock(path: &Path) -> io::Result<Result<File, File>> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Ok(file)),
        Err(e) if e == rustix::io::Errno::WOULDBLOCK => Ok(Err(file)),
        Err(e) => Err(e.into()),
    }
}

/// Keeps the bytes after the last good line beside the log, then cuts them off.
pub(crate) fn cut_tail(dir: &Path, log: &File, good: usize, torn: &[u8]) -> io::Result<()> {
    let mut kept = open_or_make(&dir.join("events.torn"))?;
    kept.write_all(torn)?;
    kept.write_all(b"\n")?;
    log.set_len(good as u64)
}
