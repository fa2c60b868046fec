//! A trace for people and for other programs.

use super::markdown::write_part;
use super::read::ReadTrace;
use crate::Error;
use crate::text::span;
use mainpath_core::NodeKind;
use mainpath_providers::history::{HistoryFormat, write};
use mainpath_runtime::import::{Extent, conversation};
use mainpath_runtime::{views, wire::Projector};
use mainpath_types::{EventId, EventKind, FinishReason, Message, Millis, Role, Seq};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fmt::Write;

/// The member of a message or an event that names the `erased` event whose words stand in the place of its own.
const REWORDED: &str = "reworded_by";

/// What people are told of such a message.
pub fn reworded_by(event: EventId) -> String {
    format!("erased in part: these words are what event {event} left")
}

/// A format in which a trace is exported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExportFormat {
    /// The conversation for people.
    #[default]
    Markdown,
    /// All of it for people, as one page that needs nothing else.
    Html,
    /// Messages, events and views in one JSON object.
    Json,
    /// Mainpath's own messages as JSON, one a line.
    Neutral,
    /// The `messages` of OpenAI's Chat Completions.
    OpenAi,
    /// The `messages` of Anthropic's Messages.
    Anthropic,
    /// The `contents` of Gemini.
    Gemini,
}

/// A layout of files in which a trace is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportLayout {
    /// That of the skills agent (`.agent/runs`).
    AgentRun,
    /// That of the trace platform (`.trace`).
    TraceDir,
}

/// A trace that is exported.
#[derive(Clone, Copy)]
pub struct Export<'a> {
    pub(super) of: ReadTrace<'a>,
    extent: Extent,
}

impl<'a> Export<'a> {
    /// This trace, with so much of its conversation.
    pub fn new(of: ReadTrace<'a>, extent: Extent) -> Export<'a> {
        Export { of, extent }
    }

    /// Its events under their published names.
    pub fn wire(&self) -> Vec<Value> {
        let mut projector = Projector::new(self.of.trace.clone());
        let reworded = self.of.log.reworded();
        let mut lines = Vec::new();
        for event in &self.of.log.events {
            let marked = projector.project(event).into_iter().map(|mut line| {
                if let (Some(by), Some(fields)) = (reworded.get(&event.id), line.as_object_mut()) {
                    fields.insert(REWORDED.into(), (*by).into());
                }
                line
            });
            lines.extend(marked);
        }
        lines
    }

    pub(super) async fn views(&self) -> Result<Vec<(&'static str, Vec<u8>)>, Error> {
        Ok(views::build_with_lines(self.of.at(), &self.of.log.events).await?)
    }

    /// The conversation in this format, as JSON. Errors: the log or a blob cannot be read.
    pub async fn conversation(&self, format: HistoryFormat) -> Result<String, Error> {
        Ok(String::from_utf8_lossy(&write(format, &self.messages().await?)).into_owned())
    }

    /// Mainpath's own messages, one a line, those of the model and of tools with the time that they took. Errors: as
    /// [`Export::conversation`]'s.
    pub async fn neutral(&self) -> Result<String, Error> {
        let lines: Vec<String> = self.timed().await?.iter().map(Value::to_string).collect();
        Ok(format!("[\n{}\n]\n", lines.join(",\n")))
    }

    pub(super) async fn messages(&self) -> Result<Vec<Message>, Error> {
        Ok(conversation(self.of.at(), self.extent, true).await?.0)
    }

    async fn timed(&self) -> Result<Vec<Value>, Error> {
        let timed = |message: Message| {
            let mut fields = json!(message);
            if let Some(by) = message.seq.and_then(|seq| self.reworded(seq)) {
                fields[REWORDED] = by.into();
            }
            if let Some(elapsed) = message.seq.and_then(|seq| self.elapsed(seq)) {
                fields["duration_ms"] = elapsed.into();
            }
            fields
        };
        Ok(self.messages().await?.into_iter().map(timed).collect())
    }

    /// The `erased` event whose words a message has in the place of its own.
    pub(super) fn reworded(&self, seq: Seq) -> Option<EventId> {
        let event = self.of.state.tree.node(seq)?.event;
        self.of.log.reworded().get(&event).copied()
    }

    /// How long the model took for a message, or a tool; nothing for one that was said or came from elsewhere.
    pub(super) fn elapsed(&self, seq: Seq) -> Option<Millis> {
        let node = self.of.state.tree.node(seq)?;
        match (node.kind, self.of.bodies.get(node.event)?) {
            (NodeKind::Assistant { .. }, EventKind::ModelFinished(data)) => Some(data.elapsed_ms),
            (NodeKind::Malformed, EventKind::ModelMalformed(data)) => Some(data.elapsed_ms),
            // A call that never ran took no time.
            (NodeKind::Result(_), EventKind::CallResolved(data)) if data.attempt == 0 => Some(0),
            (NodeKind::Result(_), EventKind::CallResolved(data)) => data.ran_ms(),
            (NodeKind::Result(_), EventKind::ModelFinished(_)) => Some(0),
            _ => None,
        }
    }

    /// All of it in one object: messages, events and views. Errors: as [`Export::conversation`]'s.
    pub async fn whole(&self) -> Result<Value, Error> {
        let mut all = json!({"messages": self.timed().await?, "events": self.wire()});
        for (name, bytes) in self.views().await? {
            if let (Some(name), Ok(value)) = (name.strip_suffix(".json"), serde_json::from_slice::<Value>(&bytes)) {
                let field = if name == "meta" { "trace" } else { name };
                all.as_object_mut().map(|all| all.insert(field.into(), value));
            }
        }
        Ok(all)
    }

    /// The conversation for people, as Markdown. `undecided`: what is put before how the run ended, such as the calls that wait.
    /// Errors: as [`Export::conversation`]'s.
    pub async fn markdown(&self, undecided: &str) -> Result<String, Error> {
        let mut text = format!("# {}\n", self.of.trace);
        for message in self.messages().await? {
            let number = message.seq.map(|seq| format!(" #{seq}")).unwrap_or_default();
            let elapsed = message.seq.filter(|_| message.role == Role::Tool).and_then(|seq| self.elapsed(seq));
            let time = elapsed.map(|ms| format!(" ({})", span(ms))).unwrap_or_default();
            let who = match message.role {
                Role::User => "User",
                Role::Assistant => "Assistant",
                Role::Tool => "Result",
            };
            let reworded = message.seq.and_then(|seq| self.reworded(seq)).map(|by| format!(" ({})", reworded_by(by)));
            let _ = writeln!(text, "\n## {who}{number}{time}{}", reworded.unwrap_or_default());
            message.parts.iter().for_each(|part| write_part(part, &mut text));
        }
        text.push_str(undecided);
        if let Some(end) = views::ending(self.of.at().scoped(), self.of.state, self.of.bodies).await?
            && end.reason != FinishReason::Final
        {
            let _ = writeln!(text, "\n---\n\n{}", end.answer.trim());
        }
        Ok(text)
    }
}
