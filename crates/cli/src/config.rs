//! Where things are, and what the configuration file says.

use crate::exit::Failure;
use crate::hooks::{ContextHookEntry, HookEntry};
use crate::limits::LimitsConfig;
use crate::session::SessionsConfig;
use crate::toolbox::ToolsConfig;
use mainpath_mcp::McpConfig;
use mainpath_net::Reach;
use mainpath_policy::ToolNames;
use mainpath_providers::{Registry, Timeouts};
use mainpath_runtime::Vault;
use mainpath_types::{Access, Finished, Millis, Profile, RateLimit, Shares, SummaryMode, TraceId};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::num::NonZeroU32;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Spanned;

/// The folders and the configuration of this installation.
pub struct Home {
    /// Traces and blobs.
    pub data: PathBuf,
    /// Where `config.toml` is, or would be.
    pub config_file: PathBuf,
    /// What it says.
    pub config: ConfigFile,
    /// The forms of secrets that it wants found.
    forms: Vault,
}

/// `config.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConfigFile {
    /// The model to use when none is named.
    pub model: Option<String>,
    /// The models to go on with when that one fails for good.
    pub fallback: Vec<String>,
    /// The profile to use when none is named.
    pub profile: Option<Profile>,
    /// How long a model's server may take to begin its answer.
    pub first_byte_timeout: Option<Time>,
    /// How long it may be silent within its answer.
    pub idle_timeout: Option<Time>,
    /// The model's window in tokens, whatever is known of it.
    pub context_window: Option<u32>,
    /// The most tokens of an answer.
    pub reserved_output: Option<u32>,
    /// What may happen unasked; without it only reading does.
    pub mode: Option<Access>,
    /// Whether the agent's commands have a network.
    pub network: Option<bool>,
    /// Whether all files of the workspace are kept before every command.
    pub snapshots: bool,
    /// The tools that agents may use; all where nothing is said.
    pub allowed_tools: Vec<String>,
    /// Whether calls that rules allow run by themselves; they do, without it.
    pub auto_execute_tools: Option<bool>,
    /// The sampling temperature.
    pub temperature: Option<Temperature>,
    /// The system text in the place of Mainpath's own.
    pub system_prompt: Option<String>,
    /// The same, as the name of a file in `prompts/`.
    pub prompt: Option<String>,
    /// For whom agents work.
    pub uid: Option<String>,
    /// The limits of runs, over those of the profile.
    pub limits: LimitsConfig,
    /// Limits on single tools, by names, aliases and patterns.
    pub tool_limits: BTreeMap<Spanned<String>, ToolLimit>,
    /// What is asked or told along the way.
    pub hooks: Vec<HookEntry>,
    /// What has a word in reminders.
    pub context_hooks: Vec<ContextHookEntry>,
    /// After so many turns agents are reminded of their plan and their budgets; 0 is never.
    pub inject_every: Option<u32>,
    /// Who summarises when the window is nearly full.
    pub summary: Option<SummaryMode>,
    /// When the messages of finished goals are left out.
    pub finished_goals: Option<Finished>,
    /// Characters of a request, at four a token.
    pub max_context_chars: Option<u32>,
    /// The shares of a request's sections, in hundredths.
    pub shares: SharesConfig,
    /// What is added to the system text of agents.
    pub instructions: String,
    /// Whether the AGENTS.md files of a workspace are part of it; they are, without it.
    pub agents_md: Option<bool>,
    /// The names of secrets that tools may use.
    pub tool_secrets: Vec<String>,
    /// Tools that are there only when they are configured.
    pub tools: ToolsConfig,
    /// How far they reach.
    pub net: Reach,
    /// Further secrets: name and value. They are kept out of logs, streams and prompts.
    pub secrets: BTreeMap<String, String>,
    /// What else is kept out of them.
    pub redact: Redact,
    /// MCP servers.
    pub mcp: McpConfig,
    /// How long traces are kept.
    pub retention: Retention,
    /// What sessions are like where nothing else is said.
    pub sessions: SessionsConfig,
}

