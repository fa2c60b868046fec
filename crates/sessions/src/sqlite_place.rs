//! A SQLite database that other programs read: `session(name, trace, head)` and `message(session, n, role, message)`, where
//! `message` is the neutral JSON and `n` counts from 1.

use crate::place::{Fut, Kept, Listed, PlaceError, SessionPlace};
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
    CREATE TABLE IF NOT EXISTS session(name TEXT PRIMARY KEY, trace TEXT NOT NULL, head INTEGER NOT NULL);
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
        let known = db
            .query_row("SELECT trace, head FROM session WHERE name = ?1", [session], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
            })
            .optional()?;
        let Some((trace, head)) = known else { return Ok(None) };
        let mut query = db.prepare("SELECT message FROM message WHERE session = ?1 ORDER BY n DESC LIMIT ?2")?;
        let most = if window == 0 { -1 } else { i64::try_from(window).unwrap_or(-1) };
        let rows = query.query_map(params![session, most], |row| row.get::<_, String>(0))?;
        let mut messages = Vec::new();
        for row in rows {
            let Ok(message) = serde_json::from_str::<Message>(&row?) else { return Ok(None) };
            messages.push(message);
        }
        messages.reverse();
        Ok(Some(Kept { trace: trace.parse()?, head: u64::try_from(head)?, messages }))
    }

    /// Writes it, or removes it; unless it is of another trace than its own and those of `over`, which is given then. `None`: whatever was there.
    fn write(&self, session: &str, kept: Option<&Kept>, over: Option<&[TraceId]>) -> Done<Option<TraceId>> {
        let mut db = self.open()?;
        let db = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if let (Some(kept), Some(over)) = (kept, over) {
            let find = "SELECT trace FROM session WHERE name = ?1";
            let held: Option<String> = db.query_row(find, [session], |row| row.get(0)).optional()?;
            // What is no trace's name was put there by somebody else, and holds nothing of ours.
            let held = held.and_then(|held| held.parse::<TraceId>().ok());
            if let Some(held) = held.filter(|held| *held != kept.trace && !over.contains(held)) {
                return Ok(Some(held));
            }
        }
        db.execute("DELETE FROM message WHERE session = ?1", [session])?;
        db.execute("DELETE FROM session WHERE name = ?1", [session])?;
        if let Some(kept) = kept {
            let head = i64::try_from(kept.head)?;
            db.execute("INSERT INTO session VALUES(?1, ?2, ?3)", params![session, kept.trace.as_str(), head])?;
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
        let mut removed = 0;
        let all = db.transaction()?;
        for trace in traces {
            let of = "SELECT name FROM session WHERE trace = ?1";
            all.execute(&format!("DELETE FROM message WHERE session IN ({of})"), [trace.as_str()])?;
            removed += all.execute("DELETE FROM session WHERE trace = ?1", [trace.as_str()])?;
        }
        all.commit()?;
        if removed > 0 {
            // What was replaced before deletion was for good.
            db.execute_batch("VACUUM")?;
        }
        Ok(())
    }

    fn told<T>(&self, done: Done<T>) -> Result<T, PlaceError> {
        done.map_err(|error| PlaceError { place: self.file.display().to_string(), problem: error.to_string() })
    }
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
        over: &'a [TraceId],
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
