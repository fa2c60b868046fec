//! A model that gives recorded answers.

use crate::codec::Codec;
use crate::neutral::Neutral;
use crate::provider::{Call, Fut, Provider};
use crate::scripted::messages_of;
use mainpath_types::{Delta, ModelError, ModelReply, Part, RequestHead, Role, StopReason, Usage};

/// A model that gives recorded answers in order: the one whose place is the number of assistant messages in the request.
/// When there is none left, it says so.
pub struct Playback {
    answers: Vec<(Vec<Part>, Usage, StopReason)>,
}

impl Playback {
    /// A model with these answers.
    pub fn new(answers: Vec<(Vec<Part>, Usage, StopReason)>) -> Playback {
        Playback { answers }
    }
}

impl Provider for Playback {
    fn codec(&self) -> &dyn Codec {
        &Neutral
    }

    fn call<'a>(
        &'a self,
        call: Call<'a>,
        deltas: &'a mut (dyn FnMut(Delta) + Send),
    ) -> Fut<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let place = messages_of(&call.body)?.iter().filter(|message| message.role == Role::Assistant).count();
            let Some((parts, usage, stop)) = self.answers.get(place) else {
                return Ok(used_up("recording", call.head, deltas));
            };
            stream_parts(parts, call.head, deltas);
            Ok(ModelReply { parts: parts.clone(), usage: Some(*usage), stop: *stop, model: None })
        })
    }
}

/// The answer of a model that has nothing more to play.
pub(crate) fn used_up(what: &str, head: &RequestHead, deltas: &mut dyn FnMut(Delta)) -> ModelReply {
    let text = format!("The {what} that this model plays has no further turn. To go on, set a real model.");
    let parts = vec![Part::text(text)];
    stream_parts(&parts, head, deltas);
    ModelReply { parts, usage: None, stop: StopReason::End, model: None }
}

/// Hands an answer on in pieces, as a model would stream it; nothing if no stream was asked for.
pub(crate) fn stream_parts(parts: &[Part], head: &RequestHead, deltas: &mut dyn FnMut(Delta)) {
    if !head.stream {
        return;
    }
    let mut calls = 0u16;
    for part in parts {
        match part {
            Part::Text { text } => pieces(text).for_each(|text| deltas(Delta::Text { text: text.into() })),
            Part::Thinking { text, .. } => pieces(text).for_each(|text| deltas(Delta::Thinking { text: text.into() })),
            Part::ToolCall { name, arguments, .. } => {
                let name = Some(name.clone());
                deltas(Delta::Arguments { index: calls, name, text: arguments.clone() });
                calls = calls.saturating_add(1);
            }
            Part::Image { .. }
            | Part::Audio { .. }
            | Part::Document { .. }
            | Part::StoredText { .. }
            | Part::ToolResult { .. } => {}
        }
    }
}

/// A text in pieces that end after a space, of at least 12 bytes but the last.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.bytes().enumerate().skip(11).find(|(_, b)| *b == b' ').map_or(rest.len(), |(at, _)| at + 1);
        let (piece, more) = rest.split_at(end);
        rest = more;
        (!piece.is_empty()).then_some(piece)
    })
}