/// `[retention]`: what `mainpath purge` removes. Without it, nothing by itself.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Retention {
    /// Traces that did not change for so long, such as `30d`.
    pub older_than: Option<Time>,
    /// All but so many of the newest.
    pub keep: Option<usize>,
}

/// `[shares]`: those that are not named have their usual size.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SharesConfig {
    system: Option<u8>,
    summary: Option<u8>,
    recent: Option<u8>,
    current: Option<u8>,
}

impl SharesConfig {
    /// The shares of a request.
    pub fn all(self) -> Shares {
        let usual = Shares::default();
        Shares {
            system: self.system.unwrap_or(usual.system),
            summary: self.summary.unwrap_or(usual.summary),
            recent: self.recent.unwrap_or(usual.recent),
            current: self.current.unwrap_or(usual.current),
        }
    }
}

/// `[redact]`: secrets that have no name.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Redact {
    /// Places in the arguments and the JSON outputs of tools, such as `$.headers.authorization` and `$..password`.
    paths: Vec<Spanned<String>>,
    /// Regular expressions.
    patterns: Vec<Spanned<String>>,
    /// Kinds that are not looked for.
    off: Vec<Spanned<String>>,
}

impl Redact {
    /// The vault that it asks for. Errors: where in the file something is wrong, in bytes, and what.
    fn forms(&self) -> Result<Vault, (usize, String)> {
        type Add = fn(Vault, &str) -> Result<Vault, String>;
        let lists: [(&str, &[Spanned<String>], Add); 3] = [
            ("paths", &self.paths, Vault::with_path),
            ("patterns", &self.patterns, Vault::with_pattern),
            ("off", &self.off, Vault::without),
        ];
        let mut vault = Vault::default();
        for (name, list, add) in lists {
            for entry in list {
                let wrong = |problem| (entry.span().start, format!("redact.{name}: {problem}"));
                vault = add(vault, entry.get_ref()).map_err(wrong)?;
            }
        }
        Ok(vault)
    }
}

impl ConfigFile {
    /// The limit on a tool: what stands under its name, else under a pattern.
    pub fn tool_limit(&self, tool: &str) -> Option<&ToolLimit> {
        let named = self.tool_limits.iter().filter_map(|(name, limit)| Some((name.get_ref().parse().ok()?, limit)));
        let mut fitting: Vec<(ToolNames, &ToolLimit)> =
            named.filter(|(names, _): &(ToolNames, _)| names.matches(tool)).collect();
        fitting.sort_by_key(|(names, _)| names.one().is_none());
        fitting.first().map(|(_, limit)| *limit)
    }

    /// A hook is known by its name. Errors: where in the file the second one of a name stands, in bytes, and what is wrong.
    fn check_hooks(&self) -> Result<(), (usize, String)> {
        let hooks = self.hooks.iter().map(|hook| &hook.name).collect::<Vec<_>>();
        let context = self.context_hooks.iter().map(|hook| &hook.name).collect::<Vec<_>>();
        for (kind, names) in [("hook", hooks), ("context hook", context)] {
            let mut seen = BTreeSet::new();
            if let Some(second) = names.into_iter().find(|name| !seen.insert(name.get_ref())) {
                let wrong = format!("two {kind}s have the name {:?}; give each its own name", second.get_ref());
                return Err((second.span().start, wrong));
            }
        }
        Ok(())
    }

