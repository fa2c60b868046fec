//! A response as typed events.
//!
//! The number of an event follows from what was said before it, a letter counting one: whoever comes back gets what comes after a number,
//! however the words were cut into pieces the first time.

use super::conversation::ResponseId;
use super::response::{Item, OutputText, ResponseObject};
use super::sse::Write;
use super::told::{Step, Text};
use mainpath::{Error, RunRecord};
use serde_json::{Value, json};

/// A response as typed events.
pub struct ResponseEvents {
    id: ResponseId,
    begun: ResponseObject,
    /// After which number it is told.
    after: Option<u64>,
    /// The number of the next event.
    next: u64,
    items: usize,
    /// What was said so far of the message under way.
    open: Option<String>,
}

impl ResponseEvents {
    /// Of a run, from an event on.
    pub fn new(id: ResponseId, record: &RunRecord, background: Option<bool>, after: Option<u64>) -> ResponseEvents {
        let started = RunRecord { ended: None, outcome: None, said: Vec::new(), ..record.clone() };
        let begun = ResponseObject { background, ..ResponseObject::of(&id, &started) };
        ResponseEvents { id, begun, after, next: 0, items: 0, open: None }
    }

    /// An event, unless it was seen.
    fn event(&mut self, kind: &str, data: Value) -> String {
        let number = self.next;
        self.next += 1;
        if self.after.is_some_and(|after| number <= after) {
            return String::new();
        }
        line(kind, number, data)
    }

    fn open(&mut self) -> String {
        if self.open.is_some() {
            return String::new();
        }
        self.open = Some(String::new());
        let item = Item::begun(&self.id, self.items);
        let (at, name) = (self.items, item.id.clone());
        let added = self.event("response.output_item.added", json!({"output_index": at, "item": item}));
        let part = json!({"item_id": name, "output_index": at, "content_index": 0, "part": OutputText::new("")});
        added + &self.event("response.content_part.added", part)
    }

    /// Words: as many numbers as letters, the last one being that of the event.
    fn words(&mut self, text: &str) -> String {
        let mut told = self.open();
        if let Some(open) = &mut self.open {
            open.push_str(text);
        }
        let letters = text.chars().count() as u64;
        let first = self.next;
        self.next += letters;
        let seen = self.after.map_or(0, |after| (after + 1).saturating_sub(first).min(letters));
        let rest: String = text.chars().skip(usize::try_from(seen).unwrap_or(usize::MAX)).collect();
        if !rest.is_empty() {
            let name = Item::begun(&self.id, self.items).id;
            let data = json!({
                "item_id": name, "output_index": self.items, "content_index": 0, "delta": rest, "logprobs": [],
            });
            told.push_str(&line("response.output_text.delta", self.next - 1, data));
        }
        told
    }

    fn whole(&mut self, text: &Text) -> String {
        let mut told = self.open();
        self.open = None;
        let item = Item::of(&self.id, self.items, text);
        let (at, name) = (self.items, item.id.clone());
        self.items += 1;
        let done = json!({"item_id": name, "output_index": at, "content_index": 0, "text": text.text, "logprobs": []});
        told.push_str(&self.event("response.output_text.done", done));
        let part = OutputText::new(text.text.as_str());
        let part = json!({"item_id": name, "output_index": at, "content_index": 0, "part": part});
        told.push_str(&self.event("response.content_part.done", part));
        told + &self.event("response.output_item.done", json!({"output_index": at, "item": item}))
    }
}

fn line(kind: &str, number: u64, mut data: Value) -> String {
    data["type"] = kind.into();
    data["sequence_number"] = number.into();
    format!("event: {kind}\ndata: {data}\n\n")
}

impl Write for ResponseEvents {
    fn begin(&mut self) -> String {
        let begun = json!({"response": self.begun});
        self.event("response.created", begun.clone()) + &self.event("response.in_progress", begun)
    }

    fn step(&mut self, step: Step) -> String {
        match step {
            Step::Piece(text) => self.words(&text),
            // Its pieces cannot be taken back; the whole text follows, which counts.
            Step::Again(_) => String::new(),
            Step::Whole(text) => self.whole(&text),
            Step::Ended(record) => {
                let response =
                    ResponseObject { background: self.begun.background, ..ResponseObject::of(&self.id, &record) };
                let kind = match response.status {
                    "completed" => "response.completed",
                    "failed" => "response.failed",
                    "in_progress" => "response.in_progress",
                    _ => "response.incomplete",
                };
                self.event(kind, json!({"response": response}))
            }
        }
    }

    fn fail(&mut self, error: &Error) -> String {
        self.event("error", json!({"code": "internal", "message": error.message(), "param": null}))
    }

    fn end(&mut self) -> String {
        String::new()
    }
}
