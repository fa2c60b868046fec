//! The owner's key, whose signatures count, and how heads are signed here.

use super::place::Home;
use crate::Error;
use crate::proof::{OwnerKey, PublicKey, Signing, Witness};
use mainpath_sandbox::shell_words;
use std::path::PathBuf;

impl Home {
    /// Where the owner's key lies, or would: beside `config.toml`.
    pub fn signing_key(&self) -> PathBuf {
        self.config_dir().join("signing.key")
    }

    /// How heads are signed here. Errors: there is no key, or it cannot be used.
    pub fn signing(&self) -> Result<Signing, Error> {
        let file = self.signing_key();
        let none =
            || Error::failed(format!("there is no key in {}; make one with mainpath sign --new-key", file.display()));
        let key = OwnerKey::read(&file)?.ok_or_else(none)?;
        let file = self.witness()?.map(Witness::File);
        let command = match self.config.sign.witness_command.clone() {
            Some(empty) if empty.trim().is_empty() => {
                let wrong = Error::failed("the witness command is empty; leave it out for none");
                return Err(self.wrong_in(&["sign", "witness_command"], &wrong));
            }
            command => command.map(|command| Witness::Command(self.owner_program(shell_words(&command)))),
        };
        let trusted = self.trusted_keys()?;
        Ok(Signing { key, trusted, witnesses: file.into_iter().chain(command).collect(), with_erasures: false })
    }

    /// The file that the configuration names as the witness. Errors: it is no whole path: which file it is must not depend on the folder
    /// that somebody works in.
    pub fn witness(&self) -> Result<Option<PathBuf>, Error> {
        let Some(named) = &self.config.sign.witness else { return Ok(None) };
        let named = match (named.strip_prefix("~"), &self.person) {
            (Ok(rest), Some(person)) => person.join(rest),
            _ => named.clone(),
        };
        if named.is_absolute() {
            return Ok(Some(named));
        }
        let wrong = format!("{:?} is no whole path: begin it with / or ~/", named.display().to_string());
        Err(self.wrong_in(&["sign", "witness"], &Error::failed(wrong)))
    }

    /// The keys whose signatures count: the owner's, and those that the configuration trusts. Errors: one of them is no key.
    pub fn trusted_keys(&self) -> Result<Vec<PublicKey>, Error> {
        let own = OwnerKey::read(&self.signing_key())?.map(|key| key.public());
        let trusted = self.config.sign.trusted.iter().map(|text| {
            let wrong = || Error::failed(format!("{text:?} is no public key of ed25519 (43 characters)"));
            PublicKey::parse(text).ok_or_else(|| self.wrong_in(&["sign", "trusted"], &wrong()))
        });
        own.map(Ok).into_iter().chain(trusted).collect()
    }
}
