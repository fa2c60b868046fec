//! The driver of one trace: reads mail, appends what is decided, reconciles effects. One task, ended when nothing is left
//! but waiting.

mod asking;
mod reading;
mod summing;
mod writing;

use crate::context_hooks::{ask_hooks, in_short, summary};
use crate::destinations::acts;
use crate::effects::{Around, Made, Ruled, probe_tool, run_tool};
use crate::hub::{Handle, Phase, Waiting};
use crate::look_back;
use crate::origins::{Origins, origin_of};
use crate::plan;
use crate::prefix::Prefix;
use crate::request::Prepared;
use crate::runtime::Shared;
use crate::texts::{Gone, load, typed_in};
use futures_util::future::{AbortHandle, Abortable};
use futures_util::stream::{FuturesUnordered, StreamExt};
use mainpath_core::*;
use mainpath_store::{Lease, Opened, Scope, StoreError};
use mainpath_types::*;
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use summing::Summed;
use tokio_util::sync::CancellationToken;
use writing::tail_cut;
pub(crate) use writing::writable;

/// Why a trace cannot be driven on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DriveError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}")]
    Refused(#[from] Refusal),
    #[error("the log cannot be written ({0}); nothing acknowledged is lost; fix that, then resume the trace")]
    Unwritable(String),
    #[error("the log was taken over by another process")]
    TakenOver,
    #[error("{0}")]
    Spec(String),
}

/// So many traces at work in a process are a crowd.
const CROWD: usize = 2_000;

/// How long a trace that waits keeps its encoded conversation. Without it, it is encoded anew from the log when it is needed:
/// a crowd that waits for slow models would fill the memory with what costs a millisecond to make.
fn keep_prefix(drivers: usize) -> Duration {
    if drivers > CROWD { Duration::from_millis(300) } else { Duration::from_secs(60) }
}

type Work = Pin<Box<dyn Future<Output = (EffectKey, Option<InputKind>)> + Send>>;

/// An effect under way.
struct Running {
    abort: AbortHandle,
    cancel: CancellationToken,
}

pub(crate) struct Driver {
    shared: Arc<Shared>,
    handle: Arc<Handle>,
    scope: Scope,
    lease: Lease,
    machine: Machine,
    /// The events whose bodies the next request may need and that the prefix does not hold yet.
    bodies: Log,
    /// Whether `bodies` holds the whole log.
    whole: bool,
    /// What a request shows of the log's beginning: it is shown again whenever the prefix breaks.
    early: Log,
    prefix: Prefix,
    packer: Packer,
    prepared: Option<(Under, Arc<Prepared>)>,
    in_flight: BTreeMap<EffectKey, Running>,
    work: FuturesUnordered<Work>,
    timer: Option<(Millis, TimerKey)>,
    seen_wakes: u64,
    /// Where the texts of the trace came from, once something foreign was seen.
    origins: Option<Arc<Origins>>,
    /// The last event whose origin was looked at.
    noted: EventId,
    /// Beginnings are held back: mail may be waiting that was said before them.
    holding: bool,
    /// The only mail to be read: see [`Runtime::settle`](crate::Runtime::settle).
    only: Option<MailId>,
    /// What the agent was first asked to do, in short, and the event that holds it: a first plan begins with it, and by then the
    /// event is no longer at hand.
    task: Option<(EventId, String)>,
    /// What rules have found in the conversation so far.
    summed: Option<Box<Summed>>,
    /// The blobs that are gone, of which people have been told.
    gone: BTreeSet<BlobHash>,
}

impl Driver {
    /// Takes the trace and folds its log.
    pub async fn open(
        shared: Arc<Shared>,
        handle: Arc<Handle>,
        scope: Scope,
        trace: &TraceId,
        create: bool,
    ) -> Result<Driver, DriveError> {
        let Opened { lease, log } = shared.config.store.lease(&scope, trace, create).await?;
        writable(&log)?;
        let machine = Machine::fold(trace.clone(), &log.events);
        shared.drivers.fetch_add(1, Ordering::Relaxed);
        let (holding, cut) = (!log.events.is_empty(), tail_cut(&log));
        let mut driver = Driver {
            shared,
            handle,
            scope,
            lease,
            machine,
            bodies: log.events.into_iter().collect(),
            whole: true,
            early: Log::default(),
            prefix: Prefix::default(),
            packer: Packer::default(),
            prepared: None,
            in_flight: BTreeMap::new(),
            work: FuturesUnordered::new(),
            timer: None,
            // Differs from any count: the mailbox is read once in any case.
            seen_wakes: u64::MAX,
            origins: None,
            noted: 0,
            holding,
            only: None,
            task: None,
            summed: None,
            gone: BTreeSet::new(),
        };
        driver.say_unsaid().await?;
        if driver.holding {
            driver.offer(InputKind::Recovered { lost: true, tail_cut: cut }, None).await?;
        }
        Ok(driver)
    }

