//! Calls that wait for a person's decision, in words.

use crate::traces::taking::lines;
use crate::ui::decision_commands::{approval, approve_command};
use crate::ui::text::{gist, one_line};
use crate::ui::whole::whole;
use mainpath::trace::{CallStanding, DecidableCall, SettledCall};
use mainpath::types::{Spec, TraceId, format_time};

/// Returns a call in a few words: its tool, and what it is about.
pub fn what(call: &DecidableCall) -> String {
    call_in_words(call.tool.as_deref(), call.arguments.as_deref())
}

/// Returns a tool and its arguments in a few words.
pub fn call_in_words(tool: Option<&str>, arguments: Option<&str>) -> String {
    let tool = one_line(tool.unwrap_or("an unknown tool"));
    arguments.map_or_else(|| tool.clone(), |arguments| format!("{tool}: {}", gist(arguments)))
}

/// Returns all that a call would do, line by line.
pub fn whole_of(call: &DecidableCall) -> Vec<String> {
    let own = call.arguments.as_deref().map(|arguments| whole(arguments, call.folder.as_deref()));
    own.into_iter().flatten().chain(call.takes.iter().flat_map(lines)).collect()
}

/// Returns the calls by number and in words, as a list.
pub fn names(calls: &[DecidableCall]) -> String {
    calls.iter().map(|call| format!("{} ({})", call.call, what(call))).collect::<Vec<_>>().join(", ")
}

/// Returns the line about an undecided call of a trace that a process drives, where a person may be asked at its terminal.
pub fn driven_line(call: &DecidableCall, trace: &TraceId) -> Option<String> {
    let (id, what) = (call.call, what(call));
    let how = format!("at its terminal, or {}", approval(trace, Some(id), false));
    (call.standing == CallStanding::Open).then(|| format!("call {id} ({what}) needs approval: {how}"))
}

/// Returns where a call stands, in a few words.
pub fn standing_in_words(call: &DecidableCall) -> String {
    let stands = match call.standing {
        CallStanding::Open => "waits for your answer",
        CallStanding::Approved => "has been approved and has not started",
        CallStanding::Denied | CallStanding::Over { .. } => "has been denied",
        CallStanding::Expired(_) => "expired: nobody answered in time",
        CallStanding::Settled(why) => settled(why),
    };
    format!("call {} ({}) {stands}", call.call, what(call))
}

fn settled(why: SettledCall) -> &'static str {
    match why {
        SettledCall::ToolMissing => "was denied because its tool is not among the tools of this run",
        SettledCall::Forbidden => "is denied by a rule, and approving cannot change that; see mainpath policy list",
        SettledCall::Reopened { .. } => "has been approved already",
        SettledCall::Ran => "has already run",
        SettledCall::Denied => "has been denied already",
        SettledCall::Ended => "has ended already",
        SettledCall::Running => "is running already",
        SettledCall::NotAsked => "is not waiting for approval",
    }
}

/// Returns a line about a call: what to do, or what was decided.
pub fn line(call: &DecidableCall, trace: &TraceId) -> String {
    let (id, stands) = (call.call, standing_in_words(call));
    let named = format!("call {id} ({})", what(call));
    let then = format!("continue with: mainpath resume {}", trace.root());
    match call.standing {
        CallStanding::Open => format!("{named} needs approval: {}", approve_command(trace, id, false)),
        CallStanding::Over { by_person } => {
            format!("{named} was denied; to run it after all: {}", approve_command(trace, id, by_person))
        }
        CallStanding::Expired(due) => {
            format!("{named} expired: nobody answered by {}, so it is denied; {then}", format_time(due))
        }
        CallStanding::Settled(SettledCall::Reopened { as_call: Some(made) }) => {
            format!("{stands}, and ran as call {made}")
        }
        // Only a denial that the run has read can be undone.
        CallStanding::Denied => {
            format!("{stands}; {then}; to run it after all, after that: {}", approve_command(trace, id, true))
        }
        CallStanding::Approved | CallStanding::Settled(SettledCall::Reopened { .. }) => format!("{stands}; {then}"),
        CallStanding::Settled(_) => stands,
    }
}

/// Returns the line about a call that was denied because its run does not have the tool.
pub fn lacks(call: &DecidableCall, trace: &TraceId, spec: Option<&Spec>) -> String {
    let (id, tool) = (call.call, call.tool.as_deref().unwrap_or_default());
    let how = with_tool(trace, spec, tool);
    format!("call {id} was denied because {} is not among the tools of this run; to add it: {how}", one_line(tool))
}

/// The command that gives a trace one more tool.
pub fn with_tool(trace: &TraceId, spec: Option<&Spec>, tool: &str) -> String {
    let given = spec.map(|spec| spec.allowed_tools.as_slice()).unwrap_or_default();
    let tools: Vec<&str> = given.iter().map(String::as_str).chain([tool]).collect();
    format!("mainpath resume {trace} --tools {}", one_line(&tools.join(",")))
}
