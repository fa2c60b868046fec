//! Where two runs part.

use super::step::{CallStep, RecordedAnswer, RecordedStep};
use mainpath_types::{Part, Resolution, Source, text_of};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Where a play parts from its recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The step, from 1: the first that is not the same.
    pub step: u32,
    /// What differs, in a few words.
    pub what: String,
    /// The step as it was recorded, a line for each thing; empty where the recording has none.
    pub recorded: Vec<String>,
    /// As it was played; empty where there was none.
    pub played: Vec<String>,
    /// The hash of the steps before it, which are the same in both.
    pub common: String,
}

/// Where two runs part: the first step that both have and that is not the same, or that only one has. Calls that have not ended yet are
/// not compared.
pub fn first_difference(recorded: &[RecordedStep], played: &[RecordedStep]) -> Option<Difference> {
    let longest = recorded.len().max(played.len());
    (0..longest).find_map(|at| {
        let what = match (recorded.get(at), played.get(at)) {
            (Some(one), Some(other)) => differs(one, other, calls_before(recorded, at))?,
            (Some(_), None) => "the run ends before it".into(),
            (None, Some(_)) => "the recording ends before it".into(),
            (None, None) => return None,
        };
        Some(Difference::at(at, what, recorded, played))
    })
}

impl Difference {
    /// At a step, counted from 0.
    pub(crate) fn at(at: usize, what: String, recorded: &[RecordedStep], played: &[RecordedStep]) -> Difference {
        let lines = |steps: &[RecordedStep]| steps.get(at).map(in_words).unwrap_or_default();
        Difference {
            step: u32::try_from(at + 1).unwrap_or(u32::MAX),
            what,
            recorded: lines(recorded),
            played: lines(played),
            common: common_hash(recorded.get(..at).unwrap_or(recorded)),
        }
    }
}

