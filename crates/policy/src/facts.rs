//! What is known about a call.

use mainpath_types::{Destination, EffectClass, Origin};
use std::collections::BTreeSet;

/// What is known about a call. The caller has resolved every path, symlinks included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallFacts {
    /// The tool's own name.
    pub tool: String,
    /// What the tool can do.
    pub effect: EffectClass,
    /// Its arguments; secrets in them are handles.
    pub arguments: serde_json::Value,
    /// The files that the call names.
    pub paths: Vec<PathFact>,
    /// The addresses that it asks.
    pub urls: Vec<UrlFact>,
    /// Whether a person of the trace, or the owner's configuration, named every one of them, or its server.
    pub named: bool,
    /// The command lines that it gives to a shell.
    pub commands: Vec<String>,
    /// Where its arguments came from.
    pub origins: BTreeSet<Origin>,
    /// Where it goes by words that no person and no server's own field said.
    pub destinations: Vec<Destination>,
    /// Whether whoever offers the tool says that it changes nothing. It need not be true.
    pub says_read_only: bool,
    /// Where the tool's results come from.
    pub results: Origin,
    /// Whether the machine can confine the processes that it starts.
    pub confined: bool,
}

/// A file that a call names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathFact {
    /// As the model wrote it.
    pub path: String,
    /// The place it really means, links followed.
    pub absolute: String,
    /// The same from the workspace on, if it lies in it: with `/` between names, empty for the workspace itself.
    pub relative: Option<String>,
    /// Whether it is to be changed.
    pub write: bool,
    /// Whether it belongs to Mainpath itself: data, policy, configuration, control sockets.
    pub protected: bool,
    /// Whether git would obey it, because of a folder above it that has the shape of a repository.
    pub in_repository: bool,
}

impl PathFact {
    /// Whether it lies in the workspace.
    pub fn in_workspace(&self) -> bool {
        self.relative.is_some()
    }
}

/// An address that a call asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlFact {
    /// The HTTP method, in capitals.
    pub method: String,
    /// The address as it was written.
    pub url: String,
}
