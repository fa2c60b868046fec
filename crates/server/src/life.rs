//! The runs that go on in a server: each is marked, so that a later process knows what broke off, and goes on with it.

use crate::marks::{Mark, Marks};
use crate::metrics::Held;
use crate::problem::{Kind, Problem};
use futures_util::future::join_all;
use mainpath::runtime::{Phase, Runtime};
use mainpath::types::{Event, EventKind, Millis, Resolution, TraceId};
use mainpath::{Error, ErrorKind, Host, Status, Trace};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// A run that this number of processes in a row drove when they died, without a result of a call in between, is not continued by itself.
/// Two may be quick restarts that have nothing to do with the run.
const MOST_DEATHS: u32 = 3;

/// The runs that go on here.
#[derive(Clone, Default)]
pub struct Runs {
    homes: Arc<Mutex<BTreeMap<PathBuf, Going>>>,
    waiting: Arc<AtomicI64>,
    queued: Arc<AtomicUsize>,
}

/// What goes on in a home.
#[derive(Default)]
struct Going {
    /// Those that work now.
    on: BTreeSet<TraceId>,
    /// Those that are followed: also those that wait for people.
    followed: BTreeSet<TraceId>,
    /// Those that are about to begin.
    begun: usize,
    /// How many have ended since the file of their marks was written anew.
    ended: usize,
    /// Those that the end of an earlier process cut off while their clients waited, by the hashes of the requests.
    cut_off: BTreeMap<String, TraceId>,
    /// Those that an earlier process left and that are about to be continued.
    left: BTreeSet<TraceId>,
}

/// How long after its last event a run that was cut off waits for its client, in milliseconds.
const CUT_OFF_FOR: Millis = 10 * 60 * 1000;

/// After so many runs the file of their marks is written anew.
const TIDIED_AFTER: usize = 10_000;

/// Room for a run that is about to begin.
pub struct Slot {
    runs: Runs,
    home: PathBuf,
    /// False once the run itself is counted.
    is_held: bool,
}

impl Slot {
    /// Gives the room to a run that was begun: it is marked until it has come to its end.
    pub fn follow(self, host: &Host, trace: &TraceId) {
        let runs = self.runs.clone();
        runs.follow_from(host, trace, Tries::default(), Some(self));
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.is_held {
            let mut homes = self.runs.homes();
            if let Some(going) = homes.get_mut(&self.home) {
                going.begun = going.begun.saturating_sub(1);
            }
        }
    }
}

/// What became of a run that was left.
#[derive(Debug)]
pub enum Found {
    /// It goes on.
    GoesOn(TraceId),
    /// It was driven each time that the process died: it is set aside until it is resumed.
    SetAside(TraceId),
    /// Its client waited for it when the process ended: it continues when that client sends its request again.
    CutOff(TraceId),
    /// Its log is gone or cannot be read to its end.
    Unreadable(TraceId, Error),
}

/// Returns true for a run that no process drives and that has not ended.
fn is_open(status: &Status) -> bool {
    matches!(status, Status::Interrupted | Status::Waiting(_))
}

/// The marks of the runs of this host.
fn marks(host: &Host) -> Marks {
    Marks::of(&host.home().data)
}

