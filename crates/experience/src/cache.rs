//! The cache: what the files say, in SQLite, so that the few that fit are found without reading all of them.

use crate::entry::{Broken, Entry, Placed};
use crate::error::ExperienceError;
use crate::find::{Found, Query, Terms, searched};
use crate::read::{Contents, read_text};
use crate::stamp::{Looked, Stamp, stamp_of, unreadable};
use crate::vectors::{Near, Unembedded, Vector, keep, key, nearest};
use mainpath_skills::{Problem, words};
use rusqlite::{
    Connection, ErrorCode, OptionalExtension, Result, Transaction, TransactionBehavior, params, params_from_iter,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Another one, and the file is made anew.
const VERSION: i64 = 2;
/// How long another process may be waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// So many entries are looked at closely, by tags and by words each.
const CANDIDATES: i64 = 30;
/// So many places of words are ranked; the words that most entries have say the least and are left out first.
const PLACES: i64 = 1_000;

const TABLES: &str = "
    CREATE TABLE file(n INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, len INTEGER NOT NULL, at INTEGER NOT NULL, inode INTEGER NOT NULL,
        why TEXT);
    CREATE TABLE entry(n INTEGER PRIMARY KEY, file INTEGER NOT NULL, line INTEGER NOT NULL, id TEXT NOT NULL, accepted INTEGER NOT NULL,
        score INTEGER NOT NULL, key INTEGER NOT NULL, json TEXT NOT NULL);
    CREATE INDEX entry_file ON entry(file);
    CREATE INDEX entry_id ON entry(id);
    CREATE TABLE broken(file INTEGER NOT NULL, line INTEGER, why TEXT NOT NULL);
    CREATE INDEX broken_file ON broken(file);
    CREATE TABLE tag(n INTEGER PRIMARY KEY, is_intent INTEGER NOT NULL, words TEXT NOT NULL, UNIQUE(is_intent, words));
    CREATE TABLE tag_word(word TEXT NOT NULL, tag INTEGER NOT NULL, PRIMARY KEY(word, tag)) WITHOUT ROWID;
    CREATE TABLE tagged(tag INTEGER NOT NULL, score INTEGER NOT NULL, accepted INTEGER NOT NULL, entry INTEGER NOT NULL,
        PRIMARY KEY(tag, accepted, score, entry)) WITHOUT ROWID;
    CREATE INDEX tagged_entry ON tagged(entry);
    CREATE TABLE vector(model TEXT NOT NULL, key INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY(model, key)) WITHOUT ROWID;
    CREATE TABLE mark(name TEXT PRIMARY KEY, value INTEGER NOT NULL);
    CREATE VIRTUAL TABLE word USING fts5(status, text, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2');
    INSERT INTO word(word, rank) VALUES('rank', 'bm25(0.0, 1.0)');
    CREATE VIRTUAL TABLE word_count USING fts5vocab(word, row);
";

pub(crate) struct Cache {
    path: PathBuf,
    db: Connection,
}

impl Cache {
    /// Opens the cache or makes it. Where no file can be made, it is kept in memory.
    pub fn open(path: &Path) -> std::result::Result<Cache, ExperienceError> {
        let db = match open(path) {
            Err(error) if is_damage(&error) => {
                for end in ["", "-wal", "-shm"] {
                    let _ = std::fs::remove_file(format!("{}{end}", path.display()));
                }
                open(path)
            }
            db => db,
        };
        let db = db.or_else(|_| Connection::open_in_memory().and_then(prepared));
        let db = db.map_err(|source| ExperienceError::Cache { file: path.into(), source })?;
        Ok(Cache { path: path.into(), db })
    }

    pub fn clear(&mut self) -> std::result::Result<(), ExperienceError> {
        let done = drop_all(&self.db).and_then(|()| self.db.execute_batch(TABLES));
        done.map_err(|source| self.failed(source))
    }

    /// Takes in what changed in the folder.
    pub fn refresh(
        &mut self,
        folder: &Path,
        looked: &Looked,
        read: impl Fn(&Stamp) -> std::result::Result<String, Problem>,
    ) -> std::result::Result<(), ExperienceError> {
        let done = refresh(&mut self.db, folder, looked, &read);
        match done {
            // What another made of it is made anew, once.
            Err(error) if is_damage(&error) => Cache::open(&self.path)
                .map(|cache| *self = cache)
                .and_then(|()| refresh(&mut self.db, folder, looked, &read).map_err(|source| self.failed(source))),
            done => done.map_err(|source| self.failed(source)),
        }
    }

    pub fn all(&mut self, folder: &Path) -> std::result::Result<Contents, ExperienceError> {
        all(&self.db, folder).map_err(|source| self.failed(source))
    }

    pub fn get(&mut self, folder: &Path, id: &str) -> std::result::Result<Option<Placed>, ExperienceError> {
        let query = "SELECT f.name, e.line, e.json FROM entry e JOIN file f ON f.n = e.file WHERE e.id = ?1 \
                     ORDER BY f.name, e.line LIMIT 1";
        let found = self.db.query_row(query, [id], |row| placed(folder, row)).optional();
        found.map_err(|source| self.failed(source))
    }

    pub fn find(
        &mut self,
        folder: &Path,
        query: &Query,
        near: Option<&Near>,
    ) -> std::result::Result<Vec<Found>, ExperienceError> {
        find(&self.db, folder, query, near).map_err(|source| self.failed(source))
    }

    /// Whether a file is as it was when it was taken in.
    pub fn is_as_it_was(&self, file: &Path) -> bool {
        let Some(now) = stamp_of(file) else { return false };
        let query = "SELECT len, at, inode, why IS NULL FROM file WHERE name = ?1";
        let known = self.db.query_row(query, [&now.name], |row| {
            let name = now.name.clone();
            Ok(Stamp { name, len: row.get(0)?, at: row.get(1)?, inode: row.get(2)?, is_file: row.get(3)? })
        });
        known.is_ok_and(|known| known == now)
    }

    /// Texts of accepted entries that have no vector of this model, so many at most.
    pub fn unembedded(&mut self, model: &str, most: usize) -> std::result::Result<Vec<Unembedded>, ExperienceError> {
        unembedded(&self.db, model, most).map_err(|source| self.failed(source))
    }

    /// Keeps vectors of a model.
    pub fn keep(&mut self, model: &str, vectors: &[Vector]) -> std::result::Result<(), ExperienceError> {
        let done = self.db.transaction_with_behavior(TransactionBehavior::Immediate).and_then(|transaction| {
            keep(&transaction, model, vectors)?;
            transaction.commit()
        });
        done.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: rusqlite::Error) -> ExperienceError {
        ExperienceError::Cache { file: self.path.clone(), source }
    }
}

fn open(path: &Path) -> Result<Connection> {
    // For its owner only, before SQLite makes it for everybody.
    let _ = OpenOptions::new().create_new(true).append(true).mode(0o600).open(path);
    // A pipe would keep SQLite waiting for ever.
    if std::fs::metadata(path).is_ok_and(|known| !known.is_file()) {
        return Err(rusqlite::Error::InvalidPath(path.into()));
    }
    prepared(Connection::open(path)?)
}

fn prepared(mut db: Connection) -> Result<Connection> {
    db.busy_timeout(PATIENCE)?;
    db.pragma_update(None, "journal_mode", "wal")?;
    // It can be made again.
    db.pragma_update(None, "synchronous", "off")?;
    let version = |db: &Connection| db.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
    if version(&db)? != VERSION {
        let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another may have made it meanwhile.
        if version(&transaction)? != VERSION {
            drop_all(&transaction)?;
            transaction.execute_batch(TABLES)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        transaction.commit()?;
    }
    Ok(db)
}

fn drop_all(db: &Connection) -> Result<()> {
    for table in ["file", "entry", "broken", "tag", "tag_word", "tagged", "vector", "mark", "word_count", "word"] {
        db.execute_batch(&format!("DROP TABLE IF EXISTS {table}"))?;
    }
    Ok(())
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt))
        || error.to_string().contains("no such table")
}

fn refresh(
    db: &mut Connection,
    folder: &Path,
    looked: &Looked,
    read: &dyn Fn(&Stamp) -> std::result::Result<String, Problem>,
) -> Result<()> {
    let sum = looked.sum(folder);
    let known: Option<i64> =
        db.query_row("SELECT value FROM mark WHERE name = 'sum'", [], |row| row.get(0)).optional()?;
    if known == Some(sum) {
        return Ok(());
    }
    // Begun as a writer: who has read first cannot become one while another writes.
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut gone = known_files(&transaction)?;
    for stamp in looked.stamps() {
        let is_known = gone.remove(&stamp.name);
        if is_known.as_ref().is_some_and(|(_, known)| *known == stamp) {
            continue;
        }
        if let Some((n, _)) = is_known {
            remove(&transaction, n)?;
        }
        let contents = match read(&stamp) {
            Ok(text) => read_text(&folder.join(&stamp.name), &text),
            Err(problem) => Contents { broken: vec![unreadable(folder, &stamp.name, &problem)], ..Contents::default() },
        };
        put(&transaction, &stamp, &contents)?;
    }
    for (n, _) in gone.into_values() {
        remove(&transaction, n)?;
    }
    transaction.execute("INSERT OR REPLACE INTO mark VALUES('sum', ?1)", [sum])?;
    transaction.commit()
}

fn known_files(db: &Transaction<'_>) -> Result<BTreeMap<String, (i64, Stamp)>> {
    let mut query = db.prepare("SELECT n, name, len, at, inode, why IS NULL FROM file")?;
    let rows = query.query_map([], |row| {
        let (n, name): (i64, String) = (row.get(0)?, row.get(1)?);
        let stamp =
            Stamp { name: name.clone(), len: row.get(2)?, at: row.get(3)?, inode: row.get(4)?, is_file: row.get(5)? };
        Ok((name, (n, stamp)))
    })?;
    rows.collect()
}

fn remove(db: &Transaction<'_>, file: i64) -> Result<()> {
    for (table, of) in [("word", "rowid"), ("tagged", "entry")] {
        let text = format!("DELETE FROM {table} WHERE {of} IN (SELECT n FROM entry WHERE file = ?1)");
        db.prepare_cached(&text)?.execute([file])?;
    }
    for (table, of) in [("entry", "file"), ("broken", "file"), ("file", "n")] {
        db.prepare_cached(&format!("DELETE FROM {table} WHERE {of} = ?1"))?.execute([file])?;
    }
    Ok(())
}

fn put(db: &Transaction<'_>, stamp: &Stamp, contents: &Contents) -> Result<()> {
    let why = (!stamp.is_file).then_some("no file");
    let file = db.prepare_cached("INSERT INTO file VALUES(NULL, ?1, ?2, ?3, ?4, ?5)")?.insert(params![
        stamp.name,
        stamp.len,
        stamp.at,
        stamp.inode,
        why
    ])?;
    for broken in &contents.broken {
        let line = broken.line.and_then(|line| i64::try_from(line).ok());
        db.prepare_cached("INSERT INTO broken VALUES(?1, ?2, ?3)")?.execute(params![file, line, broken.why])?;
    }
    for Placed { entry, line, .. } in &contents.entries {
        // It is plain data: it always has a JSON form.
        let json = serde_json::to_string(entry).unwrap_or_default();
        let (accepted, score) = (entry.is_accepted(), entry.score());
        let n = db.prepare_cached("INSERT INTO entry VALUES(NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7)")?.insert(params![
            file,
            i64::try_from(*line).unwrap_or(i64::MAX),
            entry.id,
            accepted,
            score,
            key(&searched(entry)),
            json
        ])?;
        let status = if accepted { "accepted" } else { "waiting" };
        let said = words(&searched(entry)).join(" ");
        db.prepare_cached("INSERT INTO word(rowid, status, text) VALUES(?1, ?2, ?3)")?
            .execute(params![n, status, said])?;
        for (is_intent, tag) in tags(entry) {
            let tag = tag_of(db, is_intent, &tag)?;
            db.prepare_cached("INSERT OR IGNORE INTO tagged VALUES(?1, ?2, ?3, ?4)")?
                .execute(params![tag, score, accepted, n])?;
        }
    }
    Ok(())
}

/// The tags of an entry, each once, in the words that are compared.
fn tags(entry: &Entry) -> BTreeSet<(bool, Vec<String>)> {
    let intent = entry.intent.iter().map(|tag| (true, words(tag)));
    let state = entry.state.iter().map(|tag| (false, words(tag)));
    intent.chain(state).filter(|(_, tag)| !tag.is_empty()).collect()
}

fn tag_of(db: &Transaction<'_>, is_intent: bool, tag: &[String]) -> Result<i64> {
    let text = tag.join(" ");
    let mut find = db.prepare_cached("SELECT n FROM tag WHERE is_intent = ?1 AND words = ?2")?;
    let known = find.query_row(params![is_intent, text], |row| row.get(0)).optional()?;
    if let Some(known) = known {
        return Ok(known);
    }
    let n = db.prepare_cached("INSERT INTO tag VALUES(NULL, ?1, ?2)")?.insert(params![is_intent, text])?;
    for word in tag {
        db.prepare_cached("INSERT OR IGNORE INTO tag_word VALUES(?1, ?2)")?.execute(params![word, n])?;
    }
    Ok(n)
}

fn placed(folder: &Path, row: &rusqlite::Row<'_>) -> Result<Placed> {
    let (name, line, json): (String, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let wrong = |_| rusqlite::Error::InvalidColumnType(2, "json".into(), rusqlite::types::Type::Text);
    let entry: Entry = serde_json::from_str(&json).map_err(wrong)?;
    Ok(Placed { entry, file: folder.join(name), line: usize::try_from(line).unwrap_or(0) })
}

fn all(db: &Connection, folder: &Path) -> Result<Contents> {
    let mut contents = Contents::default();
    let mut query =
        db.prepare("SELECT f.name, e.line, e.json FROM entry e JOIN file f ON f.n = e.file ORDER BY f.name, e.line")?;
    let mut seen: BTreeMap<String, PathBuf> = BTreeMap::new();
    for one in query.query_map([], |row| placed(folder, row))? {
        let one = one?;
        match seen.get(&one.entry.id) {
            Some(first) => contents.broken.push(Broken {
                why: format!("the id {} is that of an entry in {} already", one.entry.id, first.display()),
                file: one.file,
                line: Some(one.line),
            }),
            None => {
                seen.insert(one.entry.id.clone(), one.file.clone());
                contents.entries.push(one);
            }
        }
    }
    let mut query =
        db.prepare("SELECT f.name, b.line, b.why FROM broken b JOIN file f ON f.n = b.file ORDER BY f.name, b.line")?;
    let broken = query.query_map([], |row| {
        let (name, line): (String, Option<i64>) = (row.get(0)?, row.get(1)?);
        Ok(Broken { file: folder.join(name), line: line.and_then(|line| usize::try_from(line).ok()), why: row.get(2)? })
    })?;
    for one in broken {
        contents.broken.push(one?);
    }
    contents.broken.sort_by(|one, other| (&one.file, one.line).cmp(&(&other.file, other.line)));
    Ok(contents)
}

fn find(db: &Connection, folder: &Path, query: &Query, near: Option<&Near>) -> Result<Vec<Found>> {
    let terms = Terms::of(query);
    if terms.all.is_empty() && near.is_none() {
        return Ok(Vec::new());
    }
    let mut candidates = by_tags(db, &terms, query.with_waiting)?;
    for n in by_words(db, &terms, query.with_waiting)? {
        candidates.entry(n).or_default();
    }
    let most = usize::try_from(CANDIDATES).unwrap_or(usize::MAX);
    let nearby = near.map(|near| nearest(db, near, query.with_waiting, most)).transpose()?.unwrap_or_default();
    for near in nearby {
        candidates.entry(near.entry).or_default().cosine = near.cosine;
    }
    let mut look =
        db.prepare_cached("SELECT f.name, e.line, e.json FROM entry e JOIN file f ON f.n = e.file WHERE e.n = ?1")?;
    let mut found = Vec::new();
    for (n, Fits { intent, state, cosine }) in candidates {
        let placed = look.query_row([n], |row| placed(folder, row))?;
        found.push(terms.found(placed, intent, state).near(cosine));
    }
    let place = |found: &Found| (found.placed.file.clone(), found.placed.line);
    found.sort_by_cached_key(|one| (one.rank(), place(one)));
    let mut seen = BTreeSet::new();
    found.retain(|one| seen.insert(one.placed.entry.id.clone()));
    found.truncate(query.most);
    Ok(found)
}

/// How an entry fits: how many of its tags, and how near it is.
#[derive(Default)]
struct Fits {
    intent: u32,
    state: u32,
    cosine: u32,
}

fn by_tags(db: &Connection, terms: &Terms, with_waiting: bool) -> Result<BTreeMap<i64, Fits>> {
    let marks = vec!["?"; terms.all.len()].join(",");
    let mut query = db.prepare(&format!(
        "SELECT n, is_intent, words FROM tag WHERE n IN (SELECT tag FROM tag_word WHERE word IN ({marks}))"
    ))?;
    let rows = query.query_map(params_from_iter(&terms.all), |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, bool>(1)?, row.get::<_, String>(2)?))
    })?;
    let mut fitting: Vec<(i64, bool)> = Vec::new();
    for row in rows {
        let (n, is_intent, tag) = row?;
        let tag: Vec<String> = tag.split(' ').map(String::from).collect();
        if terms.fits(is_intent, &tag) {
            fitting.push((n, is_intent));
        }
    }
    let mut counts: BTreeMap<i64, (Fits, i64)> = BTreeMap::new();
    let mut of = db.prepare_cached("SELECT entry, score FROM tagged WHERE tag = ?1 AND accepted >= ?2")?;
    for (tag, is_intent) in fitting {
        let mut rows = of.query(params![tag, !with_waiting])?;
        while let Some(row) = rows.next()? {
            let (tags, score) = counts.entry(row.get(0)?).or_default();
            *score = row.get(1)?;
            if is_intent { tags.intent += 1 } else { tags.state += 1 }
        }
    }
    let mut best: Vec<(i64, Fits, i64)> = counts.into_iter().map(|(n, (tags, score))| (n, tags, score)).collect();
    best.sort_by_key(|(n, tags, score)| (std::cmp::Reverse((tags.intent, tags.state, *score)), *n));
    best.truncate(usize::try_from(CANDIDATES).unwrap_or(usize::MAX));
    Ok(best.into_iter().map(|(n, tags, _)| (n, tags)).collect())
}

