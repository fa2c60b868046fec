//! Which servers there are: `[mcp]` of `config.toml`, `.mcp.json` of a workspace, a file for one run, and presets.

use crate::entry::{Entry, FILE_BYTES};
use crate::error::{ConfigError, EntryError, EntryProblem, FileError, FileProblem};
use crate::names;
use mainpath_types::FileAccess;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// From more tools than this on, models are given a search instead of all of them.
pub const SEARCH_ABOVE: usize = 40;

/// `[mcp]` of a configuration file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct McpConfig {
    /// From more tools than this on, models are given a search instead of all of them. Default: 40 ([`SEARCH_ABOVE`]).
    pub search_above: Option<usize>,
    /// The servers by their names.
    pub servers: BTreeMap<String, Entry>,
}

/// The names of an entry's fields, for hints.
const FIELDS: [&str; 17] = [
    "preset",
    "type",
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "prefix",
    "allow",
    "deny",
    "trust_annotations",
    "timeout_s",
    "startup_timeout_s",
    "sandbox",
    "network",
    "disabled",
];

/// A server that is configured.
#[derive(Clone, Debug, PartialEq)]
pub struct Configured {
    /// Its name.
    pub name: String,
    /// The file that names it.
    pub file: PathBuf,
    /// What the file says, and the preset.
    pub entry: Entry,
    /// Whether the file belongs to the workspace, so that whoever made that may have written it. Such a server starts only
    /// once the person has approved the entry as it is.
    pub foreign: bool,
}

impl Configured {
    /// How long it may take to come up, and then to list its tools.
    pub(crate) fn startup_limit(&self) -> Duration {
        Duration::from_secs(self.entry.startup_timeout_s.unwrap_or(30))
    }
}

/// The servers of all files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Servers {
    /// In the order of their names.
    pub servers: Vec<Configured>,
    /// What is wrong with files that must not stop a run, one line each.
    pub warnings: Vec<String>,
}

impl Servers {
    /// Servers that a program names itself. `from` stands for it in messages. Errors: what is wrong with an entry.
    pub fn given(entries: impl IntoIterator<Item = (String, Entry)>, from: &Path) -> Result<Servers, ConfigError> {
        let servers = entries.into_iter().map(|(name, entry)| configured(&name, from, entry, false));
        Ok(Servers { servers: servers.collect::<Result<_, _>>()?, warnings: Vec::new() })
    }

    /// Reads all files: `config`, which was read from `config_file`, the workspace's `.mcp.json`, and `run_file`. Of two
    /// entries with one name the run's goes before the configuration's, and that before the workspace's. Errors: what is
    /// wrong with a file that the person wrote, with its place.
    pub fn read(
        config: &McpConfig,
        config_file: &Path,
        workspace: &Path,
        run_file: Option<&Path>,
    ) -> Result<Servers, ConfigError> {
        let mut found: BTreeMap<String, Configured> = BTreeMap::new();
        let mut warnings = Vec::new();
        let file = workspace.join(".mcp.json");
        // Its maker must not be able to stop a run: what is wrong with it is said, and it counts as empty.
        match entries(&file) {
            Ok(Some((entries, notes))) => {
                warnings.extend(notes);
                for (name, mut entry) in entries {
                    warnings.extend(confine(&name, &file, &mut entry));
                    match configured(&name, &file, entry, true) {
                        Ok(one) => drop(found.insert(name, one)),
                        Err(problem) => warnings.push(problem.to_string()),
                    }
                }
            }
            Ok(None) => {}
            Err(problem) => warnings.push(problem.to_string()),
        }
        for (name, entry) in &config.servers {
            found.insert(name.clone(), configured(name, config_file, entry.clone(), false)?);
        }
        if let Some(file) = run_file {
            let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.into());
            let is_in_workspace = real(file).starts_with(real(workspace));
            let missing = || FileError { file: file.into(), problem: FileProblem::Missing };
            let (entries, notes) = entries(file)?.ok_or_else(missing)?;
            for (name, mut entry) in entries {
                if is_in_workspace {
                    warnings.extend(confine(&name, file, &mut entry));
                }
                let one = configured(&name, file, entry, false).map_err(|mut error| {
                    if let ConfigError::Entry { entry, .. } = &mut error {
                        entry.notes.clone_from(&notes);
                    }
                    error
                })?;
                found.insert(name, one);
            }
            warnings.extend(notes);
        }
        Ok(Servers { servers: found.into_values().collect(), warnings })
    }
}

/// Confines a server of a file in the workspace, which an agent can change together with the programs that it names. Returns a line about
/// it where the file asks for no sandbox.
fn confine(name: &str, file: &Path, entry: &mut Entry) -> Option<String> {
    if entry.sandbox != Some(FileAccess::Full) {
        return None;
    }
    entry.sandbox = Some(FileAccess::WorkspaceWrite);
    let name = crate::clean::line(name, 80);
    Some(format!(
        "{}: the MCP server {name:?} runs in the sandbox: only a file outside the workspace, such as config.toml, can set sandbox = \"full\"",
        file.display()
    ))
}

/// The entries of a file, and what is to be said of them.
type Entries = (Vec<(String, Entry)>, Vec<String>);

/// The entries of a JSON file as others write it. `None` if there is no such file.
fn entries(file: &Path) -> Result<Option<Entries>, FileError> {
    read_entries(file).map_err(|problem| FileError { file: file.into(), problem })
}

