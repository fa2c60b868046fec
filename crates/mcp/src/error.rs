//! Why a file of servers, an entry or a server cannot be used.

use crate::entry::FILE_BYTES;
use serde_json::Error as JsonError;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// A file of servers or of approvals that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {problem}")]
pub struct FileError {
    /// The file.
    pub file: PathBuf,
    /// The cause.
    pub problem: FileProblem,
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileProblem {
    /// There is no such file.
    #[error("there is no such file")]
    Missing,
    /// It is a folder, a pipe or a device.
    #[error("it is not a file")]
    NotAFile,
    /// It cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is larger than a file of servers may be.
    #[error("it is larger than {FILE_BYTES} bytes")]
    TooLarge,
    /// It is not JSON, or not of the right form.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// It has no `mcpServers`.
    #[error("there is no \"mcpServers\" in it")]
    NoServers,
    /// A part of it is not an object: where.
    #[error("{0} is not an object")]
    NotAnObject(String),
    /// A field of an entry has an invalid value.
    #[error("{place}: {source}")]
    Field {
        /// The path to the field.
        place: String,
        /// The cause.
        source: JsonError,
    },
}

/// Why the servers of a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// An entry cannot be used.
    #[error("{file}: {entry}")]
    Entry {
        /// The file with the entry.
        file: PathBuf,
        /// The entry and what is wrong with it.
        entry: Box<EntryError>,
    },
}

/// An entry that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the MCP server {:?}: {problem}{}", crate::clean::line(name, 80), listed(notes))]
pub struct EntryError {
    /// The name of the server, as it is written.
    pub name: String,
    /// The cause.
    pub problem: EntryProblem,
    /// Unknown fields of the file, which may be the reason that something is missing.
    pub notes: Vec<String>,
}

fn listed(notes: &[String]) -> String {
    notes.iter().map(|note| format!("; {note}")).collect()
}

/// Why an entry cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryProblem {
    /// Its name is empty, too long, or has control characters.
    #[error("a name has 1 to 100 characters")]
    Name,
    /// Its type is `sse`.
    #[error("the type sse is the old transport of 2024, which is not supported; use http")]
    OldTransport,
    /// Its type is unknown.
    #[error("the type {0:?} is not known; there are stdio and http")]
    Type(String),
    /// It has both a command and a URL.
    #[error("it has both a command and a url; use one")]
    CommandAndUrl,
    /// It has neither a command nor a URL.
    #[error("it needs a command or a url")]
    NoTarget,
    /// Its type needs this field.
    #[error("the type {0} needs a {1}")]
    Needs(&'static str, &'static str),
    /// Its command is empty.
    #[error("the command is empty")]
    EmptyCommand,
    /// It has fields that are only for servers with this field.
    #[error("{0} are for servers with a {1}")]
    OnlyFor(&'static str, &'static str),
    /// Its prefix cannot begin a tool's name.
    #[error(
        "the prefix {0:?} cannot stand before a tool's name: up to 32 letters, digits, _ and -, a letter or _ first"
    )]
    Prefix(String),
    /// A time in this field is zero.
    #[error("{0} must be at least 1")]
    ZeroTime(&'static str),
    /// Its preset does not exist.
    #[error("there is no preset {name:?}; there are: {known}")]
    UnknownPreset {
        /// The name that was given.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// The presets of the program itself cannot be read.
    #[error(transparent)]
    Presets(#[from] toml::de::Error),
}

/// A text of a configuration whose variables cannot be replaced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum VariableError {
    #[error("a ${{ without its }}")]
    Unclosed,
    #[error("${{{0}}} is not a variable; write ${{NAME}} or ${{NAME:-DEFAULT}}")]
    NotAVariable(String),
    #[error("the environment variable {0} is not set")]
    Unset(String),
}

/// Why a server is not connected or its tools are unknown: one line for people and models.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum ServerError {
    #[error(transparent)]
    Variable(#[from] VariableError),
    #[error("its folder {0} is not there")]
    NoFolder(PathBuf),
    #[error("its program {program:?} cannot start: {source}")]
    Program { program: String, source: Arc<io::Error> },
    /// The launcher's reason.
    #[error("{why}")]
    Unconfined { why: String },
    #[error("its url is invalid: {0}")]
    Url(String),
    #[error("its url begins with {0}:, not with http: or https:")]
    Scheme(String),
    #[error("its header {name:?}: {source}")]
    Header { name: String, source: VariableError },
    #[error("{0:?} is not a header's name")]
    HeaderName(String),
    #[error("the value of its header {0:?} has characters that none can have")]
    HeaderValue(String),
    #[error("HTTPS cannot be set up on this machine: {0}")]
    Https(Arc<reqwest::Error>),
    #[error("it wants an authorization: put it in the headers, such as Authorization = \"Bearer ${{TOKEN}}\"")]
    Unauthorized,
    /// It did not speak the protocol. Another revision may work.
    #[error("{why}{last_words}{}", install_hint(*may_need_install))]
    Handshake { why: String, last_words: String, may_need_install: bool },
    #[error("it did not start within {seconds} s{}", install_hint(*may_need_install))]
    Late { seconds: u64, may_need_install: bool },
    /// It failed before and is not tried yet again.
    #[error("{why}; it is tried again in {seconds} s")]
    Pausing { why: Box<ServerError>, seconds: u64 },
    #[error("it did not say what it can do")]
    NoCapabilities,
    #[error("it does not list its tools: {0}")]
    Unlisted(String),
    #[error("it did not list its tools within {0} s")]
    LateList(u64),
    /// It answered with an error, in its words.
    #[error("{words}")]
    Refused { words: String },
}

fn install_hint(may_need_install: bool) -> &'static str {
    match may_need_install {
        true => "; it may have to be installed first, which needs the network: network = true in its entry",
        false => "",
    }
}
