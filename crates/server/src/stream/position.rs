//! What was seen of a trace, and the frames that its events become.

use super::cursor::{Cursor, Skips};
use super::frame::Frame;
use mainpath::RunEvent;
use mainpath::types::TraceId;
use serde_json::json;
use std::sync::Arc;

/// What was seen of a trace.
#[derive(Clone, Debug)]
pub struct Position {
    trace: TraceId,
    cursor: Cursor,
    skips: Skips,
}

/// What is told of an event.
pub struct Shown {
    /// Its frame.
    pub frame: Arc<Frame>,
    /// Whether it is a piece of what is still coming.
    pub is_piece: bool,
    /// From where to go on after it.
    pub after: Cursor,
}

/// Whether an event is a piece of what is still coming.
pub fn is_piece(event: &RunEvent) -> bool {
    event.id().is_none() && event.name().ends_with("_delta") || event.name() == "action_partial"
}

impl Position {
    /// In a trace.
    pub fn new(trace: &TraceId, cursor: Cursor) -> Position {
        let skips = cursor.skips(trace);
        Position { trace: trace.clone(), cursor, skips }
    }

    /// From where to go on.
    pub fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// The same after what another has seen and told.
    pub fn follow(&mut self, after: &Cursor) {
        self.cursor.clone_from(after);
        self.skips = Skips::default();
    }

    /// What is told of the next event; `None` if it was seen before.
    pub fn take(&mut self, event: &RunEvent) -> Option<Shown> {
        // What waits for a person is told again when the trace comes to rest: `open` has said it.
        let is_old = event.trace_id() == &self.trace && event.id().is_some_and(|id| id < self.cursor.event());
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
        Some(Shown { frame: Arc::new(frame), is_piece: is_piece(event), after: self.cursor.clone() })
    }
}
