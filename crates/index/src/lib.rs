//! A cache over the traces of a tenant: the list of them, and a search in what was said.
//!
//! **This crate owns** one SQLite file beside the traces. It can be deleted at any time, and comes back. **Its caller owns**
//! the judgement what to do where it cannot be used: the logs are the truth, and nothing is only here.
//!
//! Refreshing reads what changed: the traces that the store notes as leased, those that were still owned the last time, and
//! whatever name appeared or is gone.
//!
//! Chinese, Japanese and Korean letters are words of their own in the search, so that any part of such a text is found; in
//! other scripts a word is found by its beginning.

mod found;
mod names;
mod query;
mod read;
mod refresh;
mod rows;
mod search;
mod steps;
mod sum;
mod tables;
mod words;

pub use query::{FoundStep, FoundSteps};
pub use search::{Hit, HitPlace, Shown};

use mainpath_policy::Predicate;
use mainpath_runtime::run_stats::RunStats;
use mainpath_store::{FilesStore, Scope, cause_of, is_scarce};
use mainpath_types::{FinishReason, Micros, Millis, TraceId};
use refresh::Of;
use rusqlite::{Connection, ErrorCode};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The list of a tenant's traces.
pub struct Index {
    path: PathBuf,
    store: Arc<FilesStore>,
    scope: Scope,
    db: Connection,
}

/// A trace in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which.
    pub trace: TraceId,
    /// When it began.
    pub created: Millis,
    /// When its log last changed.
    pub modified: Millis,
    /// One word for where it stands; `damaged` if its log is.
    pub status: String,
    /// Why the last run ended.
    pub reason: Option<FinishReason>,
    /// Model turns.
    pub turns: u32,
    /// Tokens, input and output together.
    pub tokens: u64,
    /// What they cost.
    pub cost: Micros,
    /// Whether some of that was estimated.
    pub about: bool,
    /// The model.
    pub model: String,
    /// The folder that the agent works in.
    pub workspace: String,
    /// The beginning of what it was first asked to do.
    pub task: String,
    /// The preset that it was made from, if it was.
    pub agent: Option<String>,
    /// What it is called, if somebody or a model has named it.
    pub name: Option<String>,
    /// Where it waits and has agents: which they are. It may wait for them, and is said to run then.
    pub below: Option<Below>,
}

/// The agents of a trace, theirs and so on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Below {
    /// Those that run, by their logs.
    pub running: Vec<TraceId>,
}

/// Which part of the list is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// At most so many.
    pub most: usize,
    /// Those that come after this one.
    pub after: Option<Position>,
    /// Those only that wait, or whose agents do, whatever else goes on meanwhile.
    pub may_ask: bool,
    /// Those that stand so only.
    pub status: Option<String>,
    /// Those of this preset only.
    pub agent: Option<String>,
    /// Those that called this tool only.
    pub tool: Option<String>,
    /// Those whose logs last changed at this time or later,
    pub since: Option<Millis>,
    /// and those of which that was before this time.
    pub until: Option<Millis>,
    /// Also those that belong to another.
    pub with_children: bool,
}

/// A place in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// When the log of the trace there last changed.
    pub modified: Millis,
    /// The trace there.
    pub trace: TraceId,
}

/// Why the index cannot be used now.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// Another process is writing it.
    #[error("the index {0} is being written by another process; try again in a moment")]
    Busy(String),
    /// There is no room to write it.
    #[error("the index {0} cannot be written: the disk is full")]
    Full(String),
    /// A search without a word.
    #[error("there is nothing to look for in {0:?}: say at least one word")]
    NoWords(String),
    /// SQLite said no.
    #[error("the index {path} cannot be used: {source}; it can be deleted, it is made again")]
    Sqlite {
        /// The file.
        path: String,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The logs cannot be looked at.
    #[error(transparent)]
    Store(#[from] mainpath_store::StoreError),
    /// The file cannot be made or removed.
    #[error("the index {path} cannot be written: {source}")]
    Io {
        /// The file.
        path: String,
        /// The system's answer.
        source: std::io::Error,
    },
}

impl IndexError {
    /// Whether there is no room for what is to be written, or nothing may be.
    pub fn is_full(&self) -> bool {
        match self {
            IndexError::Full(_) => true,
            IndexError::Io { source, .. } => {
                use std::io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
                matches!(source.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem)
            }
            _ => false,
        }
    }
}

impl IndexError {
    /// Returns true if the process has run out of open files or memory.
    pub fn is_scarce(&self) -> bool {
        match self {
            IndexError::Store(error) => is_scarce(error.cause()),
            IndexError::Io { source, .. } => is_scarce(cause_of(source)),
            _ => false,
        }
    }
}

/// What a refresh did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refreshed {
    /// Traces whose logs were read.
    pub read: usize,
    /// Traces that were gone.
    pub gone: usize,
}

