//! What stands in the place of a text or an attachment whose blob is lost.

use mainpath_store::{ScopedStore, StoreError};
use mainpath_types::{BlobHash, Part};
use std::collections::BTreeSet;

/// What becomes of a text or an attachment whose blob is missing or damaged.
#[derive(Debug, Default)]
pub(crate) enum Gone {
    /// Reading fails.
    #[default]
    Fails,
    /// A line stands in its place; these are the blobs.
    Noted(BTreeSet<BlobHash>),
}

impl Gone {
    /// A line stands in the place of what is gone.
    pub fn noted() -> Gone {
        Gone::Noted(BTreeSet::new())
    }

    /// The blobs that were found gone since the last look.
    pub fn take(&mut self) -> BTreeSet<BlobHash> {
        match self {
            Gone::Fails => BTreeSet::new(),
            Gone::Noted(blobs) => std::mem::take(blobs),
        }
    }

    /// The bytes of a blob; `None` if they are gone and a line is to stand in their place. Errors: it cannot be read.
    pub async fn get(&mut self, store: ScopedStore<'_>, hash: &BlobHash) -> Result<Option<Vec<u8>>, StoreError> {
        match (store.get_blob(hash).await, self) {
            (Err(StoreError::NoBlob { .. } | StoreError::Damaged(_)), Gone::Noted(blobs)) => {
                blobs.insert(hash.clone());
                Ok(None)
            }
            (found, _) => found.map(Some),
        }
    }
}

/// What stands in the place of something that is gone.
pub(crate) fn gone_line(what: &str) -> Part {
    Part::text(format!("[{what} was here; its content is lost and cannot be shown any more.]"))
}
