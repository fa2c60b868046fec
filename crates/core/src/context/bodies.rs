//! From references to texts: the messages of a packed request, looked up in the log.

use crate::calls::reopen;
use crate::context::demands::in_words;
use crate::context::excerpt::excerpt;
use crate::context::loss::NOTE;
use crate::run::progress::told;
use crate::skills::frame;
use crate::{Bodies, Call, CallState, Item, NodeKind, Shown, State, reminder};
use mainpath_types::{
    ApprovalGranted, CallId, CallResolved, CompactionRequested, EventId, EventKind, Message, Part, PlanView,
    Resolution, ResolveCause, Role, Seq, text_of, written_calls,
};

const SUMMARY_PROMPT: &str = "The conversation is about to outgrow the context window. Write a summary that lets the work \
     go on without the earlier messages. Use these sections: Goal, Constraints, Decisions, Open Items, Tool Facts. Keep file \
     names, numbers and identifiers exact. Do not call tools.";
const REFLECT_PROMPT: &str = "The conversation is about to outgrow the context window and will be summarised. First look back at \
     it: what was learned that holds beyond this task, about the tools, the way of working, this workspace? If you have a tool \
     that keeps such knowledge or shows the plan, use it now; tools that change anything do not run here. Then say in a few \
     sentences what matters most for going on.";
const LAST_ANSWER: &str = "The budget of this run is used up. Give your final answer now, without calling tools: what was \
     done, what blocks, and what to do next.";