/// A trace as the index would keep it, read from its log: for who can keep no index. `None` if it is gone or cannot be read.
pub fn row(store: &FilesStore, scope: &Scope, trace: &TraceId) -> Option<Row> {
    read::read(store, scope, trace).map(|found| found.row)
}

impl Index {
    /// Opens the index of a tenant, or makes it. One that is damaged or of another version is made anew.
    /// Errors: [`IndexError::Busy`], [`IndexError::Sqlite`], [`IndexError::Io`].
    pub fn open(store: &Arc<FilesStore>, scope: &Scope) -> Result<Index, IndexError> {
        let path = store.index_file(&scope.tenant);
        let db = match tables::open(&path) {
            Err(error) if is_damage(&error) => {
                delete(store, scope)?;
                tables::open(&path)
            }
            opened => opened,
        };
        let db = db.map_err(|source| say(&path, source))?;
        Ok(Index { path, store: Arc::clone(store), scope: scope.clone(), db })
    }

    /// What can be known of the traces now, whatever can be written: the index with what changed since; else the index as it is, or, where
    /// there is nothing in it or it cannot be used, one in memory. Errors: [`IndexError::Busy`], [`IndexError::Store`].
    pub fn at_hand(store: &Arc<FilesStore>, scope: &Scope) -> Result<Index, IndexError> {
        let refreshed = Index::open(store, scope).and_then(|mut index| match index.refresh() {
            Err(IndexError::Busy(_) | IndexError::Full(_) | IndexError::Io { .. }) if index.has_some() => Ok(index),
            done => done.map(|_| index),
        });
        Index::or_in_memory(refreshed, store, scope)
    }

    /// The index with all that changed; one in memory where it cannot be written or used. Errors: as [`Index::at_hand`]'s.
    pub fn up_to_date(store: &Arc<FilesStore>, scope: &Scope) -> Result<Index, IndexError> {
        let refreshed = Index::open(store, scope).and_then(|mut index| index.refresh().map(|_| index));
        Index::or_in_memory(refreshed, store, scope)
    }

    fn or_in_memory(
        index: Result<Index, IndexError>,
        store: &Arc<FilesStore>,
        scope: &Scope,
    ) -> Result<Index, IndexError> {
        match index {
            Err(IndexError::Full(_) | IndexError::Sqlite { .. } | IndexError::Io { .. }) => {
                Index::in_memory(store, scope)
            }
            done => done,
        }
    }

    fn has_some(&self) -> bool {
        self.newest(1).is_ok_and(|(_, all)| all > 0)
    }

    /// An index of its own for this process alone, made of all logs: for a place where none can be written. Errors:
    /// [`IndexError::Sqlite`], [`IndexError::Store`].
    pub fn in_memory(store: &Arc<FilesStore>, scope: &Scope) -> Result<Index, IndexError> {
        let path = PathBuf::from("in memory");
        let db = tables::in_memory().map_err(|source| say(&path, source))?;
        let mut index = Index { path, store: Arc::clone(store), scope: scope.clone(), db };
        index.refresh()?;
        Ok(index)
    }

    /// Takes in what changed since the last time. A file that turns out to be damaged is made anew.
    pub fn refresh(&mut self) -> Result<Refreshed, IndexError> {
        match refresh::refresh(&mut self.db, &self.store, &self.scope, &Of::Noted) {
            Err(refresh::Failed::Sqlite(error)) if is_damage(&error) => self.rebuild(),
            done => self.told(done),
        }
    }

    /// Reads again those of the listed traces whose logs were changed, removed or restored by hand: such changes are not noted anywhere.
    /// Returns true if the rows are out of date now; false also where the index cannot be written.
    pub fn reread_changed(&mut self, rows: &[Row]) -> bool {
        let changed = refresh::changed(&self.db, &self.store, &self.scope, rows);
        let also = Of::Also(&changed);
        !changed.is_empty() && refresh::refresh(&mut self.db, &self.store, &self.scope, &also).is_ok()
    }

    /// Makes it anew from the logs.
    pub fn rebuild(&mut self) -> Result<Refreshed, IndexError> {
        // In the same file where that can be: other processes may have it open.
        let cleared = tables::clear(&self.db);
        if cleared.as_ref().is_err_and(is_damage) {
            self.db = Connection::open_in_memory().map_err(|source| say(&self.path, source))?;
            delete(&self.store, &self.scope)?;
            self.db = tables::open(&self.path).map_err(|source| say(&self.path, source))?;
        } else {
            cleared.map_err(|source| say(&self.path, source))?;
        }
        let done = refresh::refresh(&mut self.db, &self.store, &self.scope, &Of::All);
        self.told(done)
    }