    /// Carries on until nothing is left but waiting. Returns what the trace waits for, and the wakes that were seen.
    pub async fn drive(&mut self) -> Result<(Phase, u64), DriveError> {
        loop {
            // What is boxed here takes room only while it goes on: the future of a trace that waits stays small.
            if self.handle.wakes.load(Ordering::Acquire) != self.seen_wakes {
                Box::pin(self.read_mail()).await?;
            }
            for announced in self.handle.take_announced() {
                Box::pin(self.record(announced)).await?;
            }
            match Box::pin(self.reconcile()).await {
                Err(DriveError::Spec(problem)) => {
                    Box::pin(self.take_back()).await?;
                    if self.machine.state().next_spec.is_none() {
                        return Err(DriveError::Spec(problem));
                    }
                    // The request is made again under the spec that came meanwhile.
                    Box::pin(self.begin()).await?;
                    continue;
                }
                reconciled => reconciled?,
            }
            if self.is_due() {
                Box::pin(self.ring()).await?;
                continue;
            }
            if self.in_flight.is_empty() && self.work.is_empty() {
                let wakes = self.handle.wakes.load(Ordering::Acquire);
                // What another process has said may not have been announced yet.
                if wakes == self.seen_wakes && !Box::pin(self.take_mail()).await? {
                    return Ok((self.parked(), wakes));
                }
                continue;
            }
            let due = self.timer.map(|(at, _)| at.saturating_sub((self.shared.config.clock)()));
            let keep = keep_prefix(self.shared.drivers.load(Ordering::Relaxed));
            tokio::select! {
                // Mail and times are looked at in every round, so nothing starves, and the same world is the same life.
                biased;
                Some((key, kind)) = self.work.next(), if !self.work.is_empty() => {
                    self.in_flight.remove(&key);
                    if let Some(kind) = kind {
                        Box::pin(self.report(kind)).await?;
                    }
                }
                () = self.handle.wake.notified() => {}
                () = tokio::time::sleep(keep), if !self.prefix.is_empty() => {
                    (self.prefix, self.packer) = (Prefix::default(), Packer::default());
                }
                () = sleep(due) => Box::pin(self.ring()).await?,
            }
        }
    }

    /// Takes back a request that could not be made; it waits for what makes it possible.
    async fn take_back(&mut self) -> Result<(), DriveError> {
        let Some(ModelCall { request, .. }) = self.machine.state().model else { return Ok(()) };
        if self.in_flight.contains_key(&EffectKey::Model(request)) {
            return Ok(());
        }
        self.holding = true;
        self.offer(InputKind::ModelUnsent { request }, None).await
    }

    /// Lets begin what was held back.
    async fn begin(&mut self) -> Result<(), DriveError> {
        self.holding = false;
        match self.machine.holds_back() {
            true => self.offer(InputKind::Recovered { lost: false, tail_cut: None }, None).await,
            false => Ok(()),
        }
    }

    /// Reads this mail and no other.
    pub fn read_only(&mut self, mail: MailId) {
        self.only = Some(mail);
    }

    /// Gives the trace free.
    pub fn release(self) {
        self.lease.release();
    }

    fn parked(&self) -> Phase {
        let pending = self.machine.pending().unwrap_or_default();
        let waiting: Vec<Waiting> = pending
            .keys()
            .filter_map(|key| match key {
                EffectKey::Approval(call) => Some(Waiting::Approval(*call)),
                EffectKey::Answer(call) => Some(Waiting::Answer(*call)),
                EffectKey::Child(call) => Some(Waiting::Child(*call)),
                EffectKey::Timer(_) => Some(Waiting::Timer),
                EffectKey::Model(_)
                | EffectKey::Tool(..)
                | EffectKey::Kill(..)
                | EffectKey::Probe(..)
                | EffectKey::Hooks(_)
                | EffectKey::Summary(_) => None,
            })
            .collect();
        if let Some((at, _)) = self.timer {
            self.shared.config.scheduler.wake_at(&self.scope.tenant, self.lease.trace(), at);
        }
        if waiting.is_empty() { Phase::Idle } else { Phase::Parked(waiting) }
    }

