//! A conversation for people, as Markdown.

use crate::text::{fenced, gist};
use mainpath_types::{Part, Source, text_of};
use std::fmt::Write;

/// A part of a message.
pub(super) fn write_part(part: &Part, text: &mut String) {
    let _ = match part {
        Part::Text { text: said } => writeln!(text, "\n{}", within(said.trim_end())),
        Part::Thinking { text: thought, .. } if thought.trim().is_empty() => Ok(()),
        Part::Thinking { text: thought, .. } => writeln!(text, "\n> {}", thought.trim().replace('\n', "\n> ")),
        Part::ToolCall { name, arguments, .. } if arguments.len() < 400 && !arguments.contains(['`', '\n', '\r']) => {
            writeln!(text, "\n→ `{}` `{arguments}`", word(name))
        }
        Part::ToolCall { name, arguments, .. } => {
            writeln!(text, "\n→ `{}` `{}`\n{}", word(name), word(&gist(arguments)), fenced(arguments))
        }
        Part::ToolResult { name, content, is_error, .. } => {
            let failed = if *is_error { " (failed)" } else { "" };
            writeln!(text, "\n`{}`{failed}\n\n{}", word(name), fenced(&text_of(content)))
        }
        Part::Image { source } => writeln!(text, "\n[image: {}]", word(what(source))),
        Part::Audio { source } => writeln!(text, "\n[sound: {}]", word(what(source))),
        Part::Document { source, name, .. } => {
            writeln!(text, "\n[document {}: {}]", word(name.as_deref().unwrap_or_default()), word(what(source)))
        }
        Part::StoredText { bytes, .. } => writeln!(text, "\n[{bytes} bytes that are not at hand]"),
    };
}

/// What somebody said, so that nothing in it passes for a heading of the export or hides one: what would begin one is escaped, and a fence
/// that is left open is closed.
fn within(said: &str) -> String {
    let mut lines = Vec::new();
    let mut open: Option<&str> = None;
    for line in said.split(['\n', '\r']) {
        let text = line.trim_start();
        let is_deep = line.len() - text.len() > 3;
        let marks = fence_of(text).filter(|_| !is_deep);
        match (open, marks) {
            (Some(fence), Some(marks)) if marks.starts_with(fence) && text.trim_end() == marks => open = None,
            (None, Some(marks)) if marks.starts_with('~') || !text[marks.len()..].contains('`') => open = Some(marks),
            (Some(_), _) => {}
            (None, _) => {
                lines.push(escaped(line));
                continue;
            }
        }
        lines.push(line.into());
    }
    lines.extend(open.map(String::from));
    lines.join("\n")
}

/// The marks with which a line of Markdown begins or ends a fence.
fn fence_of(text: &str) -> Option<&str> {
    let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let end = text.find(|c| c != mark).unwrap_or(text.len());
    text.get(..end).filter(|marks| marks.len() >= 3)
}

/// A line that is no heading, underlines none, and has no markup of HTML.
fn escaped(line: &str) -> String {
    let text = line.trim_start();
    let blank = line.get(..line.len() - text.len()).unwrap_or_default();
    let is_rule = |mark: char| !text.is_empty() && text.trim_end().chars().all(|c| c == mark);
    let backslash = if text.starts_with('#') || is_rule('=') || is_rule('-') { "\\" } else { "" };
    let mut safe = format!("{blank}{backslash}");
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c == '<' && rest.peek().is_some_and(|next| next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?')) {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

/// A name inside a line, which it cannot end.
fn word(name: &str) -> String {
    name.replace(['`', '\n', '\r'], " ")
}

/// What it is, or where.
pub(super) fn what(source: &Source) -> &str {
    match source {
        Source::Url { url } => url,
        Source::Blob { media_type, .. } | Source::Base64 { media_type, .. } => media_type,
    }
}
