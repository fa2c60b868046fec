//! A play under way: what it has come to, held against its recording.

use super::compare::{Difference, answers_differ, call_differs, differs};
use super::reading::steps;
use super::step::{CallStep, RecordedAnswer, RecordedStep};
use crate::Error;
use crate::trace::Read;
use mainpath_store::{Scope, Store, TraceStore};
use mainpath_types::{CallId, TraceId};
use std::sync::{Arc, Mutex, PoisonError};

/// A play under way. What it has come to is read from its log, in which everything stands before it is acted on.
pub(super) struct Playing {
    pub store: Arc<dyn Store>,
    pub scope: Scope,
    pub trace: TraceId,
    pub recording: Vec<RecordedStep>,
    /// Where it has parted from the recording, once it has.
    pub parted: Mutex<Option<Difference>>,
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
    pub async fn next_answer(&self) -> Result<Result<&RecordedAnswer, Difference>, Error> {
        let played = self.steps().await?;
        if let Some(difference) = self.difference(&played) {
            return Ok(Err(self.part(difference)));
        }
        Ok(match self.recording.get(played.len()) {
            Some(RecordedStep::Answered(answer)) => Ok(answer),
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
    pub async fn recorded_call(&self, call: CallId) -> Result<Option<&CallStep>, Error> {
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
        let differs = answers_differ(then, now).or_else(|| earlier.filter_map(|(a, b)| call_differs(a, b)).next());
        if let Some(what) = differs {
            self.part(Difference::at(before.len(), what, &self.recording, &played));
            return Ok(None);
        }
        Ok(then.calls.get(index))
    }

    /// Where what was played is not what was recorded.
    fn difference(&self, played: &[RecordedStep]) -> Option<Difference> {
        let both = self.recording.iter().zip(played).enumerate();
        let found = both.filter_map(|(at, (one, other))| differs(one, other).map(|what| (at, what))).next();
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
