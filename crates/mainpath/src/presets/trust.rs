//! Trust by content: a repository's preset is used only as a person has seen it.

use crate::{Error, Home};
use mainpath_store::{read_regular_text, write_private};
use serde::Serialize;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Why a repository's preset does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Distrust {
    /// Nobody has trusted it.
    NotYet,
    /// Its file is not what was trusted.
    Changed,
}

impl Distrust {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Distrust::NotYet => "you have not trusted it",
            Distrust::Changed => "it has changed since you trusted it",
        }
    }
}

/// The file of the data folder that has the hashes of presets.
pub(super) const AGENTS: &str = "trusted-agents.json";

/// Files that a person has trusted, each with the hash of what it said. No tool may write there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trusted {
    file: PathBuf,
    hashes: BTreeMap<PathBuf, String>,
}

impl Trusted {
    /// Those of a file of the data folder. Errors: it cannot be read.
    pub fn read(home: &Home, name: &str) -> Result<Trusted, Error> {
        let file = home.data.join(name);
        let wrong = |why: String| Error::failed(format!("{} cannot be used: {why}", file.display()));
        let hashes = match read_regular_text(&file) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(wrong(error.to_string())),
        };
        Ok(Trusted { file, hashes })
    }

    /// Why a file of this content does not count; `None` if it does.
    pub fn distrust(&self, file: &Path, hash: &str) -> Option<Distrust> {
        match self.hashes.get(file) {
            Some(known) if known == hash => None,
            Some(_) => Some(Distrust::Changed),
            None => Some(Distrust::NotYet),
        }
    }

    /// Trusts a file as it was when it had this hash. Errors: nothing can be written.
    pub fn add(&mut self, file: &Path, hash: &str) -> Result<(), Error> {
        self.hashes.insert(file.into(), hash.into());
        self.save()
    }

    /// Trusts it no longer; whether it was trusted. Errors: nothing can be written.
    pub fn remove(&mut self, file: &Path) -> Result<bool, Error> {
        let known = self.hashes.remove(file).is_some();
        self.save()?;
        Ok(known)
    }

    fn save(&self) -> Result<(), Error> {
        Ok(write_private(&self.file, format!("{:#}\n", json!(self.hashes)).as_bytes())?)
    }
}

/// The hash of a file's text.
pub(super) fn hash(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}
