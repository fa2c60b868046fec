//! The tables, and how rows get in and out of them.

use crate::Row;
use crate::found::{Found, Stamp, Step};
use crate::steps::words;
use crate::words::spaced;
use mainpath_runtime::run_stats::RunStats;
use mainpath_types::{Millis, TraceId};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Result, Transaction, TransactionBehavior, ffi, params};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Another one, and the file is made anew.
const VERSION: i64 = 12;
/// The status of a trace whose log is damaged, missing or not a file.
pub(crate) const DAMAGED: &str = "damaged";
/// How long another process may be waited for: it may be reading a large log.
const PATIENCE: Duration = Duration::from_secs(10);

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS trace(
        n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, len INTEGER NOT NULL, at INTEGER NOT NULL, live INTEGER NOT NULL,
        created INTEGER NOT NULL, modified INTEGER NOT NULL, status TEXT NOT NULL, reason TEXT, turns INTEGER NOT NULL,
        tokens INTEGER NOT NULL, cost INTEGER NOT NULL, about INTEGER NOT NULL, model TEXT NOT NULL, workspace TEXT NOT NULL, task TEXT NOT NULL,
        name TEXT, agent TEXT);
    CREATE INDEX IF NOT EXISTS trace_modified ON trace(modified DESC, id);
    CREATE INDEX IF NOT EXISTS trace_live ON trace(live) WHERE live = 1;
    CREATE INDEX IF NOT EXISTS trace_damaged ON trace(status) WHERE status = 'damaged';
    CREATE TABLE IF NOT EXISTS message(
        n INTEGER PRIMARY KEY, trace INTEGER NOT NULL, seq INTEGER NOT NULL, role TEXT NOT NULL, text TEXT NOT NULL);
    CREATE INDEX IF NOT EXISTS message_trace ON message(trace);
    CREATE TABLE IF NOT EXISTS run(trace INTEGER NOT NULL, began INTEGER NOT NULL, stats TEXT NOT NULL);
    CREATE INDEX IF NOT EXISTS run_trace ON run(trace);
    CREATE INDEX IF NOT EXISTS run_began ON run(began);
    CREATE TABLE IF NOT EXISTS step(
        n INTEGER PRIMARY KEY, trace INTEGER NOT NULL, seq INTEGER NOT NULL, call INTEGER, tool TEXT NOT NULL, verdict TEXT NOT NULL,
        rule TEXT NOT NULL, outcome TEXT NOT NULL, code TEXT NOT NULL, origins TEXT NOT NULL, cost INTEGER NOT NULL, model TEXT NOT NULL);
    CREATE INDEX IF NOT EXISTS step_trace ON step(trace);
    CREATE INDEX IF NOT EXISTS step_verdict ON step(verdict) WHERE verdict <> 'allow';
    CREATE INDEX IF NOT EXISTS step_outcome ON step(outcome) WHERE outcome <> 'ok';
    CREATE TABLE IF NOT EXISTS step_text(n INTEGER PRIMARY KEY, args TEXT NOT NULL, said TEXT NOT NULL, failure TEXT NOT NULL);
    CREATE VIRTUAL TABLE IF NOT EXISTS step_words USING fts5(text, content='', detail=none, tokenize='trigram');
    INSERT INTO step_words(step_words, rank) VALUES('secure-delete', 1);
    CREATE TABLE IF NOT EXISTS mark(name TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text, content='', tokenize='unicode61 remove_diacritics 2');
    INSERT INTO words(words, rank) VALUES('secure-delete', 1);
";

pub(crate) fn open(path: &Path) -> Result<Connection> {
    // For its owner only, before SQLite makes it for everybody; what it keeps beside it has the same mode.
    let _ = OpenOptions::new().create_new(true).append(true).mode(0o600).open(path);
    // A pipe would keep SQLite waiting for ever.
    if std::fs::metadata(path).is_ok_and(|known| !known.is_file()) {
        return Err(rusqlite::Error::SqliteFailure(
            ffi::Error::new(ffi::SQLITE_NOTADB),
            Some("it is not a file".into()),
        ));
    }
    prepared(Connection::open(path)?)
}

