//! Many traces in one process: starting, waking and watching them.

use crate::config::Config;
use crate::driver::drive::Parked;
use crate::driver::error::DriveError;
use crate::driver::{Driver, Opening};
use crate::error::RuntimeError;
use crate::mail::Mail;
use crate::observer::Observer;
use crate::prepared::Begun;
use crate::prompt::media;
use crate::secrets::Vault;
use crate::shared::Shared;
use crate::stream::hub::{Driving, Handle, Live, Phase};
use crate::stream::watcher::Watcher;
use crate::unusable::Unusable;
use mainpath_core::InputKind;
use mainpath_store::{Letter, Once, Owner, Scope, StoreError, TraceStore, is_no_room};
use mainpath_types::{BadName, EventId, MailId, Millis, Principal, Spec, TenantId, TraceId, format_time};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How often a trace is driven again for which there were too many open files, before it is left to [`Phase::Full`],
const SCARCE_TRIES: u32 = 30;
/// and after which pause.
const SCARCE_PAUSE: Duration = Duration::from_secs(1);
/// How often it is looked whether all has come to rest.
const LOOK: Duration = Duration::from_millis(10);

/// Drives traces. Cheap to clone; the last clone ends the listening for wakes, drivers under way go on.
#[derive(Clone)]
pub struct Runtime {
    shared: Arc<Shared>,
    listener: Arc<Listener>,
}

/// Who hears of wakes.
struct Listener(Mutex<Option<JoinHandle<()>>>);

impl Listener {
    /// Starts to listen, unless it already does. If the tokio runtime it ran on has shut down, it is started again on the current one.
    fn keep(&self, shared: &Arc<Shared>) {
        let mut listener = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = listener.as_ref().is_none_or(JoinHandle::is_finished);
        if is_over && tokio::runtime::Handle::try_current().is_ok() {
            let listening = Arc::clone(shared);
            *listener = Some(tokio::spawn(async move {
                loop {
                    let wake = listening.config.scheduler.next().await;
                    listening.wake(&wake.tenant, &wake.trace);
                }
            }));
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(listener) = self.0.get_mut().unwrap_or_else(PoisonError::into_inner) {
            listener.abort();
        }
    }
}

impl Runtime {
    /// A runtime. It listens for wakes once something is started, continued or sent by it: of several on the same scheduler in a process,
    /// one that only looks takes no wake from another.
    pub fn new(config: Config) -> Runtime {
        Runtime { shared: Arc::new(Shared::new(config)), listener: Arc::new(Listener(Mutex::default())) }
    }

    /// Begins a trace: with this spec and first message. Returns when both are durable; the run goes on by itself. Errors: what of the
    /// spec cannot be used, nothing can be written, or there is a trace of this id ([`RuntimeError::Exists`]); of several that are begun
    /// at once under one id, one is.
    pub async fn start(&self, scope: &Scope, trace: &TraceId, spec: Spec, message: Mail) -> Result<(), RuntimeError> {
        self.start_with(scope, trace, spec, vec![message]).await
    }

    /// The same with what comes before the message, such as skills that are loaded from the beginning. A refusal of any of it
    /// is an error.
    pub async fn start_with(
        &self,
        scope: &Scope,
        trace: &TraceId,
        spec: Spec,
        said: Vec<Mail>,
    ) -> Result<(), RuntimeError> {
        self.listener.keep(&self.shared);
        self.shared.begin(scope, trace, spec, said).await
    }

    /// Drives a trace that is not being driven here, if anything is to be done for it. Returns at once; see
    /// [`Watcher::phase`] for how it goes.
    pub fn resume(&self, scope: &Scope, trace: &TraceId) {
        self.listener.keep(&self.shared);
        // Known until it is woken.
        let _handle = self.shared.handle(&scope.tenant, trace);
        self.shared.wake(&scope.tenant, trace);
    }

    /// Takes a trace whose log ends with event `head`, without driving it yet: what the caller sends now is read by this process, and
    /// nothing is sent where the trace cannot be taken.
    ///
    /// # Errors
    /// [`StoreError::Held`] while this process or another one drives it; [`RuntimeError::Changed`] if its log has another head.
    pub async fn take(&self, scope: &Scope, trace: &TraceId, head: EventId) -> Result<TakenTrace, RuntimeError> {
        self.listener.keep(&self.shared);
        let handle = self.shared.handle(&scope.tenant, trace);
        let Some(driving) = Driving::begin(&handle) else {
            return Err(StoreError::Held { trace: trace.clone(), by: Owner::ThisProcess }.into());
        };
        let scope = Scope { tenant: scope.tenant.clone(), principal: Principal::system() };
        let (shared, opening) = (Arc::clone(&self.shared), Opening::At(head));
        let driver = Driver::open(shared, Arc::clone(&handle), scope, trace, opening).await?;
        Ok(TakenTrace { shared: Arc::clone(&self.shared), handle, driving, driver: Box::new(driver) })
    }

