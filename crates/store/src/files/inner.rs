//! What all operations of a store work on.

use super::commit::Commits;
use super::disk::Disk;
use super::layout::Layout;
use super::read::Marks;
use super::watch::Watchers;
use crate::line::Salts;
use crate::scheduler::{Clock, LocalScheduler, system_clock};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// How a files store is to work.
#[derive(Clone, Debug)]
pub struct Options {
    /// Stamps mail and wakes timers.
    pub clock: Clock,
    /// Where salts come from.
    pub salts: Salts,
    /// Stands between log or journal and the disk, so that tests can fill it up.
    #[doc(hidden)]
    pub disk: Arc<Disk>,
}

impl Default for Options {
    fn default() -> Self {
        Options { clock: system_clock, salts: Salts::Random, disk: Arc::default() }
    }
}

#[derive(Debug)]
pub(super) struct Inner {
    pub layout: Layout,
    pub options: Options,
    pub commits: Arc<Commits>,
    pub next_key: AtomicU64,
    pub watchers: Arc<Watchers>,
    pub scheduler: Arc<LocalScheduler>,
    pub marks: Marks,
}
