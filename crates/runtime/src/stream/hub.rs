//! What a process knows of a trace that it drives or watches: who wakes it, where it stands, and what watchers are told.

use crate::stream::audience::{Audience, Listener};
use crate::stream::so_far::{Piece, SoFar};
use mainpath_core::{Effect, EffectKey, Input, InputKind, Refusal};
use mainpath_tools::{Processes, Snapshot};
use mainpath_types::{CallId, Delta, Event};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::{Notify, oneshot, watch};

/// Something that a watcher sees.
#[derive(Clone, Debug, PartialEq)]
pub enum Live {
    /// A durable event.
    Event(Arc<Event>),
    /// A piece of something that is still coming. It is in no log.
    Delta {
        /// The effect that it comes from.
        of: EffectKey,
        /// How many pieces of this effect came before it: where one is missing, what follows is no whole text.
        nth: u32,
        /// How many it stands for: more than one where somebody began to watch later.
        pieces: u32,
        /// The piece.
        delta: Delta,
    },
    /// A word about the driving itself, for people: a retry of the store, say.
    Notice(String),
}

impl From<Piece> for Live {
    fn from(Piece { of, nth, pieces, delta }: Piece) -> Live {
        Live::Delta { of, nth, pieces, delta }
    }
}

/// What one sees who begins to watch.
pub(crate) struct Subscribed {
    /// What comes from now on.
    pub live: Listener<Live>,
    /// What has come of the effects under way.
    pub so_far: Vec<Live>,
}

/// Where the driving of a trace stands in this process.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Phase {
    /// Nothing is to be done, or nobody has looked.
    #[default]
    Idle,
    /// It has a driver.
    Running,
    /// It is parked: only people, children or times can wake it.
    Parked(Vec<Waiting>),
    /// Somebody else drives it, in another process or with another store. One line for people says who.
    Elsewhere(String),
    /// It could not be driven on for want of room on the disk. One line for people; it is tried again by and by, and whoever drives it
    /// again goes on where it was.
    Full(String),
    /// It could not be driven on. One line for people; what is in the log is safe.
    Failed(String),
}

/// Whom or what a parked trace waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waiting {
    /// A call waits for an approval.
    Approval(CallId),
    /// A call waits for a person's answer.
    Answer(CallId),
    /// A call waits for a child agent.
    Child(CallId),
    /// A time.
    Timer,
}

impl Waiting {
    /// What of this others have to do.
    pub fn among(pending: &BTreeMap<EffectKey, Effect>) -> Vec<Waiting> {
        pending
            .keys()
            .filter_map(|key| match key {
                EffectKey::Approval(call) => Some(Waiting::Approval(*call)),
                EffectKey::Answer(call) => Some(Waiting::Answer(*call)),
                EffectKey::Child(call, _) => Some(Waiting::Child(*call)),
                EffectKey::Timer(_) => Some(Waiting::Timer),
                EffectKey::Model(_)
                | EffectKey::Tool(..)
                | EffectKey::Kill(..)
                | EffectKey::Probe(..)
                | EffectKey::EndChild(..)
                | EffectKey::HandBack(_)
                | EffectKey::Hooks(_)
                | EffectKey::Summary(_)
                | EffectKey::Send(_) => None,
            })
            .collect()
    }
}

/// What this process knows of a trace that it drives or watches.
#[derive(Default)]
pub(crate) struct Handle {
    /// Wakes the driver.
    pub wake: Notify,
    /// Counts the wakes, so that none is missed while the driver parks.
    pub wakes: AtomicU64,
    driving: AtomicBool,
    /// True while the run has ended and the hooks at its end are being called.
    ending: AtomicBool,
    pub phase: watch::Sender<Phase>,
    /// What became known and could not be written before its driver gave up. It is written first of all when the trace is
    /// driven again.
    pub unwritten: Mutex<Option<Box<Input>>>,
    /// What running calls want put on record before they go on, until the driver has done so.
    announced: Mutex<Vec<Announced>>,
    /// What the trace's calls have started in the background. It lives across turns and runs, until somebody stops a run. Few
    /// traces that wait have any.
    processes: OnceLock<Arc<Processes>>,
    /// What the files were when they were last looked at, so that they need not be read again. Few traces have it.
    pub snapshot: Mutex<Option<Box<Snapshot>>>,
    /// The estimated size of what has come of the answer under way.
    pub received: AtomicU32,
    live: Mutex<Option<Arc<Audience<Live>>>>,
    /// What few traces have that wait.
    busy: Mutex<Option<Box<Busy>>>,
}

/// What is known of a trace that does something.
#[derive(Default)]
struct Busy {
    /// What is appended, for the one who began the trace and waits for its end. Nobody waits: `None`.
    heard: Option<Vec<Event>>,
    /// What comes of the effects under way.
    under_way: Vec<Arc<Mutex<SoFar>>>,
}

/// What a running call wants put on record before it goes on: what it is about to do to files, a skill that it loads. It waits for
/// the answer; without one it does nothing.
pub(crate) struct Announced {
    pub what: InputKind,
    /// Reports that it is on record, or that the state refuses it.
    pub recorded: oneshot::Sender<Result<(), Refusal>>,
}

/// The right to drive a trace in this process. It ends when this is dropped, however that comes about.
pub(crate) struct Driving(Arc<Handle>);

impl Driving {
    /// `None` while somebody else has it.
    pub fn begin(handle: &Arc<Handle>) -> Option<Driving> {
        (!handle.driving.swap(true, Ordering::AcqRel)).then(|| Driving(Arc::clone(handle)))
    }
}