    /// Takes in one thing that was sent to a trace that nobody drives, and what is demanded by it: a run is ended, a plan
    /// changed, a conversation begun anew or summarised. What else waits goes on waiting, and no run goes on.
    pub async fn settle(&self, scope: &Scope, trace: &TraceId, mail: MailId) -> Result<(), RuntimeError> {
        // Unknown to the listener for wakes: nobody drives the trace on when this is done.
        let handle = Arc::new(Handle::default());
        let scope = Scope { tenant: scope.tenant.clone(), principal: Principal::system() };
        let mut driver = Driver::open(Arc::clone(&self.shared), handle, scope, trace, Opening::Any).await?;
        driver.read_only(mail);
        let done = driver.drive().await;
        driver.release();
        Ok(done.map(drop)?)
    }

    /// Sends mail to a trace, whoever drives it. Returns when it is durable.
    pub async fn send(&self, scope: &Scope, trace: &TraceId, mail: &Mail) -> Result<MailId, RuntimeError> {
        self.send_once(scope, trace, mail, None).await
    }

    /// The same under the sender's own key: sent again, it is there once.
    pub async fn send_once(
        &self,
        scope: &Scope,
        trace: &TraceId,
        mail: &Mail,
        once: Option<Once>,
    ) -> Result<MailId, RuntimeError> {
        self.listener.keep(&self.shared);
        let at = TraceStore::new(&*self.shared.config.store, scope, trace);
        post_once(at, &self.shared.config.vault, mail, once).await
    }

    /// Watches a trace from an event on (1 is the first).
    pub fn watch(&self, scope: &Scope, trace: &TraceId, from: EventId) -> Watcher {
        let handle = self.shared.handle(&scope.tenant, trace);
        Watcher::new(Arc::clone(&self.shared.config.store), scope.clone(), trace.clone(), from, handle)
    }

    /// The same from the first event of a trace on that is begun here after this, without a look at its log.
    pub fn watch_from_its_beginning(&self, scope: &Scope, trace: &TraceId) -> Watcher {
        self.watch(scope, trace, 1).before_it_begins()
    }

    /// Where the driving of a trace stands in this process, now and whenever it changes. Cheaper than a [`Watcher`] for
    /// those who do not want to see its events.
    pub fn phase(&self, scope: &Scope, trace: &TraceId) -> watch::Receiver<Phase> {
        self.shared.handle(&scope.tenant, trace).phase.subscribe()
    }

    /// Whether this process goes on with a trace, now or when its next time comes.
    pub fn goes_on(&self, scope: &Scope, trace: &TraceId) -> bool {
        let phase = self.shared.known(&scope.tenant, trace).map(|handle| handle.phase.borrow().clone());
        matches!(phase, Some(Phase::Running | Phase::Parked(_)))
    }

    /// Returns true while a run has ended in the log and this process calls the hooks at its end. A stop ends the hooks.
    pub fn is_ending(&self, scope: &Scope, trace: &TraceId) -> bool {
        self.shared.known(&scope.tenant, trace).is_some_and(|handle| handle.is_ending())
    }

    /// Begins nothing new any more, in no trace, and waits until what is under way has ended and every trace is let go of. A call that is on
    /// record as begun is still made: else nobody could tell whether it was. Hooks at the end of a turn or a run have 5 seconds and are then ended. Nothing is stopped: a run goes on where it is as soon as another process, or a later one, drives it. For a process that is about to end; who does not want to
    /// wait longer ends it at any time, as after a crash.
    pub async fn rest(&self) {
        self.shared.rest();
        while self.shared.drivers.load(Ordering::Acquire) > 0 {
            tokio::time::sleep(LOOK).await;
        }
        self.end_processes().await;
    }

    /// Ends what the calls of all traces have started in the background, and waits for it. Returns a sentence for each thing that these
    /// processes had left for other programs to run. For a process that is about to end: without this they are killed, and nothing
    /// compares what they have left.
    pub async fn end_processes(&self) -> Vec<String> {
        let ends = self.shared.processes().into_iter().map(|processes| async move { processes.end_and_report().await });
        futures_util::future::join_all(ends).await.concat()
    }

