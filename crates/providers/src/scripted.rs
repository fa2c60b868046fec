//! A model that plays a script. It says that it is one.

use crate::codec::Codec;
use crate::neutral::Neutral;
use crate::playback::{stream_parts, used_up};
use crate::provider::{Call, Fut, Provider};
use crate::script::{Script, ScriptTurn};
use crate::words::{error, snippet};
use bytes::Bytes;
use mainpath_types::{Delta, Message, ModelError, ModelErrorKind, ModelReply, Part, Role};
use serde::Deserialize;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A model that plays a [`Script`]; its page says which turn is played when.
///
/// The one thing that is not computed from the request is whether a turn's `error` has been played: an attempt is told
/// from a retry by its request number, which this provider remembers per conversation. In a new process the error is
/// played again.
pub struct Scripted {
    script: Script,
    player: Player,
}

/// Plays single turns.
#[derive(Default)]
pub(crate) struct Player {
    /// The first request number that failed, by hash of the body.
    failed: Mutex<HashMap<u64, u32>>,
}

impl Scripted {
    /// A model that plays this script.
    pub fn new(script: Script) -> Scripted {
        Scripted { script, player: Player::default() }
    }

    fn turn_for(&self, messages: &[Message]) -> Option<&ScriptTurn> {
        let mut place = 0;
        let mut news = String::new();
        for message in messages {
            match message.role {
                Role::Assistant => {
                    place += usize::from(self.answering(&news).is_none());
                    news.clear();
                }
                Role::User | Role::Tool => add_text(&message.parts, &mut news),
            }
        }
        self.answering(&news).or_else(|| self.script.turns.iter().filter(|turn| turn.when.is_none()).nth(place))
    }

    /// The first turn whose `when` occurs in what was said.
    fn answering(&self, news: &str) -> Option<&ScriptTurn> {
        self.script.turns.iter().find(|turn| turn.when.as_deref().is_some_and(|when| news.contains(when)))
    }
}

impl Player {
    /// Plays a turn as the answer to this call: its delay, its failure, or what it says.
    pub(crate) async fn play(
        &self,
        turn: &ScriptTurn,
        call: Call<'_>,
        deltas: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<ModelReply, ModelError> {
        if turn.delay_ms > 0 {
            tokio::time::sleep(Duration::from_millis(turn.delay_ms)).await;
        }
        if let Some(failure) = self.failure(turn, &call.body, call.request) {
            return Err(failure);
        }
        let parts = turn.parts();
        stream_parts(&parts, call.head, deltas);
        Ok(ModelReply { parts, usage: turn.usage, stop: turn.stop(), model: None })
    }

    fn failure(&self, turn: &ScriptTurn, body: &[Bytes], request: u32) -> Option<ModelError> {
        let failure = turn.error.as_ref()?;
        let mut hasher = DefaultHasher::new();
        for segment in body {
            // Not `Hash for [u8]`, which would take in how the body is cut into segments.
            hasher.write(segment);
        }
        request_is_retry_of(&mut self.failed.lock().unwrap_or_else(PoisonError::into_inner), hasher.finish(), request)
            .is_none_or(|retry| retry < failure.times)
            .then(|| {
                let message = if failure.message.is_empty() { "the script says so" } else { &failure.message };
                error(failure.kind, format!("scripted model: {message}"))
            })
    }
}

/// Which retry of a conversation this request is, from 1; `None` for the first attempt.
fn request_is_retry_of(failed: &mut HashMap<u64, u32>, conversation: u64, request: u32) -> Option<u32> {
    let first = *failed.entry(conversation).or_insert(request);
    request.checked_sub(first).filter(|retry| *retry > 0)
}

fn add_text(parts: &[Part], text: &mut String) {
    for part in parts {
        match part {
            Part::Text { text: more } => {
                text.push_str(more);
                text.push('\n');
            }
            Part::ToolResult { content, .. } => add_text(content, text),
            Part::Thinking { .. }
            | Part::StoredText { .. }
            | Part::Image { .. }
            | Part::Audio { .. }
            | Part::Document { .. }
            | Part::ToolCall { .. } => {}
        }
    }
}

/// The messages in a neutral request body.
pub(crate) fn messages_of(body: &[Bytes]) -> Result<Vec<Message>, ModelError> {
    #[derive(Deserialize)]
    struct Body {
        messages: Vec<Message>,
    }
    let joined = body.concat();
    let body: Body = serde_json::from_slice(&joined).map_err(|why| {
        let message = format!("scripted model: the request is not in the neutral format ({why}): {}", snippet(&joined));
        error(ModelErrorKind::BadRequest, message)
    })?;
    Ok(body.messages)
}

impl Provider for Scripted {
    fn codec(&self) -> &dyn Codec {
        &Neutral
    }

    fn call<'a>(
        &'a self,
        call: Call<'a>,
        deltas: &'a mut (dyn FnMut(Delta) + Send),
    ) -> Fut<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let messages = messages_of(&call.body)?;
            let Some(turn) = self.turn_for(&messages) else {
                return Ok(used_up("script", call.head, deltas));
            };
            drop(messages);
            self.player.play(turn, call, deltas).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_is_told_by_its_request_number() {
        let mut failed = HashMap::new();
        assert_eq!(request_is_retry_of(&mut failed, 1, 4), None);
        // Another trace with the same conversation and the same number.
        assert_eq!(request_is_retry_of(&mut failed, 1, 4), None);
        assert_eq!(request_is_retry_of(&mut failed, 1, 5), Some(1));
        assert_eq!(request_is_retry_of(&mut failed, 1, 6), Some(2));
        assert_eq!(request_is_retry_of(&mut failed, 1, 3), None);
        assert_eq!(request_is_retry_of(&mut failed, 2, 6), None);
    }
}
