//! What a trace did, for checks after the fact.

use mainpath::policy::{CallFacts, PastCall, PastRun};
use mainpath::runtime::run_stats;
use mainpath::tools::{Tools, Workspace};
use mainpath::types::{
    ApprovalGranted, CallId, CallResolved, Event, EventKind, RecordedCall, Resolution, Spent, TraceId, own_tool_name,
};
use std::collections::{HashMap, HashSet};

/// The calls that were started, or answered at once, in that order.
pub fn calls(events: &[Event], tools: &Tools, workspace: Option<&Workspace>) -> Vec<PastCall> {
    let mut planned: HashMap<CallId, CallFacts> = HashMap::new();
    let (mut calls, mut started): (Vec<PastCall>, HashSet<CallId>) = (Vec::new(), HashSet::new());
    let (mut run, mut done): (u32, HashSet<CallId>) = (0, HashSet::new());
    for event in events {
        match &event.kind {
            EventKind::RunStarted(data) => run = data.run,
            EventKind::ModelFinished(data) => {
                for RecordedCall { id: call, written, arguments, planned: judged } in data.calls() {
                    let facts = facts(judged.tool.as_deref().unwrap_or(written.name), arguments, tools, workspace);
                    if matches!(judged.ended(), Some((Resolution::Ok, _))) {
                        push(&mut calls, call, run, facts, &done);
                        done.insert(call);
                    } else {
                        planned.insert(call, facts);
                    }
                }
            }
            EventKind::ApprovalGranted(ApprovalGranted { call, arguments: Some(arguments), .. }) => {
                if let Some(known) = planned.get_mut(call) {
                    *known = facts(&known.tool.clone(), arguments, tools, workspace);
                }
            }
            // It was denied in one run and may be made in another.
            EventKind::CallReopened(data) => {
                if let Some(facts) = planned.get(&data.of).cloned() {
                    planned.insert(data.made(), facts);
                }
            }
            EventKind::ActionStarted(data) if started.insert(data.call) => {
                if let Some(facts) = planned.get(&data.call) {
                    push(&mut calls, data.call, run, facts.clone(), &done);
                }
            }
            EventKind::CallResolved(CallResolved { call, resolution: Resolution::Ok, .. }) => {
                done.insert(*call);
            }
            _ => {}
        }
    }
    calls
}

fn push(calls: &mut Vec<PastCall>, call: CallId, run: u32, facts: CallFacts, done: &HashSet<CallId>) {
    let after = calls.iter().enumerate().filter(|(_, past)| done.contains(&past.call)).map(|(at, _)| at).collect();
    calls.push(PastCall { call, run, facts, after });
}

/// What can be known of a call. Of a tool that is not there any more, its name and its arguments.
fn facts(tool: &str, arguments: &str, tools: &Tools, workspace: Option<&Workspace>) -> CallFacts {
    let planned = workspace.and_then(|workspace| tools.plan(tool, arguments, workspace).ok());
    planned.map_or_else(
        || CallFacts {
            tool: own_tool_name(tool).into(),
            arguments: serde_json::from_str(arguments).unwrap_or_default(),
            ..CallFacts::default()
        },
        |planned| planned.facts,
    )
}

/// What each run took. As its limits do, it does not count calls that change nothing outside the trace, such as those of its plan.
pub fn runs(trace: &TraceId, events: &[Event], calls: &[PastCall], tools: &Tools) -> Vec<PastRun> {
    let counts = |past: &&PastCall| !tools.doc(&past.facts.tool).is_some_and(|doc| doc.internal);
    let took = |run: run_stats::RunStats| {
        let Spent { usage, cost, .. } = run.counts.spent();
        let calls = calls.iter().filter(|past| past.run == run.run).filter(counts).count() as u64;
        PastRun { run: run.run, turns: run.counts.turns.count, calls, tokens: usage.total(), cost }
    };
    run_stats::runs(trace, events).into_iter().map(took).collect()
}