/// The same in memory, gone with this process.
pub(crate) fn in_memory() -> Result<Connection> {
    prepared(Connection::open_in_memory()?)
}

fn prepared(mut db: Connection) -> Result<Connection> {
    db.busy_timeout(PATIENCE)?;
    keep_changes_beside(&db)?;
    db.pragma_update(None, "synchronous", "normal")?;
    // Taking the log of changes into the file takes two syncs: not at every end, but once it is long; see `settle_if_long`.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    db.pragma_update(None, "wal_autocheckpoint", 0)?;
    // What is taken out does not linger in the file.
    db.pragma_update(None, "secure_delete", "on")?;
    if version(&db)? != VERSION {
        let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have made them meanwhile, and filled them.
        if version(&transaction)? != VERSION {
            drop_all(&transaction)?;
            transaction.execute_batch(TABLES)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        transaction.commit()?;
    }
    Ok(db)
}

fn version(db: &Connection) -> Result<i64> {
    db.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Has changes written into a log beside the file. SQLite waits for nobody here, so that two processes that make a new file at
/// the same time would get in each other's way: <https://sqlite.org/c3ref/busy_handler.html>.
fn keep_changes_beside(db: &Connection) -> Result<()> {
    let began = Instant::now();
    loop {
        match db.pragma_update(None, "journal_mode", "wal") {
            Err(error) if is_busy(&error) && began.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(10))
            }
            done => return done,
        }
    }
}

/// Whether another process has the file.
pub(crate) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Empties every table.
pub(crate) fn clear(db: &Connection) -> Result<()> {
    drop_all(db)?;
    db.execute_batch(TABLES)
}

fn drop_all(db: &Connection) -> Result<()> {
    for table in ["trace", "message", "run", "mark", "words", "step", "step_text", "step_words"] {
        db.execute_batch(&format!("DROP TABLE IF EXISTS {table}"))?;
    }
    Ok(())
}

pub(crate) fn stamp(db: &Connection, trace: &TraceId) -> Result<Option<(Stamp, bool)>> {
    let mut query = db.prepare_cached("SELECT len, at, live FROM trace WHERE id = ?1")?;
    let read = |row: &rusqlite::Row<'_>| Ok((Stamp { len: unsigned(row.get(0)?), at: row.get(1)? }, row.get(2)?));
    query.query_row([trace.as_str()], read).optional()
}

/// The traces that somebody owned when they were last looked at.
pub(crate) fn live(db: &Connection) -> Result<Vec<TraceId>> {
    names(db, "SELECT id FROM trace WHERE live = 1")
}

/// Returns true if a process owns it.
pub(crate) fn set_live(db: &Connection, trace: &TraceId, live: bool) -> Result<()> {
    db.execute("UPDATE trace SET live = ?2 WHERE id = ?1", (trace.as_str(), live)).map(drop)
}

/// Records that the log of a trace is lost. The trace counts as owned, so that the next refresh finds a restored log.
pub(crate) fn set_lost(db: &Connection, trace: &TraceId) -> Result<()> {
    let lost = "UPDATE trace SET len = 0, at = 0, live = 1, status = ?2 WHERE id = ?1";
    db.execute(lost, (trace.as_str(), DAMAGED)).map(drop)
}

pub(crate) fn all(db: &Connection) -> Result<Vec<TraceId>> {
    names(db, "SELECT id FROM trace")
}

pub(crate) fn damaged(db: &Connection) -> Result<Vec<TraceId>> {
    names(db, "SELECT id FROM trace WHERE status = 'damaged'")
}

fn names(db: &Connection, query: &str) -> Result<Vec<TraceId>> {
    let mut query = db.prepare(query)?;
    let names: Vec<String> = query.query_map([], |row| row.get(0))?.collect::<Result<_>>()?;
    Ok(names.into_iter().filter_map(|name| name.parse().ok()).collect())
}

