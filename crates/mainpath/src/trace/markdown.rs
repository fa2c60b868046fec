//! A conversation for people, as Markdown.

use crate::text::{fenced, gist};
use mainpath_types::{Part, Source, text_of};
use std::fmt::Write;

/// A part of a message.
pub(super) fn write_part(part: &Part, text: &mut String) {
    let _ = match part {
        Part::Text { text: said } => writeln!(text, "\n{}", said.trim_end()),
        Part::Thinking { text: thought, .. } if thought.trim().is_empty() => Ok(()),
        Part::Thinking { text: thought, .. } => writeln!(text, "\n> {}", thought.trim().replace('\n', "\n> ")),
        Part::ToolCall { name, arguments, .. } if arguments.len() < 400 => writeln!(text, "\n→ `{name}` `{arguments}`"),
        Part::ToolCall { name, arguments, .. } => {
            writeln!(text, "\n→ `{name}` {}\n{}", gist(arguments), fenced(arguments))
        }
        Part::ToolResult { name, content, is_error, .. } => {
            let failed = if *is_error { " (failed)" } else { "" };
            writeln!(text, "\n`{name}`{failed}\n\n{}", fenced(&text_of(content)))
        }
        Part::Image { source } => writeln!(text, "\n[image: {}]", what(source)),
        Part::Audio { source } => writeln!(text, "\n[sound: {}]", what(source)),
        Part::Document { source, name, .. } => {
            writeln!(text, "\n[document {}: {}]", name.as_deref().unwrap_or_default(), what(source))
        }
        Part::StoredText { bytes, .. } => writeln!(text, "\n[{bytes} bytes that are not at hand]"),
    };
}

/// What it is, or where.
pub(super) fn what(source: &Source) -> &str {
    match source {
        Source::Url { url } => url,
        Source::Blob { media_type, .. } | Source::Base64 { media_type, .. } => media_type,
    }
}
