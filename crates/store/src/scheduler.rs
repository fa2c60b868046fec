//! Wake this trace, now or at a time.

use crate::files::Doorbell;
use crate::store::Fut;
use crate::wake::Wake;
use mainpath_types::{Millis, TenantId, TraceId};
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::Notify;

/// Tells whoever runs traces which of them to look at. A hint: a wake may come twice or for nothing, and after a start
/// every trace has to be looked at once, since wakes are not kept.
pub trait Scheduler: Send + Sync + 'static {
    /// Wakes the trace now. Wakes of a trace that wait together become one.
    fn wake(&self, tenant: &TenantId, trace: &TraceId);
    /// Wakes the trace at a time, or now if that has passed. Every time that is asked for gives a wake.
    fn wake_at(&self, tenant: &TenantId, trace: &TraceId, at: Millis);
    /// Waits for the next wake. Several may wait; each wake goes to one. Dropping the future loses no wake.
    fn next(&self) -> Fut<'_, Wake>;
}

/// The time now, where the store needs it.
pub type Clock = fn() -> Millis;

/// The system's clock.
pub fn system_clock() -> Millis {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.as_millis().try_into().unwrap_or(Millis::MAX)
}

/// How often mail from other processes is looked for.
const DOORBELL_EVERY: Duration = Duration::from_millis(50);
/// The longest sleep; the clock may be set while sleeping.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// The scheduler of one process: timers, wakes from inside, and the doorbell that other processes ring when they post
/// mail. It has no thread; whoever waits in [`next`](Scheduler::next) does the looking.
#[derive(Debug)]
pub struct LocalScheduler {
    clock: Clock,
    doorbell: Option<Doorbell>,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    ready: VecDeque<Wake>,
    /// What is in `ready`.
    queued: HashSet<Wake>,
    timers: BTreeSet<(Millis, Wake)>,
}

impl State {
    fn push(&mut self, wake: Wake) {
        if self.queued.insert(wake.clone()) {
            self.ready.push_back(wake);
        }
    }
}

impl LocalScheduler {
    /// A scheduler of its own, with no doorbell. A store's `scheduler()` gives the one that the store rings.
    pub fn new(clock: Clock) -> LocalScheduler {
        LocalScheduler { clock, doorbell: None, state: Mutex::default(), changed: Notify::new() }
    }

    pub(crate) fn with_doorbell(clock: Clock, doorbell: Doorbell) -> LocalScheduler {
        LocalScheduler { doorbell: Some(doorbell), ..LocalScheduler::new(clock) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A wake that is due, or how long to sleep at most.
    fn due(&self) -> Result<Wake, Duration> {
        let rung = self.doorbell.as_ref().map(Doorbell::answer).unwrap_or_default();
        let now = (self.clock)();
        let mut state = self.state();
        for wake in rung {
            state.push(wake);
        }
        while let Some((at, wake)) = state.timers.pop_first() {
            if at > now {
                state.timers.insert((at, wake));
                break;
            }
            state.push(wake);
        }
        if let Some(wake) = state.ready.pop_front() {
            state.queued.remove(&wake);
            if !state.ready.is_empty() {
                self.changed.notify_one();
            }
            return Ok(wake);
        }
        let mut sleep = if self.doorbell.is_some() { DOORBELL_EVERY } else { LONGEST_SLEEP };
        if let Some((at, _)) = state.timers.first() {
            sleep = sleep.min(Duration::from_millis((at - now).max(1)));
        }
        Err(sleep)
    }
}

impl Scheduler for LocalScheduler {
    fn wake(&self, tenant: &TenantId, trace: &TraceId) {
        self.state().push(Wake { tenant: tenant.clone(), trace: trace.clone() });
        self.changed.notify_one();
    }

    fn wake_at(&self, tenant: &TenantId, trace: &TraceId, at: Millis) {
        self.state().timers.insert((at, Wake { tenant: tenant.clone(), trace: trace.clone() }));
        self.changed.notify_one();
    }

    fn next(&self) -> Fut<'_, Wake> {
        Box::pin(async move {
            loop {
                let sleep = match self.due() {
                    Ok(wake) => return wake,
                    Err(sleep) => sleep,
                };
                tokio::select! {
                    () = self.changed.notified() => {}
                    () = tokio::time::sleep(sleep) => {}
                }
            }
        })
    }
}
