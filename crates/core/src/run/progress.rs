//! Whether a run gets anywhere: what counts against a model that goes round in circles.
//!
//! Four counts, each measured with [`Limits::repeated_failures`](mainpath_types::Limits): turns in which the same tool failed, turns in
//! which something failed and nothing succeeded, answers that called tools of which none did anything outside the trace, and
//! calls that were made again and came to the same. A tool that succeeds ends the first three, a call or a result that is new
//! ends the last. A turn counts once, however many calls it made: the model has seen nothing in between. A call that has waited for
//! something that still goes on may be made [`PATIENCE`] times as often, and lets the others be made again.

use crate::{Call, CallState};
use mainpath_types::{Part, Resolution, ToolOutput, WrittenCall, written_calls};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Turns in which several tools fail, for each that the same tool may.
const SEVERAL: u32 = 2;
/// Answers that do nothing outside the trace, for each turn in which the same tool may fail.
const INWARD: u32 = 4;
/// Waits without news, for each time that another call may come to the same.
const PATIENCE: u32 = 20;
/// So many different calls are remembered. A longer circle counts as something new.
const REMEMBERED: usize = 16;

/// What a run got out of its latest turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// The tool that failed last, and in how many turns in a row; `None` is a name that no tool of the run has.
    failing: Option<(Option<Arc<str>>, u32)>,
    /// Turns in which something failed, since a tool succeeded.
    fruitless: u32,
    /// Answers with calls, since a tool succeeded.
    inward: u32,
    /// The latest calls with what came of them.
    seen: Vec<Seen>,
    /// The calls of the newest answer, by their place in it: hashes of tool and arguments.
    made: Vec<u64>,
}

/// What a call came to, as far as it is told from something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Outcome {
    /// A hash of the result.
    hash: u64,
    /// Whether it waited for something that still goes on.
    waits: bool,
}

impl Outcome {
    /// The answers in which a call may come to this before the model is told.
    fn allowance(self, most: u32) -> u32 {
        same(most).saturating_mul(if self.waits { PATIENCE } else { 1 })
    }
}

/// A call and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Seen {
    call: u64,
    result: Outcome,
    /// Answers that made it, with this result, since anything new happened.
    times: u32,
    /// The request that was answered with it last.
    request: u32,
}

impl Progress {
    /// An answer has come.
    pub(crate) fn note_answer(&mut self, parts: &[Part]) {
        self.made = written_calls(parts).map(made).collect();
    }

    /// A call of the newest answer came to this. `request`: the newest one.
    pub(crate) fn note_result(&mut self, index: u16, result: Outcome, request: u32) {
        let Some(call) = self.made.get(usize::from(index)).copied() else { return };
        let times = self.times(call, result, request);
        self.seen.retain(|seen| seen.call != call);
        // After something new, or a while, the same calls are worth making again; but no two waits vouch for each other.
        let is_new = times == 1 && !result.waits;
        let again = self.seen.iter_mut().filter(|seen| is_new || result.waits && !seen.result.waits);
        again.for_each(|seen| seen.times = 1);
        self.seen.push(Seen { call, result, times, request });
        let extra = self.seen.len().saturating_sub(REMEMBERED);
        self.seen.drain(..extra);
    }

    /// In how many answers a call has come to this, since anything new happened.
    fn times(&self, call: u64, result: Outcome, request: u32) -> u32 {
        match self.seen.iter().find(|seen| seen.call == call && seen.result == result) {
            Some(seen) if seen.request == request => seen.times,
            Some(seen) => seen.times.saturating_add(1),
            None => 1,
        }
    }

    /// How often a call has come to the same by now, if the model is to be told so: once, before it ends the run.
    pub(crate) fn to_tell(&self, call: u64, result: Outcome, request: u32, most: Option<u32>) -> u32 {
        let times = self.times(call, result, request);
        let told = self.seen.iter().any(|seen| seen.call == call && seen.request == request);
        if most.is_some_and(|most| times == result.allowance(most)) && !told { times } else { 0 }
    }

