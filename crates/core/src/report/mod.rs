//! How a run ended, in words.

pub(crate) mod continuing;
pub(crate) mod helps;

use crate::context::room::Room;
use crate::report::helps::{Help, lacking, tool_of, what_helps};
use crate::{Bodies, Call, CallState, NodeKind, State};
use mainpath_types::{CallId, EventId, EventKind, FinishReason, Goal, Resolution, ResolveCause, Seq, text_of};
use std::collections::{BTreeMap, BTreeSet};

/// How the last run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Why.
    pub reason: FinishReason,
    /// The model's final answer, or a stand-in that says what was done, what blocks and what to do next.
    pub answer: String,
    /// Whether the model said it.
    pub is_said: bool,
}

/// What follows an answer that was cut off.
const CUT_OFF: &str = "\n\n[The answer was cut off here, at the model's output limit.]";

/// How the last run ended; `None` while one is going on, before the first, and where it was cleared.
pub fn ending(state: &State, bodies: &dyn Bodies) -> Option<Ending> {
    let is_cleared = state.tree.head.is_none() && state.tree.cleared > Seq(0);
    let reason = state.ended.reason.filter(|_| state.run.is_none() && !is_cleared)?;
    let last = state.tree.up(state.tree.head).find(|(_, node)| node.kind != NodeKind::Cut);
    let said = last
        .filter(|(_, node)| node.kind == NodeKind::Assistant { calls: 0 })
        .and_then(|(_, node)| words(bodies, node.event));
    let (answer, is_said) = match (reason, said) {
        (FinishReason::Final, said) => (said.unwrap_or_default(), true),
        // A last answer that was asked for when a soft budget ran out.
        (FinishReason::TokenBudget | FinishReason::MoneyBudget, Some(said)) => (said, true),
        (FinishReason::MaxOutput, Some(said)) => (format!("{}{CUT_OFF}", said.trim_end()), true),
        (reason, _) => (degraded_answer(state, bodies, reason), false),
    };
    Some(Ending { reason, answer, is_said })
}

/// What stands in for a final answer: what was done, what blocks, what to do next. By rules, without a model.
pub fn degraded_answer(state: &State, bodies: &dyn Bodies, reason: FinishReason) -> String {
    let run = LastRun::find(state, bodies);
    let (mut done, mut failed, mut has_calls): (BTreeMap<&str, u32>, _, _) = (BTreeMap::new(), None, false);
    for call in state.calls.iter().filter(|call| run.has_message(state, call.id.seq)) {
        has_calls = true;
        let name = tool_of(call, bodies).unwrap_or("an unknown tool");
        match call.state {
            CallState::Done(Resolution::Ok) => *done.entry(name).or_default() += 1,
            CallState::Done(Resolution::Error | Resolution::Unknown) => failed = Some(name),
            _ => {}
        }
    }
    let mut text = format!("The run ended before a final answer ({}).\n\nDone: ", reason.words());
    let counts: Vec<String> = done.iter().map(|(name, times)| format!("{name} × {times}")).collect();
    text.push_str(&if !has_calls {
        "no tools were run".into()
    } else if counts.is_empty() {
        "no tool call succeeded".into()
    } else {
        counts.join(", ")
    });
    state.goals.completed_since().for_each(|goal| text.push_str(&format!("; {}", goal.description)));
    text.push_str(".\nBlocked by: ");
    let is_limited = reason == FinishReason::ContextLimit && state.spec.as_ref().is_some_and(Room::is_limited);
    let ended_by = state.ended.event.and_then(|event| bodies.get(event));
    text.push_str(match ended_by {
        _ if is_limited => "the conversation does not fit the limit in characters.",
        Some(EventKind::Forked(_)) => {
            "this fork starts in the middle of a run; calls that were open there are not open here."
        }
        _ => blocker(reason),
    });
    let why = match ended_by {
        Some(EventKind::RunClosing(data)) => data.why.as_deref(),
        _ => None,
    };
    if let Some(why) = why {
        text.push_str(&format!(" Details: {why}."));
    }
    if let Some(name) = failed {
        text.push_str(&format!(" The last failure was in {name}."));
    }
    let denied = denied(state, bodies);
    if !denied.is_empty() {
        text.push_str(&format!(" Denied: {}.", denied.in_words()));
    }
    let said = state.tree.up(state.tree.head).take_while(|(_, node)| node.event > run.began).find_map(|(_, node)| {
        let NodeKind::Assistant { .. } = node.kind else { return None };
        words(bodies, node.event).filter(|said| !said.trim().is_empty())
    });
    if let Some(said) = said {
        text.push_str(&format!("\nLast message: {}", said.trim()));
    }
    text.push_str("\nNext: ");
    text.push_str(&match too_large(state, bodies, is_limited) {
        Some(advice) if reason == FinishReason::ContextLimit => advice,
        _ if is_limited => "rewind, compact, or raise max_context_chars.".into(),
        _ => advice(reason).into(),
    });
    if let Some(call) = denied.last {
        text.push_str(&format!(" Approve what was denied (the last such call is {call}), or allow it by a rule."));
    }
    if !denied.lacking.is_empty() {
        let tools: Vec<&str> = denied.lacking.iter().map(String::as_str).collect();
        text.push_str(&format!(
            " Give the run the tools that it called and does not have (--tools): {}.",
            tools.join(", ")
        ));
    }
    let is_open = |goal: &&Goal| is_to_do(state, goal) && !run.is_earlier_task(state, goal);
    let open: Vec<&str> = state.goals.list().iter().filter(is_open).map(description).collect();
    if !open.is_empty() {
        text.push_str(&format!(" Still open: {}", open.iter().take(MOST_OPEN).copied().collect::<Vec<_>>().join("; ")));
        text.push_str(&match open.len().saturating_sub(MOST_OPEN) {
            0 => ".".into(),
            more => format!("; and {more} more."),
        });
    }
    text
}

