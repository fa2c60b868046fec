//! A play under way: what it has come to, held against its recording.

use super::compare::{Difference, answers_differ, call_differs, calls_before, differs};
use super::ending::is_limit;
use super::reading::{step_messages, steps};
use super::step::{CallStep, RecordedAnswer, RecordedStep};
use crate::Error;
use crate::trace::Read;
use mainpath_runtime::{Mail, Vault, post};
use mainpath_store::{Scope, Store, TraceStore};
use mainpath_types::{CallId, EventKind, FinishReason, MessageMode, Part, Resolution, Seq, TraceId};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// So long it is waited, at most, until a run has heard what redirects or stops it: so many times,
const LOOKS: u32 = 5_000;
/// and so long each.
const LOOK: Duration = Duration::from_millis(1);

/// A play under way. What it has come to is read from its log, in which everything stands before it is acted on.
pub(super) struct Playing {
    pub store: Arc<dyn Store>,
    pub scope: Scope,
    pub trace: TraceId,
    pub recording: Vec<RecordedStep>,
    /// The secrets that nothing that is said may hold.
    pub vault: Vault,
    /// What was read of its log.
    pub read: tokio::sync::Mutex<Option<Read>>,
    /// The steps after which it was said again what redirected the run.
    pub steered: Mutex<BTreeSet<usize>>,
    /// Where it has parted from the recording, once it has.
    pub parted: Mutex<Option<Difference>>,
    /// Whether the recording breaks off where its run went on.
    pub is_open: bool,
    /// Whether the limits are those of the recorded run: what they ended ends again.
    pub same_limits: bool,
    /// The message that it goes on from; 0: none.
    pub after: Seq,
    /// Where it began, if it goes on from a log.
    pub seed: OnceLock<SeedEnd>,
    /// The calls that end as they were recorded: what interrupted one, or the clock of a question, does not come again.
    pub as_recorded: Mutex<BTreeSet<CallId>>,
    /// Why the run was ended that goes on or has ended last, if it was ended because the recorded one was.
    pub ended_as: Mutex<Option<FinishReason>>,
}

/// The last step of the log that a play goes on from.
pub(super) struct SeedEnd {
    /// Which, from 0.
    pub step: usize,
    /// How often a run had ended there.
    pub ends: usize,
}

/// What comes next in a recording.
pub(super) enum NextRecorded<'a> {
    /// This answer.
    Answer(AnswerAt<'a>),
    /// The run ended, for this reason.
    End(FinishReason),
}

/// A recorded answer, and which step it is, from 0.
pub(super) struct AnswerAt<'a> {
    pub step: usize,
    pub answer: &'a RecordedAnswer,
}

/// A recorded call, and where it is.
pub(super) struct CallAt<'a> {
    pub step: usize,
    pub call: &'a CallStep,
    /// Whether no later one of its answer was run.
    pub is_last_run: bool,
    /// Whether something that was said then has skipped it.
    pub is_steered: bool,
    /// Whether the run ended while it, or one after it, was open.
    pub is_cut: bool,
}

/// Whether a call was run, or may have been, and was not only decided on.
pub(super) fn was_run(call: &CallStep) -> bool {
    call.resolution.is_some_and(|end| match end {
        Resolution::Ok | Resolution::Error | Resolution::Interrupted | Resolution::Unknown => true,
        Resolution::Denied | Resolution::Skipped => false,
    })
}

/// Whether a call was open when its run ended, or is.
pub(super) fn was_open(call: &CallStep) -> bool {
    matches!(call.resolution, None | Some(Resolution::Interrupted))
}

impl Playing {
    /// Its steps so far. A call that was ended as it was recorded has the recorded end.
    pub async fn steps(&self) -> Result<Vec<RecordedStep>, Error> {
        let at = self.at();
        let mut known = self.read.lock().await;
        let read = match known.take() {
            // Each step asks: only what came since is read.
            Some(mut read) => {
                let tail = at.read(read.log.head + 1).await?;
                read.extend(tail);
                known.insert(read)
            }
            None => known.insert(Read::of(at).await?),
        };
        let mut played = steps(at, read, self.after).await?;
        let as_recorded = self.as_recorded.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let messages = step_messages(&read.state);
        for call in as_recorded {
            let Some(step) = messages.iter().position(|seq| *seq == call.seq) else { continue };
            let (Some(RecordedStep::Answered(now)), Some(RecordedStep::Answered(then))) =
                (played.get_mut(step), self.recording.get(step))
            else {
                continue;
            };
            let index = usize::from(call.index);
            if let (Some(now), Some(then)) = (now.calls.get_mut(index), then.calls.get(index))
                && now.resolution.is_some()
            {
                (now.resolution, now.output, now.reason) = (then.resolution, then.output.clone(), then.reason.clone());
            }
        }
        Ok(played)
    }