fn by_words(db: &Connection, terms: &Terms, with_waiting: bool) -> Result<Vec<i64>> {
    let words = telling(db, &terms.all)?;
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{}\"", word.replace('"', ""))).collect();
    let said = format!("text : ({})", quoted.join(" OR "));
    let said = if with_waiting { said } else { format!("status : accepted AND {said}") };
    let mut query = db.prepare_cached("SELECT rowid FROM word WHERE word MATCH ?1 ORDER BY rank LIMIT ?2")?;
    query.query_map(params![said, CANDIDATES], |row| row.get(0))?.collect()
}

/// Those of these words that entries have, the rare ones first, as many as can be ranked in a moment.
fn telling(db: &Connection, words: &[String]) -> Result<Vec<String>> {
    let mut count = db.prepare_cached("SELECT doc FROM word_count WHERE term = ?1")?;
    let mut counted: Vec<(i64, &String)> = Vec::new();
    for word in words {
        if let Some(entries) = count.query_row([word], |row| row.get(0)).optional()? {
            counted.push((entries, word));
        }
    }
    counted.sort_unstable();
    let mut room = PLACES;
    let fits = |(entries, _): &&(i64, &String)| {
        let is_first = room == PLACES;
        room -= entries;
        is_first || room >= 0
    };
    Ok(counted.iter().take_while(fits).map(|(_, word)| (*word).clone()).collect())
}

fn unembedded(db: &Connection, model: &str, most: usize) -> Result<Vec<Unembedded>> {
    let mut query = db.prepare_cached(
        "SELECT DISTINCT e.key, e.json FROM entry e WHERE e.accepted = 1 \
         AND NOT EXISTS (SELECT 1 FROM vector v WHERE v.model = ?1 AND v.key = e.key) LIMIT ?2",
    )?;
    let rows = query.query_map(params![model, i64::try_from(most).unwrap_or(i64::MAX)], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
    })?;
    let mut found = Vec::new();
    for row in rows {
        let (key, json) = row?;
        if let Ok(entry) = serde_json::from_str::<Entry>(&json) {
            found.push(Unembedded { key, text: searched(&entry) });
        }
    }
    Ok(found)
}
