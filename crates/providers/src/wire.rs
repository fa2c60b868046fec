//! What the wire formats have in common when neutral content is put into JSON.

use crate::words::push_json;
use mainpath_types::{Delta, Effort, Part, Source};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

pub(crate) fn data_url(media_type: &str, data: &str) -> String {
    format!("data:{media_type};base64,{data}")
}

/// What stands in the text for content that cannot be sent; `None` for parts that are not content.
pub(crate) fn placeholder(part: &Part) -> Option<String> {
    let (what, source) = match part {
        Part::Image { source } => ("image", source),
        Part::Audio { source } => ("audio", source),
        Part::Document { source, .. } => ("document", source),
        // The caller resolves these; one that it could not resolve is named, not dropped.
        Part::StoredText { bytes, .. } => return Some(format!("[{bytes} bytes of text that are not at hand]")),
        Part::Text { .. } | Part::Thinking { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } => return None,
    };
    Some(match source {
        Source::Url { url } => format!("[{what} not shown here: {url}]"),
        Source::Blob { media_type, .. } | Source::Base64 { media_type, .. } => {
            format!("[{what} not shown here: {media_type}]")
        }
    })
}

/// The texts among parts, one after the other; not copied where there is but one part.
pub(crate) fn texts(parts: &[Part]) -> Cow<'_, str> {
    let mut texts = parts.iter().filter(|part| matches!(part, Part::Text { .. }));
    match (texts.next(), texts.next()) {
        (None, _) => Cow::Borrowed(""),
        (Some(Part::Text { text }), None) => Cow::Borrowed(text),
        _ => Cow::Owned(mainpath_types::text_of(parts)),
    }
}

/// What a tool gave as text: its texts, and the names of what is no text.
pub(crate) fn result_text(content: &[Part]) -> Cow<'_, str> {
    if let [Part::Text { text }] = content {
        return Cow::Borrowed(text);
    }
    let texts: Vec<Cow<'_, str>> = content
        .iter()
        .filter_map(|part| match part {
            Part::Text { text } => Some(Cow::Borrowed(text.as_str())),
            other => placeholder(other).map(Cow::Owned),
        })
        .collect();
    Cow::Owned(texts.join("\n"))
}

/// A tool's name as the format allows it: letters, digits, `_` and `-`, 1 to 64 of them.
pub(crate) fn wire_name(name: &str) -> Cow<'_, str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() {
        return Cow::Borrowed("_");
    }
    if name.len() <= 64 && name.bytes().all(|b| allowed(b.into())) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.chars().take(64).map(|c| if allowed(c) { c } else { '_' }).collect())
}

pub(crate) fn wire_arguments(arguments: &str) -> Cow<'_, str> {
    if arguments.trim().is_empty() {
        return Cow::Borrowed("{}");
    }
    let is_readable = arguments.trim_start().starts_with('{') && serde_json::from_str::<Readable>(arguments).is_ok();
    if is_readable { Cow::Borrowed(arguments) } else { wrapped(arguments) }
}

fn wrapped(arguments: &str) -> Cow<'_, str> {
    let mut wrapped = Vec::new();
    push_json(&mut wrapped, &BTreeMap::from([("unparsed_arguments", arguments)]));
    Cow::Owned(String::from_utf8(wrapped).unwrap_or_else(|_| "{}".into()))
}

/// JSON of any kind, read in full and forgotten. `IgnoredAny` of serde skips strings and numbers unread: half a surrogate pair
/// or a number that is too large would pass, and servers would refuse the whole body.
struct Readable;

impl<'de> Deserialize<'de> for Readable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Readable, D::Error> {
        deserializer.deserialize_any(Readable)
    }
}

impl<'de> Visitor<'de> for Readable {
    type Value = Readable;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Readable, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Readable, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Readable, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Readable, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Readable, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Readable, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Readable, A::Error> {
        while elements.next_element::<Readable>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Readable, A::Error> {
        while entries.next_entry::<Readable, Readable>()?.is_some() {}
        Ok(self)
    }
}

/// OpenAI's and Anthropic's word for an effort.
pub(crate) fn effort(effort: Effort) -> &'static str {
    match effort {
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
    }
}

/// Reads a delta and forgets it: for answers that come whole.
pub(crate) fn unheard(_: Delta) {}
