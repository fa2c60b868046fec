//! A SQLite database that other programs read: `session(name, trace, head, messages)` and `message(session, n, role, message)`, where
//! `message` is the neutral JSON, `n` counts from 1 and `messages` is how many there are (`NULL` where an earlier version wrote them).

use crate::place::{Fut, Kept, Known, Listed, PlaceError, SessionPlace, UNREADABLE};
use mainpath_types::{Message, Millis, Role, TraceId};
use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior, params};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Duration;

/// A database in a file.
#[derive(Clone, Debug)]
pub struct SqlitePlace {
    file: PathBuf,
}

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS session(name TEXT PRIMARY KEY, trace TEXT NOT NULL, head INTEGER NOT NULL, messages INTEGER);
    CREATE TABLE IF NOT EXISTS message(
        session TEXT NOT NULL, n INTEGER NOT NULL, role TEXT NOT NULL, message TEXT NOT NULL, PRIMARY KEY(session, n))
        WITHOUT ROWID;
";
/// How long another program may be waited for.
const PATIENCE: Duration = Duration::from_secs(5);

type Done<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

impl SqlitePlace {
    /// In this file, which is made when it is first used.
    pub fn new(file: PathBuf) -> SqlitePlace {
        SqlitePlace { file }
    }

    fn open(&self) -> Done<Connection> {
        OpenOptions::new().create(true).append(true).mode(0o600).open(&self.file)?;
        let db = Connection::open(&self.file)?;
        db.busy_timeout(PATIENCE)?;
        // What is removed or replaced is no longer in the file.
        db.pragma_update(None, "secure_delete", "on")?;
        db.execute_batch(TABLES)?;
        if !has_counts(&db)? {
            let counted = db.execute_batch("ALTER TABLE session ADD COLUMN messages INTEGER");
            // Another process may have come first.
            if !has_counts(&db)? {
                counted?;
            }
        }
        Ok(db)
    }

    /// The same for who only looks, also where nothing can be written.
    fn look(&self) -> Done<Connection> {
        use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        match OpenOptions::new().append(true).open(&self.file) {
            Err(error) if matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem) => {
                let db = Connection::open_with_flags(&self.file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
                db.busy_timeout(PATIENCE)?;
                Ok(db)
            }
            _ => self.open(),
        }
    }

    fn read(&self, session: &str, window: usize) -> Done<Option<Kept>> {
        if !self.file.exists() {
            return Ok(None);
        }
        let mut db = self.look()?;
        // One look at both tables, whoever writes meanwhile.
        let db = db.transaction()?;
        let wrong = |problem: &str| PlaceError::damage(self.file.display(), session, problem);
        let known = db
            .query_row("SELECT * FROM session WHERE name = ?1", [session], |row| {
                // Where nothing can be written, the column of an earlier version's table is missing.
                Ok((row.get::<_, String>("trace").ok(), number(row, "head"), number(row, "messages")))
            })
            .optional()?;
        let mut query = db.prepare("SELECT n, message FROM message WHERE session = ?1 ORDER BY n DESC LIMIT ?2")?;
        let most = if window == 0 { -1 } else { i64::try_from(window).unwrap_or(-1) };
        let rows = query.query_map(params![session, most], |row| {
            Ok((number(row, "n"), row.get::<_, String>("message").unwrap_or_default()))
        })?;
        let rows: Vec<(Option<u64>, String)> = rows.collect::<Result<_, _>>()?;
        let Some((trace, head, count)) = known else {
            return if rows.is_empty() {
                Ok(None)
            } else {
                Err(wrong("its row in the table session is missing").into())
            };
        };
        let trace =
            trace.and_then(|trace| trace.parse().ok()).ok_or_else(|| wrong("its trace is not a trace's name"))?;
        let head = head.ok_or_else(|| wrong("its head is not a number"))?;
        let readable = |(n, message): &(Option<u64>, String)| Some((*n, serde_json::from_str(message).ok()?));
        let readable: Vec<(Option<u64>, Message)> = rows.iter().rev().filter_map(readable).collect();
        let last = count.or(rows.first().and_then(|(n, _)| *n)).unwrap_or(0);
        let first = if window == 0 { 1 } else { last.saturating_sub(window as u64) + 1 };
        let there = readable.iter().filter(|(n, _)| n.is_some_and(|n| (first..=last).contains(&n))).count();
        let lost = (last + 1).saturating_sub(first).saturating_sub(there as u64);
        let messages: Vec<Message> = readable.into_iter().map(|(_, message)| message).collect();
        if messages.is_empty() && lost > 0 {
            return Err(wrong(UNREADABLE).into());
        }
        Ok(Some(Kept { trace, head, messages, lost }))
    }