    /// Reports what an effect came to. One that nobody waits for any more is dropped.
    async fn report(&mut self, kind: InputKind) -> Result<(), DriveError> {
        let task = match plan::may_begin(&kind, self.machine.state()) {
            true => Some(self.task().await),
            false => None,
        };
        let kind = plan::settle(kind, self.machine.state(), &self.shared.config.tools, task);
        let kind = if look_back::looks_back(&kind) { self.look_back(kind).await? } else { kind };
        self.offer_or_drop(kind, None).await
    }

    /// What the agent was first asked to do, in short; nothing where that cannot be read. No answer is lost for it.
    async fn task(&mut self) -> String {
        let state = self.machine.state();
        let first = task(state).and_then(|first| state.tree.node(first));
        let Some(event) = first.map(|node| node.event) else { return String::new() };
        if let Some((known, task)) = &self.task
            && *known == event
        {
            return task.clone();
        }
        let Ok(said) = self.event(event).await else { return String::new() };
        let mut said = said.map_or(Vec::new(), |kind| typed_in(kind).to_vec());
        if load(&*self.shared.config.store, &self.scope, &mut said, &mut Gone::Fails).await.is_err() {
            return String::new();
        }
        let task = in_short(&said);
        self.task = Some((event, task.clone()));
        task
    }

    fn is_due(&self) -> bool {
        self.timer.is_some_and(|(at, _)| (self.shared.config.clock)() >= at)
    }

    async fn ring(&mut self) -> Result<(), DriveError> {
        match self.timer.take_if(|(at, _)| (self.shared.config.clock)() >= *at) {
            Some((_, key)) => self.offer_or_drop(InputKind::Timer { key }, None).await,
            None => Ok(()),
        }
    }

    /// The one rule: start what is pending and not in flight, cancel what is in flight and not pending.
    async fn reconcile(&mut self) -> Result<(), DriveError> {
        let Some(pending) = self.machine.pending() else { return Ok(()) };
        for (key, running) in &self.in_flight {
            if pending.contains_key(key) {
                continue;
            }
            match key {
                // It goes on until it is confirmed dead; that is what `Kill` waits for.
                EffectKey::Tool(..) => running.cancel.cancel(),
                _ => running.abort.abort(),
            }
        }
        self.timer = pending
            .iter()
            .filter_map(|(key, effect)| match (key, effect) {
                (EffectKey::Timer(key), Effect::Timer { at }) => Some((*at, *key)),
                _ => None,
            })
            .min();
        for (key, effect) in pending {
            if self.in_flight.contains_key(&key) {
                continue;
            }
            match effect {
                Effect::CallModel { request } => self.call_model(key, request).await?,
                Effect::RunTool { grant, arguments } => {
                    let around = self.around().await?;
                    let text = self.arguments(grant.call(), arguments).await?;
                    let ruled = self.ruled();
                    let state = self.machine.state();
                    let within = state.calls.get(grant.call()).and_then(|call| call_time(state, call));
                    let made = Made { grant, arguments: text, within: within.map(Duration::from_millis) };
                    self.start(key, |cancel| run_tool(around, made, ruled, cancel));
                }
                Effect::Probe { grant, arguments } => {
                    let around = self.around().await?;
                    let text = self.arguments(grant.call(), arguments).await?;
                    self.start(key, |_| probe_tool(around, grant, text));
                }
                Effect::AskHooks { turn } => {
                    let (around, task) = (self.around().await?, self.task().await);
                    let workspace = around.prepared.workspace.root().display().to_string();
                    let trace = summary(self.machine.state(), &task, &workspace);
                    self.start(key, |_| ask_hooks(around, turn, trace));
                }
                Effect::Kill { call, attempt } if !self.in_flight.contains_key(&EffectKey::Tool(call, attempt)) => {
                    // A call of an earlier process: its launcher ended it with its owner.
                    self.start(key, |_| async move { InputKind::ToolDead { call, attempt, output: None, tokens: 0 } });
                }
                Effect::Summarise { most, below, keeps } => {
                    let summary = self.summarise(most, below, &keeps).await?;
                    self.start(key, |_| async move { summary });
                }
                Effect::Kill { .. }
                | Effect::Timer { .. }
                | Effect::AwaitApproval { .. }
                | Effect::AwaitAnswer { .. }
                | Effect::StartChild { .. } => {}
            }
        }
        Ok(())
    }

