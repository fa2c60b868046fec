//! Where those programs keep their sessions.

use super::session::{Program, RecordedSession, SessionProblem, Unreadable};
use super::{claude_code, codex, opencode, pi};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How deep folders are searched.
const DEEP: usize = 6;
/// The most sessions that are found of one program.
const MOST: usize = 100_000;

/// The folders of those programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// codex's, with `sessions` in it.
    pub codex: PathBuf,
    /// Claude Code's, with `projects` in it.
    pub claude_code: PathBuf,
    /// opencode's, with `storage` or `opencode.db` in it.
    pub opencode: PathBuf,
    /// pi's, with `sessions` in it.
    pub pi: PathBuf,
}

impl Places {
    /// The usual ones below a person's home, or where those programs' own variables (`CODEX_HOME`, `CLAUDE_CONFIG_DIR`, `XDG_DATA_HOME`, `PI_CODING_AGENT_DIR`) say that they are.
    pub fn usual(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<Places> {
        let home = variable("HOME")?;
        let or = |name: &str, usual: &str| variable(name).unwrap_or_else(|| home.join(usual));
        Some(Places {
            codex: or("CODEX_HOME", ".codex"),
            claude_code: or("CLAUDE_CONFIG_DIR", ".claude"),
            opencode: or("XDG_DATA_HOME", ".local/share").join("opencode"),
            pi: or("PI_CODING_AGENT_DIR", ".pi/agent"),
        })
    }
}

/// A session that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundSession {
    /// Whose.
    pub program: Program,
    /// Its file, or the database that it is in.
    pub file: PathBuf,
    /// Its name in the database.
    pub(super) row: Option<String>,
    /// When it last changed.
    pub changed: Option<SystemTime>,
}

impl FoundSession {
    /// Reads it. Errors: it cannot be read, is too large, of a newer version, or has no messages.
    pub fn read(&self) -> Result<RecordedSession, Unreadable> {
        let file = &self.file;
        let mut read = match (self.program, &self.row) {
            (Program::Opencode, Some(row)) => opencode::read_from(file, row)?,
            (Program::Opencode, None) => opencode::read(file)?,
            (Program::Codex, _) => codex::read(file)?,
            (Program::ClaudeCode, _) => claude_code::read(file)?,
            (Program::Pi, _) => pi::read(file)?,
        };
        let first = || read.branches.iter().flat_map(|branch| &branch.messages).filter_map(|said| said.at).min();
        read.begun = read.begun.or_else(first);
        match read.branches.iter().all(|branch| branch.messages.is_empty()) {
            true => Err(SessionProblem::NoMessages.of(file)),
            false => Ok(read),
        }
    }

    /// A file that somebody names, if it is a session: whose, by its place and its first line. A database has many.
    pub fn named(file: &Path) -> Option<FoundSession> {
        let found = |program| Some(FoundSession { program, file: file.into(), row: None, changed: changed(file) });
        let is_in = |name: &str| file.components().any(|part| part.as_os_str() == name);
        if file.extension().is_some_and(|end| end == "json") {
            let is_one = file.ancestors().nth(2).is_some_and(|folder| folder.ends_with("session")) && is_in("storage");
            return if is_one { found(Program::Opencode) } else { None };
        }
        if file.extension().is_none_or(|end| end != "jsonl") {
            return None;
        }
        let first = first_line(file)?;
        let has = |name: &str| first.get(name).is_some();
        match first.get("type").and_then(serde_json::Value::as_str) {
            Some("session") if has("version") || has("cwd") => found(Program::Pi),
            Some("session_meta") => found(Program::Codex),
            _ if has("sessionId") || has("parentUuid") || has("leafUuid") || has("isSnapshotUpdate") => {
                found(Program::ClaudeCode)
            }
            _ => None,
        }
    }
}

/// The first line that is JSON: what is broken above it is left out when the file is read.
fn first_line(file: &Path) -> Option<serde_json::Value> {
    use std::io::Read;
    let mut bytes = Vec::new();
    // The first line of codex has all of its instructions.
    mainpath_store::open_regular(file).ok()?.take(4 << 20).read_to_end(&mut bytes).ok()?;
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    lines.take(20).find_map(|line| serde_json::from_slice(line).ok())
}

fn changed(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).and_then(|data| data.modified()).ok()
}

/// The sessions of a program, those that changed last first; and what could not be looked at, a line each. What is not there has none.
pub fn find(program: Program, places: &Places) -> (Vec<FoundSession>, Vec<Unreadable>) {
    let mut wrong = Vec::new();
    let mut files = Vec::new();
    let mut found: Vec<FoundSession> = Vec::new();
    match program {
        Program::Codex => search(&places.codex.join("sessions"), DEEP, &mut files, &mut wrong),
        Program::ClaudeCode => search(&places.claude_code.join("projects"), 2, &mut files, &mut wrong),
        Program::Pi => search(&places.pi.join("sessions"), DEEP, &mut files, &mut wrong),
        Program::Opencode => {
            search(&places.opencode.join("storage/session"), 2, &mut files, &mut wrong);
            let database = places.opencode.join("opencode.db");
            if database.is_file() {
                match opencode::listed(&database) {
                    Ok(rows) => found.extend(rows.iter().filter_map(|row| in_database(row, &database))),
                    Err(error) => wrong.push(error),
                }
            }
        }
    }
    let end = if program == Program::Opencode { "json" } else { "jsonl" };
    let is_one = |file: &PathBuf| {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        file.extension().is_some_and(|given| given == end)
            && (program != Program::Codex || name.starts_with("rollout-"))
    };
    // What was moved into the database is in both: the database is newer.
    let known: std::collections::HashSet<String> = found.iter().filter_map(|session| session.row.clone()).collect();
    let is_new = |file: &PathBuf| file.file_stem().is_none_or(|name| !known.contains(&*name.to_string_lossy()));
    let files = files.into_iter().filter(is_one).filter(is_new);
    found.extend(files.map(|file| FoundSession { program, changed: changed(&file), file, row: None }));
    found.sort_by(|a, b| (b.changed, &a.file).cmp(&(a.changed, &b.file)));
    (found, wrong)
}

fn in_database(row: &serde_json::Value, database: &Path) -> Option<FoundSession> {
    let id = row.get("id")?.as_str()?.to_string();
    let updated = row.pointer("/time/updated").and_then(serde_json::Value::as_u64);
    let changed = updated.map(|ms| SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(ms));
    Some(FoundSession { program: Program::Opencode, file: database.into(), row: Some(id), changed })
}

/// The files in a folder and those in it. Links are not followed.
fn search(folder: &Path, deep: usize, files: &mut Vec<PathBuf>, wrong: &mut Vec<Unreadable>) {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
        Err(error) => return wrong.push(SessionProblem::Io(error).of(folder)),
    };
    for entry in entries.flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && deep > 1 => search(&entry.path(), deep - 1, files, wrong),
            Ok(kind) if kind.is_file() && files.len() < MOST => files.push(entry.path()),
            _ => {}
        }
    }
}
