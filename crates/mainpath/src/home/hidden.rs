//! Texts for people without the secrets of this machine.

use super::place::Home;
use super::secrets::environment;
use mainpath_providers::Registry;
use mainpath_runtime::Vault;

/// A text for people, without the secrets that are known here: for what is said when nothing else works.
pub fn hidden(text: &str) -> String {
    let known = |home: &Home| home.registry().unwrap_or_else(|_| Registry::bundled().clone());
    let vault = Home::look().and_then(|(home, _)| home.vault(&known(&home)));
    vault.unwrap_or_else(|_| Vault::new(environment(|_| false))).redact(text)
}