    fn start<F: Future<Output = InputKind> + Send + 'static>(
        &mut self,
        key: EffectKey,
        work: impl FnOnce(CancellationToken) -> F,
    ) {
        let (abort, registration) = AbortHandle::new_pair();
        let cancel = CancellationToken::new();
        let work = Abortable::new(work(cancel.clone()), registration);
        self.work.push(Box::pin(async move { (key, work.await.ok()) }));
        self.in_flight.insert(key, Running { abort, cancel });
    }

    fn ruled(&self) -> Ruled {
        Ruled { origins: self.origins.clone(), approved: self.machine.state().rules.clone() }
    }

    /// Takes in where what was said since the last look came from.
    async fn note_origins(&mut self) -> Result<(), DriveError> {
        let (last, from) = (self.machine.state().last, self.noted + 1);
        // Who may ask servers has to know which of them people named, and who acts, to whom.
        let prepared = self.prepared().await?;
        let tools = &self.shared.config.tools;
        let of_web = |name: &String| {
            let doc = tools.doc(name).filter(|doc| !doc.internal);
            doc.is_some_and(|doc| matches!(doc.origin, Origin::Web | Origin::Mcp) || acts(doc.effect))
        };
        let reaches_out = prepared.rules.allowed_tools.iter().any(of_web);
        let foreign = |id| self.bodies.get(id).is_some_and(|kind| origin_of(kind).is_foreign());
        if self.origins.is_none() && !reaches_out && !(from..=last).any(foreign) {
            self.noted = last;
            return Ok(());
        }
        let mut origins = match self.origins.take() {
            Some(origins) => origins,
            None => {
                // The first of its kind: what was said before counts as well.
                let log = self.shared.config.store.read(&self.scope, self.lease.trace(), 1).await?;
                let mut origins = Origins::default();
                for event in log.events.iter().filter(|event| event.id < from) {
                    origins.note_event(&*self.shared.config.store, &self.scope, &event.kind).await?;
                }
                Arc::new(origins)
            }
        };
        for kind in (from..=last).filter_map(|id| self.bodies.get(id)) {
            let origins = Arc::make_mut(&mut origins);
            origins.note_event(&*self.shared.config.store, &self.scope, kind).await?;
        }
        (self.origins, self.noted) = (Some(origins), last);
        Ok(())
    }

    /// The arguments of a call: the model's, or those that the approval put in their place.
    async fn arguments(&mut self, call: CallId, event: EventId) -> Result<String, DriveError> {
        let text = self.event(event).await?.and_then(|kind| arguments_in(kind, call)).map(String::from);
        // Erased arguments are no arguments: the tool refuses them.
        Ok(text.unwrap_or_default())
    }

    async fn event(&mut self, id: EventId) -> Result<Option<&EventKind>, DriveError> {
        if self.bodies.get(id).is_none() && !self.whole {
            let log = self.shared.config.store.read(&self.scope, self.lease.trace(), 1).await?;
            self.bodies = log.events.into_iter().collect();
            self.whole = true;
        }
        Ok(self.bodies.get(id))
    }

    async fn around(&mut self) -> Result<Around, DriveError> {
        let prepared = self.prepared().await?;
        let (shared, handle) = (Arc::clone(&self.shared), Arc::clone(&self.handle));
        let (scope, trace) = (self.scope.clone(), self.lease.trace().clone());
        Ok(Around { shared, handle, scope, trace, prepared })
    }

    /// What follows from the spec that holds now.
    pub async fn prepared(&mut self) -> Result<Arc<Prepared>, DriveError> {
        let spec = self.machine.state().spec.as_ref();
        let spec = spec.ok_or_else(|| DriveError::Spec("the trace has no spec".into()))?;
        let (event, using, run) = (spec.event, spec.using, self.machine.state().runs);
        if let Some((known, prepared)) = &self.prepared
            && (known.event, known.using) == (event, using)
            && known.run.is_none_or(|known| known == run)
        {
            return Ok(Arc::clone(prepared));
        }
        let mut spec = match self.event(event).await? {
            Some(EventKind::SpecChanged(data)) => data.spec.on_model(using),
            _ => return Err(DriveError::Spec("the trace's spec was erased; give it a new one".into())),
        };
        let under = Under { event, using, run: spec.mode_for.map(|_| run) };
        (spec.mode, spec.mode_for) = (spec.mode_in(run), None);
        let config = &self.shared.config;
        let prepared = self.shared.specs.prepare(config, &spec).map_err(DriveError::Spec)?;
        self.prepared = Some((under, Arc::clone(&prepared)));
        Ok(prepared)
    }
}

/// What something was prepared for: a spec with one of its models, and the run, where the spec is not the same in all of them.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Under {
    event: EventId,
    using: usize,
    run: Option<u32>,
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.shared.drivers.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn sleep(ms: Option<u64>) {
    match ms {
        Some(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
        None => std::future::pending().await,
    }
}