    /// Writes it, or removes it; unless what is there is neither of its own trace nor among `over`: that trace is given then. `None`: whatever was there.
    fn write(&self, session: &str, kept: Option<&Kept>, over: Option<&[Known]>) -> Done<Option<TraceId>> {
        let mut db = self.open()?;
        let db = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if let (Some(kept), Some(over)) = (kept, over) {
            let find = "SELECT trace, head FROM session WHERE name = ?1";
            let held =
                db.query_row(find, [session], |row| Ok((row.get::<_, String>("trace").ok(), number(row, "head"))));
            // What is no trace's name was put there by somebody else, and holds nothing of ours.
            let held = held.optional()?.and_then(|(trace, head)| Some((trace?.parse::<TraceId>().ok()?, head)));
            let is_free = |trace: &TraceId, head: Option<u64>| {
                let is_known = |known: &Known| known.trace == *trace && (known.head.is_none() || known.head == head);
                *trace == kept.trace || over.iter().any(is_known)
            };
            if let Some((trace, _)) = held.filter(|(trace, head)| !is_free(trace, *head)) {
                return Ok(Some(trace));
            }
        }
        db.execute("DELETE FROM message WHERE session = ?1", [session])?;
        db.execute("DELETE FROM session WHERE name = ?1", [session])?;
        if let Some(kept) = kept {
            let insert = "INSERT INTO session(name, trace, head, messages) VALUES(?1, ?2, ?3, ?4)";
            let (head, count) = (i64::try_from(kept.head)?, i64::try_from(kept.messages.len())?);
            db.execute(insert, params![session, kept.trace.as_str(), head, count])?;
            let mut insert = db.prepare("INSERT INTO message VALUES(?1, ?2, ?3, ?4)")?;
            for (n, message) in (1i64..).zip(&kept.messages) {
                let role = match message.role {
                    Role::User => "user",
                    Role::Assistant => "assistant",
                    Role::Tool => "tool",
                };
                insert.execute(params![session, n, role, serde_json::to_string(message)?])?;
            }
        }
        db.commit()?;
        Ok(None)
    }

    fn names(&self) -> Done<Vec<Listed>> {
        if !self.file.exists() {
            return Ok(Vec::new());
        }
        let db = self.look()?;
        let mut query = db.prepare("SELECT name, trace FROM session ORDER BY name")?;
        let rows = query.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
        let rows: Vec<(String, String)> = rows.collect::<Result<_, _>>()?;
        Ok(rows.into_iter().filter_map(|(name, trace)| Some(Listed { name, trace: trace.parse().ok()? })).collect())
    }

    fn forget_rows(&self, traces: &[TraceId]) -> Done<()> {
        if !self.file.exists() {
            return Ok(());
        }
        let mut db = self.open()?;
        let mut emptied = 0;
        let all = db.transaction()?;
        for trace in traces {
            let of = "SELECT name FROM session WHERE trace = ?1";
            all.execute(&format!("DELETE FROM message WHERE session IN ({of})"), [trace.as_str()])?;
            emptied += all.execute("UPDATE session SET head = 0, messages = 0 WHERE trace = ?1", [trace.as_str()])?;
        }
        all.commit()?;
        if emptied > 0 {
            // What was replaced before deletion was for good.
            db.execute_batch("VACUUM")?;
        }
        Ok(())
    }

    fn told<T>(&self, done: Done<T>) -> Result<T, PlaceError> {
        done.map_err(|error| match error.downcast::<PlaceError>() {
            Ok(error) => *error,
            Err(error) => PlaceError::new(self.file.display(), error),
        })
    }
}

/// A column that counts; `None` where somebody else has put something else there.
fn number(row: &rusqlite::Row<'_>, column: &str) -> Option<u64> {
    row.get::<_, i64>(column).ok().and_then(|n| u64::try_from(n).ok())
}

/// Whether the table says how many messages there are; an earlier version's does not.
fn has_counts(db: &Connection) -> rusqlite::Result<bool> {
    db.query_row("SELECT COUNT(*) > 0 FROM pragma_table_info('session') WHERE name = 'messages'", [], |row| row.get(0))
}

impl SessionPlace for SqlitePlace {
    fn get<'a>(&'a self, session: &'a str, window: usize) -> Fut<'a, Result<Option<Kept>, PlaceError>> {
        Box::pin(std::future::ready(self.told(self.read(session, window))))
    }

    fn put<'a>(&'a self, session: &'a str, kept: &'a Kept, _: Option<Millis>) -> Fut<'a, Result<(), PlaceError>> {
        Box::pin(std::future::ready(self.told(self.write(session, Some(kept), None).map(drop))))
    }

    fn replace<'a>(
        &'a self,
        session: &'a str,
        kept: &'a Kept,
        _: Option<Millis>,
        over: &'a [Known],
    ) -> Fut<'a, Result<Option<TraceId>, PlaceError>> {
        Box::pin(std::future::ready(self.told(self.write(session, Some(kept), Some(over)))))
    }

    fn list(&self) -> Fut<'_, Result<Vec<Listed>, PlaceError>> {
        Box::pin(std::future::ready(self.told(self.names())))
    }

    fn remove<'a>(&'a self, session: &'a str) -> Fut<'a, Result<(), PlaceError>> {
        Box::pin(std::future::ready(self.told(self.write(session, None, None).map(drop))))
    }

    fn forget<'a>(&'a self, traces: &'a [TraceId]) -> Fut<'a, Result<(), PlaceError>> {
        Box::pin(std::future::ready(self.told(self.forget_rows(traces))))
    }
}
