//! Following a run: its events as they happen, and how it ended.

use crate::event::{ActionPlanned, PendingCall, PendingQuestion, RunEvent, Stamped};
use crate::trace::Read;
use crate::{Error, Trace};
use futures_util::{Stream, StreamExt};
use mainpath_core::{EffectKey, pending};
use mainpath_runtime::run_stats::runs;
use mainpath_runtime::wire::Projector;
use mainpath_runtime::{Live, Mail, Phase, Waiting, Watcher, views};
use mainpath_types::{CallId, EventId, FinishReason, LOG_VERSION, Micros, Part, Seq, Usage, Verdict, format_time};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::watch;

/// A run that is followed: a stream of [`RunEvent`]s that ends when the run does. Dropping it does not end the run.
pub struct Run {
    trace: Trace,
    events: Pin<Box<dyn Stream<Item = Result<RunEvent, Error>> + Send>>,
}

impl Run {
    /// Follows what was begun for a trace, from an event on, 1 being the first.
    pub(crate) fn follow(trace: Trace, from: EventId) -> Run {
        let following = Following { drives: true, ..Following::new(&trace, from) };
        Run::of(trace, following)
    }

    fn of(trace: Trace, following: Following) -> Run {
        let next = |mut following: Following| async move { following.next().await.map(|event| (event, following)) };
        let events = futures_util::stream::unfold(following, next);
        Run { trace, events: Box::pin(events.fuse()) }
    }

    /// The trace that it is a run of: everything that can be done to it.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The next event; `None` when nothing goes on any more. While a call waits for an approval, so does this. Cancel safe.
    pub async fn next(&mut self) -> Option<Result<RunEvent, Error>> {
        self.events.next().await
    }

    /// Waits until nothing goes on any more, and gives how the run ended. Errors: the run could not be driven on, or its log
    /// cannot be read.
    pub async fn outcome(self) -> Result<Outcome, Error> {
        self.outcome_with(|_| {}).await
    }

    /// The same; each event is given to `on_event` as it happens.
    pub async fn outcome_with(mut self, mut on_event: impl FnMut(&RunEvent)) -> Result<Outcome, Error> {
        while let Some(event) = self.next().await {
            on_event(&event?);
        }
        self.trace.outcome().await
    }
}

impl Stream for Run {
    type Item = Result<RunEvent, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.as_mut().poll_next(context)
    }
}

impl Trace {
    /// Says something and follows what comes of it: a new run, or the one that goes on, which reads it when it is done.
    pub async fn say(&self, text: impl Into<String>) -> Result<Run, Error> {
        self.go_on(Some(Mail::message(text))).await
    }

    /// Goes on after a crash, a stop, a limit or an approval, and follows that.
    pub async fn resume(&self) -> Result<Run, Error> {
        let state = self.look().await?.state;
        let goes_on = state.run.is_some() || !state.queues.is_empty();
        self.go_on((!goes_on && state.tree.head.is_some()).then_some(Mail::Continue)).await
    }

    /// Goes back to a message and says something else from there. 0 is before the first.
    pub async fn rewind(&self, after: Seq, text: impl Into<String>) -> Result<Run, Error> {
        self.go_on(Some(Mail::Rewind { after, parts: Some(vec![Part::text(text)]) })).await
    }

    /// Goes back to a message and has it answered again.
    pub async fn regenerate(&self, after: Seq) -> Result<Run, Error> {
        self.go_on(Some(Mail::Rewind { after, parts: None })).await
    }

    /// Follows the trace from an event on, 1 being the first, whoever drives it: this host, or another program on the same store.
    /// Ends when nobody does and it waits for nobody. Pieces of what is still coming are seen of what this host drives; of another, what its log says.
    pub fn watch(&self, from: EventId) -> Run {
        Run::of(self.clone(), Following::new(self, from))
    }

    /// How the last run ended. Errors: there was none, or one goes on.
    pub async fn outcome(&self) -> Result<Outcome, Error> {
        let Read { log, state, bodies } = self.look().await?;
        let ending = views::ending(self.host().at(self.id()).scoped(), &state, &bodies).await?;
        let ending = ending.ok_or_else(|| Error::failed(format!("trace {} has no run that ended", self.id())))?;
        let stats = runs(self.id(), &log.events).pop().unwrap_or_default();
        let spent = stats.counts.spent();
        Ok(Outcome {
            reason: ending.reason,
            answer: ending.answer,
            is_said: ending.is_said,
            turns: stats.counts.turns.count,
            usage: spent.usage,
            cost: spent.cost,
            tools: stats.counts.tools.iter().map(|(name, tool)| (name.clone(), tool.calls)).collect(),
        })
    }