    fn at(&self) -> TraceStore<'_> {
        TraceStore::new(&*self.store, &self.scope, &self.trace)
    }

    /// Has a call end as it was recorded, whatever it comes to.
    pub fn end_as_recorded(&self, call: CallId) {
        self.as_recorded.lock().unwrap_or_else(PoisonError::into_inner).insert(call);
    }

    /// Notes where it has parted from the recording; the first place stays.
    pub fn part(&self, difference: Difference) -> Difference {
        self.parted.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(difference).clone()
    }

    /// What the recording has where the model is asked now. Errors: where the two have parted.
    pub async fn next(&self) -> Result<Result<NextRecorded<'_>, Difference>, Error> {
        let played = self.steps().await?;
        if let Some(difference) = self.difference(&played) {
            return Ok(Err(self.part(difference)));
        }
        if let Some(reason) = self.recorded_end(&played) {
            return Ok(self.ends_again(reason, &played).map(|()| NextRecorded::End(reason)));
        }
        Ok(match self.recording.get(played.len()) {
            Some(RecordedStep::Answered(answer)) => Ok(NextRecorded::Answer(AnswerAt { step: played.len(), answer })),
            other => {
                let what = match other {
                    Some(_) => "the model is asked where it was not",
                    None => "the recording ends before it",
                };
                Err(self.part(Difference::at(played.len(), what.into(), &self.recording, &played)))
            }
        })
    }

    /// The call as it was recorded, if it was made with the same arguments after all the same. Nothing: it was not.
    pub async fn recorded_call(&self, call: CallId) -> Result<Option<CallAt<'_>>, Error> {
        let played = self.steps().await?;
        let Some((RecordedStep::Answered(now), before)) = played.split_last() else { return Ok(None) };
        if let Some(difference) = self.difference(before) {
            self.part(difference);
            return Ok(None);
        }
        let Some(RecordedStep::Answered(then)) = self.recording.get(before.len()) else { return Ok(None) };
        let index = usize::from(call.index);
        // Those before it in the same turn too: what they did, it may have found.
        let earlier = then.calls.iter().zip(&now.calls).take(index + 1);
        let number = calls_before(&self.recording, before.len()) + 1;
        let mut differing = earlier
            .enumerate()
            .filter_map(|(at, (a, b))| call_differs(a, b).map(|what| format!("call {}: {what}", number + at)));
        let differs = answers_differ(then, now).or_else(|| differing.next());
        if let Some(what) = differs {
            self.part(Difference::at(before.len(), what, &self.recording, &played));
            return Ok(None);
        }
        let is_last_run = !then.calls.iter().skip(index + 1).any(was_run);
        let is_open = then.calls.iter().skip(index).any(was_open);
        let end = self.recorded_end(&played).filter(|_| is_open);
        if let Some(reason) = end
            && self.ends_again(reason, &played).is_err()
        {
            return Ok(None);
        }
        let is_redirected =
            matches!(self.recording.get(before.len() + 1), Some(RecordedStep::Said { steer: true, .. }));
        Ok(then.calls.get(index).map(|call| CallAt {
            step: before.len(),
            call,
            is_last_run,
            is_steered: is_redirected && call.resolution == Some(Resolution::Skipped),
            is_cut: end.is_some(),
        }))
    }

    /// Why the recorded run ended where the play is now, before anything else was said or answered. `None`: it did not.
    pub fn recorded_end(&self, played: &[RecordedStep]) -> Option<FinishReason> {
        let (now, before) = played.split_last()?;
        let (mut ends, mut known) = (self.recording.get(before.len())?.ends(), now.ends().len());
        let next = self.recording.get(played.len());
        if let Some(seed) = self.seed.get().filter(|seed| seed.step == before.len()) {
            // Who decides again from here on goes on from here: only the last end may come again.
            let past = if next.is_some() { ends.len() } else { ends.len().saturating_sub(1) };
            ends = ends.get(past..).unwrap_or_default();
            known = known.saturating_sub(seed.ends);
        }
        match (ends.get(known), next) {
            (Some(reason), _) => Some(*reason),
            // Somebody went back, and what was answered is on no path any more.
            (None, Some(RecordedStep::Said { steer: false, .. })) => Some(FinishReason::Stopped),
            (None, None) if self.is_open && known == ends.len() => Some(FinishReason::Stopped),
            (None, _) => None,
        }
    }

    /// Notes that the run is ended because the recorded one was. Errors: under other limits it would have gone on, so the two part.
    fn ends_again(&self, reason: FinishReason, played: &[RecordedStep]) -> Result<(), Difference> {
        if is_limit(reason) && !self.same_limits {
            let what = format!("the recorded run had ended ({}), and this one goes on", reason.as_str());
            return Err(self.part(Difference::at(played.len(), what, &self.recording, played)));
        }
        *self.ended_as.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
        Ok(())
    }

    /// Whether the recorded run was gone on with, without a word, where the play's has ended now.
    pub fn goes_on(&self, played: &[RecordedStep]) -> bool {
        let Some((now, before)) = played.split_last() else { return false };
        let then = self.recording.get(before.len()).map_or(0, |step| step.ends().len());
        let known = now.ends().len();
        match self.recording.get(played.len()) {
            Some(_) => 0 < known && known <= then,
            None => self.recorded_end(played).is_some() && 0 < known,
        }
    }

    /// Stops the run, and waits until it has heard that.
    pub async fn stop(&self) -> Result<(), Error> {
        let is_stop = |kind: &EventKind| matches!(kind, EventKind::RunClosing(_) | EventKind::RunFinished(_));
        let wanted = self.count(is_stop).await? + 1;
        post(self.at(), &self.vault, &Mail::Stop).await?;
        self.heard(is_stop, wanted).await
    }

    /// Says what redirected the run after this step, if anything did, and waits until the run has heard it.
    pub async fn steer(&self, step: usize) -> Result<(), Error> {
        let later = self.recording.iter().skip(step + 1).map_while(|step| match step {
            RecordedStep::Said { parts, steer: true, .. } => Some(parts),
            _ => None,
        });
        let said: Vec<&Vec<Part>> = later.collect();
        let is_new = || self.steered.lock().unwrap_or_else(PoisonError::into_inner).insert(step);
        if said.is_empty() || !is_new() {
            return Ok(());
        }
        let is_steer =
            |kind: &EventKind| matches!(kind, EventKind::MessageQueued(data) if data.mode == MessageMode::Steer);
        let wanted = self.count(is_steer).await? + said.len();
        for parts in said {
            let mail = Mail::Message { mode: MessageMode::Steer, parts: parts.clone(), typed: None };
            post(self.at(), &self.vault, &mail).await?;
        }
        self.heard(is_steer, wanted).await
    }

    /// Waits until so many such events are in the log.
    async fn heard(&self, is_it: impl Fn(&EventKind) -> bool, wanted: usize) -> Result<(), Error> {
        for _ in 0..LOOKS {
            if self.count(&is_it).await? >= wanted {
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        }
        Err(Error::failed("the play did not hear what redirected or stopped the run"))
    }

    /// How many such events there are.
    async fn count(&self, is_it: impl Fn(&EventKind) -> bool) -> Result<usize, Error> {
        let log = self.at().read(1).await?;
        Ok(log.events.iter().filter(|event| is_it(&event.kind)).count())
    }

    /// Where what was played is not what was recorded.
    fn difference(&self, played: &[RecordedStep]) -> Option<Difference> {
        let both = self.recording.iter().zip(played).enumerate();
        let found = both
            .filter_map(|(at, (one, other))| {
                differs(one, other, calls_before(&self.recording, at)).map(|what| (at, what))
            })
            .next();
        let (at, what) = match found {
            Some(found) => found,
            None if played.len() > self.recording.len() => {
                (self.recording.len(), "the recording ends before it".into())
            }
            None => return None,
        };
        Some(Difference::at(at, what, &self.recording, played))
    }
}
