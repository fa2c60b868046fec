//! What all drivers of a runtime share.

use crate::config::Config;
use crate::observer::Observer;
use crate::prepared::Specs;
use crate::stream::hub::Handle;
use mainpath_tools::Processes;
use mainpath_types::{Millis, TenantId, TraceId};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// What all drivers share.
pub(crate) struct Shared {
    pub config: Config,
    pub specs: Specs,
    /// How many traces have a driver now.
    pub drivers: AtomicUsize,
    /// When the shutdown began: nothing new is started since then, except calls on record as begun. See [`Runtime::rest`](crate::Runtime::rest).
    resting: OnceLock<Millis>,
    /// Who is told of what is appended.
    pub observer: OnceLock<Arc<dyn Observer>>,
    handles: Mutex<Handles>,
}

/// What a trace is known by.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Name {
    tenant: TenantId,
    trace: TraceId,
}

impl Name {
    fn new(tenant: &TenantId, trace: &TraceId) -> Name {
        Name { tenant: tenant.clone(), trace: trace.clone() }
    }
}

/// The traces that this process knows.
struct Handles {
    known: HashMap<Name, Arc<Handle>>,
    /// At so many it is looked which of them can be forgotten.
    full: usize,
    /// Those that were forgotten last, by their hashes: what is sent to one of them wakes it as before.
    forgotten: HashSet<u64>,
    /// Those that were forgotten before them.
    before: HashSet<u64>,
    hashes: RandomState,
}

/// So many traces are known without a look at which of them can be forgotten.
const MOST_KNOWN: usize = 4_096;
/// So many forgotten ones are remembered, and as many of before.
const MOST_FORGOTTEN: usize = 65_536;

impl Default for Handles {
    fn default() -> Handles {
        Handles {
            known: HashMap::new(),
            full: MOST_KNOWN,
            forgotten: HashSet::new(),
            before: HashSet::new(),
            hashes: RandomState::new(),
        }
    }
}

impl Handles {
    /// Forgets those at which nobody looks and of which nothing is kept: to a server that lives long each run would cost a little memory.
    fn tidy(&mut self) {
        let Handles { known, forgotten, hashes, .. } = self;
        known.retain(|key, handle| {
            let is_kept = Arc::get_mut(handle).is_none_or(|handle| !handle.is_forgettable());
            if !is_kept {
                forgotten.insert(hashes.hash_one(key));
            }
            is_kept
        });
        if self.forgotten.len() >= MOST_FORGOTTEN {
            self.before = std::mem::take(&mut self.forgotten);
        }
        self.full = MOST_KNOWN.max(self.known.len() * 2);
    }

    fn get(&mut self, key: &Name) -> Arc<Handle> {
        if let Some(handle) = self.known.get(key) {
            return Arc::clone(handle);
        }
        if self.known.len() >= self.full {
            self.tidy();
        }
        Arc::clone(self.known.entry(key.clone()).or_default())
    }

    fn has_forgotten(&self, key: &Name) -> bool {
        let hash = self.hashes.hash_one(key);
        self.forgotten.contains(&hash) || self.before.contains(&hash)
    }
}

impl Shared {
    /// With no trace yet.
    pub fn new(config: Config) -> Shared {
        Shared {
            config,
            specs: Specs::default(),
            drivers: AtomicUsize::new(0),
            resting: OnceLock::new(),
            observer: OnceLock::new(),
            handles: Mutex::default(),
        }
    }

    fn handles(&self) -> MutexGuard<'_, Handles> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The handle of a trace, which this process knows from now on: as long as anybody holds it, something goes on or waits, and a while after
    /// that.
    pub fn handle(&self, tenant: &TenantId, trace: &TraceId) -> Arc<Handle> {
        self.handles().get(&Name::new(tenant, trace))
    }

    /// Whether nothing new is begun any more.
    pub fn is_resting(&self) -> bool {
        self.resting_since().is_some()
    }

    /// When the shutdown began, if it has.
    pub fn resting_since(&self) -> Option<Millis> {
        self.resting.get().copied()
    }

    /// Begins nothing new from now on, and lets all drivers know.
    pub fn rest(&self) {
        self.resting.get_or_init(|| (self.config.clock)());
        for handle in self.handles().known.values() {
            handle.wakes.fetch_add(1, Ordering::AcqRel);
            handle.wake.notify_one();
        }
    }

    /// The background processes of all traces.
    pub fn processes(&self) -> Vec<Arc<Processes>> {
        self.handles().known.values().filter_map(|handle| handle.known_processes().cloned()).collect()
    }

    /// The handle of a trace that this process knows, or knew: what is sent to it is read here.
    pub fn known_to_wake(&self, tenant: &TenantId, trace: &TraceId) -> Option<Arc<Handle>> {
        let key = Name::new(tenant, trace);
        let mut handles = self.handles();
        (handles.known.contains_key(&key) || handles.has_forgotten(&key)).then(|| handles.get(&key))
    }

    /// The handle of a trace that this process knows.
    pub fn known(&self, tenant: &TenantId, trace: &TraceId) -> Option<Arc<Handle>> {
        self.handles().known.get(&Name::new(tenant, trace)).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::hub::Phase;

    fn key(name: &str) -> Name {
        Name::new(&TenantId::local(), &name.parse().unwrap())
    }

    fn known(handles: &mut Handles, name: &str) -> Arc<Handle> {
        handles.get(&key(name))
    }

    #[test]
    fn traces_at_which_nobody_looks_and_of_which_nothing_is_kept_are_forgotten() {
        let mut handles = Handles::default();
        for n in 0..10 {
            // It has made calls; none of them left anything running.
            known(&mut handles, &format!("ended-{n}")).processes();
        }
        let held = known(&mut handles, "held");
        let waiting = known(&mut handles, "followed").phase.subscribe();
        known(&mut handles, "parked").phase.send_replace(Phase::Parked(Vec::new()));
        known(&mut handles, "failed").phase.send_replace(Phase::Failed("the disk is full".into()));
        known(&mut handles, "heard").hear();
        handles.tidy();
        let mut left: Vec<String> = handles.known.keys().map(|key| key.trace.to_string()).collect();
        left.sort();
        assert_eq!(left, ["failed", "followed", "heard", "held", "parked"]);
        assert_eq!(handles.full, MOST_KNOWN);
        assert!(handles.has_forgotten(&key("ended-3")), "what is sent to it wakes it");
        assert!(!handles.has_forgotten(&key("parked")) && !handles.has_forgotten(&key("somebody-elses")));
        drop((held, waiting));
        handles.tidy();
        assert_eq!(handles.known.len(), 3, "nobody looks at two of them any more");
    }
}