    async fn go_on(&self, mail: Option<Mail>) -> Result<Run, Error> {
        let log = self.look().await?.log;
        let (runtime, scope) = (self.host().runtime(), self.host().scope());
        if let Some(mail) = mail {
            runtime.send(scope, self.id(), &mail).await?;
        }
        // Whoever else drives it reads what was sent.
        if self.host().at(self.id()).driver().await?.is_none() {
            runtime.resume(scope, self.id());
        }
        Ok(Run::follow(self.clone(), log.head + 1))
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Why.
    pub reason: FinishReason,
    /// The model's answer, or a stand-in that says what was done, what blocks and what to do next.
    pub answer: String,
    /// Whether the model said it.
    pub is_said: bool,
    /// Model turns.
    pub turns: u64,
    /// What its model calls used.
    pub usage: Usage,
    /// What they cost, in millionths.
    pub cost: Micros,
    /// How often each tool was called.
    pub tools: BTreeMap<String, u32>,
}

/// So often it is looked whether another program still drives a trace of which nothing new is heard.
const LOOK: Duration = Duration::from_millis(250);

struct Following {
    trace: Trace,
    watcher: Watcher,
    phases: watch::Receiver<Phase>,
    projector: Projector,
    /// Events before this one are read to know what is pending, and not given out.
    from: EventId,
    last: EventId,
    queue: VecDeque<Result<RunEvent, Error>>,
    planned: BTreeMap<CallId, ActionPlanned>,
    verdicts: BTreeMap<CallId, Verdict>,
    /// Calls that were asked about, as they will run.
    asked: BTreeMap<CallId, Stamped<PendingCall>>,
    /// Those of which that was told.
    told: BTreeSet<CallId>,
    /// Calls that wait for an answer of which that was told.
    questions: BTreeSet<CallId>,
    /// Where the log ends, as its store tells: for what another program drives.
    heads: Option<watch::Receiver<EventId>>,
    /// Whether what was begun is driven on here when whoever else drove it leaves off.
    drives: bool,
    ended: bool,
}

impl Following {
    fn new(trace: &Trace, from: EventId) -> Following {
        let host = trace.host();
        let watcher = host.runtime().watch(host.scope(), trace.id(), 1);
        Following {
            trace: trace.clone(),
            phases: watcher.phase(),
            watcher,
            projector: Projector::new(trace.id().clone()),
            from,
            last: 0,
            queue: VecDeque::new(),
            planned: BTreeMap::new(),
            verdicts: BTreeMap::new(),
            asked: BTreeMap::new(),
            told: BTreeSet::new(),
            questions: BTreeSet::new(),
            heads: None,
            drives: false,
            ended: false,
        }
    }

