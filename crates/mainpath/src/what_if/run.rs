//! A run is decided again: offline up to the first difference, and from there in a copy of the folder.

use super::answers::OnlyInCopy;
use super::change::{WhatIf, asks_the_same, spec_at};
use super::folder::{Original, copy_as_it_was, to};
use super::held::{HeldCopy, sweep};
use super::lane::LaneFigures;
use super::provider::FirstRecorded;
use crate::event::RunEvent;
use crate::recorded::{
    Consent, Difference, PlaySeed, PlaySetup, RecordedAnswer, RecordedStep, common_hash, differ_in_verdicts,
    differ_only_in_calls, first_difference, first_under_another, play, recording, step_messages, steps,
};
use crate::trace::{Read, Restore};
use crate::trial::mark_what_if;
use crate::{Error, ErrorKind, Host, Outcome, Trace, launcher};
use mainpath_core::{Run, State, apply};
use mainpath_runtime::{Mail, Models, new_trace_id};
use mainpath_store::scheduler::system_clock;
use mainpath_types::{
    Access, ApprovalMode, Copied, EffectClass, EventId, EventKind, FinishReason, Limits, MessageMode, Millis, Part,
    Principal, Protocol, RunRules, Seq, Spec, TraceId,
};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

/// Why a call is denied that nobody has agreed to.
const NOBODY: &str = "nobody is there to ask where a run is decided again";

/// What came of deciding a run again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WhatIfOutcome {
    /// The run.
    pub from: TraceId,
    /// The first difference; `None`: there is none, and nothing was asked or run.
    pub difference: Option<Difference>,
    /// How many steps came from the log: both have them in common.
    pub served: u32,
    /// The hash of these.
    pub common: String,
    /// The trace of the run that was decided again, where it was.
    pub trace: Option<TraceId>,
    /// The copy of the folder that it worked in.
    pub folder: Option<PathBuf>,
    /// What of the copy is not as it was, a line each.
    pub not_restored: Vec<String>,
    /// The message from which another agent went on, if one did: that is not decided again.
    pub until: Option<Seq>,
    /// How many calls were refused because they reach out of the copy.
    pub refused: u32,
    /// Why it did not come to an end of its own: its model failed, or it asked a person, who is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The run from the message on,
    pub original: LaneFigures,
    /// and as it was decided again.
    pub again: LaneFigures,
}

/// From where on a model is asked, and what it is given there.
struct Start {
    /// The message that the two have in common last.
    after: Seq,
    /// What is said there; nothing: the model answers.
    said: Option<Vec<Part>>,
    /// The recorded answer that both have, where only its calls went otherwise.
    first: Option<RecordedAnswer>,
}

/// A run that is decided again from there.
struct Again<'a> {
    host: &'a Host,
    from: &'a TraceId,
    read: &'a Read,
    what: &'a WhatIf,
    /// Whether what is decided again breaks off where it went on.
    is_open: bool,
}

