//! What one of two runs came to from where they part.

use crate::recorded::{CallStep, RecordedStep};
use mainpath_types::{Event, EventKind, FinishReason, Micros, Seq, text_of};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What a run came to, from a message on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LaneFigures {
    /// How it ended; `None`: it has not.
    pub reason: Option<FinishReason>,
    /// What the model said last.
    pub answer: String,
    /// Answers of the model.
    pub turns: u32,
    /// Tool calls.
    pub calls: u32,
    /// Tokens, input and output together.
    pub tokens: u64,
    /// What they cost, in millionths.
    pub cost: Micros,
    /// How many calls were allowed, asked about and denied.
    pub verdicts: BTreeMap<String, u32>,
    /// The files that calls have changed, as far as that is known.
    pub files: BTreeSet<String>,
}

impl LaneFigures {
    /// Of these steps, which are these messages of the log.
    pub(super) fn of(steps: &[RecordedStep], messages: &[Seq], log: &[Event]) -> LaneFigures {
        let mut figures = LaneFigures::default();
        for step in steps {
            let RecordedStep::Answered(answer) = step else { continue };
            figures.turns += 1;
            figures.calls += u32::try_from(answer.calls.len()).unwrap_or(u32::MAX);
            figures.tokens = figures.tokens.saturating_add(answer.usage.total());
            figures.answer = text_of(&answer.parts);
            for verdict in answer.calls.iter().filter_map(|call: &CallStep| call.verdict) {
                *figures.verdicts.entry(verdict.as_str().into()).or_default() += 1;
            }
        }
        let has = |seq: Seq| messages.contains(&seq);
        for event in log {
            match &event.kind {
                EventKind::ModelFinished(data) if has(data.seq) => {
                    figures.cost = figures.cost.saturating_add(data.cost);
                }
                EventKind::RunStarted(_) => figures.reason = None,
                EventKind::RunFinished(data) => figures.reason = Some(data.reason),
                EventKind::FilesKept(data) if has(data.call.seq) => {
                    figures.files.extend(data.changes.iter().map(|change| change.path.clone()));
                }
                EventKind::CallResolved(data) if has(data.call.seq) => {
                    let changes = data.output.iter().flat_map(|output| &output.changes);
                    figures.files.extend(changes.map(|change| change.path.clone()));
                }
                _ => {}
            }
        }
        figures
    }
}
