//! What people and programs send to a trace, from any process: the bodies of mailbox entries.

use crate::secrets::SecretInSpec;
use mainpath_core::{Answered, Demands, InputKind, demands_of, estimate_parts};
use mainpath_types::{
    CallId, GoalOp, MessageMode, MessageQueued, MessageReceived, NameMade, Origin, Part, Principal, RewindRequested,
    Seq, SkillBy, SkillSelected, Spec, ToolOutput, TraceNamed, typed,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What is sent. Who sent it is stamped by the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Mail {
    /// The agent is to be this from the next turn on.
    SetSpec {
        /// The whole spec.
        spec: Arc<Spec>,
    },
    /// Something said.
    Message {
        /// When it is to be read.
        mode: MessageMode,
        /// What.
        parts: Vec<Part>,
        /// Which of the parts a person typed, where the others were piped in or attached; `None`: all of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        typed: Option<u16>,
    },
    /// Go on from where the last run ended.
    Continue,
    /// Go back.
    Rewind {
        /// To this message; 0 is before the first.
        after: Seq,
        /// What to say there; without it the model answers again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parts: Option<Vec<Part>>,
    },
    /// Begin the conversation anew: nothing of what was said is shown to the agent any more.
    Clear,
    /// End the run at the next checkpoint.
    Stop,
    /// End one running call.
    Interrupt {
        /// Which.
        call: CallId,
    },
    /// Approve a call.
    Approve {
        /// Which.
        call: CallId,
        /// Other arguments than the model's: JSON text. Rules judge them afresh.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<String>,
        /// A rule that allows calls like this one for the rest of the trace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
    },
    /// Approve a call that was denied before; it is made after all.
    Reopen {
        /// Which.
        call: CallId,
        /// Other arguments than the model's: JSON text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<String>,
    },
    /// Deny a call.
    Deny {
        /// Which.
        call: CallId,
        /// Why, for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Answer what the agent asked.
    Answer {
        /// The call that asks.
        call: CallId,
        /// The answer: words, or the number of a choice.
        text: String,
        /// How it came: `terminal`, `command`, `mcp`, `webhook`, `feishu`. Words that came by another way than the owner's own are somebody
        /// else's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        via: Option<String>,
    },
    /// Summarise the conversation, also while nothing is going on.
    Compact {
        /// What the summary should keep in mind.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
    /// Call the trace by a name.
    Rename {
        /// The name.
        name: String,
        /// The model that made it, with what that took; a name that the trace has stays.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        made: Option<NameMade>,
    },
    /// Something that another agent says: it waits until the agent looks.
    AgentMessage {
        /// The words.
        text: String,
        /// The conversation that they belong to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conversation: Option<String>,
        /// The sender's id for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    /// Load a skill.
    SelectSkill {
        /// The skill, with its text.
        skill: Box<SkillSelected>,
    },
    /// Change the plan.
    Goals {
        /// How.
        ops: Vec<GoalOp>,
    },
}

/// Entries in the order in which they are read: the urgent ones first, and what is said for later after what is to be read
/// now, as far as nobody has gone back or begun anew in between. `runs`: a run is going on. Otherwise a stop is read after the messages
/// that came before it: they would begin the run that it is to end.
pub(crate) fn in_order(
    entries: Vec<mainpath_store::Mail>,
    runs: bool,
) -> Vec<(serde_json::Result<Mail>, mainpath_store::Mail)> {
    let read = |entry: mainpath_store::Mail| (serde_json::from_str::<Mail>(&entry.body), entry);
    let mut mail: Vec<_> = entries.into_iter().map(read).collect();
    mail.sort_by_key(|(mail, entry)| !entry.urgent || !runs && matches!(mail, Ok(Mail::Stop)));
    let moves = |mail: &serde_json::Result<Mail>| {
        matches!(mail, Ok(Mail::Clear | Mail::Continue | Mail::Rewind { .. } | Mail::Stop))
    };
    let later =
        |mail: &serde_json::Result<Mail>| matches!(mail, Ok(Mail::Message { mode, .. }) if *mode != MessageMode::Steer);
    mail.chunk_by_mut(|(a, _), (b, _)| !moves(a) && !moves(b))
        .for_each(|said| said.sort_by_key(|(mail, _)| later(mail)));
    mail
}

impl Mail {
    /// Something said in plain text, to be read now or after the present run.
    pub fn message(text: impl Into<String>) -> Mail {
        Mail::say(MessageMode::Message, text)
    }

    /// Something said in plain text, to be read when its mode says.
    pub fn say(mode: MessageMode, text: impl Into<String>) -> Mail {
        Mail::Message { mode, parts: vec![Part::text(text)], typed: None }
    }

    /// The approval of a call, once and as it is.
    pub fn approve(call: CallId) -> Mail {
        Mail::Approve { call, arguments: None, rule: None }
    }

    /// The message that it says.
    pub(crate) fn parts_mut(&mut self) -> Option<&mut Vec<Part>> {
        match self {
            Mail::Message { parts, .. } => Some(parts),
            Mail::Rewind { parts, .. } => parts.as_mut(),
            Mail::SelectSkill { skill } => Some(&mut skill.parts),
            Mail::SetSpec { .. }
            | Mail::Continue
            | Mail::Clear
            | Mail::Stop
            | Mail::Interrupt { .. }
            | Mail::Approve { .. }
            | Mail::Reopen { .. }
            | Mail::Deny { .. }
            | Mail::Answer { .. }
            | Mail::Compact { .. }
            | Mail::Rename { .. }
            | Mail::AgentMessage { .. }
            | Mail::Goals { .. } => None,
        }
    }

    /// Whether it overtakes what waits. A denial does, so that it wins over an approval that nobody has read yet.
    pub fn is_urgent(&self) -> bool {
        matches!(self, Mail::Stop | Mail::Interrupt { .. } | Mail::Deny { .. })
    }

    /// Whether it says what somebody can say. Calls, results and thoughts are the model's, and what lies in a blob was put
    /// there by the runtime: no vendor takes the ones from a person, and a blob that is not there stops every request.
    pub(crate) fn is_sayable(&self) -> bool {
        let parts = match self {
            Mail::Message { parts, .. } | Mail::Rewind { parts: Some(parts), .. } => parts,
            _ => return true,
        };
        parts.iter().all(|part| match part {
            Part::Text { .. } | Part::Image { .. } | Part::Audio { .. } | Part::Document { .. } => true,
            Part::StoredText { .. } | Part::Thinking { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } => false,
        })
    }

    /// The input that it is, from this sender. The caller has redacted it, and adds the verdict on edited arguments.
    pub(crate) fn into_input(self, by: Principal) -> InputKind {
        match self {
            Mail::SetSpec { spec } => InputKind::SetSpec { spec, by: Some(by) },
            Mail::Message { mode, parts, typed: which } => {
                let said = typed(&parts, which);
                let Demands { tokens: demands, at: demanded } = match mode {
                    // Who steers says what holds from there on: all of it stays.
                    MessageMode::Steer if !by.is_agent() => Demands::all(said),
                    MessageMode::Message | MessageMode::Steer | MessageMode::FollowUp => demanded(said, &by),
                };
                let tokens = estimate_parts(&parts);
                let said = MessageQueued { mode, parts, typed: which, tokens, demands, demanded, from: by };
                InputKind::UserMessage(said)
            }
            Mail::Continue => InputKind::Continue { by },
            Mail::Rewind { after, parts } => {
                let tokens = parts.as_deref().map_or(0, estimate_parts);
                let said = parts.as_deref().unwrap_or_default();
                let Demands { tokens: demands, at: demanded } = demanded(said, &by);
                InputKind::Rewind(RewindRequested { after, parts, tokens, demands, demanded, by })
            }
            Mail::Clear => InputKind::Clear { by },
            Mail::Stop => InputKind::Stop { by },
            Mail::Interrupt { call } => InputKind::Interrupt { call },
            Mail::Approve { call, arguments: _, rule } => InputKind::Approve { call, by, edit: None, rule },
            Mail::Reopen { call, arguments: _ } => InputKind::Approve { call, by, edit: None, rule: None },
            Mail::Deny { call, reason } => InputKind::Deny { call, by, reason },
            Mail::Answer { call, text, via } => {
                let output = answer(&text, via.as_deref(), &by);
                let tokens = estimate_parts(&output.content);
                InputKind::Answered(Answered { call, output, tokens, by })
            }
            Mail::Compact { hint } => InputKind::Compact { hint, by },
            Mail::Rename { name, made } => InputKind::Name(TraceNamed { name, by, made }),
            Mail::AgentMessage { .. } if !by.is_agent() => {
                InputKind::BadMail { problem: format!("{by} is no agent: only agents leave messages in an inbox") }
            }
            Mail::AgentMessage { text, conversation, id } => {
                // The id is compared, and shown to nobody: cut, two could become one.
                let conversation = conversation.as_deref().map(one_line);
                InputKind::Receive(MessageReceived { from: by, conversation, id, text })
            }
            // Only who owns the agent says how it works.
            Mail::SelectSkill { .. } if by.is_agent() => {
                InputKind::BadMail { problem: "only a person can load a skill for an agent".into() }
            }
            Mail::SelectSkill { mut skill } => {
                (skill.call, skill.person) = (None, Some(by));
                if skill.by == SkillBy::Model {
                    skill.by = SkillBy::Person;
                }
                InputKind::SelectSkill(skill)
            }
            Mail::Goals { ops } => InputKind::ChangeGoals { ops, by },
        }
    }

    /// Redacts its texts. Errors: what must stay as it is holds a secret.
    pub(crate) fn redact(&mut self, vault: &crate::Vault) -> Result<(), SecretInSpec> {
        match self {
            Mail::Message { parts, .. } | Mail::Rewind { parts: Some(parts), .. } => vault.redact_parts(parts),
            Mail::Approve { arguments, rule, .. } => {
                *arguments = arguments.take().map(|text| vault.redact_arguments(&text));
                *rule = rule.take().map(|text| vault.redact(&text));
            }
            Mail::Reopen { arguments, .. } => {
                *arguments = arguments.take().map(|text| vault.redact_arguments(&text));
            }
            Mail::Rename { name: text, .. }
            | Mail::Answer { text, .. }
            | Mail::Deny { reason: Some(text), .. }
            | Mail::Compact { hint: Some(text) } => {
                *text = vault.redact(text);
            }
            Mail::AgentMessage { text, conversation, id } => {
                *text = vault.redact(text);
                *conversation = conversation.take().map(|name| vault.redact(&name));
                *id = id.take().map(|id| vault.redact(&id));
            }
            Mail::SetSpec { spec } => vault.redact_spec(Arc::make_mut(spec))?,
            Mail::SelectSkill { skill } => {
                vault.redact_parts(&mut skill.parts);
                skill.reason = vault.redact(&skill.reason);
            }
            Mail::Goals { ops } => {
                let texts = ops.iter_mut().flat_map(GoalOp::texts_mut);
                texts.for_each(|text| *text = vault.redact(text));
            }
            Mail::Continue
            | Mail::Clear
            | Mail::Stop
            | Mail::Interrupt { .. }
            | Mail::Rewind { parts: None, .. }
            | Mail::Compact { hint: None }
            | Mail::Deny { reason: None, .. } => {}
        }
        Ok(())
    }
}

/// Words as a quote that they cannot leave: each of their lines begins with a mark, whatever ends a line, and nothing in them moves a cursor.
pub(crate) fn quoted(text: &str) -> String {
    let ends = |letter: char| matches!(letter, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let text = text.trim().replace("\r\n", "\n");
    let shown = |line: &str| line.chars().filter(|letter| *letter == '\t' || !letter.is_control()).collect::<String>();
    let lines: Vec<String> = text.split(ends).map(|line| format!("> {}", shown(line)).trim_end().to_string()).collect();
    lines.join("\n")
}

/// A name that cannot pass for anything else: one line of at most 100 letters.
fn one_line(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_control()).take(100).collect()
}

/// How the owner answers; what comes by another way, or from an agent, is not the owner's word.
const OWN_WAYS: [&str; 2] = ["terminal", "command"];

/// An answer as the model reads it: who gave it, by which way, and the words as a quote, so that they cannot pass for anything else.
fn answer(text: &str, via: Option<&str>, by: &Principal) -> ToolOutput {
    let way = via.map(|via| format!(" ({via})")).unwrap_or_default();
    let title = format!("answered by {by}{way}");
    let is_own = !by.is_agent() && via.is_none_or(|via| OWN_WAYS.contains(&via));
    let origin = if is_own { Origin::User } else { Origin::Message };
    ToolOutput { origin, title: Some(title), ..ToolOutput::text(format!("{by} answered{way}:\n{}", quoted(text))) }
}

/// What people demand is never left out of a request. What agents say is.
fn demanded(parts: &[Part], by: &Principal) -> Demands {
    if by.is_agent() { Demands::default() } else { demands_of(parts) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_messages_are_kept_whole_and_without_secrets() {
        let vault = crate::Vault::new([("A_KEY".to_string(), "hunter2hunter2".to_string())]);
        let received = |id: String| {
            let mut mail = Mail::AgentMessage { text: "hello".into(), conversation: None, id: Some(id) };
            mail.redact(&vault).unwrap();
            match mail.into_input(Principal::agent("ci")) {
                InputKind::Receive(message) => message.id.unwrap(),
                other => panic!("{other:?}"),
            }
        };
        // Two calls of an agent with a long name.
        let of = |call: &str| format!("call:{}/send_message/{call}", "a@explore-001-1795632426249-001".repeat(5));
        assert_eq!([received(of("2.0")), received(of("4.0"))], [of("2.0"), of("4.0")]);
        assert!(!received("hunter2hunter2".into()).contains("hunter2"));
    }
}