    /// Holds the names of hooks and limits to the tools that there are. Errors: where in the file one stands that means none, in
    /// bytes, and what is wrong.
    fn check_tools<'t>(&self, tools: impl Iterator<Item = &'t str> + Clone) -> Result<(), (usize, String)> {
        for hook in &self.hooks {
            for names in &hook.tools {
                let wrong = |problem| (names.span().start, format!("the hook {:?}: {problem}", hook.name.get_ref()));
                names.get_ref().0.check(tools.clone()).map_err(wrong)?;
            }
        }
        let mut seen = BTreeSet::new();
        for name in self.tool_limits.keys() {
            let wrong = |problem| (name.span().start, format!("tool_limits: {problem}"));
            let names: ToolNames = name.get_ref().parse().map_err(wrong)?;
            names.check(tools.clone()).map_err(wrong)?;
            if let Some(one) = names.one().filter(|one| !seen.insert(one.to_string())) {
                return Err(wrong(format!("{one} has two limits, one under another name of it")));
            }
        }
        Ok(())
    }
}

/// Names of tools.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct ToolNamesText(pub ToolNames);

impl TryFrom<String> for ToolNamesText {
    type Error = String;
    fn try_from(text: String) -> Result<ToolNamesText, String> {
        text.parse().map(ToolNamesText)
    }
}

/// A sampling temperature.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "f64")]
pub struct Temperature(pub f64);

impl TryFrom<f64> for Temperature {
    type Error = String;
    fn try_from(wanted: f64) -> Result<Temperature, String> {
        crate::args::temperature(&wanted.to_string()).map(Temperature)
    }
}

/// `[tool_limits.NAME]`
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ToolLimit {
    /// The most calls of a run; a tool that may never be called is denied by a rule instead.
    pub max_calls: Option<NonZeroU32>,
    /// The most calls in a time, such as `10/1m`.
    pub rate: Option<Rate>,
    /// How long a call may take, such as `30s`.
    pub timeout: Option<Time>,
}

/// So many calls in a time: `10/1m`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Rate(pub RateLimit);

impl TryFrom<String> for Rate {
    type Error = String;
    fn try_from(text: String) -> Result<Rate, String> {
        crate::args::rate(&text).map(Rate)
    }
}

/// A time in milliseconds, written as `90s` or `10m`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Time(pub Millis);

impl TryFrom<String> for Time {
    type Error = String;
    fn try_from(text: String) -> Result<Time, String> {
        let time = crate::args::duration(&text).map_err(|why| format!("{text:?} is not a time: {why}"))?;
        Ok(Time(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)))
    }
}

impl Home {
    /// Finds the folders and reads the configuration. Errors: file, line and what is wrong.
    pub fn find() -> Result<Home, Failure> {
        match Home::look()? {
            (home, None) => Ok(home),
            (_, Some(wrong)) => Err(wrong),
        }
    }

    /// The same for who can do without a part of the configuration: also what is wrong with it, if anything is; then it holds the
    /// sections that are right. Errors: no folders.
    pub fn look() -> Result<(Home, Option<Failure>), Failure> {
        let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let user = || var("HOME").ok_or_else(|| Failure::error("neither MAINPATH_HOME nor HOME is set; set one"));
        let (data, config_dir) = match var("MAINPATH_HOME") {
            Some(home) => (home.clone(), home),
            None => {
                let data = var("XDG_DATA_HOME").map_or_else(|| user().map(|home| home.join(".local/share")), Ok)?;
                let config = var("XDG_CONFIG_HOME").map_or_else(|| user().map(|home| home.join(".config")), Ok)?;
                (data.join("mainpath"), config.join("mainpath"))
            }
        };
        let data = std::path::absolute(&data)?;
        let config_file = std::path::absolute(config_dir.join("config.toml"))?;
        for place in [&data, config_file.parent().unwrap_or(&data), &config_file] {
            owners_alone(place)?;
        }
        let (config, forms, wrong) = match read(&config_file) {
            Ok((config, forms)) => (config, forms, None),
            Err(wrong) => {
                let (config, forms) = what_is_right(&config_file);
                (config, forms, Some(wrong))
            }
        };
        Ok((Home { data, config_file, config, forms }, wrong))
    }

    /// No two hooks of the configuration have one name. Errors: file, line and what is wrong.
    pub fn check_hooks(&self) -> Result<(), Failure> {
        self.placed(self.config.check_hooks())
    }

