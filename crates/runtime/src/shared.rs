//! What all drivers of a runtime share.

use crate::config::Config;
use crate::observer::Observer;
use crate::prepared::Specs;
use crate::stream::hub::Handle;
use mainpath_types::{TenantId, TraceId};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// What all drivers share.
pub(crate) struct Shared {
    pub config: Config,
    pub specs: Specs,
    /// How many traces have a driver now.
    pub drivers: AtomicUsize,
    /// Whether nothing new is begun any more, but calls on record as begun: see [`Runtime::rest`](crate::Runtime::rest).
    pub resting: AtomicBool,
    /// Who is told of what is appended.
    pub observer: OnceLock<Arc<dyn Observer>>,
    handles: Mutex<HashMap<(TenantId, TraceId), Arc<Handle>>>,
}

impl Shared {
    /// With no trace yet.
    pub fn new(config: Config) -> Shared {
        Shared {
            config,
            specs: Specs::default(),
            drivers: AtomicUsize::new(0),
            resting: AtomicBool::new(false),
            observer: OnceLock::new(),
            handles: Mutex::default(),
        }
    }

    fn handles(&self) -> MutexGuard<'_, HashMap<(TenantId, TraceId), Arc<Handle>>> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The handle of a trace, which this process knows from now on.
    pub fn handle(&self, tenant: &TenantId, trace: &TraceId) -> Arc<Handle> {
        Arc::clone(self.handles().entry((tenant.clone(), trace.clone())).or_default())
    }

    /// Whether nothing new is begun any more.
    pub fn is_resting(&self) -> bool {
        self.resting.load(Ordering::Acquire)
    }

    /// Begins nothing new from now on, and lets all drivers know.
    pub fn rest(&self) {
        self.resting.store(true, Ordering::Release);
        for handle in self.handles().values() {
            handle.wakes.fetch_add(1, Ordering::AcqRel);
            handle.wake.notify_one();
        }
    }

    /// The handle of a trace that this process knows.
    pub fn known(&self, tenant: &TenantId, trace: &TraceId) -> Option<Arc<Handle>> {
        self.handles().get(&(tenant.clone(), trace.clone())).cloned()
    }
}