    /// Has somebody told of every event that is appended here, of traces that are taken up from now on. The first who asks is told;
    /// whether that is this one.
    pub fn observe(&self, observer: Arc<dyn Observer>) -> bool {
        self.shared.observer.set(observer).is_ok()
    }

    /// What the runtime is made of.
    pub fn config(&self) -> &Config {
        &self.shared.config
    }
}

/// A trace that this process has taken and does not drive yet. Dropping it releases the trace.
pub struct TakenTrace {
    shared: Arc<Shared>,
    handle: Arc<Handle>,
    driving: Driving,
    driver: Box<Driver>,
}

impl TakenTrace {
    /// Drives the trace, beginning with what was sent to it. Returns at once; see [`Watcher::phase`] for how it goes.
    pub fn drive(self) {
        let TakenTrace { shared, handle, driving, driver } = self;
        handle.phase.send_replace(Phase::Running);
        let (tenant, trace) = driver.names();
        shared.spawn(tenant, trace, handle, driving, Some(driver));
    }
}

/// What a trace begins with.
struct Beginning {
    begun: Begun,
    said: Vec<Mail>,
}

impl Shared {
    /// See [`Runtime::start_with`].
    pub async fn begin(
        self: &Arc<Self>,
        scope: &Scope,
        trace: &TraceId,
        spec: Spec,
        said: Vec<Mail>,
    ) -> Result<(), RuntimeError> {
        // What cannot work is said before there is a trace.
        let begun = self.specs.begin(&self.config, spec).map_err(DriveError::from)?;
        begun.prepared.model.as_ref().map_err(|problem| Unusable::Model(problem.clone()))?;
        let handle = self.handle(&scope.tenant, trace);
        let Some(driving) = Driving::begin(&handle) else {
            return Err(RuntimeError::Exists(trace.clone()));
        };
        let driver = match self.first(scope, trace, Beginning { begun, said }, &handle).await {
            // Whoever has it has begun it, or is about to.
            Err(DriveError::Store(StoreError::Held { .. })) => return Err(RuntimeError::Exists(trace.clone())),
            driver => driver?,
        };
        handle.phase.send_replace(Phase::Running);
        self.spawn(scope.tenant.clone(), trace.clone(), handle, driving, Some(Box::new(driver)));
        Ok(())
    }

    async fn first(
        self: &Arc<Self>,
        scope: &Scope,
        trace: &TraceId,
        beginning: Beginning,
        handle: &Arc<Handle>,
    ) -> Result<Driver, DriveError> {
        let Beginning { begun: Begun { spec, prepared }, said } = beginning;
        let opened = Driver::open(Arc::clone(self), Arc::clone(handle), scope.clone(), trace, Opening::New).await;
        let mut driver = opened.map_err(DriveError::of_beginning)?;
        let mut beginning = vec![InputKind::SetSpec { spec, by: Some(scope.principal.clone()) }];
        let begun = async {
            for mail in said {
                // The skills that an agent has from the beginning are from whoever set it up, also where an agent starts it.
                let is_setup = matches!(mail, Mail::SelectSkill { .. }) && scope.principal.is_agent();
                let by = if is_setup { Principal::system() } else { scope.principal.clone() };
                beginning.push(driver.read(mail, by).await?);
            }
            driver.offer_together(beginning).await
        };
        if let Err(error) = begun.await {
            driver.discard().await;
            return Err(error.of_beginning());
        }
        driver.begun_with(prepared);
        Ok(driver)
    }

    /// Wakes a trace that this process knows. One that it does not know is somebody else's.
    pub fn wake(self: &Arc<Self>, tenant: &TenantId, trace: &TraceId) {
        let Some(handle) = self.known_to_wake(tenant, trace) else { return };
        handle.wakes.fetch_add(1, Ordering::AcqRel);
        match Driving::begin(&handle) {
            None => handle.wake.notify_one(),
            Some(driving) => {
                handle.phase.send_replace(Phase::Running);
                self.spawn(tenant.clone(), trace.clone(), handle, driving, None);
            }
        }
    }

    fn spawn(
        self: &Arc<Self>,
        tenant: TenantId,
        trace: TraceId,
        handle: Arc<Handle>,
        driving: Driving,
        driver: Option<Box<Driver>>,
    ) {
        let shared = Arc::clone(self);
        tokio::spawn(async move { shared.keep_driving(tenant, trace, handle, driving, driver).await });
    }

