//! What is expected, held against what happened.

use super::file::{Expectations, ExpectedAnswer, ExpectedCall, OtherCalls};
use super::outcome::TestProblem;
use super::propose::{calls, used};
use super::wildcard::{fits, null};
use crate::recorded::{CallStep, Played};
use mainpath_schema::Schema;
use mainpath_types::{FinishReason, Micros, Millis};
use serde_json::{Value, json};

/// What happened in a run, as far as something can be expected of it.
pub(crate) struct Happened<'a> {
    /// Its calls, in their order.
    pub calls: Vec<&'a CallStep>,
    /// Whether there may be others than those that are expected, where nothing is said of that.
    pub others: OtherCalls,
    /// Answers of the model.
    pub turns: u32,
    /// Tokens, input and output together.
    pub tokens: u64,
    /// What it cost, in millionths, where that is known.
    pub cost: Option<Micros>,
    /// How long it worked, where that is known.
    pub elapsed_ms: Option<Millis>,
    /// Why it ended; `None` while it has not.
    pub finish: Option<FinishReason>,
    /// What stands for that in a message.
    pub finish_was: &'a str,
    /// What the model said last; `None`: it gave no answer.
    pub answer: Option<&'a str>,
}

/// Everything of a test that does not hold, in the order of the run.
pub(super) fn check(expect: &Expectations, played: &Played) -> Vec<TestProblem> {
    let (turns, tokens) = used(&played.steps);
    let is_cut = played.reason == FinishReason::ModelError && played.parted.is_some();
    let mut problems = problems(
        expect,
        &Happened {
            calls: calls(&played.steps),
            others: OtherCalls::None,
            turns,
            tokens,
            cost: None,
            elapsed_ms: None,
            finish: Some(played.reason),
            finish_was: if is_cut { "the recording has no answer any more" } else { played.reason.as_str() },
            answer: played.is_said.then_some(played.answer.as_str()),
        },
    );
    let Some(parted) = played.parted.as_ref().filter(|_| !problems.is_empty()) else { return problems };
    // Everything else follows from where the two part.
    if let Some(first) = problems.first_mut() {
        (first.recorded, first.played) = (parted.recorded.clone(), parted.played.clone());
    }
    problems
}

/// Everything that does not hold, in the order of the run.
pub(crate) fn problems(expect: &Expectations, happened: &Happened<'_>) -> Vec<TestProblem> {
    let mut problems = calls_in_order(expect, happened);
    problems.extend(never_made(expect, &happened.calls));
    let count = happened.calls.len() as u64;
    let budgets = [
        ("max_turns", expect.max_turns.map(u64::from), happened.turns.into()),
        ("max_calls", expect.max_calls.map(u64::from), count),
        ("max_tokens", expect.max_tokens, happened.tokens),
    ];
    for (name, most, is) in budgets {
        if let Some(most) = most.filter(|most| is > *most) {
            problems.push(TestProblem::new(name, format!("at most {most} is expected, and it was {is}")));
        }
    }
    if let (Some(most), Some(cost)) = (expect.max_cost, happened.cost) {
        let is = cost as f64 / 1e6;
        if is > most {
            problems.push(TestProblem::new("max_cost", format!("at most ${most} is expected, and it was ${is}")));
        }
    }
    if let (Some(most), Some(is)) = (expect.max_time, happened.elapsed_ms)
        && is > most
    {
        problems.push(TestProblem::new("max_time", format!("at most {most} ms is expected, and it was {is} ms")));
    }
    for (verdict, most) in &expect.max_verdicts {
        let hits: Vec<&&CallStep> = happened.calls.iter().filter(|call| call.verdict == Some(*verdict)).collect();
        if let Some(one) = hits.get(*most as usize) {
            let (verdict, is) = (verdict.as_str(), hits.len());
            let what =
                format!("at most {most} {verdict} is expected, and it was {is}, such as {} ({})", one.tool, one.rule);
            problems.push(TestProblem::new("max_verdicts", what));
        }
    }
    if let Some(finish) = expect.finish.filter(|finish| Some(*finish) != happened.finish) {
        let was = happened.finish_was;
        problems.push(TestProblem::new("finish", format!("{} is expected, and it was: {was}", finish.as_str())));
    }
    if let Some(answer) = &expect.answer {
        problems.extend(answer_problem(answer, happened.answer).map(|what| TestProblem::new("answer", what)));
    }
    problems
}

/// The first call that should never be made, of each kind.
fn never_made(expect: &Expectations, made: &[&CallStep]) -> Vec<TestProblem> {
    let is_so = |never: &ExpectedCall, call: &CallStep| {
        misfit(never, call).is_none()
            && (never.verdict.is_empty() || call.verdict.is_some_and(|verdict| never.verdict.contains(&verdict)))
            && never.rule.as_ref().is_none_or(|rule| fits(rule, &call.rule))
            && (never.result.is_empty() || call.resolution.is_some_and(|end| never.result.contains(&end)))
    };
    let first = |never: &ExpectedCall| {
        let (call, number) = made.iter().zip(1..).find(|(call, _)| is_so(never, call))?;
        let what = format!("{} {} is never to be called so", call.tool, call.arguments);
        Some(TestProblem::new(format!("call {number}"), what))
    };
    expect.never.iter().filter_map(first).collect()
}

