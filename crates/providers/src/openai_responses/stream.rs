//! From the events of a stream to the answer.

use super::reply::{Ending, Item, Response, item, reply};
use crate::errors;
use crate::event_stream::{self, Progress};
use crate::mended::Count;
use crate::words::error;
use mainpath_types::{Delta, ModelError, ModelErrorKind, ModelReply, StopReason};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// More items than this in one answer are garbage, not an answer.
const MAX_ITEMS: usize = 4096;

/// An event. What differs between the kinds is read when the kind is known.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default)]
    r#type: Option<Cow<'a, str>>,
    #[serde(default)]
    output_index: Count,
    /// The part of a reasoning item's summary that a delta belongs to.
    #[serde(default)]
    summary_index: Count,
    /// The part of an item's content that a delta belongs to.
    #[serde(default)]
    content_index: Count,
    #[serde(borrow, default)]
    delta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    item: Option<&'a RawValue>,
    #[serde(borrow, default)]
    response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// An answer under construction.
pub(super) struct Draft {
    issuer: String,
    /// By their place in the answer.
    items: BTreeMap<u64, Growing>,
    calls: u16,
    model: Option<String>,
    ending: Option<Ending>,
}

/// An item of which pieces have come. What its last event says counts; the pieces are for watchers, and for servers that
/// leave that event out.
#[derive(Default)]
struct Growing {
    thinking: String,
    /// The part of the thinking that came last.
    part: Option<u64>,
    text: String,
    phase: Option<String>,
    refusal: bool,
    call: Option<GrowingCall>,
    done: Option<Item>,
}

#[derive(Default)]
struct GrowingCall {
    /// Its number among the calls of this answer.
    number: u16,
    name: String,
    arguments: String,
}

impl Growing {
    fn into_items(self) -> Vec<Item> {
        if let Some(done) = self.done {
            return vec![done];
        }
        let mut items = Vec::new();
        if !self.thinking.is_empty() {
            items.push(Item::Reasoning { text: self.thinking, whole: None });
        }
        if !self.text.is_empty() {
            items.push(Item::Message { text: self.text, phase: self.phase, refusal: self.refusal });
        }
        if let Some(GrowingCall { name, arguments, .. }) = self.call {
            items.push(Item::Call { name, arguments, cut: false });
        }
        items
    }
}

impl Draft {
    pub(super) fn new(issuer: &str) -> Draft {
        Draft { issuer: issuer.into(), items: BTreeMap::new(), calls: 0, model: None, ending: None }
    }

    /// The item at a place. Servers that leave places out speak of the last item.
    fn at(&mut self, place: Option<u64>, new: bool) -> Result<&mut Growing, ModelError> {
        let last = self.items.last_key_value().map(|(place, _)| *place);
        let next = last.map_or(0, |last| last.saturating_add(1));
        let place = place.unwrap_or(if new { next } else { last.unwrap_or(0) });
        if self.items.len() >= MAX_ITEMS && !self.items.contains_key(&place) {
            let message = format!("the server sent more than {MAX_ITEMS} items in one answer");
            return Err(error(ModelErrorKind::Server, message));
        }
        Ok(self.items.entry(place).or_default())
    }

    fn added(&mut self, place: Option<u64>, raw: &RawValue, deltas: &mut dyn FnMut(Delta)) -> Result<(), ModelError> {
        let number = self.calls;
        let begun = item(raw)?;
        let growing = self.at(place, true)?;
        match begun {
            Some(Item::Message { phase, .. }) => growing.phase = phase,
            Some(Item::Call { name, arguments, .. }) if growing.call.is_none() => {
                deltas(Delta::Arguments { index: number, name: Some(name.clone()), text: arguments.clone() });
                growing.call = Some(GrowingCall { number, name, arguments });
                self.calls = number.saturating_add(1);
            }
            Some(Item::Reasoning { .. } | Item::Call { .. }) | None => {}
        }
        Ok(())
    }

    /// Takes a whole item, and hands on what of it has not come in pieces.
    fn done(&mut self, place: Option<u64>, raw: &RawValue, deltas: &mut dyn FnMut(Delta)) -> Result<(), ModelError> {
        let Some(whole) = item(raw)? else { return Ok(()) };
        let number = self.calls;
        let growing = self.at(place, false)?;
        match &whole {
            Item::Reasoning { text, .. } if growing.thinking.is_empty() && !text.is_empty() => {
                deltas(Delta::Thinking { text: text.clone() });
            }
            Item::Message { text, .. } if growing.text.is_empty() && !text.is_empty() => {
                deltas(Delta::Text { text: text.clone() });
            }
            Item::Call { name, arguments, .. } => match &growing.call {
                Some(call) if call.arguments.is_empty() && !arguments.is_empty() => {
                    deltas(Delta::Arguments { index: call.number, name: None, text: arguments.clone() });
                }
                Some(_) => {}
                None => {
                    deltas(Delta::Arguments { index: number, name: Some(name.clone()), text: arguments.clone() });
                    growing.call = Some(GrowingCall { number, ..GrowingCall::default() });
                    self.calls = number.saturating_add(1);
                }
            },
            Item::Reasoning { .. } | Item::Message { .. } => {}
        }
        self.at(place, false)?.done = Some(whole);
        Ok(())
    }

