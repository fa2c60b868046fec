//! The driver of one trace: reads mail, appends what is decided, reconciles effects. One task, ended when nothing is left
//! but waiting.

mod append;
mod at_once;
mod children;
pub(crate) mod drive;
mod end_hooks;
pub(crate) mod error;
mod in_flight;
pub(crate) mod log;
mod mailbox;
mod provenance;
mod reconcile;
mod request;
mod running_summary;
mod summary;

use crate::driver::error::DriveError;
use crate::driver::in_flight::InFlight;
use crate::driver::log::{tail_cut, writable};
use crate::driver::provenance::Provenance;
use crate::driver::running_summary::RunningSummary;
use crate::effects::context::EffectContext;
use crate::gate::judge::JudgeInput;
use crate::observer::{Taken, TraceObserver};
use crate::prepared::{Prepared, in_run};
use crate::prompt::prefix::Prefix;
use crate::shared::Shared;
use crate::stream::hub::Handle;
use crate::unusable::Unusable;
use mainpath_core::{Bodies, EffectKey, InputKind, Log, Machine, Packer, TimerKey, arguments_in, is_cut_start};
use mainpath_policy::AtStop;
use mainpath_store::{Lease, Opened, ReadLog, Scope, ScopedStore, Store, StoreError, TraceStore};
use mainpath_types::{BlobHash, CallId, EventId, EventKind, MailId, Millis, Spec, TenantId, TraceId};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(crate) struct Driver {
    shared: Arc<Shared>,
    handle: Arc<Handle>,
    scope: Scope,
    lease: Lease,
    machine: Machine,
    cached: CachedLog,
    encoded: EncodedConversation,
    prepared: Option<PreparedFor>,
    in_flight: InFlight,
    /// The children that wait for people: they are looked at again when the trace is woken.
    resting: BTreeSet<EffectKey>,
    timer: Option<Timer>,
    mail: MailCursor,
    provenance: Provenance,
    /// What the agent was first asked to do: a first plan begins with it, and by then the event is no longer at hand.
    task: Option<Task>,
    /// What its children are made from. Few traces have it.
    parent: Option<ParentSpec>,
    /// What rules have found in the conversation so far.
    summary: Option<Box<RunningSummary>>,
    /// The blobs that are gone, of which people have been told.
    gone: BTreeSet<BlobHash>,
    /// Who is told of what is appended.
    observer: Option<Box<dyn TraceObserver>>,
}

/// What is held of the log.
struct CachedLog {
    /// The events whose bodies the next request may need and that the prefix does not hold yet.
    bodies: Log,
    /// Whether `bodies` holds the whole log.
    whole: bool,
}

/// The conversation as the last request had it.
#[derive(Default)]
struct EncodedConversation {
    prefix: Prefix,
    packer: Packer,
    /// What a request shows of the log's beginning: it is shown again whenever the prefix breaks.
    early: Log,
}

/// What follows from a spec, and what for.
struct PreparedFor {
    under: SpecInUse,
    prepared: Arc<Prepared>,
}

/// A spec with one of its models, and the run, where the spec is not the same in all of them.
#[derive(Clone, Copy, PartialEq, Eq)]
struct SpecInUse {
    event: EventId,
    using: usize,
    run: Option<u32>,
}

/// The spec that children are made from: the event that holds it is no longer at hand by then.
struct ParentSpec {
    event: EventId,
    using: usize,
    spec: Arc<Spec>,
}

/// The next time to come.
#[derive(Clone, Copy)]
struct Timer {
    at: Millis,
    key: TimerKey,
}

/// How far mail has been read, and which.
struct MailCursor {
    /// The wakes that were counted when the mailbox was read last.
    seen_wakes: u64,
    /// Beginnings are held back: mail may be waiting that was said before them.
    holding: bool,
    /// The only mail to be read: see [`Runtime::settle`](crate::Runtime::settle).
    only: Option<MailId>,
}

/// What the agent was first asked to do.
struct Task {
    /// The event that holds it.
    event: EventId,
    /// In short.
    text: String,
}

/// The state in which a driver expects the trace that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// There is none of this id yet. What a cut first write left counts as none.
    New,
    /// It exists, with any log.
    Any,
    /// Its log ends with this event.
    At(EventId),
}

/// Returns true if the process was killed in the middle of the first write of a trace, and nothing was sent to the trace.
async fn is_unsent_start(store: &dyn Store, scope: &Scope, trace: &TraceId, log: &ReadLog) -> Result<bool, StoreError> {
    Ok(!log.read_only() && is_cut_start(&log.events) && store.mail(scope, trace, 0).await?.is_empty())
}

