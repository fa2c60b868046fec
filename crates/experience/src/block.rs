//! The entries of a file, one after the other.
//!
//! A file is one entry, or several as in `experiences.md`: each begins with a line of `---`, its front matter, and another such line.
//! The first line of a file begins an entry; after that, a line of `---` does only if the next line with anything on it is `id: …`. So a
//! rule in a text (`---`) stays a part of the text.

use std::ops::Range;

/// A part of a file that should be an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// Where it is, in bytes: from its first `---` to the beginning of the next.
    pub range: Range<usize>,
    /// Its front matter, in bytes; `None` if it is not closed.
    pub front: Option<Range<usize>>,
    /// The line that it begins on, from 1.
    pub line: usize,
}

impl Block {
    /// What follows the front matter.
    pub fn body<'t>(&self, text: &'t str) -> &'t str {
        let from = self.front.as_ref().map_or(self.range.start, |front| front.end);
        let rest = text.get(from..self.range.end).unwrap_or_default();
        rest.split_once('\n').map_or("", |(_, body)| body)
    }
}

struct Line<'t> {
    text: &'t str,
    at: Range<usize>,
}

/// The blocks of a file. What stands before the first is in none, and is told by its line.
pub(crate) fn blocks(text: &str) -> (Vec<Block>, Option<usize>) {
    let mut lines = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        lines.push(Line { text: line.trim_end(), at: at..at + line.len() });
        at += line.len();
    }
    let is_mark = |line: &Line<'_>| line.text.trim_start_matches('\u{feff}') == "---";
    let first = lines.iter().position(|line| !line.text.trim_start_matches('\u{feff}').is_empty());
    let stray = first.filter(|first| lines.get(*first).is_some_and(|line| !is_mark(line))).map(|first| first + 1);
    let begins = |number: usize| {
        let next = lines.iter().skip(number + 1).find(|line| !line.text.is_empty());
        lines.get(number).is_some_and(is_mark)
            && (Some(number) == first || next.is_some_and(|line| line.text.starts_with("id:")))
    };
    let starts: Vec<usize> = (0..lines.len()).filter(|number| begins(*number)).collect();
    let mut found = Vec::new();
    for (n, start) in starts.iter().enumerate() {
        let until = starts.get(n + 1).copied().unwrap_or(lines.len());
        let inside = || lines.iter().take(until).skip(start + 1);
        let begin = lines.get(*start).map_or(0, |line| line.at.clone().start);
        let end = lines.get(until).map_or(text.len(), |line| line.at.start);
        let front = inside().find(|line| line.text == "---").map(|close| {
            let from = lines.get(*start).map_or(0, |line| line.at.end);
            from..close.at.start
        });
        found.push(Block { range: begin..end, front, line: start + 1 });
    }
    (found, stray)
}
