//! What all drivers of a runtime share.

use crate::config::Config;
use crate::prepared::Specs;
use crate::stream::hub::Handle;
use mainpath_types::{TenantId, TraceId};
use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What all drivers share.
pub(crate) struct Shared {
    pub config: Config,
    pub specs: Specs,
    /// How many traces have a driver now.
    pub drivers: AtomicUsize,
    handles: Mutex<HashMap<(TenantId, TraceId), Arc<Handle>>>,
}

impl Shared {
    /// With no trace yet.
    pub fn new(config: Config) -> Shared {
        Shared { config, specs: Specs::default(), drivers: AtomicUsize::new(0), handles: Mutex::default() }
    }

    fn handles(&self) -> MutexGuard<'_, HashMap<(TenantId, TraceId), Arc<Handle>>> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The handle of a trace, which this process knows from now on.
    pub fn handle(&self, tenant: &TenantId, trace: &TraceId) -> Arc<Handle> {
        Arc::clone(self.handles().entry((tenant.clone(), trace.clone())).or_default())
    }

    /// The handle of a trace that this process knows.
    pub fn known(&self, tenant: &TenantId, trace: &TraceId) -> Option<Arc<Handle>> {
        self.handles().get(&(tenant.clone(), trace.clone())).cloned()
    }
}