    fn told(&self, done: Result<Refreshed, refresh::Failed>) -> Result<Refreshed, IndexError> {
        done.map_err(|error| match error {
            refresh::Failed::Sqlite(source) => say(&self.path, source),
            refresh::Failed::Store(error) => error.into(),
        })
    }

    /// The traces that changed last, newest first, and how many there are in all.
    pub fn newest(&self, most: usize) -> Result<(Vec<Row>, usize), IndexError> {
        let read = rows::newest(&self.db, most);
        read.map_err(|source| say(&self.path, source))
    }

    /// The same, but of the newest only those that belong to no other: no agents that other agents started, and no reflections.
    pub fn newest_own(&self, most: usize) -> Result<(Vec<Row>, usize), IndexError> {
        let read = rows::newest_own(&self.db, most);
        read.map_err(|source| say(&self.path, source))
    }

    /// A part of the list, newest first.
    pub fn page(&self, wanted: &Wanted) -> Result<Vec<Row>, IndexError> {
        let read = rows::page(&self.db, wanted);
        read.map_err(|source| say(&self.path, source))
    }

    /// Folders that are not in the list: without a log, or with one that cannot be read.
    pub fn unlisted(&self) -> Result<Vec<TraceId>, IndexError> {
        let read = names::awaited(&self.db).map(|names| names.into_iter().collect());
        read.map_err(|source| say(&self.path, source))
    }

    /// The traces whose logs are damaged: what comes before that was read.
    pub fn damaged(&self) -> Result<Vec<TraceId>, IndexError> {
        tables::damaged(&self.db).map_err(|source| say(&self.path, source))
    }

    /// What was counted of the runs that began at this time or later, oldest first; and of how many traces they are.
    pub fn runs(&self, since: Millis) -> Result<(Vec<RunStats>, usize), IndexError> {
        let runs = tables::runs(&self.db, since).map_err(|source| say(&self.path, source))?;
        let traces: BTreeSet<i64> = runs.iter().map(|(trace, _)| *trace).collect();
        Ok((runs.into_iter().map(|(_, run)| run).collect(), traces.len()))
    }

    /// Where these words were said, the trace that changed last first; at most so many places, of those after one.
    pub fn search(&self, query: &str, most: usize, after: Option<&HitPlace>) -> Result<Vec<Hit>, IndexError> {
        let words = search::query(query).ok_or_else(|| IndexError::NoWords(query.chars().take(80).collect()))?;
        search::search(&self.db, &words, most, after).map_err(|source| say(&self.path, source))
    }

    /// The calls that a predicate is true of, the newest traces' first; at most so many, and how many there are.
    pub fn query(&self, predicate: &Predicate, most: usize) -> Result<FoundSteps, IndexError> {
        query::query(&self.db, predicate, most).map_err(|source| say(&self.path, source))
    }

    /// Takes everything out of the file that came from these traces. Where that cannot be, the file is removed.
    pub fn forget(store: &Arc<FilesStore>, scope: &Scope, traces: &[TraceId]) -> Result<(), IndexError> {
        let path = store.index_file(&scope.tenant);
        if !path.exists() {
            return Ok(());
        }
        let forgotten = tables::open(&path).and_then(|mut db| tables::forget(&mut db, traces));
        if forgotten.is_err() { delete(store, scope) } else { Ok(()) }
    }
}

fn is_damage(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::SchemaChanged))
        || matches!(error, rusqlite::Error::InvalidColumnType(..) | rusqlite::Error::FromSqlConversionFailure(..))
        // A table or column that is missing, or a check that did not hold.
        || matches!(error, rusqlite::Error::SqliteFailure(_, Some(text)) if text.contains("no such"))
}

fn say(path: &Path, source: rusqlite::Error) -> IndexError {
    let path = path.display().to_string();
    match source.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => IndexError::Full(path),
        _ if tables::is_busy(&source) => IndexError::Busy(path),
        _ => IndexError::Sqlite { path, source },
    }
}

/// Removes the file with what SQLite keeps beside it.
fn delete(store: &FilesStore, scope: &Scope) -> Result<(), IndexError> {
    let path = || store.index_file(&scope.tenant).display().to_string();
    store.delete_index(&scope.tenant).map_err(|source| IndexError::Io { path: path(), source })
}