fn read_entries(file: &Path) -> Result<Option<Entries>, FileProblem> {
    let mut text = String::new();
    // A pipe in a strange repository would keep the one who opens it waiting.
    if std::fs::metadata(file).is_ok_and(|known| !known.is_file()) {
        return Err(FileProblem::NotAFile);
    }
    match std::fs::File::open(file) {
        Ok(open) => drop(open.take(FILE_BYTES + 1).read_to_string(&mut text)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    if text.len() as u64 > FILE_BYTES {
        return Err(FileProblem::TooLarge);
    }
    let whole: Map<String, Value> = serde_json::from_str(&text)?;
    let servers = match whole.get("mcpServers") {
        Some(Value::Object(servers)) => servers,
        Some(_) => return Err(FileProblem::NotAnObject("\"mcpServers\"".into())),
        None => return Err(FileProblem::NoServers),
    };
    let mut notes = Vec::new();
    let mut entries = Vec::new();
    for (name, value) in servers {
        let place = format!("mcpServers.{}", crate::clean::line(name, 80));
        let Value::Object(fields) = value else { return Err(FileProblem::NotAnObject(place)) };
        // Other programs have fields of their own.
        let (known, unknown): (Vec<_>, Vec<_>) = fields.iter().partition(|(field, _)| FIELDS.contains(&field.as_str()));
        for (field, _) in unknown {
            let shown = crate::clean::line(field, 40);
            let file = file.display();
            notes.push(format!("{file}: {place}: the field {shown:?} is not known here{}", meant(&shown)));
        }
        let known = known.into_iter().map(|(field, value)| (field.clone(), value.clone())).collect();
        let entry = serde_path_to_error::deserialize(Value::Object(known)).map_err(|error| FileProblem::Field {
            place: format!("{place}.{}", error.path()),
            source: error.into_inner(),
        })?;
        entries.push((name.clone(), entry));
    }
    Ok(Some((entries, notes)))
}

/// The field that was meant, where one is nearly called so.
fn meant(field: &str) -> String {
    let near = FIELDS.iter().map(|known| (strsim::damerau_levenshtein(field, known), *known)).min();
    let near = near.filter(|(letters, _)| *letters <= if field.len() < 5 { 1 } else { 2 });
    near.map(|(_, known)| format!("; did you mean {known:?}?")).unwrap_or_default()
}

/// The entry with its preset, checked. Errors: file, place and what is wrong.
fn configured(name: &str, file: &Path, entry: Entry, foreign: bool) -> Result<Configured, ConfigError> {
    let bad = |problem| {
        let entry = Box::new(EntryError { name: name.into(), problem, notes: Vec::new() });
        ConfigError::Entry { file: file.into(), entry }
    };
    if name.is_empty() || name.len() > 100 || name.chars().any(char::is_control) {
        return Err(bad(EntryProblem::Name));
    }
    let entry = crate::preset::applied(entry).map_err(bad)?;
    check(&entry).map_err(bad)?;
    Ok(Configured { name: name.into(), file: file.into(), entry, foreign })
}

fn check(entry: &Entry) -> Result<(), EntryProblem> {
    match (&entry.command, &entry.url, entry.kind.as_deref()) {
        (_, _, Some("sse")) => return Err(EntryProblem::OldTransport),
        (_, _, Some(kind)) if !matches!(kind, "stdio" | "http" | "streamable-http") => {
            return Err(EntryProblem::Type(kind.into()));
        }
        (Some(_), Some(_), _) => return Err(EntryProblem::CommandAndUrl),
        (None, None, _) => return Err(EntryProblem::NoTarget),
        (Some(_), None, Some("http" | "streamable-http")) => return Err(EntryProblem::Needs("http", "url")),
        (None, Some(_), Some("stdio")) => return Err(EntryProblem::Needs("stdio", "command")),
        (Some(command), None, _) if command.is_empty() => return Err(EntryProblem::EmptyCommand),
        (Some(_), None, _) if !entry.headers.is_empty() => return Err(EntryProblem::OnlyFor("headers", "url")),
        (None, Some(_), _) if !entry.args.is_empty() || !entry.env.is_empty() || entry.cwd.is_some() => {
            return Err(EntryProblem::OnlyFor("args, env and cwd", "command"));
        }
        _ => {}
    }
    if let Some(prefix) = entry.prefix.as_ref().filter(|prefix| !names::is_prefix(prefix)) {
        return Err(EntryProblem::Prefix(prefix.clone()));
    }
    let named = [("timeout_s", entry.timeout_s), ("startup_timeout_s", entry.startup_timeout_s)];
    match named.iter().find(|(_, time)| *time == Some(0)) {
        Some((field, _)) => Err(EntryProblem::ZeroTime(field)),
        None => Ok(()),
    }
}

impl Configured {
    /// What stands before its tools' names.
    pub fn prefix(&self) -> String {
        self.entry.prefix.clone().unwrap_or_else(|| names::prefix(&self.name))
    }

    /// Whether a tool, by the server's own name for it, is taken.
    pub fn takes(&self, tool: &str) -> bool {
        let among = |patterns: &[String]| patterns.iter().any(|pattern| names::fits(pattern, tool));
        (self.entry.allow.is_empty() || among(&self.entry.allow)) && !among(&self.entry.deny)
    }

    /// All that the person has to know to approve it: a line for each field, as it is written.
    pub fn described(&self) -> String {
        let Ok(Value::Object(fields)) = serde_json::to_value(&self.entry) else { return String::new() };
        let mut text = String::new();
        for (field, value) in fields {
            let _ = writeln!(text, "{field}: {}", crate::clean::text(&value.to_string(), 2_000));
        }
        text
    }
}