    /// Drives a trace until it parks and no wake came in between.
    async fn keep_driving(
        self: Arc<Self>,
        tenant: TenantId,
        trace: TraceId,
        handle: Arc<Handle>,
        mut driving: Driving,
        mut driver: Option<Box<Driver>>,
    ) {
        let scope = Scope { tenant, principal: Principal::system() };
        let mut tries = 0;
        loop {
            let Parked { phase, wakes: seen } = match self.drive(&scope, &trace, &handle, driver.take()).await {
                Ok(parked) => parked,
                Err(error) if error.is_scarce() && tries < SCARCE_TRIES && !self.is_resting() => {
                    let why = self.config.vault.redact(&error.to_string());
                    handle.tell(Live::Notice(format!("{why}; trying again")));
                    tries += 1;
                    tokio::time::sleep(SCARCE_PAUSE).await;
                    continue;
                }
                Err(error) => {
                    let why = self.config.vault.redact(&error.to_string());
                    let phase = match error {
                        DriveError::Store(StoreError::Held { .. }) => Phase::Elsewhere(why),
                        DriveError::Unwritable { cause, .. } if is_no_room(cause) => Phase::Full(why),
                        error if error.is_scarce() => Phase::Full(why),
                        _ => Phase::Failed(why),
                    };
                    Parked { phase, wakes: handle.wakes.load(Ordering::Acquire) }
                }
            };
            tries = 0;
            handle.phase.send_replace(phase);
            drop(driving);
            if let Some(parent) = parent_of(&trace) {
                self.wake(&scope.tenant, &parent);
            }
            if handle.wakes.load(Ordering::Acquire) == seen {
                if !handle.is_full() {
                    return;
                }
                // Room may be made meanwhile, by somebody who knows nothing of this trace.
                tokio::time::sleep(self.config.store_retries.look_for_room).await;
                if self.is_resting() || !handle.is_full() {
                    return;
                }
            }
            // A wake came while the trace was being parked; whoever sent it may have taken over already.
            let Some(again) = Driving::begin(&handle) else { return };
            driving = again;
            handle.phase.send_replace(Phase::Running);
        }
    }

    async fn drive(
        self: &Arc<Self>,
        scope: &Scope,
        trace: &TraceId,
        handle: &Arc<Handle>,
        driver: Option<Box<Driver>>,
    ) -> Result<Parked, DriveError> {
        let mut driver = match driver {
            Some(driver) => driver,
            None => {
                let opened = Driver::open(Arc::clone(self), Arc::clone(handle), scope.clone(), trace, Opening::Any);
                Box::new(Box::pin(opened).await?)
            }
        };
        let parked = driver.drive().await;
        driver.release();
        parked
    }
}

/// The trace that started this one, by its id.
fn parent_of(trace: &TraceId) -> Option<TraceId> {
    let (parent, _) = trace.as_str().rsplit_once('@')?;
    parent.parse().ok()
}

/// Sends mail to a trace, as [`Runtime::send`] does: that takes neither models nor tools. Returns when it is durable.
/// Errors: a secret stands where none may, there is no such trace, or nothing can be written.
pub async fn post(at: TraceStore<'_>, vault: &Vault, mail: &Mail) -> Result<MailId, RuntimeError> {
    post_once(at, vault, mail, None).await
}

async fn post_once(at: TraceStore<'_>, vault: &Vault, mail: &Mail, once: Option<Once>) -> Result<MailId, RuntimeError> {
    let mut mail = mail.clone();
    mail.redact(vault)?;
    // A mailbox is read as a whole: it holds words, not megabytes.
    if let Some(parts) = mail.parts_mut() {
        media::offload(at.scoped(), parts).await?;
    }
    let body = serde_json::to_string(&mail)?;
    Ok(at.store.send(at.scope, at.trace, Letter { urgent: mail.is_urgent(), body, once }).await?)
}

/// A fresh id for a trace: the time, so that ids sort, and six letters drawn, so that they differ. Errors: never, as every
/// character is one that ids may have.
pub fn new_trace_id(now: Millis) -> Result<TraceId, BadName> {
    let time: String = format_time(now).chars().filter(char::is_ascii_digit).take(14).collect();
    let (date, clock) = time.split_at(time.len().min(8));
    let letters: String = (0..6).map(|_| fastrand::alphanumeric().to_ascii_lowercase()).collect();
    format!("{date}-{clock}-{letters}").parse()
}