impl Drop for Driving {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let why = "a bug in Mainpath stopped this trace; resume it, and report the output above";
            self.0.phase.send_replace(Phase::Failed(why.into()));
        } else if *self.0.phase.borrow() == Phase::Running {
            // Whoever drives lets go only when it has said how it stands, unless it was dropped with what it ran on.
            let why = "the tokio runtime that drove this trace has ended; resume it in the one that goes on";
            self.0.phase.send_replace(Phase::Failed(why.into()));
        }
        // Reads what the last waker wrote, so that its wake is counted by whoever looks next. A mere store would not.
        self.0.driving.swap(false, Ordering::AcqRel);
    }
}

/// Marks that the run has ended and the hooks at its end are being called, until it is dropped.
pub(crate) struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Nothing is kept of a trace that does nothing.
fn rest(busy: &mut Option<Box<Busy>>) {
    if busy.as_ref().is_some_and(|busy| busy.heard.is_none() && busy.under_way.is_empty()) {
        *busy = None;
    }
}

/// So many events are kept for the one who waits for the end of a trace; of a longer one the log is read.
const MOST_HEARD: usize = 32;

impl Handle {
    /// Whether it could not be driven on for want of room.
    pub fn is_full(&self) -> bool {
        matches!(*self.phase.borrow(), Phase::Full(_))
    }

    /// Marks that the run has ended and the hooks at its end are being called.
    pub fn end(&self) -> Ending<'_> {
        self.ending.store(true, Ordering::Release);
        Ending(&self.ending)
    }

    /// Returns true while the run has ended and the hooks at its end are being called.
    pub fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }

    /// Whether nothing is lost with it: nobody follows the trace, nothing goes on or waits, and nothing is kept that is in no log.
    pub fn is_forgettable(&self) -> bool {
        *self.phase.borrow() == Phase::Idle
            && self.phase.receiver_count() == 0
            && !self.driving.load(Ordering::Acquire)
            && self.processes.get().is_none_or(|processes| processes.is_empty())
            && self.busy().is_none()
            && self.unwritten.lock().unwrap_or_else(PoisonError::into_inner).is_none()
            && self.announced.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// What the trace's calls have started in the background.
    pub fn processes(&self) -> &Arc<Processes> {
        self.processes.get_or_init(Arc::default)
    }

    /// The same, if any call could have started something.
    pub fn known_processes(&self) -> Option<&Arc<Processes>> {
        self.processes.get()
    }

    /// Has the driver put something on record.
    pub fn announce(&self, announced: Announced) {
        self.announced.lock().unwrap_or_else(PoisonError::into_inner).push(announced);
        self.wake.notify_one();
    }

    /// What has been announced since the last look.
    pub fn take_announced(&self) -> Vec<Announced> {
        std::mem::take(&mut *self.announced.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keeps what is appended from now on, for a look at it without a look at the log.
    pub fn hear(&self) {
        self.busy().get_or_insert_default().heard = Some(Vec::new());
    }

    /// What was appended since, if it was little. Nothing is kept any more.
    pub fn take_heard(&self) -> Vec<Event> {
        let mut busy = self.busy();
        let heard = busy.as_mut().and_then(|busy| busy.heard.take());
        rest(&mut busy);
        heard.unwrap_or_default()
    }

    /// Something comes of an effect from now on.
    pub fn begin(&self, so_far: &Arc<Mutex<SoFar>>) {
        self.busy().get_or_insert_default().under_way.push(Arc::clone(so_far));
    }

    /// Nothing comes of it any more.
    pub fn done(&self, so_far: &Arc<Mutex<SoFar>>) {
        let mut busy = self.busy();
        if let Some(busy) = &mut *busy {
            busy.under_way.retain(|other| !Arc::ptr_eq(other, so_far));
        }
        rest(&mut busy);
    }

    fn busy(&self) -> MutexGuard<'_, Option<Box<Busy>>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells those who wait and those who watch of events that were appended.
    pub fn publish(&self, events: Vec<Event>) {
        if let Some(busy) = &mut *self.busy() {
            match &mut busy.heard {
                Some(kept) if kept.len() + events.len() <= MOST_HEARD => kept.extend(events.iter().cloned()),
                _ => busy.heard = None,
            }
        }
        if let Some(audience) = self.audience() {
            for event in events {
                audience.tell(Live::Event(Arc::new(event)));
            }
        }
    }

    /// Begins to watch. Nothing of an effect under way is told twice or left out.
    pub fn subscribe(&self) -> Subscribed {
        let under_way = self.busy().as_ref().map(|busy| busy.under_way.clone()).unwrap_or_default();
        // Nothing comes of them meanwhile.
        let mut held: Vec<MutexGuard<'_, SoFar>> =
            under_way.iter().map(|so_far| so_far.lock().unwrap_or_else(PoisonError::into_inner)).collect();
        let live = self.live().get_or_insert_default().listen();
        let so_far = held.iter_mut().flat_map(|so_far| so_far.all()).map(Live::from).collect();
        Subscribed { live, so_far }
    }

    /// Those who watch, if anybody does.
    pub fn audience(&self) -> Option<Arc<Audience<Live>>> {
        let mut live = self.live();
        *live = live.take().filter(|audience| audience.is_there());
        live.clone()
    }

    /// Whether anybody watches.
    pub fn is_watched(&self) -> bool {
        self.live().as_ref().is_some_and(|audience| audience.is_there())
    }

    pub fn tell(&self, live: Live) {
        if let Some(audience) = &*self.live() {
            audience.tell(live);
        }
    }

    fn live(&self) -> MutexGuard<'_, Option<Arc<Audience<Live>>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
