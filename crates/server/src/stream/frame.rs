//! A frame as it is sent. It is written once, however many are told of it.

use axum::extract::ws::Utf8Bytes;
use bytes::Bytes;
use serde_json::Value;
use std::sync::OnceLock;

/// A frame.
#[derive(Debug)]
pub struct Frame {
    /// From where to go on after it; `None` where that is the same as before.
    cursor: Option<String>,
    /// What kind it is: the name of the event, or `open`, `resync`, `problem`, `end`.
    name: String,
    text: Utf8Bytes,
    lines: OnceLock<Bytes>,
}

impl Frame {
    /// What is said under a name, from where nothing changes the place to go on from.
    pub fn new(name: &str, data: &Value) -> Frame {
        Frame { cursor: None, name: name.into(), text: data.to_string().into(), lines: OnceLock::new() }
    }

    /// The same, after which to go on from somewhere else.
    pub fn at(self, cursor: String) -> Frame {
        Frame { cursor: Some(cursor), ..self }
    }

    /// What it says, as JSON.
    pub fn text(&self) -> Utf8Bytes {
        self.text.clone()
    }

    /// As a server-sent event (the HTML standard): `id` is from where to go on, `event` the kind, `data` one line of JSON.
    pub fn lines(&self) -> Bytes {
        let lines = self.lines.get_or_init(|| {
            let id = self.cursor.as_ref().map(|cursor| format!("id: {cursor}\n")).unwrap_or_default();
            format!("{id}event: {}\ndata: {}\n\n", self.name, self.text).into()
        });
        lines.clone()
    }
}
