//! A model that gives recorded answers.

use crate::codec::Codec;
use crate::neutral::Neutral;
use crate::provider::{Call, Fut, Provider};
use crate::script::{BadScript, ScriptTurn};
use crate::scripted::{Player, messages_of};
use crate::substitutions::Substitutions;
use mainpath_types::{Delta, ModelError, ModelReply, Part, RequestHead, Role, StopReason, Usage};

/// A model that gives recorded answers in order: the one whose place is the number of assistant messages in the request.
/// When there is none left, it says so.
pub struct Playback {
    answers: Vec<Answer>,
    player: Player,
}

/// What is played at a place.
enum Answer {
    Recorded(Vec<Part>, Usage, StopReason),
    Substituted(Box<ScriptTurn>),
}

impl Playback {
    /// A model with these answers.
    pub fn new(answers: Vec<(Vec<Part>, Usage, StopReason)>) -> Playback {
        let answers = answers.into_iter().map(|(parts, usage, stop)| Answer::Recorded(parts, usage, stop)).collect();
        Playback { answers, player: Player::default() }
    }

    /// The same recording with these changes.
    ///
    /// # Errors
    /// [`BadScript::BeyondRecording`].
    pub fn with(mut self, changes: &Substitutions) -> Result<Playback, BadScript> {
        changes.check(self.answers.len())?;
        for (place, answer) in self.answers.iter_mut().enumerate() {
            match (changes.turns.iter().find(|turn| turn.place() == Some(place)), &mut *answer) {
                (Some(turn), _) => *answer = Answer::Substituted(Box::new(turn.clone())),
                (None, Answer::Recorded(parts, ..)) => changes.replace_in(parts),
                (None, Answer::Substituted(_)) => {}
            }
        }
        Ok(self)
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
            match self.answers.get(place) {
                None => Ok(used_up("recording", call.head, deltas)),
                Some(Answer::Substituted(turn)) => self.player.play(turn, call, deltas).await,
                Some(Answer::Recorded(parts, usage, stop)) => {
                    stream_parts(parts, call.head, deltas);
                    Ok(ModelReply { parts: parts.clone(), usage: Some(*usage), stop: *stop, model: None })
                }
            }
        })
    }
}

/// The answer of a model that has nothing more to play.
pub(crate) fn used_up(what: &str, head: &RequestHead, deltas: &mut dyn FnMut(Delta)) -> ModelReply {
    let text = format!("The {what} is over. To continue, choose a model: mainpath models.");
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
