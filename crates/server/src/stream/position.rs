//! What was seen of a trace, and the frames that its events become.

use super::cursor::{Cursor, Skips};
use super::frame::Frame;
use mainpath::RunEvent;
use mainpath::types::{CallId, TraceId};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A question to a person, by its trace and call: its frame has no number.
pub type Question = (TraceId, CallId);

/// What was seen of a trace.
#[derive(Clone, Debug)]
pub struct Position {
    trace: TraceId,
    cursor: Cursor,
    skips: Skips,
    /// The questions that the watcher knows of.
    questions: BTreeSet<Question>,
}

/// What is told of an event.
pub struct Shown {
    /// Its frame.
    pub frame: Arc<Frame>,
    /// Whether it is a piece of what is still coming.
    pub is_piece: bool,
    /// The question that it asks, if it asks one.
    question: Option<Question>,
    /// From where to go on after it.
    pub after: Cursor,
}

/// Whether an event is a piece of what is still coming.
pub fn is_piece(event: &RunEvent) -> bool {
    event.id().is_none() && event.name().ends_with("_delta") || event.name() == "action_partial"
}

impl Position {
    /// In a trace, for a watcher that knows of these questions.
    pub fn new(trace: &TraceId, cursor: Cursor, questions: BTreeSet<Question>) -> Position {
        let skips = cursor.skips(trace);
        Position { trace: trace.clone(), cursor, skips, questions }
    }

    /// From where to go on.
    pub fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// The same after a frame that another watcher was sent.
    pub fn follow(&mut self, shown: &Shown) {
        self.cursor.clone_from(&shown.after);
        self.skips = Skips::default();
        self.questions.extend(shown.question.clone());
    }

    /// The frame of the next event; `None` if it was sent before.
    pub fn take(&mut self, event: &RunEvent) -> Option<Shown> {
        let question = match event {
            RunEvent::QuestionAsked(asked) => Some((asked.trace_id.clone(), asked.call)),
            _ => None,
        };
        if question.clone().is_some_and(|question| !self.questions.insert(question)) {
            return None;
        }
        // A call that waits for an approval is announced again whenever its trace comes to rest.
        let is_again =
            |id| matches!(event, RunEvent::ApprovalRequired(_)) && self.cursor.has(&self.trace, event.trace_id(), id);
        let is_older = |id| event.trace_id() == &self.trace && id < self.cursor.event();
        let is_old = event.id().is_some_and(|id| is_older(id) || is_again(id));
        if is_old || !self.cursor.take(&self.trace, event, &mut self.skips) {
            return None;
        }
        let mut data = json!(event);
        let frame = match event.id() {
            None => Frame::new(event.name(), &data),
            Some(_) => {
                let cursor = self.cursor.to_string();
                data["cursor"] = cursor.as_str().into();
                Frame::new(event.name(), &data).at(cursor)
            }
        };
        Some(Shown { frame: Arc::new(frame), is_piece: is_piece(event), question, after: self.cursor.clone() })
    }
}
