//! Reasoning that some servers of Chat Completions want back.
//!
//! Two ways are published. OpenRouter sends `reasoning_details`, a list of entries that go back unchanged (npm
//! `@openrouter/sdk` 1.3.19, `ReasoningDetailUnion`; how the pieces of a stream become entries, and which of them are
//! left out: `@openrouter/ai-sdk-provider` 2.10.0). DeepSeek wants the text of `reasoning_content` back with every message
//! of the assistant (npm `@ai-sdk/deepseek` 2.0.69).

use mainpath_types::{Part, Signature};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The signature of thinking whose text itself goes back as `reasoning_content`.
pub(super) const TEXT: &str = "reasoning_content";

/// The entries of `reasoning_details`.
#[derive(Default)]
pub(super) struct Details(Vec<Entry>);

/// An entry: as it came, or put together from the pieces of a stream.
enum Entry {
    AsCame(String),
    Joined(Map<String, Value>),
}

/// What is read of an entry.
#[derive(Default, Deserialize)]
struct Fields {
    #[serde(default)]
    r#type: Option<String>,
    #[serde(default)]
    format: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    summary: Option<String>,
    #[serde(default)]
    signature: Option<String>,
}

impl Fields {
    fn read(json: &str) -> Fields {
        serde_json::from_str(json).unwrap_or_default()
    }

    fn is_text(&self) -> bool {
        self.r#type.as_deref() == Some("reasoning.text")
    }

    /// Whether the server refuses it: text of vendors that sign their reasoning, without the signature. An entry that
    /// names no format has Anthropic's.
    fn is_unsigned(&self) -> bool {
        let signed = matches!(self.format.as_deref(), None | Some("anthropic-claude-v1" | "google-gemini-v1"));
        self.is_text() && signed && self.signature.as_deref().unwrap_or_default().is_empty()
    }
}

impl Details {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes an entry; a text that came in a stream may be a piece of the last one. Returns the readable text in it.
    pub(super) fn add(&mut self, raw: &RawValue, streamed: bool) -> String {
        let fields = Fields::read(raw.get());
        if !(streamed && fields.is_text()) {
            self.0.push(Entry::AsCame(raw.get().to_owned()));
        } else if let Ok(piece) = serde_json::from_str::<Map<String, Value>>(raw.get()) {
            match self.0.last_mut() {
                Some(Entry::Joined(last)) if last.get("index") == piece.get("index") => join(last, piece),
                _ => self.0.push(Entry::Joined(piece)),
            }
        }
        fields.text.or(fields.summary).unwrap_or_default()
    }

    /// The list as it goes back; `None` if nothing does.
    pub(super) fn value(self) -> Option<String> {
        let entries: Vec<String> = (self.0.into_iter())
            .map(|entry| match entry {
                Entry::AsCame(json) => json,
                Entry::Joined(fields) => Value::Object(fields).to_string(),
            })
            .filter(|entry| !Fields::read(entry).is_unsigned())
            .collect();
        (!entries.is_empty()).then(|| format!("[{}]", entries.join(",")))
    }
}

/// Joins the texts; of other fields the first that is there counts.
fn join(entry: &mut Map<String, Value>, piece: Map<String, Value>) {
    for (name, value) in piece {
        match (entry.get_mut(&name), value) {
            (Some(Value::String(text)), Value::String(more)) if name == "text" => text.push_str(&more),
            (Some(known), value) if known.is_null() => *known = value,
            (Some(_), _) => {}
            (None, value) => drop(entry.insert(name, value)),
        }
    }
}

/// What of an assistant's reasoning goes back: the details as they came, and the text where the server wants that.
pub(super) fn of<'a>(parts: &'a [Part], issuer: &str) -> (Option<&'a RawValue>, String) {
    let mut details = None;
    let mut texts = Vec::new();
    for part in parts {
        let Part::Thinking { text, signature: Some(Signature { issuer: by, value }) } = part else { continue };
        if by != issuer {
            continue;
        }
        if value == TEXT {
            texts.push(text.as_str());
        } else if value.starts_with('[') && details.is_none() {
            details = serde_json::from_str::<&RawValue>(value).ok();
        }
    }
    (details, texts.join("\n"))
}
