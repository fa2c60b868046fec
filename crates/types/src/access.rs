//! What a run may reach, and where a value came from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a run may do without asking anybody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Read in the workspace; everything else is asked. Commands are confined to the workspace.
    #[default]
    Ask,
    /// Read, and run commands that can change nothing.
    ReadOnly,
    /// Change the workspace, and run commands that can change nothing else.
    WorkspaceWrite,
    /// Everything that no rule forbids; commands are not confined to the workspace.
    Full,
}

impl Access {
    pub(crate) fn is_default(&self) -> bool {
        *self == Access::default()
    }

    /// The bounds of the processes that such a run starts. `network`: whether they may reach beyond the machine.
    pub fn confinement(self, network: bool) -> Confinement {
        let files = match self {
            Access::ReadOnly => FileAccess::ReadOnly,
            Access::Ask | Access::WorkspaceWrite => FileAccess::WorkspaceWrite,
            Access::Full => FileAccess::Full,
        };
        Confinement { files, network: network || self == Access::Full }
    }
}

/// The bounds of a process that a tool starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Confinement {
    /// What it may do with files.
    pub files: FileAccess,
    /// Whether it has a network other than a loopback of its own.
    pub network: bool,
}

/// What a process may do with files. Mainpath's own files are out of its reach in every case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileAccess {
    /// Change nothing but its own temporary files.
    ReadOnly,
    /// Change the workspace and its own temporary files.
    #[default]
    WorkspaceWrite,
    /// Whatever its user may.
    Full,
}

/// Where a value came from, coarsely.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The people whose agent it is: their messages, instructions and answers.
    User,
    /// Files of the workspace, and what its commands printed.
    #[default]
    Workspace,
    /// A page or an answer from the network.
    Web,
    /// An MCP server.
    Mcp,
    /// A message from somebody else, another agent included.
    Message,
    /// The model itself.
    Model,
}

impl Origin {
    /// Whether it comes from outside: from somebody who is not the owner and may want something else.
    pub fn is_foreign(self) -> bool {
        matches!(self, Origin::Web | Origin::Mcp | Origin::Message)
    }

    pub(crate) fn is_default(&self) -> bool {
        *self == Origin::default()
    }
}