    /// The call at a place of the newest answer.
    pub(crate) fn call(&self, index: u16) -> u64 {
        self.made.get(usize::from(index)).copied().unwrap_or_default()
    }

    /// A turn has ended with these calls.
    pub(crate) fn note_turn(&mut self, calls: &[Call]) {
        let did = |call: &Call| call.state == CallState::Done(Resolution::Ok) && call.attempt > 0;
        let failed = |call: &Call| matches!(call.state, CallState::Done(Resolution::Error | Resolution::Denied));
        let skipped = |call: &Call| call.state == CallState::Done(Resolution::Skipped);
        let mut before = self.failing.clone();
        for call in calls.iter().filter(|call| did(call) || failed(call)) {
            before = before.filter(|(tool, _)| failed(call) && *tool == call.tool);
            let times = before.as_ref().map_or(1, |(_, times)| times.saturating_add(1));
            self.failing = failed(call).then(|| (call.tool.clone(), times));
        }
        if calls.iter().any(did) {
            (self.fruitless, self.inward) = (0, 0);
            return;
        }
        self.inward = self.inward.saturating_add(1);
        if calls.iter().any(|call| failed(call) || skipped(call)) {
            self.fruitless = self.fruitless.saturating_add(1);
        }
    }

    /// Why the run is to end, in words, if it is.
    pub(crate) fn stuck(&self, most: Option<u32>) -> Option<String> {
        let most = most?;
        if let Some((tool, times)) = self.failing.as_ref().filter(|(_, times)| *times >= most) {
            return Some(match tool.as_deref() {
                Some(tool) => format!("{tool} failed or was denied in {times} turns in a row"),
                None => format!("tools that this run does not have were called in {times} turns in a row"),
            });
        }
        if self.seen.iter().any(|seen| seen.times > seen.result.allowance(most)) {
            return Some("the same call returned the same result again and again, even after a warning".into());
        }
        if self.fruitless >= most.saturating_mul(SEVERAL) {
            return Some(format!("no call succeeded in {} turns", self.fruitless));
        }
        let inward = || format!("{} answers in a row did nothing but plan, look back or fail", self.inward);
        (self.inward >= most.saturating_mul(INWARD)).then(inward)
    }
}

/// The answers that may make the same call with the same result before the model is told.
fn same(most: u32) -> u32 {
    most.max(2)
}

/// What the model is told below a result that it has brought about so often.
pub(crate) fn told(times: u32) -> String {
    format!(
        "[This same call has come to this same result {times} times. Making it again will end the run: try something else, or give \
         your final answer.]"
    )
}

/// A call, as far as it is told from others.
pub(crate) fn made(call: WrittenCall<'_>) -> u64 {
    Digest::default().text(call.name).text(call.arguments).0
}

/// A text that a call came to without having started.
pub(crate) fn text_result(text: &str) -> Outcome {
    Outcome { hash: Digest::default().text(text).0, waits: false }
}

/// What a tool returned.
pub(crate) fn output_result(output: Option<&ToolOutput>) -> Outcome {
    let Some(output) = output else { return Outcome { hash: 0, waits: false } };
    let digest = Digest::default().text(output.error.as_deref().unwrap_or_default());
    let digest = output.content.iter().fold(digest, |digest, part| match part {
        Part::Text { text } => digest.text(text),
        Part::StoredText { hash, .. } => digest.text(hash.as_str()),
        other => digest.text(&format!("{other:?}")),
    });
    Outcome { hash: digest.0, waits: output.still_waiting }
}

/// Tells texts apart, eight bytes at a time; it guards nothing.
#[derive(Clone, Copy, Default)]
struct Digest(u64);

impl Digest {
    fn text(self, text: &str) -> Digest {
        let word = |word: &[u8]| word.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        let words = text.as_bytes().chunks(8).map(word).chain([text.len() as u64]);
        Digest(words.fold(self.0, |sum, word| (sum.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    }
}