    /// Takes a piece of an item.
    fn piece(&mut self, kind: &str, event: &Event<'_>, deltas: &mut dyn FnMut(Delta)) -> Result<(), ModelError> {
        let text: String = event.delta.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        if text.is_empty() {
            return Ok(());
        }
        let number = self.calls;
        let growing = self.at(event.output_index.0, false)?;
        match kind {
            "response.output_text.delta" | "response.refusal.delta" => {
                growing.refusal |= kind == "response.refusal.delta";
                growing.text.push_str(&text);
                deltas(Delta::Text { text });
            }
            "response.function_call_arguments.delta" => {
                let begins = growing.call.is_none();
                let call = growing.call.get_or_insert(GrowingCall { number, ..GrowingCall::default() });
                call.arguments.push_str(&text);
                deltas(Delta::Arguments { index: call.number, name: None, text });
                self.calls = number.saturating_add(u16::from(begins));
            }
            _ => {
                let part = event.summary_index.0.or(event.content_index.0);
                let gap = if growing.thinking.is_empty() || growing.part == part { "" } else { "\n\n" };
                growing.part = part;
                let text = format!("{gap}{text}");
                growing.thinking.push_str(&text);
                deltas(Delta::Thinking { text });
            }
        }
        Ok(())
    }

    /// The last event: the end of the answer, and the items that did not come by themselves.
    fn ended(
        &mut self,
        response: &Response<'_>,
        incomplete: bool,
        deltas: &mut dyn FnMut(Delta),
    ) -> Result<(), ModelError> {
        let mut ending = response.ending()?;
        ending.stop = ending.stop.or(incomplete.then_some(StopReason::MaxTokens));
        self.ending = Some(ending);
        for (raw, place) in response.output.iter().flatten().zip(0..) {
            if self.items.get(&place).is_none_or(|growing| growing.done.is_none()) {
                self.done(Some(place), raw, deltas)?;
            }
        }
        Ok(())
    }
}

impl Draft {
    fn reply(&mut self, mut ending: Ending) -> ModelReply {
        ending.model = ending.model.or(self.model.take());
        let items = std::mem::take(&mut self.items).into_values().flat_map(Growing::into_items);
        reply(items, ending, &self.issuer)
    }
}

impl event_stream::Draft for Draft {
    const EVENT: &'static str = "event of a response";

    fn event(&mut self, data: &[u8], deltas: &mut dyn FnMut(Delta)) -> Result<Option<Progress>, ModelError> {
        if data.trim_ascii() == b"[DONE]" {
            return Ok(Some(Progress::Done));
        }
        let Ok(event) = serde_json::from_slice::<Event<'_>>(data) else { return Ok(None) };
        let said = || errors::in_answer(&String::from_utf8_lossy(data));
        let Some(kind) = event.r#type.as_deref() else {
            return if event.error.is_some() { Err(said()) } else { Ok(None) };
        };
        let place = event.output_index.0;
        match kind {
            "error" => return Err(said()),
            "response.output_item.added" | "response.output_item.done" => {
                let Some(raw) = event.item else { return Ok(None) };
                if kind.ends_with("added") { self.added(place, raw, deltas)? } else { self.done(place, raw, deltas)? }
            }
            "response.output_text.delta"
            | "response.refusal.delta"
            | "response.function_call_arguments.delta"
            | "response.reasoning_summary_text.delta"
            | "response.reasoning_text.delta" => self.piece(kind, &event, deltas)?,
            "response.created" | "response.completed" | "response.incomplete" | "response.failed" => {
                let Some(Ok(response)) = event.response.map(|raw| serde_json::from_str::<Response<'_>>(raw.get()))
                else {
                    return Ok(None);
                };
                if kind == "response.created" {
                    self.model = response.model.0;
                    return Ok(Some(Progress::More));
                }
                self.ended(&response, kind == "response.incomplete", deltas)?;
                if kind == "response.failed" {
                    return Err(error(ModelErrorKind::Server, "the server failed and does not say why"));
                }
                return Ok(Some(Progress::Done));
            }
            // Kinds that are new, or belong to tools of the vendor that are not asked for.
            _ => {}
        }
        Ok(Some(Progress::More))
    }

    /// The answer is complete with `response.completed` or `response.incomplete`.
    fn finish(&mut self, _done: bool) -> Result<Option<ModelReply>, ModelError> {
        let Some(ending) = self.ending.take() else { return Ok(None) };
        Ok(Some(self.reply(ending)))
    }

    fn so_far(&mut self) -> Option<ModelReply> {
        (!self.items.is_empty()).then(|| self.reply(Ending::cut()))
    }
}
