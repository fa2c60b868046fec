//! The folders of an installation, and its configuration.

use super::file::ConfigFile;
use super::secrets::{environment, handle_key};
use super::units::Time;
use crate::Error;
use mainpath_providers::{Registry, Timeouts};
use mainpath_runtime::{Vault, Worktrees};
#[cfg(feature = "home")]
use mainpath_sandbox::OwnerProgram;
use mainpath_types::TraceId;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::de::{DeTable, DeValue};

/// The folders and the configuration of this installation.
pub struct Home {
    /// Traces and blobs.
    pub data: PathBuf,
    /// Where `config.toml` is, or would be.
    pub config_file: PathBuf,
    /// What it says.
    pub config: ConfigFile,
    /// The folder of the person whose home it is; none for a home by hand.
    pub(crate) person: Option<PathBuf>,
    /// Further folders that no tool may touch: those of the home that it lies in.
    pub(crate) around: Vec<PathBuf>,
    /// Further folders in which agents work. Programs of the owner must not be in them.
    #[cfg(feature = "home")]
    pub(crate) workspaces: Vec<PathBuf>,
    /// The forms of secrets that it wants found.
    pub(super) forms: Vault,
}

impl Home {
    /// The models that the configuration names for agents.
    pub(crate) fn configured_models(&self) -> impl Iterator<Item = &str> {
        self.config.model.iter().chain(&self.config.fallback).map(String::as_str)
    }

    /// A home whose configuration says nothing, with its data in this folder.
    pub(crate) fn by_hand(data: &Path) -> Home {
        let (config, forms) = Default::default();
        Home {
            data: data.into(),
            config_file: data.join("config.toml"),
            config,
            person: None,
            around: Vec::new(),
            #[cfg(feature = "home")]
            workspaces: Vec::new(),
            forms,
        }
    }

    /// Whether nothing is read from files: the host says everything itself.
    pub(crate) fn is_by_hand(&self) -> bool {
        self.person.is_none()
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

    /// What is wrong with a key of the configuration, in a line with its place in the file.
    pub(crate) fn wrong_in(&self, key: &[&str], error: &Error) -> Error {
        let text = std::fs::read_to_string(&self.config_file).unwrap_or_default();
        let line = line_of(&text, key).map_or_else(String::new, |line| format!(", line {line}"));
        let placed = format!("{}{line}: {}", self.config_file.display(), error.message());
        Error::new(error.kind(), placed).with_remedy(error.remedy().cloned())
    }

    /// The value of a secret, by its name: from the environment, else from the configuration.
    pub fn secret(&self, name: &str) -> Option<String> {
        std::env::var(name).ok().or_else(|| self.config.secrets.get(name).cloned())
    }

    /// Mainpath's own folders, which no tool may touch.
    pub fn protected(&self) -> Vec<PathBuf> {
        let own = [self.data.clone(), self.config_dir().to_path_buf()];
        own.into_iter().chain(self.around.iter().cloned()).collect()
    }

    /// A command of the configuration that runs outside the sandbox. It starts in the folder of the configuration.
    #[cfg(feature = "home")]
    pub(crate) fn owner_program(&self, words: Vec<String>) -> OwnerProgram {
        OwnerProgram::new(words, self.config_dir(), self.protected()).with_workspaces(self.workspaces.clone())
    }

    /// Removes the copies of folders in which these traces worked, if there are any. Errors: a file cannot be removed.
    pub async fn forget_copies(&self, traces: &[TraceId]) -> Result<(), Error> {
        let Some(worktrees) = self.worktrees() else { return Ok(()) };
        for trace in traces {
            worktrees.forget(trace).await?;
            if let Some(copies) = self.copies().filter(|_| trace.elsewhere().is_none()) {
                match std::fs::remove_dir_all(copies.join(trace.as_str())) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Where the copies of folders are in which something was tried out, by trace; `None` where there is no home to put it into.
    pub(crate) fn copies(&self) -> Option<PathBuf> {
        let trees = self.worktrees()?.trees;
        Some(trees.parent()?.with_file_name("what-if").join(trees.file_name()?))
    }

    /// Where agents work that write side by side; `None` where there is no home to put it into.
    pub(crate) fn worktrees(&self) -> Option<Worktrees> {
        let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")))?;
        // As the tools see it: without links.
        let cache = cache.canonicalize().unwrap_or(cache);
        let hash = Sha256::digest(self.data.as_os_str().as_encoded_bytes());
        let name: String = hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        let trees = cache.join("mainpath/worktrees").join(name);
        Some(Worktrees { trees, records: self.data.join("worktrees") })
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

/// The line in which a key of a file stands; of a key that is not there, that of the part that it would be in.
fn line_of(text: &str, key: &[&str]) -> Option<usize> {
    let file = DeTable::parse(text).ok()?;
    let (mut table, mut at) = (file.get_ref(), None);
    for part in key {
        let Some((name, value)) = table.iter().find(|(name, _)| name.get_ref() == part) else { break };
        at = Some(name.span().start);
        match value.get_ref() {
            DeValue::Table(inner) => table = inner,
            _ => break,
        }
    }
    text.get(..at?).map(|before| before.matches('\n').count() + 1)
}
