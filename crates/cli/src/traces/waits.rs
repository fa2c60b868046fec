//! What people have said or want and the agent has not been told yet: behind the run that goes on, or still in the mailbox.

use crate::exit::Failure;
use crate::traces::mail::unread;
use crate::ui::text::short;
use mainpath::Logs;
use mainpath::core::{Bodies, State};
use mainpath::runtime::Mail;
use mainpath::types::{EventKind, MessageMode, Part, TraceId, text_of};

/// A line for each, in the order in which they came.
pub async fn waiting(
    logs: &Logs,
    trace: &TraceId,
    state: &State,
    bodies: &impl Bodies,
) -> Result<Vec<String>, Failure> {
    let queued = state.queues.steers.iter().chain(&state.queues.follow_ups);
    let queued = queued.filter_map(|queued| match bodies.get(queued.event) {
        Some(EventKind::MessageQueued(data)) => Some(said(data.mode, &data.parts)),
        _ => None,
    });
    let mut lines: Vec<String> = queued.collect();
    lines.extend(unread(logs, trace, state).await?.iter().filter_map(|(_, mail)| wanted(mail)));
    Ok(lines.iter().map(|line| format!("unread: {line}")).collect())
}

fn said(mode: MessageMode, parts: &[Part]) -> String {
    let how = match mode {
        MessageMode::Message => "message",
        MessageMode::Steer => "steer",
        MessageMode::FollowUp => "next",
    };
    format!("{how}, {}", short(&text_of(parts), 300))
}

fn wanted(mail: &Mail) -> Option<String> {
    Some(match mail {
        Mail::Message { mode, parts, .. } => said(*mode, parts),
        Mail::Rewind { after, parts: Some(parts) } => format!("rewind to #{after}, {}", short(&text_of(parts), 300)),
        Mail::Rewind { after, parts: None } => format!("rewind to #{after}"),
        Mail::SetSpec { .. } => "new settings".into(),
        Mail::Continue => "resume".into(),
        Mail::Clear => "clear".into(),
        Mail::Stop => "stop".into(),
        Mail::Interrupt { call } => format!("interrupt of call {call}"),
        Mail::Answer { call, text, .. } => format!("answer to call {call}, {}", short(text, 300)),
        Mail::Reopen { call, .. } => format!("approval of call {call}, which was denied"),
        Mail::Compact { .. } => "compact".into(),
        Mail::AgentMessage { text, .. } => format!("a message of an agent: {}", short(text, 80)),
        Mail::Rename { name, .. } => format!("the name {}", short(name, 80)),
        Mail::SelectSkill { skill } => format!("the skill {}", short(&skill.skill, 80)),
        Mail::Goals { .. } => "a change of the plan".into(),
        // What was decided on a call is told beside it.
        Mail::Approve { .. } | Mail::Deny { .. } => return None,
    })
}