/// The run that has just ended, by its events: what earlier ones did is not told again.
struct LastRun {
    /// The event with which it began; 0 where that is not at hand.
    began: EventId,
    /// The first message that joined in it. The event of what was said is older than the run.
    opened: Option<Seq>,
}

impl LastRun {
    fn find(state: &State, bodies: &dyn Bodies) -> LastRun {
        let mut run = LastRun { began: 0, opened: None };
        // From one to the next that is there: in a log that somebody has made up there may be gaps as wide as numbers go.
        let mut at = Some(state.log.last).filter(|last| bodies.get(*last).is_some()).or(bodies.before(state.log.last));
        while let Some(event) = at {
            at = bodies.before(event);
            match bodies.get(event) {
                Some(EventKind::RunStarted(_)) => {
                    run.began = event;
                    break;
                }
                Some(EventKind::MessageJoined(data)) => run.opened = Some(data.seq),
                _ => {}
            }
        }
        run
    }

    fn has_message(&self, state: &State, seq: Seq) -> bool {
        self.opened.is_some_and(|first| seq >= first) || state.tree.node(seq).is_none_or(|node| node.event > self.began)
    }

    /// Whether a goal is nothing but the task of an earlier run, which stands for a plan where nobody has made one.
    fn is_earlier_task(&self, state: &State, goal: &Goal) -> bool {
        let is_earlier = goal.made_after.is_some_and(|seq| !self.has_message(state, seq));
        is_earlier && state.goals.list().len() == 1
    }
}

/// What to do where neither a summary nor an earlier message helps.
fn too_large(state: &State, bodies: &dyn Bodies, is_limited: bool) -> Option<String> {
    let larger = if is_limited { "raise max_context_chars" } else { "use a model with a larger window" };
    match what_helps(state, bodies) {
        Help::Smaller { message, tokens, room, .. } => {
            let size = if tokens > room {
                format!("about {tokens} tokens, and there is room for {room}")
            } else {
                "too large".into()
            };
            Some(format!(
                "say less (message {message} alone is {size}), such as a smaller file or only its name, so that it is read in \
                 parts; or {larger}."
            ))
        }
        Help::Window => Some(format!("{larger}, or fewer tools and instructions: they alone are larger.")),
        Help::GoOn | Help::Approve(_) | Help::Allow(_) | Help::Give(_) | Help::Shorten => None,
    }
}

/// So many open steps of the plan are named.
const MOST_OPEN: usize = 8;

/// Whether a step of the plan is to be done, and has none below it that says so in its place.
fn is_to_do(state: &State, goal: &Goal) -> bool {
    let below = |other: &Goal| other.parent == Some(goal.id) && !other.is_finished();
    !goal.is_finished() && !state.goals.list().iter().any(below)
}

fn description(goal: &Goal) -> &str {
    goal.description.trim()
}

/// What was denied since somebody last said something.
#[derive(Default)]
struct DeniedCalls {
    /// How often, by tool and by why.
    times: BTreeMap<(String, String), u32>,
    /// The last that an approval or a rule may help.
    last: Option<CallId>,
    /// The tools that the run was not given.
    lacking: BTreeSet<String>,
}

impl DeniedCalls {
    fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    fn in_words(&self) -> String {
        let words = self.times.iter().map(|((tool, by), times)| format!("{tool} × {times} ({by})"));
        words.collect::<Vec<_>>().join(", ")
    }
}

