//! What a file says of one server.

use mainpath_types::FileAccess;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A file of servers is not larger, in bytes.
pub(crate) const FILE_BYTES: u64 = 1024 * 1024;

/// What a file says of one server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Entry {
    /// A bundled entry that this one begins with: `playwright`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// `stdio` or `http`; told by the other fields where it is left out.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The program that is started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Its environment beside the usual one. Secrets reach it only by being named here: `KEY = "${KEY}"`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The folder it is started in. A relative one begins in the workspace, which is also the default; with `sandbox = "full"` in the
    /// user's home.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Where an HTTP server is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What is sent to it with each request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// What stands before its tools' names. Default: `mcp__NAME__`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// The tools that are taken, by the server's own names, `*` for anything. Default: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// The tools that are not taken even so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// Whether it is believed when it says that a tool changes nothing. Default: no.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub trust_annotations: bool,
    /// How long a call may take, in seconds. Default: 120.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u64>,
    /// How long it may take to come up, and then to list its tools, in seconds. Default: 30.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_timeout_s: Option<u64>,
    /// What its process may do with files. Default: change the workspace. `full` counts only in a file outside the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<FileAccess>,
    /// Whether its process has a network. Default: no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<bool>,
    /// Keeps the entry without using it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
}
