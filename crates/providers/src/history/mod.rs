//! Conversations as data: written for other programs, and read from them.
//!
//! What comes from elsewhere may be broken in ways that vendors refuse; [`read()`] mends what can be mended and says what it
//! mended. A whole request body, its list of messages, or one message a line is understood.

mod heal;
mod loose;

use crate::codec::{Codec, groups};
use crate::endpoint::Quirks;
use crate::{Anthropic, Gemini, Neutral, OpenAiChat};
use mainpath_types::{Message, Part, Role};

/// The form of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryFormat {
    /// Mainpath's own messages.
    Neutral,
    /// The `messages` of OpenAI's Chat Completions.
    OpenAi,
    /// The `messages` of Anthropic's Messages.
    Anthropic,
    /// The `contents` of Gemini.
    Gemini,
}

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

/// A message that every vendor takes after those before it: a person's, or the model's with a result for each of its calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Whole {
    /// [`Role::User`] or [`Role::Assistant`].
    pub role: Role,
    /// What was said, then for each call its result, in call order.
    pub parts: Vec<Part>,
}

/// A conversation that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// The messages, oldest first. The first one is a person's.
    pub messages: Vec<Whole>,
    /// What was mended or left out, a line for people each.
    pub healed: Vec<String>,
}

/// Why a text is no conversation: one line, what and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadHistory(pub String);

/// Reads a conversation; `None` tells each message's form by its fields. Errors: it is no JSON, or holds something that is
/// no message.
pub fn read(format: Option<HistoryFormat>, text: &str) -> Result<History, BadHistory> {
    let (messages, notes) = loose::read(format, text)?;
    Ok(heal::heal(messages, notes))
}
