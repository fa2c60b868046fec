//! Conversations as data: written for other programs, and read from them.
//!
//! What comes from elsewhere may be broken in ways that vendors refuse; [`read()`] mends what can be mended and says what it
//! mended. A whole request body, its list of messages, or one message a line is understood.

mod form;
mod heal;
mod loose;

pub use form::{BadHistory, History, HistoryFormat, TracedHistory, Whole};

use crate::codec::{Codec, groups};
use crate::endpoint::Quirks;
use crate::{Anthropic, Gemini, Neutral, OpenAiChat};
use mainpath_types::{CallId, Message, Part, Role, Seq, text_of};
use serde::{Deserialize, Serialize};

/// A conversation as JSON: a list, one message a line. What a vendor signed is left out of the vendors' formats.
pub fn write(format: HistoryFormat, messages: &[Message]) -> Vec<u8> {
    let codec: Box<dyn Codec> = match format {
        HistoryFormat::Neutral => Box::new(Neutral),
        HistoryFormat::OpenAi => Box::new(OpenAiChat::new(Quirks::default(), "")),
        HistoryFormat::Anthropic => Box::new(Anthropic::new(Quirks::default(), "")),
        HistoryFormat::Gemini => Box::new(Gemini::new(Quirks::default(), "")),
    };
    let mut out = b"[".to_vec();
    let mut last: Option<Role> = None;
    let begin = |out: &mut Vec<u8>| {
        if out.len() > 1 {
            out.push(b',');
        }
        out.push(b'\n');
    };
    for group in groups(messages) {
        let role = group.first().map(|message| message.role);
        if let Some(filler) = codec.between(last, role) {
            begin(&mut out);
            out.extend_from_slice(filler.as_bytes());
        }
        begin(&mut out);
        codec.encode_group(group, &mut out);
        last = role;
    }
    out.extend_from_slice(b"\n]\n");
    out
}

/// Reads a conversation; `None` tells each message's form by its fields. Errors: it is no JSON, or holds something that is
/// no message.
pub fn read(format: Option<HistoryFormat>, text: &str) -> Result<History, BadHistory> {
    let (messages, notes) = loose::read(format, text)?;
    Ok(heal::heal(messages, notes, false).history)
}

/// Messages as they came, which may not fit together yet: they are the next ones of a conversation that goes on, or those
/// at its end whose calls wait for their results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Loose {
    messages: Vec<loose::Loose>,
    #[serde(skip)]
    notes: loose::Notes,
}

impl Loose {
    /// Reads them, as [`read()`] does.
    pub fn read(format: Option<HistoryFormat>, text: &str) -> Result<Loose, BadHistory> {
        let (messages, notes) = loose::read(format, text)?;
        Ok(Loose { messages, notes })
    }

    /// Takes out what system messages say, a text each: the instructions of the agent that was spoken to elsewhere. Those that say
    /// nothing are dropped.
    pub fn take_system(&mut self) -> Vec<String> {
        let (system, others) = std::mem::take(&mut self.messages)
            .into_iter()
            .partition(|message| message.speaker == loose::Speaker::System);
        self.messages = others;
        let texts = <Vec<loose::Loose>>::into_iter(system).map(|message| text_of(&message.said));
        texts.filter(|text| !text.trim().is_empty()).collect()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// How many of their calls have no result.
    pub fn unanswered(&self) -> usize {
        heal::unanswered(&self.messages)
    }

    /// Puts messages behind these.
    pub fn push(&mut self, next: Loose) {
        self.messages.extend(next.messages);
        for (what, times) in next.notes {
            *self.notes.entry(what).or_default() += times;
        }
    }

    /// Takes off those at the end that wait for the results of calls: from the first such call on, until the model has given
    /// an answer without calls.
    pub fn split_open(&mut self) -> Loose {
        Loose { messages: heal::split_open(&mut self.messages), notes: loose::Notes::new() }
    }

    /// Mends what can be mended. `begun`: something was said before them.
    pub fn heal(self, begun: bool) -> History {
        heal::heal(self.messages, self.notes, begun).history
    }

    /// The same, with where each message came from.
    pub fn heal_traced(self, begun: bool) -> TracedHistory {
        heal::heal(self.messages, self.notes, begun)
    }

    /// Shows all words: what was said, the calls, the results of each message. They may be changed, but not their number.
    pub fn for_each(&mut self, mut change: impl FnMut(&mut Vec<Part>)) {
        for message in &mut self.messages {
            change(&mut message.said);
            for call in &mut message.calls {
                let (name, arguments) = (std::mem::take(&mut call.name), std::mem::take(&mut call.arguments));
                let mut part = vec![Part::ToolCall { name, arguments, signature: None }];
                change(&mut part);
                if let Some(Part::ToolCall { name, arguments, .. }) = part.pop() {
                    (call.name, call.arguments) = (name, arguments);
                }
            }
            for result in &mut message.results {
                let (call, content) = (CallId { seq: Seq(0), index: 0 }, std::mem::take(&mut result.content));
                let name = result.name.clone().unwrap_or_default();
                let mut part = vec![Part::ToolResult { call, name, content, is_error: result.is_error }];
                change(&mut part);
                if let Some(Part::ToolResult { name, content, .. }) = part.pop() {
                    result.name = result.name.take().map(|_| name);
                    result.content = content;
                }
            }
        }
    }
}
