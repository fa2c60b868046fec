//! The driver of one trace: reads mail, appends what is decided, reconciles effects. One task, ended when nothing is left
//! but waiting.

use crate::effects::{Around, call_model, probe_tool, run_tool, store_pause, unusable};
use crate::hub::{Handle, Live, Phase, Waiting};
use crate::judge::Gate;
use crate::mail::Mail;
use crate::media;
use crate::prefix::Prefix;
use crate::request::{Prepared, extend};
use crate::runtime::Shared;
use crate::texts::offload;
use futures_util::future::{AbortHandle, Abortable};
use futures_util::stream::{FuturesUnordered, StreamExt};
use mainpath_core::*;
use mainpath_store::{Appended, Lease, Opened, ReadLog, Refused, Scope, StoreError};
use mainpath_types::*;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Why a trace cannot be driven on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DriveError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}")]
    Refused(#[from] Refusal),
    #[error("the log cannot be written ({0}); nothing that was acknowledged is lost, resume the trace when it can be")]
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

/// An append with no known outcome.
struct Unsure {
    problem: String,
    /// The event that the input decided. If it is in the log, the input has happened.
    first: Box<Event>,
}

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
    prefix: Prefix,
    prepared: Option<((EventId, usize), Arc<Prepared>)>,
    in_flight: BTreeMap<EffectKey, Running>,
    work: FuturesUnordered<Work>,
    timer: Option<(Millis, TimerKey)>,
    seen_wakes: u64,
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
        let mut bodies = Log::default();
        bodies.extend(&log.events);
        let mut driver = Driver {
            shared,
            handle,
            scope,
            lease,
            machine,
            bodies,
            whole: true,
            prefix: Prefix::default(),
            prepared: None,
            in_flight: BTreeMap::new(),
            work: FuturesUnordered::new(),
            timer: None,
            // Differs from any count: the mailbox is read once in any case.
            seen_wakes: u64::MAX,
        };
        driver.say_unsaid().await?;
        if !log.events.is_empty() {
            driver.offer(InputKind::Recovered { lost: true, tail_cut: tail_cut(&log) }, None).await?;
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
            match Box::pin(self.reconcile()).await {
                // The request is made again under the spec that came meanwhile.
                Err(DriveError::Spec(_)) if self.spec_is_replaced() => {
                    Box::pin(self.offer(InputKind::Recovered { lost: true, tail_cut: None }, None)).await?;
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
                if wakes == self.seen_wakes {
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
                () = tokio::time::sleep(keep), if !self.prefix.is_empty() => self.prefix = Prefix::default(),
                () = sleep(due) => Box::pin(self.ring()).await?,
            }
        }
    }

    /// Whether a model call that could not be begun has a new spec to be begun under.
    fn spec_is_replaced(&self) -> bool {
        let state = self.machine.state();
        self.in_flight.is_empty() && state.model.is_some() && state.next_spec.is_some()
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
                EffectKey::Model(_) | EffectKey::Tool(..) | EffectKey::Kill(..) | EffectKey::Probe(..) => None,
            })
            .collect();
        if let Some((at, _)) = self.timer {
            self.shared.config.scheduler.wake_at(&self.scope.tenant, self.lease.trace(), at);
        }
        if waiting.is_empty() { Phase::Idle } else { Phase::Parked(waiting) }
    }

    /// The mailbox, urgent entries first. An entry that says nothing useful is refused by an event, so it is read once.
    async fn read_mail(&mut self) -> Result<(), DriveError> {
        let wakes = self.handle.wakes.load(Ordering::Acquire);
        if wakes == self.seen_wakes {
            return Ok(());
        }
        self.seen_wakes = wakes;
        let after = self.machine.state().mail.upto;
        let mut mail = self.shared.config.store.mail(&self.scope, self.lease.trace(), after).await?;
        mail.retain(|entry| !self.machine.state().mail.has(entry.id));
        mail.sort_by_key(|entry| !entry.urgent);
        for entry in mail {
            let kind = match serde_json::from_str::<Mail>(&entry.body) {
                Ok(mail) => self.read(mail, entry.from).await?,
                Err(error) => InputKind::BadMail { problem: format!("no message that Mainpath knows: {error}") },
            };
            self.offer_or_drop(kind, Some(entry.id)).await?;
        }
        Ok(())
    }

    /// From mail to an input: redacted, measured, what is long put aside, edited arguments judged.
    pub async fn read(&mut self, mut mail: Mail, from: Principal) -> Result<InputKind, DriveError> {
        if !mail.is_sayable() {
            let problem = "a message consists of text, pictures, sound and documents, of nothing else".into();
            return Ok(InputKind::BadMail { problem });
        }
        if let Some(parts) = mail.parts_mut() {
            match media::load(&*self.shared.config.store, &self.scope, parts).await {
                Ok(()) => {}
                // Taken in, it would fail every request from then on.
                Err(error @ (StoreError::NoBlob { .. } | StoreError::Damaged(_))) => {
                    return Ok(InputKind::BadMail {
                        problem: format!("what the message names is not at hand: {error}"),
                    });
                }
                Err(other) => return Err(other.into()),
            }
        }
        mail.redact(&self.shared.config.vault);
        let edited = match &mail {
            Mail::Approve { call, arguments: Some(arguments) } => Some((*call, arguments.clone())),
            _ => None,
        };
        let mut kind = mail.into_input(from);
        if let (Some((call, arguments)), InputKind::Approve { edit, .. }) = (edited, &mut kind) {
            match self.judge_edit(call, arguments).await {
                Ok(judged) => *edit = Some(judged),
                // Not the trace's end: the call goes on waiting, and a better spec may come in the next mail.
                Err(DriveError::Spec(problem)) => {
                    return Ok(InputKind::BadMail { problem: format!("the arguments cannot be judged: {problem}") });
                }
                Err(other) => return Err(other),
            }
        }
        match &mut kind {
            InputKind::UserMessage { parts, .. } | InputKind::Rewind { parts: Some(parts), .. } => {
                offload(&*self.shared.config.store, &self.scope, parts).await?;
            }
            InputKind::Answered(Answered { output, .. }) => {
                offload(&*self.shared.config.store, &self.scope, &mut output.content).await?;
            }
            _ => {}
        }
        Ok(kind)
    }

    async fn judge_edit(&mut self, call: CallId, arguments: String) -> Result<Edit, DriveError> {
        let prepared = self.prepared().await?;
        let tool = self.machine.state().calls.get(call).and_then(|call| call.tool.clone());
        let gate = Gate::of(&self.shared.config.tools, &prepared);
        let planned = gate.plan(tool.as_deref().unwrap_or_default(), &arguments);
        let denied = |reason: String| Verdict { decision: Decision::Deny, rule: "builtin.arguments".into(), reason };
        let verdict = planned.verdict.unwrap_or_else(|| denied(planned.problem.unwrap_or_default()));
        Ok(Edit { arguments, verdict })
    }

    /// Reports what an effect came to. One that nobody waits for any more is dropped.
    async fn report(&mut self, kind: InputKind) -> Result<(), DriveError> {
        self.offer_or_drop(kind, None).await
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

    async fn offer_or_drop(&mut self, kind: InputKind, mail: Option<MailId>) -> Result<(), DriveError> {
        match self.offer(kind, mail).await {
            Err(DriveError::Refused(_)) => Ok(()),
            other => other,
        }
    }

    /// Offers an input and makes what follows durable. Kept until it is: after an append with no known outcome the log is
    /// read again and the input offered again; if it was written after all, it is refused as having happened.
    pub async fn offer(&mut self, kind: InputKind, mail: Option<MailId>) -> Result<(), DriveError> {
        let input = Input { at: (self.shared.config.clock)(), mail, kind };
        let written = self.write(&input).await;
        let known = matches!(
            input.kind,
            InputKind::ModelFinished(_)
                | InputKind::ModelMalformed { .. }
                | InputKind::ToolFinished { .. }
                | InputKind::ToolDead { .. }
                | InputKind::ToolProbed { .. }
        );
        match &written {
            Ok(()) | Err(DriveError::Refused(_)) => {}
            // Mail stays in the mailbox, a time comes again. A result comes only once.
            Err(_) if known => *self.unsaid() = Some(Box::new(input)),
            Err(_) => {}
        }
        written
    }

    fn unsaid(&self) -> MutexGuard<'_, Option<Box<Input>>> {
        self.handle.unsaid.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what an earlier driver of this process knew and could not write: the one event that it decides, as if the
    /// process had ended right after it. What follows from it is recovery's, like everything else that was lost.
    async fn say_unsaid(&mut self) -> Result<(), DriveError> {
        let Some(input) = self.unsaid().take() else { return Ok(()) };
        let mut decided = self.machine.clone();
        // Refused: it was written after all, or another process has settled the matter.
        let Ok(mut batch) = decided.handle(&input) else { return Ok(()) };
        batch.truncate(1);
        let Some(event) = batch.first().cloned() else { return Ok(()) };
        match self.shared.config.store.append(&self.lease, event.id - 1, batch).await {
            Appended::Committed { .. } => {
                let mut state = self.machine.state().clone();
                apply(&mut state, &event);
                self.machine = Machine::resume(state);
                self.bodies.extend(std::slice::from_ref(&event));
                self.publish(vec![event]);
                Ok(())
            }
            Appended::Unknown { problem } => {
                *self.unsaid() = Some(input);
                Err(DriveError::Unwritable(problem))
            }
            Appended::Refused(refused) => {
                *self.unsaid() = Some(input);
                Err(DriveError::Unwritable(refused.to_string()))
            }
        }
    }

    async fn write(&mut self, input: &Input) -> Result<(), DriveError> {
        let mut tries = 0;
        loop {
            let Unsure { problem, first } = match self.append(input).await? {
                None => return Ok(()),
                Some(unsure) => unsure,
            };
            loop {
                let pause = store_pause(tries).ok_or_else(|| DriveError::Unwritable(problem.clone()))?;
                if tries == 0 {
                    self.handle.tell(Live::Notice(format!("the log cannot be written ({problem}); trying again")));
                }
                tries += 1;
                tokio::time::sleep(pause).await;
                if self.reopen().await? {
                    break;
                }
            }
            // Not every input is refused by the state when it comes again: the same words may be said twice.
            if self.bodies.get(first.id) == Some(&first.kind) {
                return Ok(());
            }
        }
    }

    /// One append of what follows from an input. `Some`: nobody knows whether it was written.
    async fn append(&mut self, input: &Input) -> Result<Option<Unsure>, DriveError> {
        let batch = self.machine.handle(input)?;
        let (Some(first), Some(last)) = (batch.first(), batch.last()) else { return Ok(None) };
        let (expected, head) = (first.id - 1, last.id);
        let unsure = |problem: String| Ok(Some(Unsure { problem, first: Box::new(first.clone()) }));
        match self.shared.config.store.append(&self.lease, expected, batch.clone()).await {
            Appended::Committed { .. } => {
                self.machine.commit(head);
                self.bodies.extend(&batch);
                self.publish(batch);
                Ok(None)
            }
            Appended::Unknown { problem } => unsure(problem),
            Appended::Refused(Refused::StaleEpoch | Refused::WrongId { .. }) => Err(DriveError::TakenOver),
            Appended::Refused(refused @ (Refused::Lost | Refused::Busy)) => unsure(refused.to_string()),
            Appended::Refused(refused) => Err(DriveError::Unwritable(refused.to_string())),
        }
    }

    fn publish(&self, batch: Vec<Event>) {
        if let Some(audience) = self.handle.audience() {
            for event in batch {
                // Nobody listens any more: watchers resume from the log.
                let _ = audience.send(Live::Event(Arc::new(event)));
            }
        }
    }

    /// Reads the log again in the same process. What is in flight goes on. False: the store is still not there.
    async fn reopen(&mut self) -> Result<bool, DriveError> {
        let trace = self.lease.trace().clone();
        self.lease.release();
        let Ok(Opened { lease, log }) = self.shared.config.store.lease(&self.scope, &trace, false).await else {
            return Ok(false);
        };
        writable(&log)?;
        self.lease = lease;
        self.machine = Machine::fold(trace, &log.events);
        self.bodies.extend(&log.events);
        self.whole = true;
        let at = (self.shared.config.clock)();
        let again = Input::new(at, InputKind::Recovered { lost: false, tail_cut: tail_cut(&log) });
        // What a torn batch lost is decided again.
        Ok(self.append(&again).await?.is_none())
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
                    self.start(key, |cancel| run_tool(around, grant, text, cancel));
                }
                Effect::Probe { grant, arguments } => {
                    let around = self.around().await?;
                    let text = self.arguments(grant.call(), arguments).await?;
                    self.start(key, |_| probe_tool(around, grant, text));
                }
                Effect::Kill { call, attempt } if !self.in_flight.contains_key(&EffectKey::Tool(call, attempt)) => {
                    // A call of an earlier process: its launcher ended it with its owner.
                    self.start(key, |_| async move { InputKind::ToolDead { call, attempt, output: None, tokens: 0 } });
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

    async fn call_model(&mut self, key: EffectKey, request: u32) -> Result<(), DriveError> {
        let falls_back = self.machine.state().spec.as_ref().is_some_and(|spec| spec.using > 0);
        let around = match self.around().await {
            Err(DriveError::Spec(problem)) if falls_back => {
                self.start(key, |_| unusable(request, problem));
                return Ok(());
            }
            around => around?,
        };
        let (body, sent) = self.body(&around.prepared).await?;
        let state = self.machine.state();
        let how = (state.run.as_ref().map_or(0, |run| run.model_failures), state.wants_summary());
        self.start(key, |_| call_model(around, request, body, sent, how));
        Ok(())
    }

    /// The request's body and its hash. Only what is new since the last request is encoded.
    async fn body(&mut self, prepared: &Prepared) -> Result<(Vec<bytes::Bytes>, String), DriveError> {
        let state = self.machine.state();
        let missing = || DriveError::Spec("the trace has no spec".into());
        let packed = pack(state).ok_or_else(missing)?;
        let store = (&*self.shared.config.store, &self.scope);
        let (before, after) = prepared.frames.of(packed.under);
        let provider = (&*prepared.provider, &before[..], prepared.text);
        if extend(&mut self.prefix, provider, (state, &self.bodies), &packed, store).await?.is_none() {
            // The prefix broke, and what is shown again lies further back in the log.
            let log = self.shared.config.store.read(&self.scope, self.lease.trace(), 1).await?;
            self.bodies.extend(&log.events);
            let whole = extend(&mut self.prefix, provider, (state, &self.bodies), &packed, store).await?;
            let erased = || DriveError::Spec("a message that the model must see was erased; rewind before it".into());
            whole.ok_or_else(erased)?;
        }
        // All that the prefix holds need not be kept twice.
        self.bodies = Log::default();
        self.whole = false;
        Ok(self.prefix.body(prepared.provider.codec(), before, after))
    }

    /// The arguments of a call: the model's, or those that the approval put in their place.
    async fn arguments(&mut self, call: CallId, event: EventId) -> Result<String, DriveError> {
        let text = match self.event(event).await? {
            Some(EventKind::ModelFinished(data)) => {
                let calls = data.parts.iter().filter_map(|part| match part {
                    Part::ToolCall { arguments, .. } => Some(arguments.clone()),
                    _ => None,
                });
                calls.into_iter().nth(call.index.into())
            }
            Some(EventKind::ApprovalGranted(data)) => data.arguments.clone(),
            _ => None,
        };
        // Erased arguments are no arguments: the tool refuses them.
        Ok(text.unwrap_or_default())
    }

    async fn event(&mut self, id: EventId) -> Result<Option<&EventKind>, DriveError> {
        if self.bodies.get(id).is_none() && !self.whole {
            let log = self.shared.config.store.read(&self.scope, self.lease.trace(), 1).await?;
            self.bodies.extend(&log.events);
            self.whole = true;
        }
        Ok(self.bodies.get(id))
    }

    async fn around(&mut self) -> Result<Around, DriveError> {
        let prepared = self.prepared().await?;
        let (shared, handle) = (Arc::clone(&self.shared), Arc::clone(&self.handle));
        Ok(Around { shared, handle, scope: self.scope.clone(), prepared })
    }

    async fn prepared(&mut self) -> Result<Arc<Prepared>, DriveError> {
        let spec = self.machine.state().spec.as_ref();
        let spec = spec.ok_or_else(|| DriveError::Spec("the trace has no spec".into()))?;
        let under = (spec.event, spec.using);
        if let Some((known, prepared)) = &self.prepared
            && *known == under
        {
            return Ok(Arc::clone(prepared));
        }
        let spec = match self.event(under.0).await? {
            Some(EventKind::SpecChanged(data)) => data.spec.on_model(under.1),
            _ => return Err(DriveError::Spec("the trace's spec was erased; give it a new one".into())),
        };
        let config = &self.shared.config;
        let prepared =
            self.shared.specs.prepare(&*config.models, &config.protected, &spec).map_err(DriveError::Spec)?;
        self.prepared = Some((under, Arc::clone(&prepared)));
        Ok(prepared)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.shared.drivers.fetch_sub(1, Ordering::Relaxed);
    }
}

fn tail_cut(log: &ReadLog) -> Option<TailCut> {
    log.tail_cut.as_ref().map(|cut| TailCut { bytes: cut.bytes, kept: cut.kept.clone() })
}

/// A damaged or newer log is not written to.
fn writable(log: &ReadLog) -> Result<(), DriveError> {
    if let Some(damage) = &log.damage {
        return Err(DriveError::Unwritable(format!("it is damaged: {damage}; it can be read up to there")));
    }
    if log.newer {
        return Err(DriveError::Unwritable("it was written by a newer Mainpath; use that one".into()));
    }
    Ok(())
}

async fn sleep(ms: Option<u64>) {
    match ms {
        Some(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
        None => std::future::pending().await,
    }
}