    async fn next(&mut self) -> Option<Result<RunEvent, Error>> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some(event);
            }
            if self.ended {
                return None;
            }
            if let Err(error) = self.step().await {
                self.ended = true;
                return Some(Err(error));
            }
        }
    }

    async fn step(&mut self) -> Result<(), Error> {
        let phase = self.phases.borrow_and_update().clone();
        match phase {
            Phase::Running => {}
            Phase::Idle | Phase::Elsewhere(_) => return self.elsewhere(phase).await,
            Phase::Failed(problem) => {
                self.catch_up().await?;
                self.queue.push_back(Err(Error::failed(problem)));
                self.ended = true;
                return Ok(());
            }
            Phase::Parked(waiting) => {
                self.catch_up().await?;
                waiting.iter().for_each(|one| self.ask(one));
                if !self.queue.is_empty() {
                    return Ok(());
                }
            }
        }
        tokio::select! {
            changed = self.phases.changed() => changed.map_err(|_| Error::failed("the host has ended")),
            live = self.watcher.next() => {
                self.take(live?)
            }
        }
    }

    /// Follows what this host does not drive, until nobody does.
    async fn elsewhere(&mut self, phase: Phase) -> Result<(), Error> {
        let host = self.trace.host().clone();
        // Asked first: what was written before its driver went is read.
        let is_driven = host.at(self.trace.id()).driver().await?.is_some();
        self.catch_up().await?;
        let waiting = Waiting::among(&pending(self.projector.state()));
        waiting.iter().for_each(|one| self.ask(one));
        if !self.queue.is_empty() {
            return Ok(());
        }
        if !is_driven && waiting.is_empty() {
            match self.drives && phase != Phase::Idle {
                true => host.runtime().resume(host.scope(), self.trace.id()),
                false => self.ended = true,
            }
            return Ok(());
        }
        let heads = match &mut self.heads {
            Some(heads) => heads,
            None => self.heads.insert(host.store().subscribe(host.scope(), self.trace.id())?),
        };
        if *heads.borrow_and_update() > self.last {
            return Ok(());
        }
        tokio::select! {
            changed = self.phases.changed() => changed.map_err(|_| Error::failed("the host has ended")),
            changed = heads.changed() => changed.map_err(|_| Error::failed("the store has ended")),
            () = tokio::time::sleep(LOOK) => Ok(()),
        }
    }

    /// Takes what the log has beyond what was seen.
    async fn catch_up(&mut self) -> Result<(), Error> {
        while let Some(live) = self.watcher.told() {
            self.take(live)?;
        }
        let host = self.trace.host().clone();
        let log = host.store().read(host.scope(), self.trace.id(), self.last + 1).await?;
        let head = log.events.last().map_or(0, |event| event.id);
        self.watcher.read_again();
        while self.last < head {
            let live = self.watcher.next().await?;
            self.take(live)?;
        }
        Ok(())
    }

    fn take(&mut self, live: Live) -> Result<(), Error> {
        match live {
            Live::Event(event) => {
                self.last = event.id;
                for line in self.projector.project(&event) {
                    self.fact(event.id, line)?;
                }
            }
            Live::Delta { of: of @ (EffectKey::Model(_) | EffectKey::Tool(..)), delta }
                if self.last + 1 >= self.from =>
            {
                let now = (self.trace.host().runtime().config().clock)();
                for line in self.projector.delta(&of, &delta, now) {
                    self.queue.push_back(Ok(RunEvent::read(line)?));
                }
            }
            Live::Delta { .. } | Live::Notice(_) => {}
        }
        Ok(())
    }

    fn fact(&mut self, id: EventId, line: Value) -> Result<(), Error> {
        let event = RunEvent::read(line)?;
        match &event {
            RunEvent::ActionPlanned(planned) => {
                self.planned.insert(planned.call, (*planned.data).clone());
            }
            RunEvent::ActionValidated(validated) => {
                self.verdicts.insert(validated.call, validated.verdict.clone());
            }
            RunEvent::ApprovalRequired(pending) => {
                let call = pending.call;
                let mut pending = pending.clone();
                pending.data.verdict = self.verdicts.get(&call).cloned();
                pending.data.trace = Some(self.trace.clone());
                self.asked.insert(call, pending);
                if id >= self.from {
                    self.announce(call);
                }
                return Ok(());
            }
            RunEvent::ApprovalGranted(granted) => drop(self.asked.remove(&granted.call)),
            RunEvent::ApprovalDenied(denied) => drop(self.asked.remove(&denied.call)),
            RunEvent::ObservationRecorded(observation) => drop(self.asked.remove(&observation.call())),
            _ => {}
        }
        if id >= self.from {
            self.queue.push_back(Ok(event));
        }
        Ok(())
    }

    fn ask(&mut self, waiting: &Waiting) {
        match waiting {
            Waiting::Approval(call) => self.announce(*call),
            Waiting::Answer(call) => self.question(*call),
            Waiting::Child(_) | Waiting::Timer => {}
        }
    }

    fn announce(&mut self, call: CallId) {
        if let Some(pending) = self.asked.get(&call).filter(|_| !self.told.contains(&call)) {
            self.queue.push_back(Ok(RunEvent::ApprovalRequired(pending.clone())));
            self.told.insert(call);
        }
    }

    fn question(&mut self, call: CallId) {
        // One that was approved before has been announced as that, not as a question.
        let Some(planned) = self.planned.get(&call).filter(|_| self.questions.insert(call)) else { return };
        let ActionPlanned { tool, arguments, .. } = planned.clone();
        let state = self.projector.state();
        let stamped = Stamped {
            v: LOG_VERSION,
            ts: format_time((self.trace.host().runtime().config().clock)()),
            trace_id: state.trace.clone(),
            run_id: format!("{}/{}", state.trace, state.counts.runs),
            turn: state.counts.turns,
            id: None,
            mail: None,
            data: Box::new(PendingQuestion { call, tool, arguments, trace: Some(self.trace.clone()) }),
        };
        self.queue.push_back(Ok(RunEvent::QuestionAsked(stamped)));
    }
}