impl Host {
    /// Decides a run again from a message on. Errors: it has no such message, something of it was imported or erased, its folder is gone
    /// or too large to be copied, or its model cannot be used.
    pub async fn what_if(&self, from: &TraceId, what: &WhatIf) -> Result<WhatIfOutcome, Error> {
        let refused = |error: Error| Error::new(ErrorKind::Refused, format!("{from}: {}", error.message()));
        let at = self.at(from);
        let read = Read::of(at).await?;
        if let Some(damage) = &read.log.damage {
            let why = format!("{from}: its log is damaged, so that not all of it can be decided again: {damage}");
            return Err(Error::new(ErrorKind::Refused, why));
        }
        let mut recording = recording(at, &read, what.at).await.map_err(refused)?;
        let of = read.at(at);
        let reached = of.reached(what.at)?;
        let old = match what.at {
            // The one that its first run began with.
            Seq(0) => spec_at(&read.log.events, begins(&read))?,
            _ => spec_at(&read.log.events, reached)?,
        };
        if !Path::new(&old.workspace).is_dir() {
            let problem =
                format!("{from}: its folder {} is gone, so nothing can be tried in a copy of it", old.workspace);
            return Err(Error::new(ErrorKind::Refused, problem));
        }
        let messages = step_messages(&read.state);
        // What was done by another agent later is not decided again.
        let since = if what.at == Seq(0) { begins(&read) } else { reached };
        let until = first_under_another(&read, since, old);
        if let Some(other) = until {
            recording.truncate(messages.iter().take_while(|seq| **seq < other).count());
        }
        let taken = messages.iter().take_while(|seq| **seq <= what.at).count();
        let is_at = |index: usize| index.checked_sub(1).and_then(|last| messages.get(last)).copied().unwrap_or(Seq(0));
        let decided = messages.get(taken..recording.len()).unwrap_or_default();
        let original = LaneFigures::of(recording.get(taken..).unwrap_or_default(), decided, &read.log.events);
        let mut outcome = WhatIfOutcome {
            from: from.clone(),
            difference: None,
            served: u32::try_from(recording.len()).unwrap_or(u32::MAX),
            common: common_hash(&recording),
            trace: None,
            folder: None,
            not_restored: Vec::new(),
            until,
            refused: 0,
            problem: None,
            again: original.clone(),
            original,
        };
        let is_open = until.is_some() || read.state.run.is_some();
        let again = Again { host: self, from, read: &read, what, is_open };
        let mut parted_by = None;
        let (start, served) = if asks_the_same(old, &what.spec) {
            let Some(parted) = again.offline(old, &recording).await? else { return Ok(outcome) };
            let index = parted.index();
            let first = match recording.get(index) {
                Some(RecordedStep::Answered(answer)) if parted.is_of_calls => {
                    parted_by = Some(parted.what);
                    Some((**answer).clone())
                }
                _ => None,
            };
            (Start { after: is_at(index), said: None, first }, index)
        } else {
            let said = match recording.get(taken) {
                Some(RecordedStep::Said { parts, .. }) => Some(parts.clone()),
                _ => None,
            };
            // What is said there is of the log as well.
            let served = taken + usize::from(said.is_some());
            (Start { after: is_at(taken), said, first: None }, served)
        };
        let old = old.clone();
        // Where calls reach others, what was agreed to once is not done to them again.
        let agreed = Consent::of(if what.live { &[] } else { &recording });
        let made = again.live(start, &old, &agreed, &mut outcome).await?;
        outcome.difference = match parted_by {
            // What is changed, not that nobody could be asked about another call of the same answer.
            Some(what) => Some(Difference::at(served, what, &recording, &made.steps)),
            None => first_difference(&recording, &made.steps),
        };
        outcome.served = u32::try_from(served).unwrap_or(u32::MAX);
        outcome.common = common_hash(recording.get(..served).unwrap_or_default());
        let decided = step_messages(&made.read.state);
        let decided = decided.get(taken..).unwrap_or_default();
        outcome.again = LaneFigures::of(made.steps.get(taken..).unwrap_or_default(), decided, &made.read.log.events);
        outcome.trace = Some(made.id);
        Ok(outcome)
    }
}

/// The limit of which nothing is left.
#[derive(Clone, Copy, Debug, thiserror::Error)]
enum LimitSpent {
    #[error("nothing is left of its turns")]
    Turns,
    #[error("nothing is left of its calls")]
    Calls,
    #[error("nothing is left of its tokens")]
    Tokens,
    #[error("nothing is left of its money")]
    Money,
    #[error("nothing is left of its time")]
    Time,
}

/// The limits without what a run has used of them by then. Errors: nothing is left of one.
fn left(limits: Limits, run: &Run, now: Millis) -> Result<Limits, LimitSpent> {
    fn rest<T: TryFrom<u64> + Into<u64> + Copy>(
        limit: Option<T>,
        used: u64,
        spent: LimitSpent,
    ) -> Result<Option<T>, LimitSpent> {
        let Some(limit) = limit else { return Ok(None) };
        match limit.into().saturating_sub(used) {
            0 => Err(spent),
            rest => Ok(Some(T::try_from(rest).unwrap_or(limit))),
        }
    }
    let worked = run.worked(now).saturating_add(run.children_ms);
    Ok(Limits {
        turns: rest(limits.turns, run.turns.into(), LimitSpent::Turns)?,
        calls: rest(limits.calls, run.calls.into(), LimitSpent::Calls)?,
        tokens: rest(limits.tokens, run.usage.total(), LimitSpent::Tokens)?,
        money: rest(limits.money, run.cost, LimitSpent::Money)?,
        run_timeout_ms: rest(limits.run_timeout_ms, worked, LimitSpent::Time)?,
        ..limits
    })
}

/// The event with which the first run began; the end of the log where none has.
fn begins(read: &Read) -> EventId {
    let started = read.log.events.iter().find(|event| matches!(event.kind, EventKind::RunStarted(_)));
    started.map_or(read.log.head, |event| event.id)
}

/// Where an offline play parts from the run.
struct Parted {
    step: u32,
    what: String,
    is_of_calls: bool,
    is_of_rules: bool,
}

impl Parted {
    /// The step, from 0.
    fn index(&self) -> usize {
        self.step.saturating_sub(1) as usize
    }
}

/// The trace that was made.
struct Made {
    id: TraceId,
    steps: Vec<RecordedStep>,
    read: Arc<Read>,
}

