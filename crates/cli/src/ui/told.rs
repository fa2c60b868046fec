//! What changes of calls, limits, plans and answers are told in a line.

use crate::ui::text::{count, gist, one_line, short, spent};
use mainpath::trace::starts_with_task;
use mainpath::types::{
    ChildOutcome, EventKind, GoalOp, HandedBack, PlannedCall, QuestionSent, ResolveCause, SubTraceCompleted,
    SubTraceStarted, TraceId, format_time,
};

/// Why a call ended as it did, where neither its output nor anybody's reason says so.
pub fn why_ended(cause: ResolveCause) -> Option<&'static str> {
    Some(match cause {
        ResolveCause::ApprovalExpired => "nobody answered in time",
        ResolveCause::Closing => "the run ended before it started",
        ResolveCause::Steer => "a new message came first",
        ResolveCause::TurnCap => "too many calls in one turn (max_calls_per_turn)",
        ResolveCause::CallBudget => "the calls of this run are used up (max_calls)",
        ResolveCause::ScriptBudget => "its runs of scripts are used up (script_runs)",
        ResolveCause::ToolCap => "its calls of this run are used up (max_calls of the tool)",
        ResolveCause::LastAnswer => "only a final answer was asked for",
        ResolveCause::Summary => "only a summary was asked for",
        ResolveCause::Timeout => "its time limit was reached",
        ResolveCause::QuestionExpired => "nobody answered in time",
        ResolveCause::Crash => "Mainpath was restarted while it ran",
        ResolveCause::Result
        | ResolveCause::DeniedByPerson
        | ResolveCause::DeniedByRule
        | ResolveCause::Stopped
        | ResolveCause::Uncertain => return None,
    })
}

/// That hooks have changed the arguments of a call, and into which.
pub fn changed(planned: &PlannedCall) -> Option<String> {
    changed_by(planned.arguments.as_deref()?, &planned.changed_by)
}

/// That hooks have changed arguments, and into which.
pub fn changed_by(arguments: &str, by: &[String]) -> Option<String> {
    let hooks = by.iter().map(|name| one_line(name)).collect::<Vec<_>>().join(", ");
    (!by.is_empty()).then(|| format!("arguments changed by hook {hooks}: {}", gist(arguments)))
}

/// That a question could not be sent, why, and what comes next. `None`: it was sent.
pub fn unsent(sent: &QuestionSent) -> Option<String> {
    let problem = short(sent.problem.as_deref()?, 300);
    let next = match sent.retry_at {
        Some(at) => format!("next try {}", format_time(at)),
        None => "it is not sent again".into(),
    };
    Some(format!("could not be sent to {}: {}; {next}", sent.to, problem.trim_end_matches('.')))
}

/// Limits that have changed, for people.
pub fn limits(changed: &serde_json::Value) -> String {
    let said = |value: &serde_json::Value| if value.is_null() { "no limit".into() } else { value.to_string() };
    let changed = changed.as_object().into_iter().flatten().filter(|(name, _)| *name != "by");
    let changed: Vec<String> =
        changed.map(|(name, change)| format!("{name} {} → {}", said(&change["from"]), said(&change["to"]))).collect();
    format!("limits changed: {}", changed.join(", "))
}

/// What somebody has done to a plan, in a few words.
pub fn changes(ops: &[GoalOp]) -> &'static str {
    let pins = |op: &GoalOp| matches!(op, GoalOp::Pin { .. });
    let unpins = |op: &GoalOp| matches!(op, GoalOp::Unpin { .. });
    match ops {
        ops if ops.iter().all(pins) => "has pinned a sentence",
        ops if ops.iter().all(unpins) => "has removed a pin",
        ops if ops.iter().all(|op| pins(op) || unpins(op)) => "has changed the pins",
        _ => "has changed the plan",
    }
}

/// Whether an event changes the plan in a way that people are shown.
pub fn plans(kind: &EventKind) -> bool {
    match kind {
        EventKind::GoalsChanged(_) => true,
        EventKind::ModelFinished(data) => !data.goals.is_empty() && !starts_with_task(data),
        _ => false,
    }
}

/// An agent by the part of its id that says which it is of those that a trace has started.
pub fn child_name<'a>(parent: &TraceId, child: &'a TraceId) -> &'a str {
    let below = child.as_str().strip_prefix(parent.as_str()).and_then(|rest| rest.strip_prefix('@'));
    below.unwrap_or(child.as_str())
}

/// That an agent was started, and for what.
pub fn started(parent: &TraceId, data: &SubTraceStarted) -> String {
    let of = if data.of > 1 { format!(" ({} of {})", data.nth + 1, data.of) } else { String::new() };
    let verb = if data.continued { "continues" } else { "starts" };
    format!("agent {}{of} {verb}: {}", child_name(parent, &data.child), short(&data.task, 100))
}

/// How an agent ended, and what it used.
pub fn ended(parent: &TraceId, data: &SubTraceCompleted) -> String {
    let HandedBack { child, answer, problem, files, turns, denied, unknown, spent: used, .. } = &data.handed;
    let who = child
        .as_ref()
        .map_or_else(|| format!("{} of {}", data.nth + 1, data.of), |child| child_name(parent, child).into());
    let how = match data.outcome {
        ChildOutcome::Result => "is done",
        ChildOutcome::Partial => "came to a limit",
        ChildOutcome::Failed => "failed",
        ChildOutcome::Stopped => "was stopped",
    };
    let what = match (problem, answer.trim()) {
        // It may say where work is kept, and what to do.
        (Some(problem), _) => short(problem, 1_000),
        (None, "") if files.is_empty() => "it said nothing".into(),
        (None, "") => format!("it changed {}", count(files.len() as u64, "file")),
        (None, answer) => short(answer, 100),
    };
    let denied = if *denied == 0 { String::new() } else { format!("{} denied, ", count((*denied).into(), "call")) };
    let unsure = match unknown {
        0 => String::new(),
        unknown => format!("{} may or may not have taken effect, ", count((*unknown).into(), "call")),
    };
    let took = match turns {
        0 => String::new(),
        turns => format!(" ({}, {denied}{unsure}{})", count((*turns).into(), "turn"), spent(*used)),
    };
    format!("agent {who} {how}{took}: {what}")
}
