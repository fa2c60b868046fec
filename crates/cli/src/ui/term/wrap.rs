//! Lines broken between words.

use crate::ui::term::ink::Style;
use crate::ui::term::width::{columns, width};

/// A piece of a line that looks alike.
pub type Piece = (Style, String);

/// Puts a letter behind the pieces.
pub fn push(pieces: &mut Vec<Piece>, style: Style, c: char) {
    match pieces.last_mut() {
        Some((same, text)) if *same == style => text.push(c),
        _ => pieces.push((style, c.to_string())),
    }
}

/// The pieces in rows of at most so many columns, broken between words; all but the first begin with so many blanks. A word that is
/// longer than a row stays whole.
pub fn wrapped(head: &[Piece], pieces: Vec<Piece>, hang: usize, room: usize) -> String {
    let rows = rows(head, pieces, hang, room);
    rows.iter().map(|row| painted(row)).collect::<Vec<_>>().join("\n")
}

/// A row as it looks.
pub fn painted(row: &[Piece]) -> String {
    row.iter().map(|(style, text)| style.paint(text)).collect()
}

/// The same as pieces.
pub fn rows(head: &[Piece], pieces: Vec<Piece>, hang: usize, room: usize) -> Vec<Vec<Piece>> {
    let hang = if hang + 8 > room { 0 } else { hang };
    let mut rows: Vec<Vec<Piece>> = vec![head.to_vec()];
    let mut used: usize = head.iter().map(|(_, text)| width(text)).sum();
    for word in words(pieces) {
        let wide: usize = word.iter().map(|(_, text)| width(text.trim_end())).sum();
        let begun = used > if rows.len() == 1 { head.iter().map(|(_, text)| width(text)).sum() } else { hang };
        if used + wide > room && begun && wide > 0 {
            rows.push(vec![(Style::PLAIN, " ".repeat(hang))]);
            used = hang;
        }
        for (style, text) in word {
            used += width(&text);
            if let Some(row) = rows.last_mut() {
                match row.last_mut() {
                    Some((same, shown)) if *same == style => shown.push_str(&text),
                    _ => row.push((style, text)),
                }
            }
        }
    }
    for (_, last) in rows.iter_mut().filter_map(|row| row.last_mut()) {
        last.truncate(last.trim_end().len());
    }
    rows
}

/// The words of the pieces, each with the blanks behind it. Where letters are wide a line may break at any of them.
fn words(pieces: Vec<Piece>) -> Vec<Vec<Piece>> {
    let mut words: Vec<Vec<Piece>> = vec![Vec::new()];
    let mut last = 'a';
    for (style, text) in pieces {
        for c in text.chars() {
            let is_new = (last == ' ' && c != ' ')
                || columns(c) == 2
                || (columns(last) == 2 && columns(c) > 0 && !c.is_ascii_punctuation());
            if is_new {
                words.push(Vec::new());
            }
            last = c;
            if let Some(word) = words.last_mut() {
                push(word, style, c);
            }
        }
    }
    words
}