pub(crate) fn mark(db: &Connection, name: &str) -> Result<String> {
    let value = db.query_row("SELECT value FROM mark WHERE name = ?1", [name], |row| row.get(0)).optional()?;
    Ok(value.unwrap_or_default())
}

pub(crate) fn set_mark(db: &Connection, name: &str, value: &str) -> Result<()> {
    db.execute("INSERT OR REPLACE INTO mark VALUES(?1, ?2)", [name, value])?;
    Ok(())
}

/// Rows on their way in.
pub(crate) struct Writer<'a> {
    row: rusqlite::Statement<'a>,
    message: rusqlite::Statement<'a>,
    words: rusqlite::Statement<'a>,
    run: rusqlite::Statement<'a>,
    step: rusqlite::Statement<'a>,
    step_text: rusqlite::Statement<'a>,
    remover: Remover<'a>,
}

impl<'a> Writer<'a> {
    pub fn new(db: &'a Transaction<'_>) -> Result<Writer<'a>> {
        Ok(Writer {
            row: db.prepare(
                "INSERT INTO trace VALUES(NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
            )?,
            message: db.prepare("INSERT INTO message VALUES(NULL, ?1, ?2, ?3, ?4)")?,
            words: db.prepare("INSERT INTO words(rowid, text) VALUES(?1, ?2)")?,
            run: db.prepare("INSERT INTO run VALUES(?1, ?2, ?3)")?,
            step: db.prepare("INSERT INTO step VALUES(NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")?,
            step_text: db.prepare("INSERT INTO step_text VALUES(?1, ?2, ?3, ?4)")?,
            remover: Remover::new(db)?,
        })
    }

    /// Puts a trace in the place of what was known of it; `is_new`: nothing was.
    pub fn put(&mut self, found: &Found, is_new: bool) -> Result<()> {
        let Row {
            trace,
            created,
            modified,
            status,
            reason,
            turns,
            tokens,
            cost,
            about,
            model,
            workspace,
            task,
            name,
            agent,
            below: _,
        } = &found.row;
        if !is_new {
            self.remover.remove(trace)?;
        }
        let n = self.row.insert(params![
            trace.as_str(),
            signed(found.stamp.len),
            found.stamp.at,
            found.live,
            signed(*created),
            signed(*modified),
            status,
            reason.map(mainpath_types::FinishReason::as_str),
            turns,
            signed(*tokens),
            signed(*cost),
            about,
            model,
            workspace,
            task,
            name,
            agent,
        ])?;
        for said in &found.said {
            let doc = self.message.insert(params![n, said.seq.0, said.role, said.text])?;
            self.words.execute(params![doc, spaced(&said.text)])?;
        }
        for run in &found.runs {
            // Counts are plain data: they always have a JSON form.
            let stats = serde_json::to_string(run).unwrap_or_default();
            self.run.execute(params![n, signed(run.began), stats])?;
        }
        found.steps.iter().try_for_each(|step| self.step(n, step))
    }

    fn step(&mut self, trace: i64, step: &Step) -> Result<()> {
        let Step { seq, call, tool, arguments, verdict, rule, outcome, code, failure, origins, said, cost, model } =
            step;
        let origins: Vec<String> =
            origins.iter().filter_map(|origin| Some(serde_json::to_value(origin).ok()?.as_str()?.into())).collect();
        // With blanks around each, so that one is found as a whole.
        let origins = if origins.is_empty() { String::new() } else { format!(" {} ", origins.join(" ")) };
        let (seq, cost) = (seq.0, signed(*cost));
        let n =
            self.step.insert(params![trace, seq, call, tool, verdict, rule, outcome, code, origins, cost, model])?;
        // Its trigrams are taken in when somebody asks for them: they cost more than all else of a trace.
        self.step_text.execute(params![n, arguments, said, failure]).map(drop)
    }

    pub fn remove(&mut self, trace: &TraceId) -> Result<()> {
        self.remover.remove(trace)
    }
}