    /// Holds the names of tools in the configuration to these. Errors: file, line, what is wrong and what may have been meant.
    pub fn check_tools<'t>(&self, tools: impl Iterator<Item = &'t str> + Clone) -> Result<(), Failure> {
        self.placed(self.config.check_tools(tools))
    }

    fn placed(&self, checked: Result<(), (usize, String)>) -> Result<(), Failure> {
        checked.map_err(|(at, problem)| {
            let text = std::fs::read_to_string(&self.config_file).unwrap_or_default();
            wrong(&self.config_file, &text, at, &problem)
        })
    }

    /// Where the configuration is, or would be.
    pub fn config_dir(&self) -> &Path {
        self.config_file.parent().unwrap_or(&self.data)
    }

    /// The providers and models that are known here. Errors: file, line and what is wrong.
    pub fn registry(&self) -> Result<Registry, Failure> {
        let registry = Registry::read(self.config_dir()).map_err(|error| Failure::error(error.to_string()))?;
        let usual = registry.timeouts();
        let or = |given: Option<Time>, usual| given.map_or(usual, |Time(ms)| Duration::from_millis(ms));
        let ConfigFile { first_byte_timeout, idle_timeout, .. } = self.config;
        let timeouts =
            Timeouts { first_byte: or(first_byte_timeout, usual.first_byte), idle: or(idle_timeout, usual.idle) };
        Ok(registry.with_timeouts(timeouts))
    }

    /// Mainpath's own folders, which no tool may touch.
    pub fn protected(&self) -> Vec<PathBuf> {
        vec![self.data.clone(), self.config_dir().to_path_buf()]
    }

    /// The secrets of the environment and of the configuration, the keys and headers of providers, tools and hooks among
    /// them. Errors: this installation's key for handles can be neither read nor drawn.
    pub fn vault(&self, registry: &Registry) -> Result<Vault, Failure> {
        let mut ours = self.config.tools.secrets();
        ours.extend(self.config.hooks.iter().flat_map(|hook| hook.headers.secrets()));
        ours.extend(self.config.context_hooks.iter().flat_map(|hook| hook.headers.secrets()));
        ours.extend(self.config.sessions.password.clone());
        let (variables, given) = crate::servers::secrets(&self.config.mcp);
        ours.extend(variables);
        let is_key = |name: &str| {
            ours.iter().any(|key| key == name)
                || registry.providers().iter().any(|provider| provider.key_variables.iter().any(|key| key == name))
        };
        let headers = registry.providers().iter().flat_map(|provider| {
            let secret = |(name, value): &(String, String)| {
                // The last word of `Bearer …`.
                let value = value.rsplit(' ').next().unwrap_or_default();
                let is_secret =
                    ["auth", "key", "token", "secret"].iter().any(|part| name.to_lowercase().contains(part));
                is_secret.then(|| (format!("{}-{name}", provider.name), value.to_string()))
            };
            provider.headers.iter().filter_map(secret).collect::<Vec<_>>()
        });
        let secrets = environment(is_key).chain(headers).chain(given).chain(self.config.secrets.clone());
        Ok(self.forms.clone().with_key(handle_key(&self.data)?).with_secrets(secrets))
    }

    /// The folder in which a trace's scripted demonstration works.
    pub fn demo_workspace(&self, trace: &TraceId) -> PathBuf {
        std::env::temp_dir().join(format!("mainpath-demo-{trace}"))
    }
}

/// The variables that hold secrets, by their names or because somebody says so.
fn environment(is_key: impl Fn(&str) -> bool) -> impl Iterator<Item = (String, String)> {
    let texts =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    texts.filter(move |(name, _)| Vault::is_secret_name(name) || is_key(name))
}

