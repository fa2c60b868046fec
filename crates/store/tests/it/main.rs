//! The store from outside, with real files and real processes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

mod conformance;
mod durability;
mod faults;
mod files;
mod processes;
mod removal;
mod scheduling;
mod verifier;

use mainpath_store::{FilesStore, Options};
use tempfile::TempDir;

/// A files store in a folder of its own, which goes with it.
pub(crate) struct Home {
    pub(crate) store: FilesStore,
    pub(crate) dir: TempDir,
}

impl Home {
    pub(crate) fn new() -> Home {
        Home::with(Options::default())
    }

    pub(crate) fn with(options: Options) -> Home {
        let dir = tempfile::tempdir().unwrap();
        Home { store: FilesStore::open(dir.path(), options).unwrap(), dir }
    }
}
