//! The folders of an installation, and its configuration.

use super::file::ConfigFile;
use super::secrets::{environment, handle_key, of_servers};
use super::toolbox::Unready;
use super::units::Time;
use crate::Error;
use mainpath_providers::{Registry, Timeouts};
use mainpath_runtime::Vault;
use mainpath_tools::Tools;
use mainpath_types::TraceId;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

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

impl Home {
    /// Finds the folders and reads the configuration. Errors: file, line and what is wrong.
    pub fn find() -> Result<Home, Error> {
        match Home::look()? {
            (home, None) => Ok(home),
            (_, Some(wrong)) => Err(wrong),
        }
    }

    /// The same for who can do without a part of the configuration: also what is wrong with it, if anything is; then it holds the
    /// sections that are right. Errors: no folders.
    pub fn look() -> Result<(Home, Option<Error>), Error> {
        let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let user = || var("HOME").ok_or_else(|| Error::failed("neither MAINPATH_HOME nor HOME is set; set one"));
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

    /// A home whose configuration says nothing, with its data in this folder.
    pub(crate) fn by_hand(data: &Path) -> Home {
        let (config, forms) = Default::default();
        Home { data: data.into(), config_file: data.join("config.toml"), config, forms }
    }

    /// No two hooks of the configuration have one name. Errors: file, line and what is wrong.
    pub fn check_hooks(&self) -> Result<(), Error> {
        self.placed(self.config.check_hooks())
    }

    /// Holds the names of tools in the configuration to these. Errors: file, line, what is wrong and what may have been meant.
    pub fn check_tools<'t>(&self, tools: impl Iterator<Item = &'t str> + Clone) -> Result<(), Error> {
        self.placed(self.config.check_tools(tools))
    }

    fn placed(&self, checked: Result<(), (usize, String)>) -> Result<(), Error> {
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
    pub fn registry(&self) -> Result<Registry, Error> {
        let registry = Registry::read(self.config_dir()).map_err(|error| Error::failed(error.to_string()))?;
        let usual = registry.timeouts();
        let or = |given: Option<Time>, usual| given.map_or(usual, |Time(ms)| Duration::from_millis(ms));
        let ConfigFile { first_byte_timeout, idle_timeout, .. } = self.config;
        let timeouts =
            Timeouts { first_byte: or(first_byte_timeout, usual.first_byte), idle: or(idle_timeout, usual.idle) };
        Ok(registry.with_timeouts(timeouts))
    }

    /// The value of a secret, by its name: from the environment, else from the configuration.
    pub fn secret(&self, name: &str) -> Option<String> {
        std::env::var(name).ok().or_else(|| self.config.secrets.get(name).cloned())
    }

    /// The tools of this installation, and those that are configured and cannot be used.
    pub fn toolbox(&self) -> (Tools, Vec<Unready>) {
        self.config.tools.build(&self.config.net, &|name| self.secret(name))
    }

    /// Mainpath's own folders, which no tool may touch.
    pub fn protected(&self) -> Vec<PathBuf> {
        vec![self.data.clone(), self.config_dir().to_path_buf()]
    }

    /// The secrets of the environment and of the configuration, the keys and headers of providers, tools and hooks among
    /// them. Errors: this installation's key for handles can be neither read nor drawn.
    pub fn vault(&self, registry: &Registry) -> Result<Vault, Error> {
        let mut ours = self.config.tools.secrets();
        ours.extend(self.config.hooks.iter().flat_map(|hook| hook.headers.secrets()));
        ours.extend(self.config.context_hooks.iter().flat_map(|hook| hook.headers.secrets()));
        ours.extend(self.config.sessions.password.clone());
        let (variables, given) = of_servers(&self.config.mcp);
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

/// Whoever can write rules, logs or configuration decides what agents may do. Errors: others can.
fn owners_alone(place: &Path) -> Result<(), Error> {
    let Ok(known) = std::fs::metadata(place) else { return Ok(()) };
    let (own, root) = (rustix::process::geteuid().as_raw(), 0);
    let place = place.display();
    if known.mode() & 0o002 != 0 {
        return Err(Error::failed(format!("{place} can be written by every user of this machine; chmod o-w {place}")));
    }
    // Root looks at the folders of others.
    if own != root && known.uid() != own && known.uid() != root && known.mode() & 0o022 != 0 {
        return Err(Error::failed(format!("{place} belongs to another user, and others can write to it")));
    }
    Ok(())
}

fn read(file: &Path) -> Result<(ConfigFile, Vault), Error> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Error::failed(format!("{} cannot be read: {error}", file.display()))),
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
fn wrong(file: &Path, text: &str, at: usize, problem: &str) -> Error {
    let line = text.get(..at).unwrap_or("").matches('\n').count() + 1;
    Error::failed(format!("{}, line {line}: {problem}", file.display()))
}
