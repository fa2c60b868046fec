//! What a run took, counted from a log: how it ended, its turns, its models, its tools. Sums of runs are statistics over traces and
//! days.

use crate::history::telemetry::{ToolStats, Tools};
use mainpath_core::{State, apply};
use mainpath_types::{
    BranchKind, Event, EventId, EventKind, FinishReason, Micros, Millis, Spec, Spent, TraceId, TraceNamed, Usage,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStats {
    /// Its number in the trace.
    pub run: u32,
    /// When it began.
    pub began: Millis,
    /// Why it ended; `None` while it goes on.
    pub reason: Option<FinishReason>,
    /// What is counted of it.
    #[serde(flatten)]
    pub counts: Counts,
}

/// What is counted of a run, or of many.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// From start to end, waiting for people and for agents not counted, in milliseconds.
    pub ms: u64,
    /// The turns; one that the run's end cut short is counted up to there.
    pub turns: Times,
    /// By model.
    pub models: BTreeMap<String, ModelStats>,
    /// By tool.
    pub tools: BTreeMap<String, ToolStats>,
}

/// How often something took how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// How often.
    pub count: u64,
    /// Milliseconds together.
    pub total_ms: u64,
    /// Milliseconds of the longest.
    pub longest_ms: u64,
}

/// The requests to one model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelStats {
    /// How often it was asked.
    pub requests: u64,
    /// Its answers, those in no valid form among them.
    pub answers: Times,
    /// How often the answer was in no valid form.
    pub malformed: u64,
    /// Requests that failed, by kind.
    pub failed: BTreeMap<String, u64>,
    /// Requests that were given up or lost.
    pub abandoned: u64,
    /// What all of them used.
    pub usage: Usage,
    /// What that cost, in micro-units.
    pub cost: Micros,
    /// Whether some of that was estimated.
    #[serde(default)]
    pub about: bool,
}

impl Times {
    /// Counts one more.
    pub fn note(&mut self, ms: u64) {
        self.add(&Times { count: 1, total_ms: ms, longest_ms: ms });
    }

    /// Counts those, too.
    pub fn add(&mut self, other: &Times) {
        self.count += other.count;
        self.total_ms = self.total_ms.saturating_add(other.total_ms);
        self.longest_ms = self.longest_ms.max(other.longest_ms);
    }

    /// How long one takes on average, in milliseconds; `None` if there was none.
    pub fn mean_ms(&self) -> Option<u64> {
        self.total_ms.checked_div(self.count)
    }
}

impl ModelStats {
    /// How many requests failed.
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    fn add(&mut self, other: &ModelStats) {
        let ModelStats { requests, answers, malformed, failed, abandoned, usage, cost, about } = other;
        self.requests += requests;
        self.answers.add(answers);
        self.malformed += malformed;
        self.abandoned += abandoned;
        for (kind, times) in failed {
            *self.failed.entry(kind.clone()).or_default() += times;
        }
        self.spend(Spent { usage: *usage, cost: *cost, about: *about });
    }

    fn spend(&mut self, more: Spent) {
        let mut sum = self.spent();
        sum += more;
        (self.usage, self.cost, self.about) = (sum.usage, sum.cost, sum.about);
    }

    /// What all of them really used, as far as it is known.
    pub fn spent(&self) -> Spent {
        Spent { usage: self.usage, cost: self.cost, about: self.about }
    }
}

impl Counts {
    /// Counts those of another run, too.
    pub fn add(&mut self, other: &Counts) {
        self.ms = self.ms.saturating_add(other.ms);
        self.turns.add(&other.turns);
        for (model, stats) in &other.models {
            self.models.entry(model.clone()).or_default().add(stats);
        }
        for (tool, stats) in &other.tools {
            self.tools.entry(tool.clone()).or_default().add(stats);
        }
    }

    /// What all models used, and what that cost.
    pub fn spent(&self) -> Spent {
        let mut sum = Spent::default();
        self.models.values().for_each(|model| sum += model.spent());
        sum
    }
}

/// The runs of a log, oldest first. What a fork has from another trace is counted there.
pub fn runs<'a>(trace: &TraceId, events: impl IntoIterator<Item = &'a Event>) -> Vec<RunStats> {
    let mut counting = RunCounting::new(trace.clone());
    events.into_iter().for_each(|event| counting.note(event));
    counting.runs()
}

/// The runs of a log as it is read, from its first event on.
pub struct RunCounting {
    state: State,
    runs: Vec<RunStats>,
    tools: Tools,
    specs: BTreeMap<EventId, Arc<Spec>>,
    /// When the turn under way began.
    turn: Option<Millis>,
}

