//! Which servers there are: `[mcp]` of `config.toml`, `.mcp.json` of a workspace, a file for one run, and presets.

use crate::entry::Entry;
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

/// A file of servers is not larger, in bytes.
const FILE_BYTES: u64 = 1024 * 1024;

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
    pub fn given(entries: impl IntoIterator<Item = (String, Entry)>, from: &Path) -> Result<Servers, String> {
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
    ) -> Result<Servers, String> {
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
                        Err(problem) => warnings.push(problem),
                    }
                }
            }
            Ok(None) => {}
            Err(problem) => warnings.push(problem),
        }
        for (name, entry) in &config.servers {
            found.insert(name.clone(), configured(name, config_file, entry.clone(), false)?);
        }
        if let Some(file) = run_file {
            let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.into());
            let is_in_workspace = real(file).starts_with(real(workspace));
            let (entries, notes) =
                entries(file)?.ok_or_else(|| format!("{}: there is no such file", file.display()))?;
            for (name, mut entry) in entries {
                if is_in_workspace {
                    warnings.extend(confine(&name, file, &mut entry));
                }
                // What is not known of the file may be why something is missing.
                let why =
                    |problem: String| std::iter::once(problem).chain(notes.clone()).collect::<Vec<_>>().join("; ");
                found.insert(name.clone(), configured(&name, file, entry, false).map_err(why)?);
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
fn entries(file: &Path) -> Result<Option<Entries>, String> {
    let bad = |why: String| format!("{}: {why}", file.display());
    let mut text = String::new();
    // A pipe in a strange repository would keep the one who opens it waiting.
    if std::fs::metadata(file).is_ok_and(|known| !known.is_file()) {
        return Err(bad("it is not a file".into()));
    }
    match std::fs::File::open(file) {
        Ok(open) => {
            let read = open.take(FILE_BYTES + 1).read_to_string(&mut text);
            read.map_err(|error| bad(error.to_string()))?;
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(bad(error.to_string())),
    }
    if text.len() as u64 > FILE_BYTES {
        return Err(bad(format!("it is larger than {FILE_BYTES} bytes")));
    }
    let whole: Map<String, Value> = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
    let servers = match whole.get("mcpServers") {
        Some(Value::Object(servers)) => servers,
        Some(_) => return Err(bad("\"mcpServers\" is not an object".into())),
        None => return Err(bad("there is no \"mcpServers\" in it".into())),
    };
    let mut notes = Vec::new();
    let mut entries = Vec::new();
    for (name, value) in servers {
        let place = format!("mcpServers.{}", crate::clean::line(name, 80));
        let Value::Object(fields) = value else { return Err(bad(format!("{place} is not an object"))) };
        // Other programs have fields of their own.
        let (known, unknown): (Vec<_>, Vec<_>) = fields.iter().partition(|(field, _)| FIELDS.contains(&field.as_str()));
        for (field, _) in unknown {
            let shown = crate::clean::line(field, 40);
            notes.push(bad(format!("{place}: the field {shown:?} is not known here{}", meant(&shown))));
        }
        let known = known.into_iter().map(|(field, value)| (field.clone(), value.clone())).collect();
        let entry = serde_path_to_error::deserialize(Value::Object(known))
            .map_err(|error| bad(format!("{place}.{}: {}", error.path(), error.inner())))?;
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
fn configured(name: &str, file: &Path, entry: Entry, foreign: bool) -> Result<Configured, String> {
    let shown = crate::clean::line(name, 80);
    let bad = |why: String| format!("{}: the MCP server {shown:?}: {why}", file.display());
    if name.is_empty() || name.len() > 100 || name.chars().any(char::is_control) {
        return Err(bad("a name has 1 to 100 characters".into()));
    }
    let entry = crate::preset::applied(entry).map_err(bad)?;
    check(&entry).map_err(bad)?;
    Ok(Configured { name: name.into(), file: file.into(), entry, foreign })
}

fn check(entry: &Entry) -> Result<(), String> {
    match (&entry.command, &entry.url, entry.kind.as_deref()) {
        (_, _, Some("sse")) => {
            return Err("the type sse is the old transport of 2024, which is not supported; use http".into());
        }
        (_, _, Some(kind)) if !matches!(kind, "stdio" | "http" | "streamable-http") => {
            return Err(format!("the type {kind:?} is not known; there are stdio and http"));
        }
        (Some(_), Some(_), _) => return Err("it has both a command and a url; use one".into()),
        (None, None, _) => return Err("it needs a command or a url".into()),
        (Some(_), None, Some("http" | "streamable-http")) => return Err("the type http needs a url".into()),
        (None, Some(_), Some("stdio")) => return Err("the type stdio needs a command".into()),
        (Some(command), None, _) if command.is_empty() => return Err("the command is empty".into()),
        (Some(_), None, _) if !entry.headers.is_empty() => return Err("headers are for servers with a url".into()),
        (None, Some(_), _) if !entry.args.is_empty() || !entry.env.is_empty() || entry.cwd.is_some() => {
            return Err("args, env and cwd are for servers with a command".into());
        }
        _ => {}
    }
    if let Some(prefix) = entry.prefix.as_deref().filter(|prefix| !names::is_prefix(prefix)) {
        let how = "up to 32 letters, digits, _ and -, a letter or _ first";
        return Err(format!("the prefix {prefix:?} cannot stand before a tool's name: {how}"));
    }
    let named = [("timeout_s", entry.timeout_s), ("startup_timeout_s", entry.startup_timeout_s)];
    match named.iter().find(|(_, time)| *time == Some(0)) {
        Some((field, _)) => Err(format!("{field} must be at least 1")),
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
