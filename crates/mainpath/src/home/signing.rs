//! `[sign]` of `config.toml`: whose signatures count, who is told of signed heads, and whether runs end with one.

use serde::Deserialize;
use std::path::PathBuf;

/// `[sign]`.
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SignConfig {
    /// Whether the head of the log is signed when a run of the command ends. It needs a key: `mainpath sign --new-key`.
    pub at_end: bool,
    /// The public keys of others whose signatures count, 43 characters each.
    pub trusted: Vec<String>,
    /// A file to which each signed head is added, by its whole path; `~/` is your home. `verify --signed` compares with it.
    pub witness: Option<PathBuf>,
    /// A command of the shell that gets each signed head on its standard input. It starts in the folder of `config.toml`.
    pub witness_command: Option<String>,
}
