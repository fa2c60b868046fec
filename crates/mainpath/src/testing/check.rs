//! What a test expects, held against what was played.

use super::file::{Expectations, ExpectedAnswer, ExpectedCall, OtherCalls};
use super::outcome::TestProblem;
use super::propose::{calls, used};
use super::wildcard::fits;
use crate::recorded::{CallStep, Played};
use mainpath_schema::Schema;
use mainpath_types::FinishReason;
use serde_json::{Value, json};

/// Everything that does not hold, in the order of the run.
pub(super) fn check(expect: &Expectations, played: &Played) -> Vec<TestProblem> {
    let mut problems = calls_in_order(expect, &calls(&played.steps));
    let (turns, tokens) = used(&played.steps);
    let count = calls(&played.steps).len() as u64;
    let budgets = [
        ("max_turns", expect.max_turns.map(u64::from), turns.into()),
        ("max_calls", expect.max_calls.map(u64::from), count),
        ("max_tokens", expect.max_tokens, tokens),
    ];
    for (name, most, is) in budgets {
        if let Some(most) = most.filter(|most| is > *most) {
            problems.push(TestProblem::new(name, format!("at most {most} is expected, and it was {is}")));
        }
    }
    if let Some(finish) = expect.finish.filter(|finish| *finish != played.reason) {
        let is_cut = played.reason == FinishReason::ModelError && played.parted.is_some();
        let was = if is_cut { "the recording has no answer any more" } else { played.reason.as_str() };
        problems.push(TestProblem::new("finish", format!("{} is expected, and it was: {was}", finish.as_str())));
    }
    if let Some(answer) = &expect.answer {
        let is_said = played.is_said.then_some(played.answer.as_str());
        problems.extend(answer_problem(answer, is_said).map(|what| TestProblem::new("answer", what)));
    }
    let Some(parted) = played.parted.as_ref().filter(|_| !problems.is_empty()) else { return problems };
    // Everything else follows from where the two part.
    if let Some(first) = problems.first_mut() {
        (first.recorded, first.played) = (parted.recorded.clone(), parted.played.clone());
    }
    problems
}

fn calls_in_order(expect: &Expectations, played: &[&CallStep]) -> Vec<TestProblem> {
    let (mut problems, mut from) = (Vec::new(), 0);
    for (wanted, number) in expect.calls.iter().zip(1..) {
        let at = format!("call {number}");
        let rest = played.get(from..).unwrap_or_default();
        let found = match expect.other_calls {
            OtherCalls::Any => rest.iter().position(|call| misfit(wanted, call).is_none()),
            OtherCalls::None => (!rest.is_empty()).then_some(0),
        };
        let Some((found, call)) = found.and_then(|found| Some((found, rest.get(found)?))) else {
            problems.push(TestProblem::new(at, format!("{} is expected, and was not called", wanted.tool)));
            break;
        };
        from += found + 1;
        if let Some(what) = misfit(wanted, call) {
            problems.push(TestProblem::new(at, what));
            break;
        }
        problems.extend(ending(wanted, call).into_iter().map(|what| TestProblem::new(at.clone(), what)));
    }
    if let Some(more) = played.get(from).filter(|_| expect.other_calls == OtherCalls::None && problems.is_empty()) {
        let what = format!("{} {} is not expected", more.tool, more.arguments);
        problems.push(TestProblem::new(format!("call {}", from + 1), what));
    }
    problems
}

/// Why a call is not the one that is meant.
fn misfit(wanted: &ExpectedCall, call: &CallStep) -> Option<String> {
    if !fits(&wanted.tool, &call.tool) {
        return Some(format!("{} is expected, and {} was called", wanted.tool, call.tool));
    }
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or(Value::Null);
    wanted.args.iter().find_map(|(name, pattern)| {
        let is = arguments.get(name).unwrap_or(&Value::Null);
        (!value_fits(pattern, is)).then(|| format!("{}: {name} is expected to be {pattern}, and was {is}", call.tool))
    })
}

fn value_fits(pattern: &Value, value: &Value) -> bool {
    match (pattern, value) {
        (Value::String(pattern), Value::String(text)) => fits(pattern, text),
        (Value::Array(patterns), Value::Array(values)) => {
            patterns.len() == values.len() && patterns.iter().zip(values).all(|(one, other)| value_fits(one, other))
        }
        (Value::Object(patterns), Value::Object(values)) => {
            patterns.iter().all(|(name, pattern)| value_fits(pattern, values.get(name).unwrap_or(&Value::Null)))
        }
        _ => pattern == value,
    }
}

/// Why a call did not end as it should, or was not judged so.
fn ending(wanted: &ExpectedCall, call: &CallStep) -> Option<String> {
    let names = |words: Vec<Value>| {
        words.iter().map(|word| word.as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>().join(" or ")
    };
    if let Some(verdict) =
        call.verdict.filter(|verdict| !wanted.verdict.is_empty() && !wanted.verdict.contains(verdict))
    {
        let expected = names(wanted.verdict.iter().map(|verdict| json!(verdict)).collect());
        let (tool, is, rule) = (&call.tool, verdict.as_str(), &call.rule);
        return Some(format!("{tool}: {expected} is expected, and the rules say {is} ({rule})"));
    }
    let end = call.resolution.filter(|end| !wanted.result.is_empty() && !wanted.result.contains(end))?;
    let expected = names(wanted.result.iter().map(|end| json!(end)).collect());
    Some(format!("{}: {expected} is expected as its result, and it was {}", call.tool, names(vec![json!(end)])))
}

/// What is wrong with an answer; `None`: there is none.
fn answer_problem(wanted: &ExpectedAnswer, said: Option<&str>) -> Option<String> {
    let Some(said) = said else { return Some("an answer is expected, and there is none".into()) };
    let ExpectedAnswer { is, contains, matches, schema } = wanted;
    if let Some(is) = is.as_ref().filter(|is| *is != said) {
        return Some(format!("{is:?} is expected, and it was {said:?}"));
    }
    if let Some(part) = contains.as_ref().filter(|part| !said.contains(part.as_str())) {
        return Some(format!("{part:?} is expected in it, and it was {said:?}"));
    }
    if let Some(pattern) = matches {
        match Schema::new(&json!({"type": "string", "pattern": pattern})) {
            Err(why) => return Some(format!("the pattern {pattern:?} cannot be used: {why}")),
            Ok(schema) if !schema.violations(&said.into()).is_empty() => {
                return Some(format!("it does not match {pattern:?}: {said:?}"));
            }
            Ok(_) => {}
        }
    }
    let schema = schema.as_ref()?;
    let violations = match (Schema::new(schema), serde_json::from_str(said)) {
        (Err(why), _) => return Some(format!("the schema cannot be used: {why}")),
        (_, Err(_)) => return Some(format!("JSON is expected, and it was {said:?}")),
        (Ok(schema), Ok(value)) => schema.violations(&value),
    };
    violations.first().map(|first| format!("it does not match the schema: {first}"))
}