/// The hash of what two runs that are the same up to here have in common.
pub(crate) fn common_hash(steps: &[RecordedStep]) -> String {
    let mut hasher = Sha256::new();
    for line in steps.iter().flat_map(in_words) {
        hasher.update(line);
        hasher.update([0]);
    }
    hasher.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// How many calls were made before a step.
pub(super) fn calls_before(steps: &[RecordedStep], at: usize) -> usize {
    let calls = |step: &RecordedStep| match step {
        RecordedStep::Answered(answer) => answer.calls.len(),
        RecordedStep::Said { .. } => 0,
    };
    steps.iter().take(at).map(calls).sum()
}

/// What differs between two steps; `None`: nothing. Calls are counted over the whole run, and so many were made before.
pub(super) fn differs(recorded: &RecordedStep, played: &RecordedStep, before: usize) -> Option<String> {
    match (recorded, played) {
        (RecordedStep::Said { parts: one, .. }, RecordedStep::Said { parts: other, .. }) => {
            (text_of(one) != text_of(other)).then(|| "what was said".into())
        }
        (RecordedStep::Answered(one), RecordedStep::Answered(other)) => {
            answers_differ(one, other).or_else(|| calls_differ(&one.calls, &other.calls, before))
        }
        _ => Some("who speaks".into()),
    }
}

/// Whether two steps are the same answer, and only what became of its calls differs.
pub(crate) fn differ_only_in_calls(recorded: Option<&RecordedStep>, played: Option<&RecordedStep>) -> bool {
    match (recorded, played) {
        (Some(RecordedStep::Answered(one)), Some(RecordedStep::Answered(other))) => {
            answers_differ(one, other).is_none()
        }
        _ => false,
    }
}

/// Whether rules decide otherwise on a call of two steps.
pub(crate) fn differ_in_verdicts(recorded: Option<&RecordedStep>, played: Option<&RecordedStep>) -> bool {
    match (recorded, played) {
        (Some(RecordedStep::Answered(one)), Some(RecordedStep::Answered(other))) => {
            let both = one.calls.iter().zip(&other.calls);
            both.filter_map(|(one, other)| one.verdict.zip(other.verdict)).any(|(one, other)| one != other)
        }
        _ => false,
    }
}

/// What differs between two answers, whatever became of their calls.
pub(super) fn answers_differ(one: &RecordedAnswer, other: &RecordedAnswer) -> Option<String> {
    if one.malformed != other.malformed {
        return Some("whether the answer has a valid form".into());
    }
    let calls = |answer: &RecordedAnswer| {
        let call = |part: &Part| match part {
            Part::ToolCall { name, arguments, .. } => Some((name.clone(), json(arguments))),
            _ => None,
        };
        answer.parts.iter().filter_map(call).collect::<Vec<_>>()
    };
    if calls(one) != calls(other) {
        return Some("the calls of the answer".into());
    }
    (text_of(&one.parts) != text_of(&other.parts)).then(|| "the answer".into())
}

fn calls_differ(recorded: &[CallStep], played: &[CallStep], before: usize) -> Option<String> {
    if recorded.len() != played.len() {
        return Some("how many calls were made".into());
    }
    let both = recorded.iter().zip(played).enumerate();
    both.filter_map(|(at, (one, other))| {
        call_differs(one, other).map(|what| format!("call {}: {what}", before + at + 1))
    })
    .next()
}

/// What differs between two calls. The wording of a denial is not compared.
pub(super) fn call_differs(recorded: &CallStep, played: &CallStep) -> Option<String> {
    if recorded.tool != played.tool {
        return Some("the tool".into());
    }
    let written = |call: &CallStep| json(call.written.as_ref().unwrap_or(&call.arguments));
    if written(recorded) != written(played) {
        return Some("the arguments".into());
    }
    let are_approved = recorded.approved && played.approved;
    if are_approved && json(&recorded.arguments) != json(&played.arguments) {
        return Some("the arguments that were approved".into());
    }
    if let (Some(one), Some(other)) = (recorded.verdict, played.verdict)
        && one != other
    {
        return Some(format!("the verdict was {}, and is {}", one.as_str(), other.as_str()));
    }
    let (one, other) = (recorded.resolution?, played.resolution?);
    if one != other {
        return Some(format!("it was {}, and is {}", one.as_str(), other.as_str()));
    }
    let said = |call: &CallStep| call.output.as_ref().map(|output| (text_of(&output.content), output.error.clone()));
    let has_result = matches!(one, Resolution::Ok | Resolution::Error);
    (has_result && said(recorded) != said(played)).then(|| "the result".into())
}

/// A text of JSON by what it says; what is none by its letters.
pub(super) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.into()))
}

/// A step in lines.
pub(crate) fn in_words(step: &RecordedStep) -> Vec<String> {
    match step {
        RecordedStep::Said { parts, steer, .. } => {
            let how = if *steer { "steering" } else { "said" };
            let text = [format!("{how}: {}", text_of(parts))];
            text.into_iter().chain(parts.iter().filter_map(attached)).collect()
        }
        RecordedStep::Answered(answer) => {
            let text = text_of(&answer.parts);
            let said = (!text.trim().is_empty()).then(|| format!("answer: {text}"));
            said.into_iter().chain(answer.calls.iter().flat_map(call_in_words)).collect()
        }
    }
}

/// What is attached, by its type.
fn attached(part: &Part) -> Option<String> {
    let (Part::Image { source } | Part::Audio { source } | Part::Document { source, .. }) = part else { return None };
    Some(match source {
        Source::Blob { media_type, .. } | Source::Base64 { media_type, .. } => format!("  with {media_type}"),
        Source::Url { url } => format!("  with {url}"),
    })
}

fn call_in_words(call: &CallStep) -> Vec<String> {
    let verdict = call.verdict.map_or("not judged", |verdict| verdict.as_str());
    let by = if call.rule.is_empty() { String::new() } else { format!(" ({})", call.rule) };
    let approved = if call.approved { ", approved" } else { "" };
    let result = call.output.as_ref().map(|output| text_of(&output.content)).filter(|text| !text.is_empty());
    let end = call.resolution.map(|resolution| {
        format!("  {}{}", resolution.as_str(), result.map_or(String::new(), |text| format!(": {text}")))
    });
    let lines = [format!("{} {}", call.tool, call.arguments), format!("  {verdict}{by}{approved}")];
    lines.into_iter().chain(end).collect()
}