impl Runs {
    fn homes(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Going>> {
        self.homes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many go on now, those that wait for people not counted.
    pub fn count(&self) -> usize {
        self.homes().values().map(|going| going.on.len()).sum()
    }

    /// Room for another in this home, which is held until it is followed. Errors: as many go on as may (`server.max_runs`).
    pub fn room(&self, host: &Host) -> Result<Slot, Problem> {
        let home = host.home().data.clone();
        let mut homes = self.homes();
        let going = homes.entry(home.clone()).or_default();
        let count = going.on.len() + going.begun;
        if let Some(most) = host.home().config.server.max_runs.filter(|most| count >= most.get()) {
            let detail = format!("{count} runs go on, and {most} may (server.max_runs)");
            return Err(Problem { retry_after: Some(1), ..Problem::new(Kind::RATE, detail) });
        }
        going.begun += 1;
        drop(homes);
        Ok(Slot { runs: self.clone(), home, is_held: true })
    }

    /// How many wait for people, agents or a time.
    pub fn waiting(&self) -> i64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// How many that an earlier process left wait for their turn to go on.
    pub fn queued(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }

    /// Drives a trace on if there is anything to do and nobody does, and marks it until it has come to its end. Errors: it cannot be read.
    pub async fn drive(&self, host: &Host, trace: &Trace) -> Result<(), Error> {
        if trace.drive().await? {
            self.follow(host, trace.id(), Tries::default());
        }
        Ok(())
    }

    /// Marks a run that goes on in this process, until it has come to its end.
    pub fn follow(&self, host: &Host, trace: &TraceId, tries: Tries) {
        self.follow_from(host, trace, tries, None);
    }

    /// The same for a run whose room was held by `slot`.
    fn follow_from(&self, host: &Host, trace: &TraceId, tries: Tries, slot: Option<Slot>) {
        if trace.elsewhere().is_some() {
            // Its own server does.
            return;
        }
        let home = host.home().data.clone();
        let mut homes = self.homes();
        let going = homes.entry(home.clone()).or_default();
        going.on.insert(trace.clone());
        // Under the same lock: no other request sees the run counted twice.
        if let Some(mut slot) = slot {
            going.begun = going.begun.saturating_sub(1);
            slot.is_held = false;
        }
        if !going.followed.insert(trace.clone()) {
            return;
        }
        // One that cannot be marked goes on all the same; after a crash a person has to go on with it.
        let _ = marks(host).begin(trace, tries.deaths, tries.results);
        drop(homes);
        let mut phases = host.runtime().phase(host.whose(), trace);
        let (runs, trace) = (self.clone(), trace.clone());
        tokio::spawn(async move {
            let mut waiting = None;
            loop {
                let waits = matches!(*phases.borrow_and_update(), Phase::Parked(_));
                waiting = waits.then(|| waiting.take().unwrap_or_else(|| Held::new(&runs.waiting)));
                let is_over = runs.left(&home, &trace, || phases.borrow().clone());
                // Where the host itself ends, the mark stays: the next start goes on with it.
                if is_over || phases.changed().await.is_err() {
                    break;
                }
            }
            drop(waiting);
        });
    }

    /// Notes whether a trace works, and lets go of one that has come to its end; whether it has. It is looked at and let go of in one
    /// step, so that one that is taken up at the same moment is followed.
    fn left(&self, home: &Path, trace: &TraceId, phase: impl FnOnce() -> Phase) -> bool {
        let mut homes = self.homes();
        let going = homes.entry(home.into()).or_default();
        let phase = phase();
        match phase == Phase::Running {
            true => drop(going.on.insert(trace.clone())),
            false => drop(going.on.remove(trace)),
        }
        let over = !matches!(phase, Phase::Running | Phase::Parked(_) | Phase::Full(_));
        if over && going.followed.remove(trace) {
            let marks = Marks::of(home);
            let _ = marks.end(trace);
            going.ended += 1;
            if going.ended >= TIDIED_AFTER {
                going.ended = 0;
                let _ = marks.tidy();
            }
        }
        over
    }

    /// Marks a run as one that depends on its client, whose request has this hash.
    pub fn depend(&self, host: &Host, trace: &TraceId, request: &str) {
        // One that cannot be marked is continued by the next start, as any other.
        let _ = marks(host).depend(trace, request);
    }

    /// Undoes [`Runs::depend`]: its client has disconnected, and the next start continues it.
    pub fn free(&self, host: &Host, trace: &TraceId) {
        // One that cannot be marked is interrupted after a restart, until somebody resumes it.
        let _ = marks(host).free(trace);
    }

    /// Reads which runs an earlier process left: before any request is answered. Errors: the marks cannot be read.
    pub fn read_left(&self, host: &Host) -> Result<(), Error> {
        let marks = marks(host).leave()?;
        let mut homes = self.homes();
        let going = homes.entry(host.home().data.clone()).or_default();
        for mark in marks {
            match mark.request {
                Some(request) => drop(going.cut_off.insert(request, mark.trace)),
                None => drop(going.left.insert(mark.trace)),
            }
        }
        Ok(())
    }

    /// Returns true if an earlier process left this run, and it is about to be continued.
    pub fn is_left(&self, host: &Host, trace: &TraceId) -> bool {
        self.homes().get(&host.home().data).is_some_and(|going| going.left.contains(trace))
    }

    /// The run that the end of an earlier process cut off in the last ten minutes, while a client waited for it with a request of this
    /// hash. It is found once; one whose log cannot be read is not found.
    pub async fn take_cut_off(&self, host: &Host, request: &str, now: Millis) -> Option<Trace> {
        let id = self.homes().get_mut(&host.home().data)?.cut_off.remove(request)?;
        let _ = marks(host).end(&id);
        let trace = host.trace(&id).await.ok()?;
        let last = trace.log(1).await.ok()?.events.last().map_or(0, |event| event.ts);
        let is_open = is_open(&trace.status().await.ok()?) && now.saturating_sub(last) <= CUT_OFF_FOR;
        Some(trace).filter(|_| is_open)
    }

    /// Undoes [`Runs::take_cut_off`] after the request failed.
    pub fn put_back_cut_off(&self, host: &Host, request: String, trace: TraceId) {
        if let Some(going) = self.homes().get_mut(&host.home().data) {
            going.cut_off.entry(request).or_insert(trace);
        }
    }

    fn is_followed(&self, host: &Host, trace: &TraceId) -> bool {
        self.homes().get(&host.home().data).is_some_and(|going| going.followed.contains(trace))
    }

    /// Goes on with what an earlier process left, so many at once. `told` hears of each.
    pub async fn go_on(&self, host: &Host, at_once: usize, told: impl Fn(Found)) -> Result<(), Error> {
        let room = Arc::new(Semaphore::new(at_once.max(1)));
        let marks = marks(host);
        {
            // What begins meanwhile is noted after this.
            let _homes = self.homes();
            let _ = marks.tidy();
        }
        let left = marks.read()?;
        self.queued.fetch_add(left.len(), Ordering::Relaxed);
        for mark in left {
            let permit = Arc::clone(&room).acquire_owned().await;
            self.queued.fetch_sub(1, Ordering::Relaxed);
            let Ok(permit) = permit else { return Ok(()) };
            // Its client has joined it since the marks were read.
            let taken_up = match self.is_followed(host, &mark.trace) {
                true => None,
                false => Some(self.take_up(host, &mark).await),
            };
            if let Some(going) = self.homes().get_mut(&host.home().data) {
                going.left.remove(&mark.trace);
            }
            let Some(taken_up) = taken_up else { continue };
            match taken_up {
                Ok(Some(Found::GoesOn(trace))) => {
                    let mut phases = host.runtime().phase(host.whose(), &trace);
                    told(Found::GoesOn(trace));
                    tokio::spawn(async move {
                        let _ = phases.wait_for(|phase| *phase != Phase::Running).await;
                        drop(permit);
                    });
                }
                Ok(found) => {
                    // The mark of one that was cut off stays for its client.
                    if !matches!(found, Some(Found::CutOff(_))) {
                        let _ = marks.end(&mark.trace);
                    }
                    found.into_iter().for_each(&told);
                }
                Err(error) => {
                    // The mark of one that is there stays: its file may be restored from a copy.
                    if error.kind() == ErrorKind::NotFound {
                        let _ = marks.end(&mark.trace);
                    }
                    told(Found::Unreadable(mark.trace, error));
                }
            }
        }
        Ok(())
    }

    /// Goes on with one that was left, if there is anything to do. Errors: its log is gone, or cannot be read to its end.
    async fn take_up(&self, host: &Host, mark: &Mark) -> Result<Option<Found>, Error> {
        let trace = mark.trace.clone();
        let found = host.trace(&trace).await?;
        if let Some(damage) = found.log(1).await?.damage {
            return Err(Error::failed(format!("its log is damaged: {damage}")));
        }
        if mark.request.is_some() {
            return Ok(is_open(&found.status().await?).then_some(Found::CutOff(trace)));
        }
        // One that waits has come as far as a process can bring it.
        let is_interrupted = found.status().await? == Status::Interrupted;
        let results = found.log(1).await?.events.iter().filter(|event| has_result(event)).count();
        let deaths = match (is_interrupted, results > mark.results) {
            (true, false) => mark.deaths,
            (true, true) => mark.deaths.min(1),
            (false, _) => 0,
        };
        if deaths >= MOST_DEATHS {
            if let Some(logs) = host.logs() {
                // Where it cannot be written, the trace is listed as interrupted.
                let _ = logs.set_aside(&trace);
            }
            return Ok(Some(Found::SetAside(trace)));
        }
        if !found.drive().await? {
            return Ok(None);
        }
        self.follow(host, &trace, Tries { deaths, results });
        Ok(Some(Found::GoesOn(trace)))
    }
}

/// Earlier attempts to finish a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tries {
    /// See [`Mark::deaths`].
    deaths: u32,
    /// See [`Mark::results`].
    results: usize,
}

/// Returns true for the result of a call that a process made.
fn has_result(event: &Event) -> bool {
    let EventKind::CallResolved(data) = &event.kind else { return false };
    !matches!(data.resolution, Resolution::Unknown | Resolution::Interrupted)
}

/// Notes that what goes on was let come to rest: the end of this process is no death.
pub fn rested(host: &Host) -> Result<(), Error> {
    let marks = marks(host);
    for Mark { trace, .. } in marks.read()? {
        marks.rest(&trace)?;
    }
    Ok(())
}

/// Lets the runs of all runtimes come to rest at the same time, and waits for it at most this long. Returns true if they have.
pub async fn rest(runtimes: Vec<Runtime>, within: Duration) -> bool {
    let all = runtimes.iter().map(Runtime::rest);
    tokio::time::timeout(within, join_all(all)).await.is_ok()
}
