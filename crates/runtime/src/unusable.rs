//! Why a trace cannot be driven under its spec.

use crate::gate::schema::BadSchema;
use crate::models::NoModel;
use crate::secrets::SecretInSpec;
use mainpath_store::cause_of;
use std::io;

/// The cause of an error in a part that the host supplies, such as a hook.
pub type HostCause = Box<dyn std::error::Error + Send + Sync>;

/// Why a trace cannot be driven under its spec.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// A text that is recorded unchanged holds a secret.
    #[error(transparent)]
    Secret(#[from] SecretInSpec),
    /// The spec cannot be serialized.
    #[error("the spec cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The workspace is missing, or is not a folder.
    #[error("the workspace {path} cannot be used: {source}")]
    Workspace {
        /// The workspace as the spec names it.
        path: String,
        /// The error of opening it.
        source: io::Error,
    },
    /// Final answers cannot be checked against its schema.
    #[error("the output schema cannot be used: {0}")]
    Schema(#[from] BadSchema),
    /// The host cannot load the rules.
    #[error("{source}")]
    Rules {
        /// The host's error.
        source: HostCause,
        /// The system's error kind; `Other` if the error is not the system's.
        cause: io::ErrorKind,
    },
    /// The model cannot be called.
    #[error(transparent)]
    Model(#[from] NoModel),
    /// The trace was given no spec.
    #[error("the trace has no spec")]
    NoSpec,
    /// The event that holds the spec was erased.
    #[error("the trace's spec was erased; give it a new one")]
    SpecErased,
    /// A message of the request was erased.
    #[error("a message that the model must see was erased; rewind before it")]
    MessageErased,
}

impl Unusable {
    /// The host cannot load the rules, for a reason that is not the system's.
    pub fn rules(source: impl Into<HostCause>) -> Unusable {
        Unusable::Rules { source: source.into(), cause: io::ErrorKind::Other }
    }

    /// The system's error kind; `Other` if the error is not the system's.
    pub fn cause(&self) -> io::ErrorKind {
        match self {
            Unusable::Workspace { source, .. } => cause_of(source),
            Unusable::Rules { cause, .. } => *cause,
            _ => io::ErrorKind::Other,
        }
    }
}
