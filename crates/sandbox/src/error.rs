//! Why a cage cannot be made, or a program of the owner cannot be started outside one.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// Bounds that no cage can keep.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BoundsError {
    /// The workspace is a folder of the system.
    #[error("{0} belongs to the system and cannot be a workspace")]
    SystemFolder(PathBuf),
    /// The workspace is inside a folder of Mainpath's own.
    #[error("the workspace {workspace} lies in Mainpath's own {own}")]
    OwnFolder {
        /// The workspace.
        workspace: PathBuf,
        /// Mainpath's folder.
        own: PathBuf,
    },
}

/// Why a cage cannot be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CageError {
    #[error(transparent)]
    Bounds(#[from] BoundsError),
    /// A system call failed at this step.
    #[error("{step}: {source}")]
    Step { step: String, source: io::Error },
    #[error("restricting files with Landlock: {0}")]
    Landlock(#[from] landlock::RulesetError),
}

/// Why a program of the owner must not start outside the sandbox.
#[derive(Debug, thiserror::Error)]
pub enum OwnerProgramError {
    /// The folder that it starts in can be changed by an agent.
    #[error("it starts in {0}, which an agent can change: move it out of the workspace")]
    StartsIn(PathBuf),
    /// A path in its command can be changed by an agent.
    #[error("it names {0}, which an agent can change: move it out of the workspace")]
    Names(PathBuf),
    /// A path in a variable that it is given can be changed by an agent.
    #[error("its variable {} names {}, which an agent can change: move it out of the workspace", .0.display(), .1.display())]
    Variable(OsString, PathBuf),
}