impl Driver {
    /// Takes the trace and folds its log.
    pub async fn open(
        shared: Arc<Shared>,
        handle: Arc<Handle>,
        scope: Scope,
        trace: &TraceId,
        opening: Opening,
    ) -> Result<Driver, DriveError> {
        let (store, create) = (&shared.config.store, opening == Opening::New);
        let mut opened = store.lease(&scope, trace, create).await?;
        if create && !opened.log.events.is_empty() {
            if !is_unsent_start(&**store, &scope, trace, &opened.log).await? {
                opened.lease.release();
                return Err(DriveError::Exists(trace.clone()));
            }
            // No caller was told that it began. What is there is written anew, complete.
            store.discard(&scope, &opened.lease, opened.log.head).await?;
            opened.lease.release();
            opened = store.lease(&scope, trace, create).await?;
            if !opened.log.events.is_empty() {
                opened.lease.release();
                return Err(DriveError::Exists(trace.clone()));
            }
        }
        let Opened { lease, log } = opened;
        if matches!(opening, Opening::At(head) if head != log.head) {
            lease.release();
            return Err(DriveError::Changed(trace.clone()));
        }
        writable(&log)?;
        let machine = Machine::fold(trace.clone(), &log.events);
        let taken = Taken { events: &log.events, state: machine.state() };
        let observer = shared.observer.get().map(|observer| observer.open(&scope, trace, taken));
        shared.drivers.fetch_add(1, Ordering::Relaxed);
        let (holding, cut) = (!log.events.is_empty(), tail_cut(&log));
        let mut driver = Driver {
            shared,
            handle,
            scope,
            lease,
            machine,
            cached: CachedLog { bodies: log.events.into_iter().collect(), whole: true },
            encoded: EncodedConversation::default(),
            prepared: None,
            in_flight: InFlight::default(),
            resting: BTreeSet::new(),
            timer: None,
            // It differs from any count: the mailbox is read once in any case.
            mail: MailCursor { seen_wakes: u64::MAX, holding, only: None },
            provenance: Provenance::default(),
            task: None,
            parent: None,
            summary: None,
            gone: BTreeSet::new(),
            observer,
        };
        driver.flush_unwritten().await?;
        if driver.mail.holding {
            driver.offer(InputKind::Recovered { lost: true, tail_cut: cut }, None).await?;
        }
        Ok(driver)
    }

    /// Reads this mail and no other.
    pub fn read_only(&mut self, mail: MailId) {
        self.mail.only = Some(mail);
    }

    /// The tenant and the trace.
    pub fn names(&self) -> (TenantId, TraceId) {
        (self.scope.tenant.clone(), self.lease.trace().clone())
    }

    /// Releases the lease.
    pub fn release(self) {
        self.lease.release();
    }

    /// Removes the trace if nothing of it was written: nobody was told that it began. What cannot be removed is there as one that was
    /// interrupted.
    pub async fn discard(self) {
        let _ = self.shared.config.store.discard(&self.scope, &self.lease, 0).await;
        self.release();
    }

    /// The store, as the trace uses it.
    fn store(&self) -> ScopedStore<'_> {
        ScopedStore::new(&*self.shared.config.store, &self.scope)
    }

    /// What is kept of the trace.
    fn trace_store(&self) -> TraceStore<'_> {
        self.store().of(self.lease.trace())
    }

    /// What judging a call needs.
    fn judge_input(&self) -> JudgeInput {
        let state = self.machine.state();
        JudgeInput {
            origins: self.provenance.origins.clone(),
            approved: state.approvals.rules.clone(),
            skills: state.skills_for_tools(),
            patches: state.children.patches.clone(),
            at: AtStop { trace: self.lease.trace().clone(), spent: state.spent.cost },
        }
    }

    /// The arguments of a call: the model's, or those that the approval put in their place.
    async fn arguments(&mut self, call: CallId, event: EventId) -> Result<String, DriveError> {
        let text = self.event(event).await?.and_then(|kind| arguments_in(kind, call)).map(String::from);
        // Erased arguments are no arguments: the tool refuses them.
        Ok(text.unwrap_or_default())
    }

    async fn event(&mut self, id: EventId) -> Result<Option<&EventKind>, DriveError> {
        if self.cached.bodies.get(id).is_none() && !self.cached.whole {
            let log = self.trace_store().read(1).await?;
            self.cached.bodies = log.events.into_iter().collect();
            self.cached.whole = true;
        }
        Ok(self.cached.bodies.get(id))
    }

    async fn context(&mut self) -> Result<EffectContext, DriveError> {
        let prepared = self.prepared().await?;
        let (shared, handle) = (Arc::clone(&self.shared), Arc::clone(&self.handle));
        let (scope, trace) = (self.scope.clone(), self.lease.trace().clone());
        Ok(EffectContext { shared, handle, scope, trace, prepared })
    }

    /// Takes over what follows from the spec that the trace began with, in its first run. There is no run if the message was refused.
    pub fn begun_with(&mut self, prepared: Arc<Prepared>) {
        let state = self.machine.state();
        if let (Some(spec), run @ 1) = (&state.spec, state.counts.runs) {
            let under = SpecInUse { event: spec.event, using: spec.using, run: Some(run) };
            self.prepared = Some(PreparedFor { under, prepared });
        }
    }

    /// What follows from the spec that holds now.
    pub async fn prepared(&mut self) -> Result<Arc<Prepared>, DriveError> {
        let spec = self.machine.state().spec.as_ref();
        let spec = spec.ok_or_else(|| DriveError::Spec(Unusable::NoSpec))?;
        let (event, using, run) = (spec.event, spec.using, self.machine.state().counts.runs);
        if let Some(PreparedFor { under, prepared }) = &self.prepared
            && (under.event, under.using) == (event, using)
            && under.run.is_none_or(|known| known == run)
        {
            return Ok(Arc::clone(prepared));
        }
        let spec = match self.event(event).await? {
            Some(EventKind::SpecChanged(data)) => data.spec.on_model(using),
            _ => return Err(DriveError::Spec(Unusable::SpecErased)),
        };
        let under = SpecInUse { event, using, run: spec.mode_for.map(|_| run) };
        let config = &self.shared.config;
        let prepared = self.shared.specs.prepare(config, &mut in_run(&spec, run))?;
        self.prepared = Some(PreparedFor { under, prepared: Arc::clone(&prepared) });
        Ok(prepared)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.shared.drivers.fetch_sub(1, Ordering::Relaxed);
    }
}
