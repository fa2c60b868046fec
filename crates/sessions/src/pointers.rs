//! The pointers: a small file for each session.

use crate::place::PlaceError;
use mainpath_runtime::RuntimeError;
use mainpath_store::{StoreError, write_private};
use mainpath_types::{EventId, Millis, TraceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A session: a name for a trace, and how much of it is shown to whom asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// Its name: letters, digits, `-`, `_`, `.` and `@`.
    pub name: String,
    /// The trace; `None` before the first message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceId>,
    /// The trace whose messages were last mirrored from here, or that was taken over from the mirror.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mirrored: Option<TraceId>,
    /// Where that trace is another machine's: the event up to which the mirror was written when it was taken over. Who has gone on there since is
    /// not overwritten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_at: Option<EventId>,
    /// How many messages are prepared; 0 is all of them.
    pub window: u32,
    /// How long after its last use it begins anew, in milliseconds; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<Millis>,
    /// When it was made.
    pub created: Millis,
    /// When it was last used: something was said, or its trace was changed.
    pub used: Millis,
}

impl Session {
    /// A new session without a trace.
    pub fn new(name: &str, window: u32, ttl_ms: Option<Millis>, now: Millis) -> Session {
        Session {
            name: name.into(),
            trace: None,
            mirrored: None,
            taken_at: None,
            window,
            ttl_ms,
            created: now,
            used: now,
        }
    }

    /// Whether its time is over, so that it begins anew.
    pub fn is_expired(&self, now: Millis) -> bool {
        self.ttl_ms.is_some_and(|ttl| now.saturating_sub(self.used) > ttl)
    }
}

/// Why something about a session could not be done. One line for people each.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// No such session.
    #[error("there is no session {0:?}; `mainpath session list` lists them, `mainpath session new {0}` makes it")]
    Unknown(String),
    /// There is one of that name.
    #[error("there is a session {0:?} already; `mainpath session switch` points it to another trace")]
    Exists(String),
    /// Messages of which none can be added.
    #[error("it has no messages to add")]
    Nothing,
    /// Others are adding to it all the time.
    #[error("other processes keep adding to the session {0:?}; try again")]
    Busy(String),
    /// Not a name.
    #[error("{0:?} cannot be a session's name: 1 to 200 letters, digits, '-', '_', '.' or '@', not beginning with '.'")]
    BadName(String),
    /// Its file is not what it should be.
    #[error("{file} is not a session: {problem}; remove it, or fix it")]
    Damaged {
        /// The file.
        file: String,
        /// What is wrong.
        problem: String,
    },
    /// A file cannot be read or written.
    #[error("cannot {doing}: {source}")]
    Io {
        /// What was tried.
        doing: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The trace.
    #[error(transparent)]
    Trace(#[from] RuntimeError),
    /// The log.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The mirror.
    #[error(transparent)]
    Place(#[from] PlaceError),
}

/// The sessions of a tenant: a folder of small files.
#[derive(Clone, Debug)]
pub struct Sessions {
    folder: PathBuf,
}

impl Sessions {
    /// Those in this folder, which need not be there yet.
    pub fn new(folder: PathBuf) -> Sessions {
        Sessions { folder }
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// One of them. Errors: there is none, it is no name, or its file is damaged.
    pub fn get(&self, name: &str) -> Result<Session, SessionError> {
        let file = self.file(name)?;
        let text = match std::fs::read_to_string(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(SessionError::Unknown(name.into()));
            }
            text => text.map_err(io(format!("read {}", file.display())))?,
        };
        let damaged = |problem: String| SessionError::Damaged { file: file.display().to_string(), problem };
        let session: Session = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        if session.name != name {
            return Err(damaged(format!("it is about {:?}", session.name)));
        }
        Ok(session)
    }

    /// All of them, by name, each or why it cannot be read. Errors: the folder cannot be read.
    pub fn list(&self) -> Result<Vec<Result<Session, SessionError>>, SessionError> {
        let entries = match std::fs::read_dir(&self.folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(io(format!("list {}", self.folder.display())))?,
        };
        let mut names: Vec<String> = Vec::new();
        for entry in entries {
            let name = entry.map_err(io(format!("list {}", self.folder.display())))?.file_name();
            names.extend(name.to_str().and_then(|name| name.strip_suffix(".json")).map(String::from));
        }
        names.retain(|name| check(name).is_ok());
        names.sort();
        Ok(names.iter().map(|name| self.get(name)).collect())
    }

    /// Writes one, whole or not at all. Errors: it is no name, or the file cannot be written.
    pub fn put(&self, session: &Session) -> Result<(), SessionError> {
        let file = self.file(&session.name)?;
        let mut text = serde_json::to_string(session)
            .map_err(|error| SessionError::Damaged { file: file.display().to_string(), problem: error.to_string() })?;
        text.push('\n');
        write_private(&file, text.as_bytes()).map_err(io(format!("write {}", file.display())))
    }

    /// Removes one; its trace stays. Errors: there is none.
    pub fn remove(&self, name: &str) -> Result<(), SessionError> {
        let file = self.file(name)?;
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(SessionError::Unknown(name.into())),
            done => done.map_err(io(format!("remove {}", file.display()))),
        }?;
        gone(&self.folder.join(format!("{name}.lock")))?;
        gone(&self.folder.join(format!("{name}.turn")))
    }

    fn file(&self, name: &str) -> Result<PathBuf, SessionError> {
        check(name)?;
        Ok(self.folder.join(format!("{name}.json")))
    }
}

pub(crate) fn check(name: &str) -> Result<(), SessionError> {
    // What can name a trace can name a file.
    let is_name = name.parse::<TraceId>().is_ok();
    if is_name { Ok(()) } else { Err(SessionError::BadName(name.chars().take(80).collect())) }
}

/// Removes a file that need not be there.
pub(crate) fn gone(file: &Path) -> Result<(), SessionError> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        done => done.map_err(io(format!("remove {}", file.display()))),
    }
}

pub(crate) fn io(doing: String) -> impl FnOnce(std::io::Error) -> SessionError {
    move |source| SessionError::Io { doing, source }
}
