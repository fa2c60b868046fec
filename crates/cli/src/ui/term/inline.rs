//! What stands in a line of Markdown: code, emphasis, links.

use crate::ui::term::ink::Style;
use crate::ui::term::wrap::{Piece, push};

/// How deep emphasis may stand in emphasis.
const DEEPEST: u32 = 6;

/// A line's pieces: code, emphasis, links.
pub fn inline(text: &str, style: Style) -> Vec<Piece> {
    let mut pieces = Vec::new();
    spans(text, style, DEEPEST, &mut pieces);
    pieces
}

fn spans(text: &str, style: Style, deeper: u32, pieces: &mut Vec<Piece>) {
    let mut at = 0;
    let mut before = None;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..).unwrap_or_default();
        let taken = match c {
            '\\' => rest.chars().nth(1).filter(char::is_ascii_punctuation).map(|next| {
                push(pieces, style, next);
                2
            }),
            '`' => code(rest).map(|(inside, taken)| {
                inside.chars().for_each(|c| push(pieces, style.and(Style::CYAN), c));
                taken
            }),
            '*' | '_' | '~' if deeper > 0 => emphasis(rest, before).map(|(mark, inside)| {
                let more = match mark {
                    "***" | "___" => Style::BOLD.and(Style::ITALIC),
                    "**" | "__" => Style::BOLD,
                    "~~" => Style::STRUCK,
                    _ => Style::ITALIC,
                };
                spans(inside, style.and(more), deeper - 1, pieces);
                inside.len() + 2 * mark.len()
            }),
            '[' | '!' if deeper > 0 => link(rest).map(|(shown, to, taken)| {
                spans(shown, style.and(Style::UNDERLINED), deeper - 1, pieces);
                if shown != to && !to.is_empty() {
                    format!(" ({to})").chars().for_each(|c| push(pieces, style.and(Style::DIM), c));
                }
                taken
            }),
            _ => None,
        };
        at += taken.unwrap_or_else(|| {
            push(pieces, style, c);
            c.len_utf8()
        });
        before = text.get(..at).and_then(|seen| seen.chars().next_back());
    }
}

/// Code between equally many marks, and how much of the text it takes.
fn code(text: &str) -> Option<(&str, usize)> {
    let marks = text.bytes().take_while(|b| *b == b'`').count();
    let mark = text.get(..marks)?;
    let mut from = marks;
    while let Some(found) = text.get(from..)?.find(mark) {
        let (begins, end) = (from + found, from + found + marks);
        let longer = text.get(end..)?.bytes().take_while(|b| *b == b'`').count();
        if longer == 0 {
            let inside = text.get(marks..begins)?;
            let padded = inside.strip_prefix(' ').and_then(|inside| inside.strip_suffix(' '));
            return Some((padded.filter(|inside| !inside.trim().is_empty()).unwrap_or(inside), end));
        }
        from = end + longer;
    }
    None
}

/// Text between two marks of emphasis. Within a word, `_` is a letter.
fn emphasis(text: &str, before: Option<char>) -> Option<(&str, &str)> {
    let c = text.chars().next()?;
    let run = text.chars().take_while(|next| *next == c).count();
    let most = if c == '~' { 2 } else { 3 };
    if run > most || (c == '~' && run < 2) || (c == '_' && before.is_some_and(char::is_alphanumeric)) {
        return None;
    }
    let mark = text.get(..run)?;
    let inside = text.get(run..)?;
    if inside.starts_with(char::is_whitespace) {
        return None;
    }
    let ends = |at: &usize| {
        let (until, after) = (inside.get(..*at).unwrap_or_default(), inside.get(at + run..).unwrap_or_default());
        let is_part = after.starts_with(c) || until.ends_with(c);
        let in_word = c == '_' && after.starts_with(char::is_alphanumeric);
        !until.is_empty() && !until.ends_with([' ', '\\']) && !is_part && !in_word
    };
    let end = inside.match_indices(mark).map(|(at, _)| at).find(ends)?;
    Some((mark, inside.get(..end)?))
}

/// What a link shows, where it leads, and how much of the text it takes. A picture is a link to it.
fn link(text: &str) -> Option<(&str, &str, usize)> {
    let begins = if text.starts_with("![") { 2 } else { 1 };
    if !text.starts_with(['[', '!']) || (text.starts_with('!') && begins == 1) {
        return None;
    }
    let middle = text.find("](")?;
    let shown = text.get(begins..middle)?;
    let to = text.get(middle + 2..)?;
    let end = to.find(')')?;
    let to = to.get(..end)?;
    // A title behind the address is not shown.
    let address = to.split_whitespace().next().unwrap_or_default();
    (!shown.contains('[') && !shown.is_empty()).then_some((shown, address, middle + 3 + end))
}
