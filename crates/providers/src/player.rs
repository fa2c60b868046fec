//! Playing turns: as the answer to a call, in pieces as a model would stream it.

use crate::provider::Call;
use crate::script::ScriptTurn;
use crate::words::{error, snippet};
use bytes::Bytes;
use mainpath_types::{Delta, ModelError, ModelErrorKind, ModelReply, Part, RequestHead, Role, StopReason};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Plays single turns.
#[derive(Default)]
pub(crate) struct Player {
    /// The first request number that failed, by hash of the body.
    failed: Mutex<HashMap<u64, u32>>,
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

/// With what the first part of a neutral request body ends, most often.
const MESSAGES: &[u8] = br#""messages":["#;

/// The messages in a neutral request body, or as much of each as is asked for.
pub(crate) fn messages_of<M: DeserializeOwned>(body: &[Bytes]) -> Result<Vec<M>, ModelError> {
    #[derive(Deserialize)]
    struct Body<M> {
        messages: Vec<M>,
    }
    // What is said to the system and the tools are most of it, and are not looked at.
    let joined = match body.split_first() {
        Some((frame, messages)) if frame.ends_with(MESSAGES) => [&b"{"[..], MESSAGES, &messages.concat()].concat(),
        _ => body.concat(),
    };
    let body: Body<M> = serde_json::from_slice(&joined).map_err(|why| {
        let message = format!("scripted model: the request is not in the neutral format ({why}): {}", snippet(&joined));
        error(ModelErrorKind::BadRequest, message)
    })?;
    Ok(body.messages)
}

/// How often the model has answered in a neutral request body.
pub(crate) fn turns_in(body: &[Bytes]) -> Result<usize, ModelError> {
    #[derive(Deserialize)]
    struct Said {
        role: Role,
    }
    Ok(messages_of::<Said>(body)?.iter().filter(|said| said.role == Role::Assistant).count())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_found_however_the_body_is_cut() {
        let body = br#"{"head":{"system":"\"messages\":["},"messages":[{"role":"user"},{"role":"assistant"}]}"#;
        for at in 0..body.len() {
            let (one, other) = body.split_at(at);
            let parts = [Bytes::copy_from_slice(one), Bytes::copy_from_slice(other)];
            assert_eq!(turns_in(&parts), Ok(1), "cut at {at}");
        }
        assert!(turns_in(&[Bytes::from_static(br#"{"messages":["#)]).is_err());
    }

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
