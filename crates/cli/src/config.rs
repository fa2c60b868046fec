//! Where things are, and what the configuration file says.

use crate::exit::Failure;
use crate::hooks::HookEntry;
use mainpath_providers::Registry;
use mainpath_runtime::Vault;
use mainpath_tools::{JsonTransform, Tools};
use mainpath_types::{Access, Millis, Profile, RateLimit, TraceId};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The folders and the configuration of this installation.
pub struct Home {
    /// Traces and blobs.
    pub data: PathBuf,
    /// Where `config.toml` is, or would be.
    pub config_file: PathBuf,
    /// What it says.
    pub config: ConfigFile,
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
    /// The model's window in tokens, whatever is known of it.
    pub context_window: Option<u32>,
    /// The most tokens of an answer.
    pub reserved_output: Option<u32>,
    /// What may happen unasked; without it only reading does.
    pub mode: Option<Access>,
    /// Whether the agent's commands have a network.
    pub network: Option<bool>,
    /// Limits on single tools, by their names.
    pub tool_limits: BTreeMap<String, ToolLimit>,
    /// What is asked or told along the way.
    pub hooks: Vec<HookEntry>,
    /// The names of secrets that tools may use.
    pub tool_secrets: Vec<String>,
    /// Tools that are there only when they are asked for.
    pub tools: ToolsConfig,
    /// Further secrets: name and value. They are kept out of logs, streams and prompts.
    pub secrets: BTreeMap<String, String>,
}

/// The part of `config.toml` about tools.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ToolsConfig {
    /// Whether there is `json_transform`.
    pub json_transform: bool,
}

/// `[tool_limits.NAME]`
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ToolLimit {
    /// The most calls of a run.
    pub max_calls: Option<u32>,
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
        let wrong = || format!("{text:?} is no rate; write calls/time, such as \"10/1m\"");
        let (calls, time) = text.split_once('/').ok_or_else(wrong)?;
        let calls = calls.trim().parse().ok().filter(|calls| *calls > 0).ok_or_else(wrong)?;
        let Time(per_ms) = Time::try_from(time.trim().to_string()).map_err(|_| wrong())?;
        Ok(Rate(RateLimit { calls, per_ms }))
    }
}

/// A time in milliseconds, written as `90s` or `10m`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Time(pub Millis);

impl TryFrom<String> for Time {
    type Error = String;
    fn try_from(text: String) -> Result<Time, String> {
        let time = crate::args::duration(&text).map_err(|why| format!("{text:?} is no time: {why}"))?;
        Ok(Time(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)))
    }
}

impl Home {
    /// Finds the folders and reads the configuration. Errors: file, line and what is wrong.
    pub fn find() -> Result<Home, Failure> {
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
        let config = read(&config_file)?;
        Ok(Home { data, config_file, config })
    }

    /// Where the configuration is, or would be.
    pub fn config_dir(&self) -> &Path {
        self.config_file.parent().unwrap_or(&self.data)
    }

    /// The providers and models that are known here. Errors: file, line and what is wrong.
    pub fn registry(&self) -> Result<Registry, Failure> {
        Registry::read(self.config_dir()).map_err(|error| Failure::error(error.to_string()))
    }

    /// The tools that agents have here.
    pub fn tools(&self) -> Tools {
        let mut tools = Tools::kernel();
        if self.config.tools.json_transform {
            tools = tools.with(JsonTransform::current_exe());
        }
        tools
    }

    /// Mainpath's own folders, which no tool may touch.
    pub fn protected(&self) -> Vec<PathBuf> {
        vec![self.data.clone(), self.config_dir().to_path_buf()]
    }

    /// The secrets of the environment and of the configuration, the providers' keys among them.
    pub fn vault(&self, registry: &Registry) -> Vault {
        let env =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let is_key = |name: &String| registry.providers().iter().any(|provider| provider.key_variables.contains(name));
        let env = env.filter(|(name, _)| Vault::is_secret_name(name) || is_key(name));
        Vault::new(env.chain(self.config.secrets.clone()))
    }

    /// The folder in which a trace's scripted demonstration works.
    pub fn demo_workspace(&self, trace: &TraceId) -> PathBuf {
        std::env::temp_dir().join(format!("mainpath-demo-{trace}"))
    }
}

fn read(file: &Path) -> Result<ConfigFile, Failure> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(ConfigFile::default()),
        Err(error) => return Err(Failure::error(format!("{} cannot be read: {error}", file.display()))),
    };
    toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(1, |span| text.get(..span.start).unwrap_or("").matches('\n').count() + 1);
        Failure::error(format!("{}, line {line}: {}", file.display(), error.message()))
    })
}
