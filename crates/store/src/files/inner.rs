//! What all operations of a store work on.

use super::beside::Beside;
use super::commit::Commits;
use super::disk::Disk;
use super::layout::Layout;
use super::read::Marks;
use super::watch::Watchers;
use crate::line::Salts;
use crate::scheduler::{Clock, LocalScheduler, system_clock};
use crate::store::Scope;
use mainpath_types::TraceId;
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

impl Inner {
    /// A file of lines beside the log of a trace.
    pub fn beside<'a>(&'a self, scope: &'a Scope, trace: &'a TraceId, name: &'static str) -> Beside<'a> {
        Beside { layout: &self.layout, tenant: &scope.tenant, trace, name }
    }
}
