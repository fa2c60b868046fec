//! Why a store could not do something.

use mainpath_types::{BlobHash, TraceId};
use rustix::io::Errno;
use std::io;

/// Why a store could not do something. One line for people each.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No such trace.
    #[error("there is no trace {trace}")]
    NotFound {
        /// Which.
        trace: TraceId,
    },
    /// The log of a trace is missing, and what was written of it is still there.
    #[error(
        "the log of {trace} (events.jsonl) is missing; its views are in {folder}: restore the file from a copy, or mainpath rm {trace}"
    )]
    LogMissing {
        /// Which.
        trace: TraceId,
        /// Its folder.
        folder: String,
    },
    /// What should be a file of a trace is a folder, a pipe or a device, and is not read.
    #[error(
        "{file} is not a file but a {what}: move it aside and restore the file from a copy, or mainpath rm {trace}"
    )]
    NotAFile {
        /// Which.
        trace: TraceId,
        /// What should be one.
        file: String,
        /// What it is.
        what: &'static str,
    },
    /// There is a trace of this name already.
    #[error("there is a trace {trace} already")]
    Exists {
        /// Which.
        trace: TraceId,
    },
    /// Another owner has the trace.
    #[error("trace {trace} is being run by {by}; stop it there, or wait until it is done")]
    Held {
        /// Which.
        trace: TraceId,
        /// Who has it.
        by: Owner,
    },
    /// No such blob.
    #[error("there is no blob {hash}; it was removed, or the data directory is incomplete")]
    NoBlob {
        /// Which.
        hash: BlobHash,
    },
    /// Not a name for a view.
    #[error(
        "{name:?} cannot be a view's name: a relative path of letters, digits, '-', '_', '.', '@', no part beginning with \
         '.', none of the store's own files"
    )]
    BadView {
        /// The name.
        name: String,
    },
    /// A sender's key that was used for something else before.
    #[error("the key {key:?} was used for another request to trace {trace}")]
    Reused {
        /// Which trace.
        trace: TraceId,
        /// The key.
        key: String,
    },
    /// Not a body for mail.
    #[error("the message is not JSON: {problem}")]
    BadMail {
        /// Why.
        problem: String,
    },
    /// Something that was stored is not what it should be.
    #[error("{0}; restore the file from a copy, or move it aside")]
    Damaged(Damage),
    /// The system said no.
    #[error("cannot {doing}: {source}")]
    Io {
        /// What was tried.
        doing: String,
        /// The system's answer.
        source: io::Error,
    },
}

impl StoreError {
    /// What the system said; `Other` if it is not at fault.
    pub fn cause(&self) -> io::ErrorKind {
        match self {
            StoreError::Io { source, .. } => cause_of(source),
            _ => io::ErrorKind::Other,
        }
    }

    pub(crate) fn io(doing: impl Into<String>, source: impl Into<io::Error>) -> StoreError {
        StoreError::Io { doing: doing.into(), source: source.into() }
    }
}

/// Returns the kind of an error of the system. Too many open files are `ResourceBusy`: `std` has no kind for them.
pub fn cause_of(error: &io::Error) -> io::ErrorKind {
    let is_too_many = |number| number == Errno::MFILE.raw_os_error() || number == Errno::NFILE.raw_os_error();
    match error.raw_os_error().is_some_and(is_too_many) {
        true => io::ErrorKind::ResourceBusy,
        false => error.kind(),
    }
}

/// Returns true if the process or the machine has run out of open files or memory: that heals.
pub fn is_scarce(cause: io::ErrorKind) -> bool {
    matches!(cause, io::ErrorKind::ResourceBusy | io::ErrorKind::OutOfMemory)
}

/// Whether nothing can be written for now, as on a full disk: that heals.
pub fn is_no_room(said: io::ErrorKind) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(said, StorageFull | QuotaExceeded | ReadOnlyFilesystem | FileTooLarge)
}

/// Who has a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// This process.
    ThisProcess,
    /// Another process on this machine, by its process id.
    Process(u32),
    /// Somebody who has not said who it is.
    Unnamed,
    /// The server of another machine.
    Elsewhere,
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Owner::ThisProcess => f.write_str("this process"),
            Owner::Process(id) => write!(f, "process {id}"),
            Owner::Unnamed => f.write_str("another process"),
            Owner::Elsewhere => f.write_str("the server of another machine"),
        }
    }
}

/// A line that is not right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}: {problem}")]
pub struct Damage {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// What is wrong, in a sentence.
    pub problem: String,
}