fn denied(state: &State, bodies: &dyn Bodies) -> DeniedCalls {
    let said = state.tree.up(state.tree.head).find(|(_, node)| node.kind == NodeKind::User);
    let since = said.map_or(Seq(0), |(seq, _)| seq);
    let mut denied = DeniedCalls::default();
    let is_denied = |call: &&Call| call.id.seq > since && call.state == CallState::Done(Resolution::Denied);
    for call in state.calls.iter().filter(is_denied) {
        let tool = tool_of(call, bodies).unwrap_or("an unknown tool").to_string();
        let why = match lacking(call, bodies) {
            Some(tool) => {
                denied.lacking.insert(tool.into());
                "not among the tools of this run".into()
            }
            None => {
                denied.last = Some(call.id);
                format!("by {}", denied_by(bodies, call))
            }
        };
        *denied.times.entry((tool, why)).or_default() += 1;
    }
    denied
}

/// The rule or the person that denied a call.
fn denied_by(bodies: &dyn Bodies, call: &Call) -> String {
    let by = match bodies.get(call.result) {
        Some(EventKind::ModelFinished(data)) => {
            let verdict = data.call(call.id.index).and_then(|call| call.planned.verdict.as_ref());
            verdict.map(|verdict| verdict.rule.clone())
        }
        Some(EventKind::CallResolved(data)) => match data.cause {
            ResolveCause::ApprovalExpired => Some("timeout: nobody answered in time".into()),
            _ => data.by.as_ref().map(ToString::to_string),
        },
        _ => None,
    };
    by.unwrap_or_else(|| "a person".into())
}

fn words(bodies: &dyn Bodies, event: mainpath_types::EventId) -> Option<String> {
    match bodies.get(event)? {
        EventKind::ModelFinished(data) => Some(text_of(&data.parts)),
        EventKind::MessageImported(data) => Some(text_of(&data.parts)),
        _ => None,
    }
}

fn blocker(reason: FinishReason) -> &'static str {
    use FinishReason::*;
    match reason {
        Final => "nothing.",
        Stopped => "the run was stopped.",
        MaxTurns => "the limit of model turns.",
        MaxToolCalls => "the limit of tool calls.",
        MaxScriptRuns => "the limit of script runs.",
        Timeout => "the time limit of the run.",
        TokenBudget => "the token budget.",
        MoneyBudget => "the money budget.",
        MaxOutput => "the model's output limit cut its answer off.",
        ContextLimit => "the conversation does not fit the model's window.",
        RepeatedFailure => "the run was stuck in a loop.",
        ProtocolError => "the model did not keep to the answer format, even after a retry.",
        SchemaError => "the answer did not match its schema.",
        ApprovalNeeded => "a call needs approval, and the run is non-interactive.",
        Denied => "a hook stopped the run.",
        ModelError => "the model could not be reached or refused the request.",
        ToolError => "a tool failed for good.",
        InternalError => "a bug in Mainpath.",
    }
}

fn advice(reason: FinishReason) -> &'static str {
    use FinishReason::*;
    match reason {
        Final => "nothing.",
        Stopped => "continue the trace.",
        Timeout | MaxTurns | MaxToolCalls | MaxScriptRuns => {
            "continue the trace: limits count per run, so the next run has the whole limit again."
        }
        TokenBudget | MoneyBudget => "continue the trace with a larger budget.",
        MaxOutput => "continue the trace, so that the model can finish its answer.",
        ContextLimit => "rewind, compact or clear the conversation, or use a model with a larger window.",
        RepeatedFailure | ToolError => "look at the failure, then continue the trace with an instruction.",
        ProtocolError | SchemaError => "use another model or another protocol.",
        ApprovalNeeded => "approve the call, or continue the trace with an instruction.",
        Denied => "read what the hook said, then continue the trace.",
        ModelError => "check the model server and the key, then resume the trace.",
        InternalError => "please report it with the trace.",
    }
}

/// One word for where a trace stands.
pub fn status(state: &State) -> &'static str {
    use FinishReason::*;
    match (&state.run, state.ended.reason) {
        (Some(_), _) if state.waits_for_people() => "waiting",
        (Some(_), _) => "running",
        // A conversation from elsewhere, with which nothing was done here.
        (None, None) if state.tree.head.is_some() && state.queues.is_empty() => "imported",
        (None, None) => "running",
        (None, Some(Final)) => "completed",
        (None, Some(Stopped)) => "stopped",
        (None, Some(_)) => "failed",
    }
}
