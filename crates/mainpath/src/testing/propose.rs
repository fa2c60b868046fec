//! What a test is to expect, proposed from the run.

use super::file::{Expectations, ExpectedAnswer, ExpectedCall, ExpectedText, OtherCalls};
use super::wildcard::{literal, null};
use crate::recorded::{CallStep, Played, RecordedStep};
use mainpath_types::{Decision, FinishReason};
use serde_json::Value;
use std::collections::BTreeMap;

/// A longer text is expected by its beginning, in letters.
const LONG_ARGUMENT: usize = 200;
/// A longer answer is expected by its first line.
const LONG_ANSWER: usize = 400;
/// So much of a longer one.
const BEGINNING: usize = 120;

/// All calls of a run, in their order.
pub(crate) fn calls(steps: &[RecordedStep]) -> Vec<&CallStep> {
    let answers = steps.iter().filter_map(|step| match step {
        RecordedStep::Answered(answer) => Some(&answer.calls),
        RecordedStep::Said { .. } => None,
    });
    answers.flatten().collect()
}

/// What a run that went well is held to: all that it did.
pub(super) fn as_it_was(played: &Played) -> Expectations {
    let (turns, tokens) = used(&played.steps);
    let calls = calls(&played.steps);
    let long = played.answer.chars().count() > LONG_ANSWER;
    let answer = match long {
        true => ExpectedAnswer { contains: Some(first_line(&played.answer)), ..ExpectedAnswer::default() },
        false => ExpectedAnswer { is: Some(played.answer.clone()), ..ExpectedAnswer::default() },
    };
    Expectations {
        instructions: Some(ExpectedText::Same),
        finish: Some(played.reason),
        max_turns: Some(turns),
        max_calls: Some(u32::try_from(calls.len()).unwrap_or(u32::MAX)),
        // TOML has no larger number.
        max_tokens: Some(tokens).filter(|tokens| *tokens > 0 && i64::try_from(*tokens).is_ok()),
        max_cost: None,
        max_time: None,
        max_verdicts: BTreeMap::new(),
        other_calls: Some(OtherCalls::None),
        never: Vec::new(),
        answer: (played.is_said && played.reason == FinishReason::Final).then_some(answer),
        calls: calls.into_iter().map(expected).collect(),
    }
}

/// What a run is held to whose call at this place, from 0, should not have been made: all before it was well, and this one is not to
/// happen unasked.
pub(super) fn without(played: &Played, wrong: usize) -> Expectations {
    let mut calls: Vec<ExpectedCall> = calls(&played.steps).into_iter().take(wrong + 1).map(expected).collect();
    if let Some(last) = calls.last_mut() {
        (last.verdict, last.result) = (vec![Decision::Ask, Decision::Deny], Vec::new());
    }
    Expectations {
        instructions: Some(ExpectedText::Same),
        other_calls: Some(OtherCalls::Any),
        calls,
        ..Expectations::default()
    }
}

/// How many answers there were, and how many tokens they used.
pub(super) fn used(steps: &[RecordedStep]) -> (u32, u64) {
    steps.iter().fold((0, 0), |(turns, tokens), step| match step {
        RecordedStep::Answered(answer) => (turns + 1, tokens.saturating_add(answer.usage.total())),
        RecordedStep::Said { .. } => (turns, tokens),
    })
}

fn expected(call: &CallStep) -> ExpectedCall {
    let args = match serde_json::from_str(&call.arguments) {
        Ok(Value::Object(fields)) => {
            fields.into_iter().filter_map(|(name, value)| Some((name, pattern(value)?))).collect()
        }
        _ => BTreeMap::new(),
    };
    ExpectedCall {
        tool: literal(&call.tool),
        verdict: call.verdict.into_iter().collect(),
        rule: None,
        result: call.resolution.into_iter().collect(),
        args,
    }
}

/// What only this value fits, or what begins like it. TOML has no null: left out it is not looked at, and in a list something stands for it.
fn pattern(value: Value) -> Option<Value> {
    Some(match value {
        Value::Null => return None,
        Value::String(text) if text.chars().count() > LONG_ARGUMENT => {
            let beginning: String = text.chars().take(BEGINNING).collect();
            Value::String(format!("{}*", literal(&beginning)))
        }
        Value::String(text) => Value::String(literal(&text)),
        Value::Array(values) => {
            Value::Array(values.into_iter().map(|value| pattern(value).unwrap_or_else(null)).collect())
        }
        Value::Object(fields) => {
            Value::Object(fields.into_iter().filter_map(|(name, value)| Some((name, pattern(value)?))).collect())
        }
        other => other,
    })
}

fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.chars().take(BEGINNING).collect()
}
