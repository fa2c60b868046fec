//! Sessions of opencode: `~/.local/share/opencode/opencode.db`, before that `storage/session/PROJECT/SESSION.json` with `message/SESSION/*.json` and `part/MESSAGE/*.json`.
//!
//! Facts: `Session.Info`, `MessageV2.User`, `Assistant` and the parts in packages/opencode/src/session/message-v2.ts, the folders and the columns of the tables `session`, `message` and
//! `part` in src/storage/json-migration.ts of github.com/anomalyco/opencode: what a file had without its ids is in the column `data`. `tokens.input` is without what came from
//! the cache; `output` is without reasoning where there is a `total`. Cost is in dollars.

use super::file::{block, bytes, call, count, filled, kind, micros, result, text, thought, time};
use super::session::{Program, RecordedBranch, RecordedMessage, RecordedSession, SessionProblem, Unreadable};
use mainpath_types::Usage;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

/// The most messages, and parts of one, that are read.
const MOST: usize = 200_000;
/// How long a program that writes to the database is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// A message with its parts.
struct Stored {
    message: Value,
    parts: Vec<Value>,
}

/// Reads a session from its file; messages and parts are in the folders beside it. Errors: the file cannot be read.
pub(super) fn read(file: &Path) -> Result<RecordedSession, Unreadable> {
    let info: Value = serde_json::from_slice(&bytes(file)?).map_err(|_| SessionProblem::NotJson.of(file))?;
    let id = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut session = head(&info, id.clone());
    let storage = file.ancestors().nth(3).ok_or_else(|| SessionProblem::Misplaced.of(file))?;
    let mut stored = Vec::new();
    for message in files(&storage.join("message").join(&id), &mut session) {
        let name = text(&message, "id").unwrap_or_default();
        // What a message is called becomes part of a path.
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let parts = if is_name { files(&storage.join("part").join(&name), &mut session) } else { Vec::new() };
        stored.push(Stored { message, parts });
    }
    Ok(assembled(session, stored))
}

/// The objects of JSON in the files of a folder, by name.
fn files(folder: &Path, session: &mut RecordedSession) -> Vec<Value> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .take(MOST)
        .collect();
    names.sort();
    let mut objects = Vec::new();
    for path in names {
        let read = bytes(&path).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        match read.filter(Value::is_object) {
            Some(mut value) => {
                // The name of the file counts: folders were moved without it.
                if let (Some(fields), Some(name)) = (value.as_object_mut(), path.file_stem()) {
                    fields.insert("id".into(), name.to_string_lossy().into());
                }
                objects.push(value);
            }
            None => session.leave_out("files that are no JSON objects"),
        }
    }
    objects
}

/// The sessions of a database: each one's name, title and folder as an object. Errors: it cannot be read, or has other tables.
pub(super) fn listed(database: &Path) -> Result<Vec<Value>, Unreadable> {
    let query = "SELECT json_object('id', id, 'title', title, 'directory', directory, 'version', version, 'parentID', parent_id, \
                 'time', json_object('created', time_created, 'updated', time_updated)) FROM session ORDER BY time_updated DESC LIMIT ?1";
    rows(database, query, &MOST.to_string())
}

/// Reads a session of a database. Errors: as [`listed`]'s, or it is not in it.
pub(super) fn read_from(database: &Path, id: &str) -> Result<RecordedSession, Unreadable> {
    let info = listed(database)?.into_iter().find(|info| text(info, "id").as_deref() == Some(id));
    let info = info.ok_or_else(|| SessionProblem::Missing(id.into()).of(database))?;
    let mut session = head(&info, id.into());
    let query = "SELECT json_set(data, '$.id', id, '$.created', time_created) FROM message WHERE session_id = ?1 AND json_valid(data)";
    let messages = rows(database, query, id)?;
    let query = "SELECT json_set(data, '$.id', id, '$.messageID', message_id) FROM part WHERE session_id = ?1 AND json_valid(data) ORDER BY id";
    let mut parts: HashMap<Option<String>, Vec<Value>> = HashMap::new();
    for part in rows(database, query, id)? {
        parts.entry(text(&part, "messageID")).or_default().push(part);
    }
    let with_parts = |message| {
        let parts = parts.remove(&text(&message, "id")).unwrap_or_default();
        Stored { message, parts }
    };
    let stored: Vec<Stored> = messages.into_iter().map(with_parts).collect();
    parts.values().flatten().for_each(|_| session.leave_out("parts of no message"));
    for table in ["message", "part"] {
        let query =
            format!("SELECT json_object('rows', count(*)) FROM {table} WHERE session_id = ?1 AND NOT json_valid(data)");
        let broken = rows(database, &query, id)?.first().map_or(0, |row| count(row, "rows"));
        (0..broken).for_each(|_| session.leave_out("rows that are no JSON"));
    }
    Ok(assembled(session, stored))
}

