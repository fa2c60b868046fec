//! What a running call asks and tells those who started it: blobs, secrets, addresses, changes of files, notices.

use crate::Fut;
use mainpath_policy::{PathFact, UrlFact};
use mainpath_types::{
    BlobHash, ChildPatch, Decision, EffectClass, FileChange, LoadedSkill, ResourceLoaded, SkillSelected, SkillTerms,
};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// The own error of whoever implements a port. The model reads its text; nothing is decided by it.
pub type PortError = Box<dyn std::error::Error + Send + Sync>;

/// Checks that an address may be asked without a person. Errors: why not, in words that the model is told.
pub type RedirectCheck = Arc<dyn Fn(UrlFact) -> Result<(), PortError> + Send + Sync>;

/// What the rules say of reading a file that a call comes upon while it searches.
pub type FoundCheck = Arc<dyn Fn(&PathFact) -> Decision + Send + Sync>;

/// Whether a model may call the tool of this name and effect.
pub type Offered = Arc<dyn Fn(&str, EffectClass) -> bool + Send + Sync>;

/// Puts changes of files on record before they are made. Errors: they cannot be, so they are not to be made.
pub type Changing = Arc<dyn Fn(Vec<FileChange>) -> Fut<'static, io::Result<()>> + Send + Sync>;

/// Tells people something.
pub type Notice = Arc<dyn Fn(&str) + Send + Sync>;

/// Where outputs too large to show are kept.
pub trait BlobSink: Send + Sync {
    /// Stores the bytes durably and names them by their SHA-256.
    fn put(&self, bytes: Vec<u8>) -> Fut<'_, io::Result<BlobHash>>;
    /// Stores the bytes exactly as they are, secrets in them included: for what may be put back and is shown to nobody.
    fn keep(&self, bytes: Vec<u8>) -> Fut<'_, io::Result<BlobHash>>;
}

/// Blobs in memory, for tests and for runs that keep nothing.
#[derive(Debug, Default)]
pub struct MemoryBlobs(Mutex<BTreeMap<BlobHash, Vec<u8>>>);

impl MemoryBlobs {
    /// The bytes of a blob.
    pub fn get(&self, hash: &BlobHash) -> Option<Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(hash).cloned()
    }
}

impl BlobSink for MemoryBlobs {
    fn put(&self, bytes: Vec<u8>) -> Fut<'_, io::Result<BlobHash>> {
        Box::pin(async move {
            let digits: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
            let hash = BlobHash::try_from(digits).map_err(io::Error::other)?;
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(hash.clone(), bytes);
            Ok(hash)
        })
    }

    fn keep(&self, bytes: Vec<u8>) -> Fut<'_, io::Result<BlobHash>> {
        self.put(bytes)
    }
}

/// Why nothing of a skill was put on record.
#[derive(Debug, thiserror::Error)]
pub enum SkillDeskError {
    /// The run has no skills.
    #[error("there are no skills here")]
    NoSkills,
    /// The skill is loaded already, with the same text.
    #[error("the skill {0} is loaded already")]
    AlreadyLoaded(String),
    /// The trace refuses it, or cannot be written.
    #[error(transparent)]
    Refused(PortError),
}

/// The skills of a trace, for the tools that are about them.
pub trait SkillDesk: Send + Sync {
    /// What the agent is told of skills.
    fn terms(&self) -> &SkillTerms;
    /// Those that are loaded, as it was when the call was started.
    fn loaded(&self) -> &[LoadedSkill];
    /// Loads a skill for the call. It is on record when this returns. Errors: why it cannot be, in words for the model.
    fn select(&self, skill: SkillSelected) -> Fut<'_, Result<(), SkillDeskError>>;
    /// Puts on record that the call has read a file of a skill. Errors: as before.
    fn note_resource(&self, resource: ResourceLoaded) -> Fut<'_, Result<(), SkillDeskError>>;
}

/// There are no skills, and none can be loaded.
#[derive(Clone, Debug, Default)]
pub struct NoSkills(SkillTerms);

impl SkillDesk for NoSkills {
    fn terms(&self) -> &SkillTerms {
        &self.0
    }
    fn loaded(&self) -> &[LoadedSkill] {
        &[]
    }
    fn select(&self, _: SkillSelected) -> Fut<'_, Result<(), SkillDeskError>> {
        Box::pin(async { Err(SkillDeskError::NoSkills) })
    }
    fn note_resource(&self, _: ResourceLoaded) -> Fut<'_, Result<(), SkillDeskError>> {
        Box::pin(async { Err(SkillDeskError::NoSkills) })
    }
}

/// What the agents have changed in copies that a trace has started.
pub trait PatchDesk: Send + Sync {
    /// The newest patch of each, as it was when the call was started.
    fn known(&self) -> &[ChildPatch];
    /// The bytes of a patch. Errors: they are gone, or cannot be read.
    fn read(&self, patch: &BlobHash) -> Fut<'_, io::Result<Vec<u8>>>;
}

/// There are none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPatches;

impl PatchDesk for NoPatches {
    fn known(&self) -> &[ChildPatch] {
        &[]
    }
    fn read(&self, _: &BlobHash) -> Fut<'_, io::Result<Vec<u8>>> {
        Box::pin(async { Err(io::ErrorKind::NotFound.into()) })
    }
}

/// Secrets and the handles that stand for them.
pub trait Secrets: Send + Sync {
    /// The text with every handle replaced by its secret. Only for what a tool is about to do.
    fn reveal(&self, text: &str) -> String;
    /// The text with every secret replaced by its handle. For everything that leaves a tool.
    fn redact(&self, text: &str) -> String;
    /// A part of a text, given in bytes, with every secret that lies in it, wholly or in part, replaced by its handle. For what
    /// is cut out of something longer. Who knows nothing of surroundings looks at the part alone.
    fn redact_part(&self, text: &str, part: Range<usize>) -> String {
        self.redact(text.get(part).unwrap_or_default())
    }
}

/// There are no secrets.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSecrets;

impl Secrets for NoSecrets {
    fn reveal(&self, text: &str) -> String {
        text.into()
    }
    fn redact(&self, text: &str) -> String {
        text.into()
    }
}
