//! The folders of an installation, and its configuration.

use super::file::ConfigFile;
use super::secrets::{environment, handle_key};
use super::units::Time;
use crate::Error;
use mainpath_providers::{Registry, Timeouts};
use mainpath_runtime::Vault;
use mainpath_types::TraceId;
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
    pub(super) forms: Vault,
}

impl Home {
    /// A home whose configuration says nothing, with its data in this folder.
    pub(crate) fn by_hand(data: &Path) -> Home {
        let (config, forms) = Default::default();
        Home { data: data.into(), config_file: data.join("config.toml"), config, forms }
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

    /// Mainpath's own folders, which no tool may touch.
    pub fn protected(&self) -> Vec<PathBuf> {
        vec![self.data.clone(), self.config_dir().to_path_buf()]
    }

    /// The secrets of the environment and of the configuration, the keys and headers of providers, tools and hooks among
    /// them. Errors: this installation's key for handles can be neither read nor drawn.
    pub fn vault(&self, registry: &Registry) -> Result<Vault, Error> {
        let (ours, given) = self.config.own_secrets();
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