impl Again<'_> {
    /// Plays on offline from the message, under the new rules. Gives where that parts from the run because of what is changed. Errors: the
    /// log does not suffice to play the run as it was.
    async fn offline(&self, old: &Spec, recording: &[RecordedStep]) -> Result<Option<Parted>, Error> {
        let Some(parted) = self.played(old, &self.what.spec, recording).await? else { return Ok(None) };
        if parted.is_of_rules {
            return Ok(Some(parted));
        }
        let unchanged = match self.what.spec == *old {
            true => None,
            false => Some(self.played(old, old, recording).await?),
        };
        let cannot = match &unchanged {
            None => Some(&parted),
            Some(unchanged) => unchanged.as_ref().filter(|same| !same.is_of_rules && same.step <= parted.step),
        };
        let Some(Parted { what, step, .. }) = cannot else { return Ok(Some(parted)) };
        let message = step_messages(&self.read.state).get(cannot.map_or(0, Parted::index)).copied();
        let later = message.map_or(String::new(), |message| format!("; after it: --at {message}"));
        let problem = format!(
            "{}: the log does not suffice to play step {step} as it was ({what}), so nothing was decided again{later}",
            self.from
        );
        Err(Error::new(ErrorKind::Refused, problem))
    }

    /// Plays on offline from the message, as this agent. Gives where that parts from the run.
    async fn played(&self, old: &Spec, new: &Spec, recording: &[RecordedStep]) -> Result<Option<Parted>, Error> {
        let (host, events) = (self.host, &self.read.log.events);
        let id = new_trace_id(system_clock()).map_err(|error| Error::failed(error.to_string()))?;
        let scope = host.scope();
        let forked = mainpath_core::fork(self.from, events, self.what.at, &id, &scope.principal, system_clock());
        let forked = forked.map_err(|refusal| Error::invalid(refusal.to_string()))?;
        let mut blobs = Vec::new();
        for hash in forked.iter().flat_map(|event| event.kind.long_texts()) {
            // What is not there is told when it is needed.
            if let Ok(bytes) = host.scoped().get_blob(&hash).await {
                blobs.push(bytes);
            }
        }
        let sources = host.inner.sources.clone();
        let policy = move |folder: &Path, run: &RunRules| sources.load(&folder.display().to_string(), run);
        // The folder is that of the run, in which nothing runs now; who decided then decides so again.
        let spec =
            Spec { mode: old.mode, mode_for: None, snapshots: false, workspace: old.workspace.clone(), ..new.clone() };
        let same_limits = spec.limits == old.limits;
        let seed = PlaySeed { events: forked, blobs, after: self.what.at };
        let played = play(PlaySetup {
            host,
            registry: Arc::new(host.registry().clone()),
            spec,
            recording: recording.to_vec(),
            launcher: launcher::own(),
            policy: Arc::new(policy),
            seed: Some(seed),
            is_open: self.is_open,
            same_limits,
        });
        let played = played.await?;
        let Some(parted) = played.parted else { return Ok(None) };
        let mut at = Parted { step: parted.step, what: parted.what, is_of_calls: false, is_of_rules: false };
        let (then, now) = (recording.get(at.index()), played.steps.get(at.index()));
        (at.is_of_calls, at.is_of_rules) = (differ_only_in_calls(then, now), differ_in_verdicts(then, now));
        Ok(Some(at))
    }

    /// Runs on in a fork, in a copy of the folder.
    async fn live(
        &self,
        start: Start,
        old: &Spec,
        agreed: &Consent,
        outcome: &mut WhatIfOutcome,
    ) -> Result<Made, Error> {
        let (host, what) = (self.host, self.what);
        let Start { after, said, first } = start;
        let limits = self.limits(after, said.is_some())?;
        host.prepare_model(&what.spec.model).await?;
        let id = new_trace_id(system_clock()).map_err(|error| Error::failed(error.to_string()))?;
        let Some(folders) = host.home().copies() else {
            return Err(Error::failed("there is no home to put a copy of the folder into: set HOME"));
        };
        sweep(&folders);
        let held = HeldCopy::begin(&folders, &id)?;
        let folder = held.folder().to_path_buf();
        let of = self.read.at(host.at(self.from));
        let restore = Restore::new(of, to(after), host.home().protected())?;
        let original = Original::new(Path::new(&old.workspace), host.home())?;
        outcome.not_restored = copy_as_it_was(original, &folder, restore, host.scoped(), &what.stop).await?;
        // A turn that is text is asked for as text: what was recorded is a turn already.
        let first = first.filter(|_| what.spec.protocol != Protocol::Json);
        let models = Arc::new(host.inner.models.with_registry(host.registry().clone()));
        for spec in (0..=what.spec.fallback.len()).map(|which| what.spec.on_model(which)) {
            let then = host.inner.models.find_for(&spec).map_err(|error| Error::invalid(error.to_string()))?;
            models.add(&spec.model, Arc::new(FirstRecorded { first: Mutex::new(first.clone()), then }));
        }
        let answers = Arc::new(OnlyInCopy { live: what.live, ..OnlyInCopy::default() });
        host.check_usable()?;
        let copied = host.with_parts(host.tools().answered_by(Arc::clone(&answers) as _), models);
        let (scope, mut spec) = (host.scope(), self.spec(old, &folder));
        spec.limits = limits;
        copied.runtime().fork(scope, self.from, after, &id).await?;
        copied.runtime().send(scope, &id, &Mail::SetSpec { spec: Arc::new(spec) }).await?;
        for skill in &what.skills {
            copied.runtime().send(scope, &id, skill).await?;
        }
        let trace = Trace::new(copied, id.clone());
        let mail = match said {
            Some(parts) => Mail::Message { mode: MessageMode::Message, parts, typed: None },
            None => Mail::Rewind { after, parts: None },
        };
        // What is decided here was decided by no person.
        let system = Trace::new(trace.host().acting_as(Principal::system()), id.clone());
        let mut run = trace.go_on(mail).await?;
        let mut is_stopped = false;
        loop {
            let event = tokio::select! {
                event = run.next() => event,
                () = what.stop.stopped(), if !is_stopped => {
                    is_stopped = true;
                    trace.stop().await?;
                    continue;
                }
            };
            match event.transpose()? {
                Some(RunEvent::ApprovalRequired(pending)) if agreed.covers(&pending) => {
                    system.approve(pending.call).await?;
                }
                Some(RunEvent::ApprovalRequired(pending)) => system.deny(pending.call, Some(NOBODY.into())).await?,
                Some(RunEvent::QuestionAsked(_)) => {
                    outcome.problem = Some("it asked a person, and nobody is there to answer".into());
                    trace.stop().await?;
                }
                Some(_) => {}
                None => break,
            }
        }
        let Outcome { reason, error, .. } = run.outcome().await?;
        if let Some(error) = error.filter(|_| reason == FinishReason::ModelError) {
            outcome.problem = Some(format!("the model failed: {}", error.message));
        }
        if is_stopped {
            let problem =
                format!("stopped; what was done by then is in trace {id}, and its copy of the folder is removed");
            return Err(Error::failed(problem));
        }
        outcome.folder = Some(held.keep());
        outcome.refused = answers.refused.load(Ordering::Relaxed);
        let read = trace.look().await?;
        let steps = steps(host.at(&id), &read, what.at).await?;
        Ok(Made { id, steps, read })
    }

    /// What is left of the limits after a message, which the run that is decided again has used up to there. Errors: nothing is.
    fn limits(&self, after: Seq, is_said: bool) -> Result<Limits, Error> {
        let limits = self.what.spec.limits.clone().without_zeros();
        // What is said begins a run of its own.
        if is_said {
            return Ok(limits);
        }
        let of = self.read.at(self.host.at(self.from));
        let reached = of.reached(after)?;
        let mut state = State::new(self.from.clone());
        let events = &self.read.log.events;
        let (before, later) = events.split_at(events.partition_point(|event| event.id <= reached));
        before.iter().for_each(|event| apply(&mut state, event));
        // What comes next may be of a run that somebody began with limits of its own, as where an earlier one had ended by its limit.
        let mut next = later.iter().map(|event| &event.kind);
        let next = next.find(|kind| matches!(kind, EventKind::RunStarted(_) | EventKind::ModelRequested(_)));
        let Some(run) = state.run.as_ref().filter(|_| !matches!(next, Some(EventKind::RunStarted(_)))) else {
            return Ok(limits);
        };
        left(limits, run, state.log.now).map_err(|spent| {
            let problem = format!(
                "{}: with these limits {spent} at message {after}, so nothing after that is decided again",
                self.from
            );
            Error::new(ErrorKind::Refused, problem)
        })
    }

    /// The agent in the copy.
    fn spec(&self, old: &Spec, folder: &Path) -> Spec {
        let WhatIf { spec, live, yes, .. } = self.what;
        let mut spec = spec.clone();
        spec.workspace = folder.display().to_string();
        spec.copy = Some(Copied { of: old.source().to_owned(), repository: None });
        spec.mode = match (yes, old.mode) {
            (true, _) => ApprovalMode::Yes,
            (false, ApprovalMode::Deny) => ApprovalMode::Deny,
            (false, ApprovalMode::Ask | ApprovalMode::Yes) => ApprovalMode::Ask,
        };
        spec.mode_for = None;
        if spec.access == Access::Full {
            spec.access = Access::WorkspaceWrite;
        }
        if !live {
            spec.network = false;
            spec.tools.retain(|tool| !matches!(tool.effect, EffectClass::StartChild | EffectClass::AskPerson));
        }
        mark_what_if(&mut spec, self.from);
        spec
    }
}