struct Remover<'a> {
    find: rusqlite::Statement<'a>,
    said: rusqlite::Statement<'a>,
    words: rusqlite::Statement<'a>,
    messages: rusqlite::Statement<'a>,
    runs: rusqlite::Statement<'a>,
    row: rusqlite::Statement<'a>,
    steps: rusqlite::Statement<'a>,
    step_words: rusqlite::Statement<'a>,
    step_texts: rusqlite::Statement<'a>,
    step_rows: rusqlite::Statement<'a>,
    last_step: rusqlite::Statement<'a>,
    /// The last step whose trigrams were taken in.
    looked_up: i64,
    db: &'a Connection,
}

impl<'a> Remover<'a> {
    fn new(db: &'a Transaction<'_>) -> Result<Remover<'a>> {
        Ok(Remover {
            find: db.prepare("SELECT n FROM trace WHERE id = ?1")?,
            said: db.prepare("SELECT n, text FROM message WHERE trace = ?1")?,
            // The table of words keeps no texts: it has to be told what to take out.
            words: db.prepare("INSERT INTO words(words, rowid, text) VALUES('delete', ?1, ?2)")?,
            messages: db.prepare("DELETE FROM message WHERE trace = ?1")?,
            runs: db.prepare("DELETE FROM run WHERE trace = ?1")?,
            row: db.prepare("DELETE FROM trace WHERE n = ?1")?,
            steps: db.prepare(
                "SELECT step_text.n, args, said, failure FROM step JOIN step_text ON step_text.n = step.n WHERE trace = ?1",
            )?,
            step_words: db.prepare("INSERT INTO step_words(step_words, rowid, text) VALUES('delete', ?1, ?2)")?,
            step_texts: db.prepare("DELETE FROM step_text WHERE n IN (SELECT n FROM step WHERE trace = ?1)")?,
            step_rows: db.prepare("DELETE FROM step WHERE trace = ?1")?,
            last_step: db.prepare("SELECT ifnull(max(n), 0) FROM step")?,
            looked_up: looked_up(db)?,
            db,
        })
    }

    fn remove(&mut self, trace: &TraceId) -> Result<()> {
        let found: Option<i64> = self.find.query_row([trace.as_str()], |row| row.get(0)).optional()?;
        let Some(n) = found else { return Ok(()) };
        let mut said = self.said.query([n])?;
        while let Some(row) = said.next()? {
            let (doc, text): (i64, String) = (row.get(0)?, row.get(1)?);
            self.words.execute(params![doc, spaced(&text)])?;
        }
        drop(said);
        let mut steps = self.steps.query([n])?;
        while let Some(row) = steps.next()? {
            let (doc, args): (i64, String) = (row.get(0)?, row.get(1)?);
            let (said, failure): (String, String) = (row.get(2)?, row.get(3)?);
            if doc > self.looked_up {
                continue;
            }
            self.step_words.execute(params![doc, words(&args, &said, &failure)])?;
        }
        drop(steps);
        self.step_texts.execute([n])?;
        self.step_rows.execute([n])?;
        self.messages.execute([n])?;
        self.runs.execute([n])?;
        self.row.execute([n])?;
        // The numbers of the last steps are given to others again.
        let last = self.last_step.query_row([], |row| row.get(0))?;
        if last < self.looked_up {
            self.looked_up = last;
            set_mark(self.db, LOOKED_UP, &last.to_string())?;
        }
        Ok(())
    }
}

/// The mark of the last step whose trigrams were taken in.
const LOOKED_UP: &str = "looked_up";

fn looked_up(db: &Connection) -> Result<i64> {
    Ok(mark(db, LOOKED_UP)?.parse().unwrap_or_default())
}

