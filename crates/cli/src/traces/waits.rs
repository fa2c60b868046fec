//! Messages and requests that the agent has not been told, in words.

use crate::ui::text::short;
use mainpath::runtime::Mail;
use mainpath::types::{MessageMode, text_of};

/// Returns the line of an untold message. `None`: a decision on a call, which is shown with the call.
pub fn unread_line(mail: &Mail) -> Option<String> {
    let what = match mail {
        Mail::Message { mode, parts, .. } => {
            let how = match mode {
                MessageMode::Message => "message",
                MessageMode::Steer => "steer",
                MessageMode::FollowUp => "next",
            };
            format!("{how}, {}", short(&text_of(parts), 300))
        }
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
        Mail::Approve { .. } | Mail::Deny { .. } => return None,
    };
    Some(format!("unread: {what}"))
}