/// A text for people, without the secrets that are known here: for what is said when nothing else works.
pub fn hidden(text: &str) -> String {
    let known = |home: &Home| home.registry().unwrap_or_else(|_| Registry::bundled().clone());
    let vault = Home::look().and_then(|(home, _)| home.vault(&known(&home)));
    vault.unwrap_or_else(|_| Vault::new(environment(|_| false))).redact(text)
}

/// What the handles of secrets without a name are made with. It is drawn once and lies beside the traces: in another place the same
/// secret has another handle, and nobody who has only a log can try passwords on it. Errors: it cannot be read, or nothing can
/// be drawn.
fn handle_key(data: &Path) -> Result<[u8; 32], Failure> {
    let file = data.join("handles.key");
    let read = || match std::fs::read(&file) {
        Ok(bytes) => <[u8; 32]>::try_from(bytes).map(Some).map_err(|bytes| {
            let size = bytes.len();
            Failure::error(format!(
                "{} has {size} bytes instead of 32; remove it, and Mainpath makes a new one",
                file.display()
            ))
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::error(format!("{} cannot be read: {error}", file.display()))),
    };
    if let Some(key) = read()? {
        return Ok(key);
    }
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|error| Failure::error(format!("no random numbers available: {error}")))?;
    // Whole, and by the first who comes. Where nothing can be written, no log is written either.
    let part = data.join(format!("handles.key.{}", std::process::id()));
    let written = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part);
    let written = written.and_then(|mut file| file.write_all(&key).and_then(|()| file.sync_all()));
    let linked = written.and_then(|()| std::fs::hard_link(&part, &file));
    let _ = std::fs::remove_file(&part);
    match linked {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(read()?.unwrap_or(key)),
        Ok(()) | Err(_) => Ok(key),
    }
}

/// Whoever can write rules, logs or configuration decides what agents may do. Errors: others can.
fn owners_alone(place: &Path) -> Result<(), Failure> {
    let Ok(known) = std::fs::metadata(place) else { return Ok(()) };
    let (own, root) = (rustix::process::geteuid().as_raw(), 0);
    let place = place.display();
    if known.mode() & 0o002 != 0 {
        return Err(Failure::error(format!("{place} can be written by every user of this machine; chmod o-w {place}")));
    }
    // Root looks at the folders of others.
    if own != root && known.uid() != own && known.uid() != root && known.mode() & 0o022 != 0 {
        return Err(Failure::error(format!("{place} belongs to another user, and others can write to it")));
    }
    Ok(())
}

fn read(file: &Path) -> Result<(ConfigFile, Vault), Failure> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Failure::error(format!("{} cannot be read: {error}", file.display()))),
    };
    let wrong = |at: usize, problem: &str| wrong(file, &text, at, problem);
    let config: ConfigFile =
        toml::from_str(&text).map_err(|error| wrong(error.span().map_or(0, |span| span.start), error.message()))?;
    let forms = config.redact.forms().map_err(|(at, problem)| wrong(at, &problem))?;
    Ok((config, forms))
}

/// What a configuration in which something is wrong says all the same, section by section: nothing, where its grammar is wrong.
fn what_is_right(file: &Path) -> (ConfigFile, Vault) {
    let parsed = |text: &str| -> Option<(ConfigFile, Vault)> {
        let config: ConfigFile = toml::from_str(text).ok()?;
        let forms = config.redact.forms().ok()?;
        Some((config, forms))
    };
    let mut sections: toml::Table =
        std::fs::read_to_string(file).ok().and_then(|text| toml::from_str(&text).ok()).unwrap_or_default();
    sections.retain(|name, value| {
        parsed(&toml::Table::from_iter([(name.to_string(), value.clone())]).to_string()).is_some()
    });
    parsed(&sections.to_string()).unwrap_or_default()
}

/// What is wrong at a byte of a file.
fn wrong(file: &Path, text: &str, at: usize, problem: &str) -> Failure {
    let line = text.get(..at).unwrap_or("").matches('\n').count() + 1;
    Failure::error(format!("{}, line {line}: {problem}", file.display()))
}
