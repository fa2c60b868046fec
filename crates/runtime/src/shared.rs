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
    handles: Mutex<Handles>,
}

/// The traces that this process knows.
struct Handles {
    known: HashMap<(TenantId, TraceId), Arc<Handle>>,
    /// At so many it is looked which of them can be forgotten.
    full: usize,
}

/// So many traces are known without a look at which of them can be forgotten.
const MOST_KNOWN: usize = 4_096;

impl Handles {
    /// Forgets those at which nobody looks and of which nothing is kept: to a server that lives long each run would cost a little memory.
    fn tidy(&mut self) {
        self.known.retain(|_, handle| Arc::strong_count(handle) > 1 || !handle.is_forgettable());
        self.full = MOST_KNOWN.max(self.known.len() * 2);
    }
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
            handles: Mutex::new(Handles { known: HashMap::new(), full: MOST_KNOWN }),
        }
    }

    fn handles(&self) -> MutexGuard<'_, Handles> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The handle of a trace, which this process knows from now on: as long as anybody holds it, something goes on or waits, and a while after
    /// that.
    pub fn handle(&self, tenant: &TenantId, trace: &TraceId) -> Arc<Handle> {
        let mut handles = self.handles();
        if handles.known.len() >= handles.full {
            handles.tidy();
        }
        Arc::clone(handles.known.entry((tenant.clone(), trace.clone())).or_default())
    }

    /// Whether nothing new is begun any more.
    pub fn is_resting(&self) -> bool {
        self.resting.load(Ordering::Acquire)
    }

    /// Begins nothing new from now on, and lets all drivers know.
    pub fn rest(&self) {
        self.resting.store(true, Ordering::Release);
        for handle in self.handles().known.values() {
            handle.wakes.fetch_add(1, Ordering::AcqRel);
            handle.wake.notify_one();
        }
    }

    /// The handle of a trace that this process knows.
    pub fn known(&self, tenant: &TenantId, trace: &TraceId) -> Option<Arc<Handle>> {
        self.handles().known.get(&(tenant.clone(), trace.clone())).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::hub::Phase;

    fn known(handles: &mut Handles, name: &str) -> Arc<Handle> {
        let key = (TenantId::local(), name.parse().unwrap());
        Arc::clone(handles.known.entry(key).or_default())
    }

    #[test]
    fn traces_at_which_nobody_looks_and_of_which_nothing_is_kept_are_forgotten() {
        let mut handles = Handles { known: HashMap::new(), full: 1 };
        for n in 0..MOST_KNOWN {
            known(&mut handles, &format!("ended-{n}"));
        }
        let held = known(&mut handles, "held");
        let waiting = known(&mut handles, "followed").phase.subscribe();
        known(&mut handles, "parked").phase.send_replace(Phase::Parked(Vec::new()));
        known(&mut handles, "failed").phase.send_replace(Phase::Failed("the disk is full".into()));
        known(&mut handles, "with-processes").processes();
        known(&mut handles, "heard").hear();
        handles.tidy();
        let mut left: Vec<String> = handles.known.keys().map(|(_, trace)| trace.to_string()).collect();
        left.sort();
        assert_eq!(left, ["failed", "followed", "heard", "held", "parked", "with-processes"]);
        assert_eq!(handles.full, MOST_KNOWN);
        drop((held, waiting));
        handles.tidy();
        assert_eq!(handles.known.len(), 4, "nobody looks at two of them any more");
    }
}