/// The message that an item shows. `None` if the log does not hold its body (it was erased, or is not at hand).
pub fn message(state: &State, bodies: &dyn Bodies, item: &Item) -> Option<Message> {
    let note = |text: &str| Message { seq: None, role: Role::User, parts: vec![Part::text(text)] };
    let numbered = |seq: Seq, role: Role, parts: Vec<Part>| Message { seq: Some(seq), role, parts };
    Some(match item {
        Item::User { seq, event } => match bodies.get(*event)? {
            EventKind::MessageQueued(data) => numbered(*seq, Role::User, data.parts.clone()),
            EventKind::RewindRequested(data) => numbered(*seq, Role::User, data.parts.clone()?),
            EventKind::MessageImported(data) => numbered(*seq, Role::User, data.said()),
            EventKind::CallReopened(data) => {
                numbered(*seq, Role::User, vec![Part::text(reopen::reopened_text(state, bodies, data)?)])
            }
            _ => return None,
        },
        Item::Assistant { seq, event } => numbered(*seq, Role::Assistant, answer(bodies, *event)?),
        Item::Demands { seq, event, most } => {
            let (said, places) = match bodies.get(*event)? {
                EventKind::MessageQueued(data) => (text_of(data.typed()), &data.demanded),
                EventKind::RewindRequested(data) => (text_of(data.parts.as_deref()?), &data.demanded),
                EventKind::MessageImported(data) => (text_of(&data.said()), &data.demanded),
                _ => return None,
            };
            numbered(*seq, Role::User, vec![Part::text(in_words(&said, places, *most))])
        }
        Item::Result { seq, call, event, shown } => {
            let row = state.calls.get(*call)?;
            let content = part_of(bodies, *event, *call, *shown, result(state, bodies, row, *event)?);
            if state.tree.node(call.seq).is_some_and(|node| node.kind == NodeKind::User) {
                return Some(reopen::result_in_words(*seq, row.tool.as_deref().unwrap_or("a tool"), content));
            }
            let is_error = row.state != CallState::Done(Resolution::Ok);
            let name = called_name(bodies, *call, state)?;
            numbered(*seq, Role::Tool, vec![Part::ToolResult { call: *call, name, content, is_error }])
        }
        Item::Malformed { seq, event } => {
            let EventKind::ModelMalformed(data) = bodies.get(*event)? else { return None };
            // As text only: a call that was not understood has no result, and no vendor takes an empty message.
            let text = text_of(&data.parts);
            let text = if text.trim().is_empty() { "(no valid answer)".into() } else { text };
            numbered(*seq, Role::Assistant, vec![Part::text(text)])
        }
        Item::RepairPrompt { seq, event } => {
            let EventKind::ModelMalformed(data) = bodies.get(*event)? else { return None };
            numbered(*seq, Role::User, vec![Part::text(repair_prompt(&data.problem))])
        }
        Item::Skill { seq, event } => {
            let EventKind::SkillSelected(data) = bodies.get(*event)? else { return None };
            let mut parts = vec![Part::text(frame(data))];
            parts.extend(data.parts.iter().cloned());
            numbered(*seq, Role::User, parts)
        }
        Item::Injected { seq, event } => {
            let EventKind::Injected(data) = bodies.get(*event)? else { return None };
            numbered(*seq, Role::User, vec![Part::text(reminder(data))])
        }
        Item::Summary { event } => {
            let parts = match bodies.get(*event)? {
                EventKind::ContextCut(data) => {
                    let summary = match data.summary {
                        Some(summary) => Some(earlier(bodies, summary)?),
                        None => None,
                    };
                    [summary, data.note.as_ref().map(|note| note.text.clone())]
                }
                EventKind::Compacted(data) => {
                    [Some(earlier(bodies, *event)?), data.note.as_ref().map(|note| note.text.clone())]
                }
                _ => [Some(earlier(bodies, *event)?), None],
            };
            note(&parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n"))
        }
        Item::ReflectPrompt { seq } => numbered(*seq, Role::User, vec![Part::text(REFLECT_PROMPT)]),
        Item::SummaryPrompt { seq, reflected, asked, opened } => {
            let asked = match asked {
                Some(event) => Some(bodies.get(*event)?),
                None => None,
            };
            let EventKind::BranchOpened(opened) = bodies.get(*opened)? else { return None };
            let text = summary_prompt(*reflected, asked, opened.plan.as_ref());
            numbered(*seq, Role::User, vec![Part::text(text)])
        }
        Item::Recalled { call, event } => {
            let row = state.calls.get(*call)?;
            let name = called_name(bodies, *call, state)?;
            let text = text_of(&result(state, bodies, row, *event)?);
            note(&format!("The result of the earlier call {call} of {name}, shown again:\n\n{text}"))
        }
        Item::Standing { event } => {
            let EventKind::ModelRequested(data) = bodies.get(*event)? else { return None };
            note(data.standing.as_deref()?)
        }
        Item::LastAnswer => note(LAST_ANSWER),
    })
}

/// A summary in its frame, without the note that may follow it. `None` if its text is not there.
fn earlier(bodies: &dyn Bodies, event: EventId) -> Option<String> {
    let text = summary_words(bodies, event)?;
    let some_shown = matches!(bodies.get(event)?, EventKind::Compacted(data) if data.some_shown);
    let which = if some_shown { "some of which is still shown" } else { "which is no longer shown" };
    Some(format!("Summary of the earlier conversation, {which}:\n\n{text}"))
}

/// The words of a summary, by the event that has or names them, as far as they are shown.
pub(crate) fn summary_words(bodies: &dyn Bodies, event: EventId) -> Option<String> {
    let EventKind::Compacted(data) = bodies.get(event)? else { return Some(text_of(&answer(bodies, event)?)) };
    let text = match &data.text {
        Some(text) => text.clone(),
        None => text_of(&answer(bodies, data.summary)?),
    };
    let text = match data.excerpt {
        Some(tokens) => excerpt(&text, tokens),
        None => text,
    };
    Some(match &data.floor {
        Some(floor) => format!("{text}\n\n{}", floor.text),
        None => text,
    })
}

/// What the model is told to summarise.
fn summary_prompt(reflected: bool, asked: Option<&EventKind>, plan: Option<&PlanView>) -> String {
    let mut text = match reflected {
        false => SUMMARY_PROMPT.to_string(),
        true => SUMMARY_PROMPT.replace(" Do not call tools.", " Tools that change anything do not run here."),
    };
    if let Some(EventKind::CompactionRequested(CompactionRequested { hint: Some(hint), .. })) = asked {
        text.push_str(" Keep in mind: ");
        text.push_str(hint);
    }
    if let Some(plan) = plan {
        text.push_str("\n\n## The plan, with what came of it\n");
        text.push_str(&plan.text);
    }
    text
}

/// A result as far as it is shown.
fn part_of(bodies: &dyn Bodies, event: EventId, call: CallId, shown: Shown, whole: Vec<Part>) -> Vec<Part> {
    let line = || match bodies.get(event) {
        Some(EventKind::CallResolved(data)) => data.output.as_ref()?.long_term_memory.clone(),
        _ => None,
    };
    let text = match shown {
        Shown::Whole => return whole,
        Shown::Line => line().unwrap_or_default(),
        Shown::Excerpt(tokens) => excerpt(&text_of(&whole), tokens.saturating_sub(NOTE + 8)),
    };
    vec![Part::text(format!("{text}\n[Only this is shown of call {call}. Its whole result can be recalled.]"))]
}

/// What the model is told to repair its answer.
fn repair_prompt(problem: &str) -> String {
    format!("Your last answer could not be used: {problem}\nAnswer again in the required form.")
}

/// What an assistant said.
fn answer(bodies: &dyn Bodies, event: EventId) -> Option<Vec<Part>> {
    match bodies.get(event)? {
        EventKind::ModelFinished(data) => Some(data.parts.clone()),
        EventKind::MessageImported(data) => Some(data.said()),
        _ => None,
    }
}

/// The name that the model called, so that vendors that match by name find it again.
pub(crate) fn called_name(bodies: &dyn Bodies, call: CallId, state: &State) -> Option<String> {
    let parts = match bodies.get(state.tree.node(call.seq)?.event)? {
        EventKind::ModelFinished(data) => &data.parts,
        EventKind::MessageImported(data) => &data.parts,
        // As the model called it at the time.
        EventKind::CallReopened(data) => return called_name(bodies, data.of, state),
        _ => return None,
    };
    written_calls(parts).nth(call.index.into()).map(|written| written.name.into())
}

/// The arguments of a call as the model wrote them; of a denied call that is made after all, as they were approved.
pub(crate) fn arguments(bodies: &dyn Bodies, call: CallId, state: &State) -> Option<String> {
    let parts = match bodies.get(state.tree.node(call.seq)?.event)? {
        EventKind::ModelFinished(data) => &data.parts,
        EventKind::MessageImported(data) => &data.parts,
        EventKind::CallReopened(data) => {
            return match bodies.get(data.grant)? {
                EventKind::ApprovalGranted(grant) => grant.arguments.clone(),
                _ => None,
            };
        }
        _ => return None,
    };
    written_calls(parts).nth(call.index.into()).map(|written| written.arguments.into())
}

/// What the model is told about a call that has ended.
fn result(state: &State, bodies: &dyn Bodies, call: &Call, event: EventId) -> Option<Vec<Part>> {
    let mut repeated = 0;
    let mut parts = match bodies.get(event)? {
        EventKind::ModelFinished(data) => {
            let planned = data.call(call.id.index)?.planned;
            repeated = planned.repeated;
            let text = match (planned.ended()?, &planned.verdict) {
                ((Resolution::Denied, reason), Some(verdict)) => format!("Denied ({}): {reason}", verdict.rule),
                ((_, ""), _) => "(no output)".into(),
                ((_, text), _) => text.into(),
            };
            vec![Part::text(text)]
        }
        EventKind::CallResolved(data) => {
            repeated = data.repeated;
            result_text(data)
        }
        EventKind::MessageImported(data) => data.result(call.id.index)?.0.to_vec(),
        _ => return None,
    };
    // What a model looks up of its own conversation is as long as it asked for, since that is recorded.
    let looked_up = matches!(bodies.get(event), Some(EventKind::ModelFinished(data))
        if data.call(call.id.index).is_some_and(|call| call.planned.once));
    let most = state.limits().and_then(|limits| limits.observation_chars);
    if let Some(most) = most.filter(|_| !looked_up) {
        parts.iter_mut().for_each(|part| shorten(part, most as usize));
    }
    let is_reopened = state.tree.node(call.id.seq).is_some_and(|node| node.kind == NodeKind::User);
    let note = match bodies.get(call.arguments) {
        // Its message says it.
        _ if is_reopened => None,
        Some(EventKind::ApprovalGranted(ApprovalGranted { arguments: Some(arguments), by, changed_by, .. })) => {
            Some(match changed_by.is_empty() {
                true => format!("[{by} approved this call with other arguments: {arguments}]"),
                false => changed(arguments),
            })
        }
        Some(EventKind::ModelFinished(data)) => data
            .call(call.id.index)
            .and_then(|call| call.planned.arguments.as_ref())
            .map(|arguments| changed(arguments)),
        _ => None,
    };
    if let Some(note) = note {
        parts.insert(0, Part::text(note));
    }
    if repeated > 0 {
        parts.push(Part::text(told(repeated)));
    }
    Some(parts)
}

fn changed(arguments: &str) -> String {
    format!("[The arguments of this call were changed by the owner's rules: {arguments}]")
}

fn shorten(part: &mut Part, most: usize) {
    if let Part::Text { text } = part
        && let Some((end, _)) = text.char_indices().nth(most)
    {
        text.truncate(end);
        text.push_str(" […]");
    }
}

/// The words for the end of a call: what came back, or why nothing did.
pub fn result_text(resolved: &CallResolved) -> Vec<Part> {
    let words = match resolved.cause {
        ResolveCause::Result | ResolveCause::QuestionExpired => None,
        ResolveCause::DeniedByPerson => Some(match &resolved.reason {
            Some(reason) => format!("A person denied this call: {reason}"),
            None => "A person denied this call.".into(),
        }),
        ResolveCause::DeniedByRule => Some(match &resolved.reason {
            Some(reason) => format!("Denied with these arguments: {reason}"),
            None => "Denied with these arguments.".into(),
        }),
        ResolveCause::ApprovalExpired => Some("Denied: nobody decided on this call in time.".into()),
        ResolveCause::ToolCap => Some("Not started: the calls of this tool are used up for this run.".into()),
        ResolveCause::Closing => {
            Some("Not started: the run was ended first. Call it again if it is still needed.".into())
        }
        ResolveCause::Steer => Some("Not started: a new message came in first.".into()),
        ResolveCause::TurnCap => Some("Not started: only so many calls are allowed per turn. Call it again.".into()),
        ResolveCause::ScriptBudget => Some("Not started: the runs of scripts are used up for this run.".into()),
        ResolveCause::CallBudget => Some("Not started: the calls of this run are used up.".into()),
        ResolveCause::Summary => Some("Not started: only a summary is asked for here.".into()),
        ResolveCause::LastAnswer => Some("Not started: only a final answer was asked for.".into()),
        ResolveCause::Timeout => Some(format!("Ended after {} ms: its time was up.", resolved.elapsed_ms)),
        ResolveCause::Stopped => Some("Interrupted while it ran. What it had done by then stays done.".into()),
        ResolveCause::Crash => Some("Interrupted by a restart. Call it again if it is still needed.".into()),
        ResolveCause::Uncertain => Some(
            "Unknown: the system was restarted while this ran, and it may or may not have taken effect. Check before \
             calling it again."
                .into(),
        ),
    };
    let mut parts: Vec<Part> = words.map(Part::text).into_iter().collect();
    parts.extend(resolved.output.iter().flat_map(|output| output.content.iter().cloned()));
    if parts.is_empty() || parts.iter().all(|part| matches!(part, Part::Text { text } if text.is_empty())) {
        // No vendor takes an empty result.
        parts = vec![Part::text("(no output)")];
    }
    parts
}