impl RunCounting {
    /// Before the first event.
    pub fn new(trace: TraceId) -> RunCounting {
        let (runs, tools, specs) = (Vec::new(), Tools::default(), BTreeMap::new());
        RunCounting { state: State::new(trace), runs, tools, specs, turn: None }
    }

    /// The state after what was noted.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Takes in the next event.
    pub fn note(&mut self, event: &Event) {
        // Asked before it is applied: what ends with the event is still known.
        let model = self.state.spec.as_ref().and_then(|head| {
            let spec = self.specs.get(&head.event)?;
            let other = head.using.checked_sub(1).and_then(|at| spec.fallback.get(at));
            Some(other.map_or(&spec.model, |other| &other.model).clone())
        });
        let working = working(&self.state, event.ts);
        apply(&mut self.state, event);
        match &event.kind {
            EventKind::SpecChanged(data) => drop(self.specs.insert(event.id, Arc::clone(&data.spec))),
            EventKind::Forked(_) => {
                (self.runs, self.turn) = (Vec::new(), None);
                self.tools.begin();
            }
            EventKind::RunStarted(data) => {
                self.runs.push(RunStats { run: data.run, began: event.ts, ..RunStats::default() });
                self.tools.begin();
                self.turn = None;
            }
            _ => {}
        }
        let Some(run) = self.runs.last_mut().filter(|run| run.reason.is_none()) else { return };
        self.tools.count(&event.kind);
        if let EventKind::TraceNamed(TraceNamed { made: Some(made), .. }) = &event.kind {
            let stats = run.counts.models.entry(made.model.clone()).or_default();
            stats.requests += 1;
            stats.spend(made.spent());
        }
        if let Some(model) = model {
            asked(run.counts.models.entry(model).or_default(), &event.kind);
        }
        match &event.kind {
            // A summary is no turn; a repair is part of one.
            _ if self.state.branch.is_some_and(|branch| branch.kind != BranchKind::Repair) => {}
            EventKind::ModelRequested(_) => self.turn = self.turn.or(Some(working)),
            EventKind::TurnFinished(_) | EventKind::ModelFinished(_) if self.state.turn.is_none() => {
                if let Some(since) = self.turn.take() {
                    run.counts.turns.note(working.saturating_sub(since));
                }
            }
            EventKind::RunFinished(data) => {
                if let Some(since) = self.turn.take() {
                    run.counts.turns.note(working.saturating_sub(since));
                }
                run.reason = Some(data.reason);
                run.end(working, std::mem::take(&mut self.tools.stats));
            }
            _ => {}
        }
    }

    /// The runs up to there, oldest first.
    pub fn runs(mut self) -> Vec<RunStats> {
        if let Some(run) = self.runs.last_mut().filter(|run| run.reason.is_none()) {
            run.end(working(&self.state, self.state.log.now), self.tools.stats);
        }
        self.runs
    }

    /// The last run, if it has ended.
    pub fn last_ended(&self) -> Option<&RunStats> {
        self.runs.last().filter(|run| run.reason.is_some())
    }
}

impl RunStats {
    /// It worked for so long, with these tools.
    fn end(&mut self, ms: Millis, tools: BTreeMap<String, ToolStats>) {
        (self.counts.ms, self.counts.tools) = (ms, tools);
        self.counts.models.retain(|_, stats| *stats != ModelStats::default());
    }
}

/// For how long the run had worked by then, in milliseconds: waiting for people and for agents is no work.
fn working(state: &State, at: Millis) -> Millis {
    state.run.as_ref().map_or(0, |run| run.worked(at))
}

fn asked(stats: &mut ModelStats, kind: &EventKind) {
    match kind {
        EventKind::ModelRequested(_) => stats.requests += 1,
        EventKind::ModelFinished(data) => {
            stats.answers.note(data.elapsed_ms);
            stats.spend(data.spent());
        }
        EventKind::ModelMalformed(data) => {
            stats.answers.note(data.elapsed_ms);
            stats.malformed += 1;
            stats.spend(data.spent());
        }
        EventKind::ModelFailed(data) => {
            let kind = serde_json::to_value(data.error.kind).ok();
            let kind = kind.as_ref().and_then(serde_json::Value::as_str).unwrap_or("error").to_string();
            *stats.failed.entry(kind).or_default() += 1;
            stats.spend(data.spent());
        }
        EventKind::ModelAbandoned(data) => {
            stats.abandoned += 1;
            stats.spend(data.spent());
        }
        _ => {}
    }
}