/// Takes in the trigrams of the steps that came since this was last done.
pub(crate) fn take_in_trigrams(db: &Connection) -> Result<()> {
    let last = |db: &Connection| db.query_row("SELECT ifnull(max(n), 0) FROM step", [], |row| row.get::<_, i64>(0));
    if looked_up(db)? >= last(db)? {
        return Ok(());
    }
    let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
    // Another process may have done it meanwhile.
    let (from, to) = (looked_up(&transaction)?, last(&transaction)?);
    let mut steps = transaction.prepare("SELECT n, args, said, failure FROM step_text WHERE n > ?1")?;
    let mut insert = transaction.prepare("INSERT INTO step_words(rowid, text) VALUES(?1, ?2)")?;
    let mut new = steps.query([from])?;
    while let Some(row) = new.next()? {
        let (n, args): (i64, String) = (row.get(0)?, row.get(1)?);
        let (said, failure): (String, String) = (row.get(2)?, row.get(3)?);
        insert.execute(params![n, words(&args, &said, &failure)])?;
    }
    drop(new);
    drop(steps);
    drop(insert);
    set_mark(&transaction, LOOKED_UP, &to.to_string())?;
    transaction.commit()?;
    settle_if_long(db)
}

pub(crate) fn forget(db: &mut Connection, traces: &[TraceId]) -> Result<()> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut remover = Remover::new(&transaction)?;
    traces.iter().try_for_each(|trace| remover.remove(trace))?;
    drop(remover);
    transaction.execute("DELETE FROM mark WHERE name = 'names'", [])?;
    transaction.commit()?;
    settle(db)
}

/// A log of changes is long from so many bytes on.
const LONG: u64 = 1 << 20;

/// Takes the log of changes into the file if it is long. SQLite would do so by itself, but how far it was taken in is forgotten when the last
/// process closes it: it would grow, and be taken in whole each time.
pub(crate) fn settle_if_long(db: &Connection) -> Result<()> {
    let log = db.path().map(|path| format!("{path}-wal"));
    let is_long = log.and_then(|log| std::fs::metadata(log).ok()).is_some_and(|meta| meta.len() > LONG);
    if !is_long {
        return Ok(());
    }
    // Not now if others read: whoever changes something next does it.
    db.busy_timeout(Duration::ZERO)?;
    let settled = settle(db);
    db.busy_timeout(PATIENCE)?;
    match settled {
        Err(error) if is_busy(&error) => Ok(()),
        settled => settled,
    }
}

/// Takes the log of changes into the file, and empties it.
pub(crate) fn settle(db: &Connection) -> Result<()> {
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0)).map(drop)
}

/// The runs that began at this time or later, oldest first, each with the number of its trace in the file.
pub(crate) fn runs(db: &Connection, since: Millis) -> Result<Vec<(i64, RunStats)>> {
    let mut query = db.prepare("SELECT trace, stats FROM run WHERE began >= ?1 ORDER BY began, rowid")?;
    let mut rows = query.query([signed(since)])?;
    let mut runs = Vec::new();
    while let Some(row) = rows.next()? {
        let text: String = row.get(1)?;
        let wrong = |_| rusqlite::Error::InvalidColumnType(1, "stats".into(), rusqlite::types::Type::Text);
        runs.push((row.get(0)?, serde_json::from_str(&text).map_err(wrong)?));
    }
    Ok(runs)
}

/// SQLite's numbers have a sign.
pub(crate) fn signed(n: Millis) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

pub(crate) fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IndexError, say};

    #[test]
    fn a_full_disk_is_told_apart_from_a_file_that_cannot_be_used() {
        let db = in_memory().unwrap();
        let pages: i64 = db.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
        db.query_row(&format!("PRAGMA max_page_count={pages}"), [], |row| row.get::<_, i64>(0)).unwrap();
        let error = db.execute_batch("CREATE TABLE more (a); INSERT INTO more VALUES (randomblob(99999))").unwrap_err();
        let error = say(Path::new("i.sqlite"), error);
        assert!(matches!(&error, IndexError::Full(path) if path == "i.sqlite") && error.is_full(), "{error}");
    }
}
