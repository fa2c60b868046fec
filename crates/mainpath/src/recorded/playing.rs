//! A play under way: what it has come to, held against its recording.

use super::compare::{Difference, answers_differ, call_differs, calls_before, differs};
use super::reading::steps;
use super::step::{CallStep, RecordedAnswer, RecordedStep};
use crate::Error;
use crate::trace::Read;
use mainpath_runtime::{Mail, Vault, post};
use mainpath_store::{Scope, Store, TraceStore};
use mainpath_types::{CallId, EventKind, MessageMode, Part, Resolution, TraceId};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// So long it is waited, at most, until a run has heard what redirects it: so many times,
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
    /// The steps after which it was said again what redirected the run.
    pub steered: Mutex<BTreeSet<usize>>,
    /// Where it has parted from the recording, once it has.
    pub parted: Mutex<Option<Difference>>,
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
}

/// Whether a call was run, and not only decided on.
pub(super) fn was_run(call: &CallStep) -> bool {
    matches!(call.resolution, Some(Resolution::Ok | Resolution::Error))
}

impl Playing {
    pub async fn steps(&self) -> Result<Vec<RecordedStep>, Error> {
        let at = TraceStore::new(&*self.store, &self.scope, &self.trace);
        steps(at, &Read::of(at).await?).await
    }

    /// Notes where it has parted from the recording; the first place stays.
    pub fn part(&self, difference: Difference) -> Difference {
        self.parted.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(difference).clone()
    }

    /// The recorded answer to what is asked now. Errors: where the two have parted.
    pub async fn next_answer(&self) -> Result<Result<AnswerAt<'_>, Difference>, Error> {
        let played = self.steps().await?;
        if let Some(difference) = self.difference(&played) {
            return Ok(Err(self.part(difference)));
        }
        Ok(match self.recording.get(played.len()) {
            Some(RecordedStep::Answered(answer)) => Ok(AnswerAt { step: played.len(), answer }),
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
        let is_redirected =
            matches!(self.recording.get(before.len() + 1), Some(RecordedStep::Said { steer: true, .. }));
        Ok(then.calls.get(index).map(|call| CallAt {
            step: before.len(),
            call,
            is_last_run,
            is_steered: is_redirected && call.resolution == Some(Resolution::Skipped),
        }))
    }

    /// Says what redirected the run after this step, if anything did, and waits until the run has heard it.
    pub async fn steer(&self, step: usize) -> Result<(), Error> {
        let later = self.recording.iter().skip(step + 1).map_while(|step| match step {
            RecordedStep::Said { parts, steer: true } => Some(parts),
            _ => None,
        });
        let said: Vec<&Vec<Part>> = later.collect();
        let is_new = || self.steered.lock().unwrap_or_else(PoisonError::into_inner).insert(step);
        if said.is_empty() || !is_new() {
            return Ok(());
        }
        let at = TraceStore::new(&*self.store, &self.scope, &self.trace);
        let wanted = self.steers(at).await? + said.len();
        for parts in said {
            let mail = Mail::Message { mode: MessageMode::Steer, parts: parts.clone(), typed: None };
            post(at, &self.vault, &mail).await?;
        }
        for _ in 0..LOOKS {
            if self.steers(at).await? >= wanted {
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        }
        Err(Error::failed("the play did not hear what redirected the run"))
    }

    /// How often the run was redirected.
    async fn steers(&self, at: TraceStore<'_>) -> Result<usize, Error> {
        let log = at.read(1).await?;
        let is_steer =
            |kind: &EventKind| matches!(kind, EventKind::MessageQueued(data) if data.mode == MessageMode::Steer);
        Ok(log.events.iter().filter(|event| is_steer(&event.kind)).count())
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
