//! What all operations of a store work on.

use super::beside::Beside;
use super::changes::{self, Faults};
use super::commit::{Commits, JournalTimes};
use super::disk::Disk;
use super::layout::Layout;
use super::read::Marks;
use super::together::Together;
use super::watch::Watchers;
use crate::line::Salts;
use crate::scheduler::{Clock, LocalScheduler, system_clock};
use crate::store::{Owner, ReadLog, Scope, StoreError};
use mainpath_types::{EventId, TenantId, TraceId};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// How a files store is to work.
#[derive(Clone, Debug)]
pub struct Options {
    /// Stamps mail and wakes timers.
    pub clock: Clock,
    /// Where salts come from.
    pub salts: Salts,
    /// When the journal is replaced.
    pub journal: JournalTimes,
    /// Stands between log or journal and the disk, so that tests can fill it up.
    #[doc(hidden)]
    pub disk: Arc<Disk>,
}

impl Default for Options {
    fn default() -> Self {
        Options { clock: system_clock, salts: Salts::Random, journal: JournalTimes::default(), disk: Arc::default() }
    }
}

/// What works for a store beside those who ask it.
pub(super) struct Working {
    pub commits: Arc<Commits>,
    pub watchers: Arc<Watchers>,
    pub scheduler: Arc<LocalScheduler>,
}

/// What is asked of a trace that others may ask as well.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Asked {
    pub tenant: TenantId,
    pub trace: TraceId,
    pub from: EventId,
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
    /// The traces whose logs cannot be read to their ends.
    pub faults: Faults,
    /// Reads of logs from an event on.
    pub reads: Together<Asked, Arc<ReadLog>>,
    /// Looks for who drives a trace.
    pub drivers: Together<Asked, Option<Owner>>,
}

impl Inner {
    /// With nothing known of any trace.
    pub fn new(layout: Layout, options: Options, working: Working) -> Inner {
        let Working { commits, watchers, scheduler } = working;
        Inner {
            layout,
            options,
            commits,
            next_key: AtomicU64::new(1),
            watchers,
            scheduler,
            marks: Marks::default(),
            faults: Faults::default(),
            reads: Together::default(),
            drivers: Together::default(),
        }
    }

    /// See [`Store::read`](crate::Store::read). A log that turns out to be damaged or missing, or to be restored, is noted for lists.
    pub fn read(&self, tenant: &TenantId, trace: &TraceId, from: EventId) -> Result<ReadLog, StoreError> {
        let read = self.marks.read(&self.layout, tenant, trace, from);
        let is_faulty = match &read {
            Ok(log) => log.damage.is_some(),
            Err(error) => matches!(error, StoreError::LogMissing { .. } | StoreError::NotAFile { .. }),
        };
        if self.faults.set(tenant, trace, is_faulty) {
            changes::note(&self.layout.changes(), tenant, trace);
        }
        read
    }

    /// A file of lines beside the log of a trace.
    pub fn beside<'a>(&'a self, scope: &'a Scope, trace: &'a TraceId, name: &'static str) -> Beside<'a> {
        Beside { layout: &self.layout, tenant: &scope.tenant, trace, name }
    }
}