fn calls_in_order(expect: &Expectations, happened: &Happened<'_>) -> Vec<TestProblem> {
    let (played, others) = (happened.calls.as_slice(), expect.other_calls.unwrap_or(happened.others));
    let (mut problems, mut from) = (Vec::new(), 0);
    for (wanted, number) in expect.calls.iter().zip(1..) {
        let at = format!("call {number}");
        let rest = played.get(from..).unwrap_or_default();
        let found = match others {
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
    if let Some(more) = played.get(from).filter(|_| others == OtherCalls::None && problems.is_empty()) {
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
        (pattern, Value::Null) if *pattern == null() => true,
        _ => pattern == value,
    }
}

/// Why a call did not end as it should, or was not judged so.
fn ending(wanted: &ExpectedCall, call: &CallStep) -> Option<String> {
    let names = |words: Vec<Value>| {
        words.iter().map(|word| word.as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>().join(" or ")
    };
    let (tool, verdicts, ends) = (&call.tool, &wanted.verdict, &wanted.result);
    if !verdicts.is_empty() && call.verdict.is_none_or(|verdict| !verdicts.contains(&verdict)) {
        let expected = names(verdicts.iter().map(|verdict| json!(verdict)).collect());
        let is = match call.verdict {
            Some(verdict) => format!("the rules say {} ({})", verdict.as_str(), call.rule),
            None => "the rules were not asked".into(),
        };
        return Some(format!("{tool}: {expected} is expected, and {is}"));
    }
    if let Some(rule) = wanted.rule.as_ref().filter(|rule| call.verdict.is_none() || !fits(rule, &call.rule)) {
        let is = if call.verdict.is_none() { "the rules were not asked" } else { &format!("it was {}", call.rule) };
        return Some(format!("{tool}: the rule {rule} is expected to decide, and {is}"));
    }
    if ends.is_empty() || call.resolution.is_some_and(|end| ends.contains(&end)) {
        return None;
    }
    let expected = names(ends.iter().map(|end| json!(end)).collect());
    let is = call.resolution.map_or("it has not ended".into(), |end| format!("it was {}", end.as_str()));
    Some(format!("{tool}: {expected} is expected as its result, and {is}"))
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

#[cfg(test)]
mod tests {
    use super::*;
    use mainpath_types::{Decision, Resolution};
    use std::collections::BTreeMap;

    fn call(verdict: Option<Decision>, resolution: Option<Resolution>) -> CallStep {
        CallStep {
            tool: "bash".into(),
            arguments: r#"{"list": ["a", null, {"b": null}], "only": null}"#.into(),
            written: None,
            verdict,
            rule: if verdict.is_some() { "access.bash".into() } else { String::new() },
            approved: false,
            approved_for: None,
            resolution,
            output: None,
            reason: None,
            children: Vec::new(),
        }
    }

    fn wanted(args: Value) -> ExpectedCall {
        let args: BTreeMap<String, Value> = serde_json::from_value(args).unwrap();
        ExpectedCall { tool: "bash".into(), verdict: Vec::new(), rule: None, result: Vec::new(), args }
    }

    #[test]
    fn a_call_that_has_no_verdict_or_no_result_has_none_that_is_expected() {
        let any = || wanted(json!({}));
        let verdict = || ExpectedCall { verdict: vec![Decision::Allow, Decision::Ask], ..any() };
        let rule = || ExpectedCall { rule: Some("*".into()), ..any() };
        let result = || ExpectedCall { result: vec![Resolution::Ok], ..any() };
        let none = call(None, None);
        let whole = call(Some(Decision::Allow), Some(Resolution::Ok));
        for wanted in [any(), verdict(), rule(), result()] {
            assert_eq!(ending(&wanted, &whole), None);
        }
        let cases = [
            (verdict(), "bash: allow or ask is expected, and the rules were not asked"),
            (rule(), "bash: the rule * is expected to decide, and the rules were not asked"),
            (result(), "bash: ok is expected as its result, and it has not ended"),
        ];
        assert_eq!(ending(&any(), &none), None);
        for (wanted, problem) in cases {
            assert_eq!(ending(&wanted, &none).as_deref(), Some(problem));
        }
        let other = call(Some(Decision::Deny), Some(Resolution::Denied));
        let problem = "bash: allow or ask is expected, and the rules say deny (access.bash)";
        assert_eq!(ending(&verdict(), &other).as_deref(), Some(problem));
        let problem = "bash: ok is expected as its result, and it was denied";
        assert_eq!(ending(&result(), &other).as_deref(), Some(problem));
    }

    #[test]
    fn null_in_a_list_is_expected_as_what_toml_can_say() {
        let call = call(None, None);
        let fits = |args: Value| misfit(&wanted(args), &call).is_none();
        assert!(fits(json!({"list": ["a", {"null": true}, {}]})));
        assert!(!fits(json!({"list": ["a", {}]})) && !fits(json!({"list": ["a", "x", {}]})));
        assert!(!fits(json!({"list": [{"null": true}, {"null": true}, {}]})));
        assert!(fits(json!({"only": {"null": true}})));
    }
}