/// What a query gives, a row a text of JSON. The database is only read.
fn rows(database: &Path, query: &str, parameter: &str) -> Result<Vec<Value>, Unreadable> {
    let read = || -> rusqlite::Result<Vec<Value>> {
        let open =
            Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        open.busy_timeout(PATIENCE)?;
        let mut statement = open.prepare(query)?;
        let rows = statement.query_map([parameter], |row| row.get::<_, String>(0))?;
        let values = rows.map(|row| row.map(|text| serde_json::from_str(&text).unwrap_or_default()));
        values.take(MOST).collect()
    };
    read().map_err(|error| SessionProblem::Database(error).of(database))
}

fn head(info: &Value, id: String) -> RecordedSession {
    let mut session = RecordedSession::new(Program::Opencode, id);
    session.title = filled(info, "title");
    session.cwd = filled(info, "directory");
    session.version = filled(info, "version");
    session.parent = filled(info, "parentID");
    session.begun = info.get("time").and_then(|at| time(at, "created"));
    if info.get("revert").is_some_and(|revert| !revert.is_null()) {
        session.leave_out("an undo that was not settled: the messages after it are kept");
    }
    session
}

fn assembled(mut session: RecordedSession, mut stored: Vec<Stored>) -> RecordedSession {
    let created = |stored: &Stored| {
        let at = stored.message.get("time").and_then(|at| time(at, "created"));
        at.or_else(|| time(&stored.message, "created"))
    };
    stored.sort_by_cached_key(|stored| (created(stored), text(&stored.message, "id")));
    let mut messages = Vec::new();
    for one in &stored {
        let at = created(one);
        match text(&one.message, "role").as_deref() {
            Some("user") => {
                let content = one.parts.iter().filter_map(|part| said(part, &mut session)).collect();
                messages.push(RecordedMessage::new("user", content, at));
            }
            Some("assistant") => answer(one, at, &mut messages, &mut session),
            _ => session.leave_out(format!("messages of the role {}", kind(&one.message, "role"))),
        }
    }
    session.branches = vec![RecordedBranch { messages }];
    session
}

/// An answer, and then the results of its calls.
fn answer(stored: &Stored, at: Option<u64>, messages: &mut Vec<RecordedMessage>, session: &mut RecordedSession) {
    let Stored { message, parts } = stored;
    let (mut content, mut results) = (Vec::new(), Vec::new());
    for part in parts {
        if part.get("type").and_then(Value::as_str) != Some("tool") {
            content.extend(said(part, session));
            continue;
        }
        let (id, state) =
            (text(part, "callID").or_else(|| text(part, "id")), part.get("state").cloned().unwrap_or_default());
        content.push(call(id.clone(), text(part, "tool"), state.get("input").cloned().unwrap_or_else(|| json!({}))));
        match state.get("status").and_then(Value::as_str) {
            Some("completed") => results.push(result(id, state.get("output").cloned().unwrap_or_default(), false)),
            Some("error") => {
                let problem = state.get("error").or_else(|| state.get("output")).cloned();
                results.push(result(id, problem.unwrap_or_default(), true));
            }
            // It never ended.
            _ => {}
        }
    }
    let tokens = message.get("tokens").filter(|tokens| tokens.is_object());
    messages.push(RecordedMessage {
        model: filled(message, "modelID"),
        provider: filled(message, "providerID"),
        usage: tokens.map(used),
        cost: micros(message.get("cost")),
        ..RecordedMessage::new("assistant", content, at)
    });
    if !results.is_empty() {
        messages.push(RecordedMessage::new("user", results, at));
    }
    if message.get("error").is_some_and(|error| !error.is_null()) {
        session.leave_out("errors of requests to models");
    }
}

fn said(part: &Value, session: &mut RecordedSession) -> Option<Value> {
    match part.get("type").and_then(Value::as_str).unwrap_or_default() {
        "text" => filled(part, "text").map(block),
        "reasoning" => filled(part, "text").map(thought),
        "file" => {
            let url = text(part, "url").unwrap_or_default();
            match filled(part, "mime").is_some_and(|mime| mime.starts_with("image/")) && url.starts_with("data:") {
                true => Some(json!({"type": "image_url", "image_url": {"url": url}})),
                false => {
                    session.leave_out("attached files that are no pictures");
                    None
                }
            }
        }
        // What the program keeps beside what was said.
        "step-start" | "step-finish" | "snapshot" | "patch" | "agent" | "retry" => None,
        _ => {
            session.leave_out(format!("parts of the type {}", kind(part, "type")));
            None
        }
    }
}

fn used(tokens: &Value) -> Usage {
    let cache = tokens.get("cache").cloned().unwrap_or_default();
    let (read, written) = (count(&cache, "read"), count(&cache, "write"));
    let reasoning = count(tokens, "reasoning");
    let apart = if tokens.get("total").is_some() { reasoning } else { 0 };
    Usage {
        input: count(tokens, "input").saturating_add(read).saturating_add(written),
        output: count(tokens, "output").saturating_add(apart),
        cache_read: read,
        cache_write: written,
        reasoning,
    }
}
