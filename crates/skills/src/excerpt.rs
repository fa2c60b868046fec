//! A part of a text under a limit, with lines that say what was left out.

use crate::markdown::headings;
use crate::words::words;
use std::collections::BTreeSet;

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The part, and lines in brackets for what was left out.
    pub text: String,
    /// The heading of the section that the hint led to.
    pub section: Option<String>,
    /// Whether anything was left out.
    pub is_partial: bool,
}

/// Which lines of a text, from 0, without the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lines {
    from: usize,
    to: usize,
}

/// The section whose heading is most like the hint, else the beginning; of at most so many characters, the lines about what was
/// left out not counted.
pub(crate) fn excerpt(text: &str, hint: Option<&str>, most: usize) -> Excerpt {
    let lines: Vec<&str> = text.lines().collect();
    let whole = Lines { from: 0, to: lines.len() };
    let found = hint.and_then(|hint| section(text, hint, whole));
    let section = found.as_ref().map(|found| found.heading.clone());
    let asked = found.map_or(whole, |found| found.lines);
    let mut out: Vec<String> = Vec::new();
    if let Some(hint) = hint.filter(|_| section.is_none()) {
        out.push(format!("[no heading is like {hint:?}; this is the beginning]"));
    }
    if asked.from > 0 {
        out.push(format!("[lines 1–{} of {} left out]", asked.from, lines.len()));
    }
    let (mut left, mut line, mut is_cut) = (most, asked.from, false);
    while let Some(content) = lines.get(line).filter(|_| line < asked.to) {
        let length = content.chars().count();
        if length > left {
            // A line by itself that is too long is cut, so that there is something to see.
            if line == asked.from && left > 0 {
                out.push(content.chars().take(left).collect());
                out.push(format!("[{} characters of line {} left out]", length - left, line + 1));
                (line, is_cut) = (line + 1, true);
            }
            break;
        }
        out.push((*content).into());
        left = left.saturating_sub(length + 1);
        line += 1;
    }
    if line < lines.len() {
        out.push(format!("[lines {}–{} of {} left out]", line + 1, lines.len(), lines.len()));
    }
    let is_partial = asked.from > 0 || line < lines.len() || is_cut;
    Excerpt { text: out.join("\n"), section, is_partial }
}

/// A heading with everything below it.
struct Section {
    heading: String,
    lines: Lines,
}

/// The section whose heading has the most words of the hint; of several, the one with the fewest others, then the first.
fn section(text: &str, hint: &str, whole: Lines) -> Option<Section> {
    let wanted: BTreeSet<String> = words(hint).into_iter().collect();
    let plain = |text: &str| text.trim().trim_start_matches('#').trim().to_lowercase();
    let all = headings(text);
    let score = |heading: &str| {
        let own: BTreeSet<String> = words(heading).into_iter().collect();
        let common = own.intersection(&wanted).count();
        let is_same = plain(heading) == plain(hint);
        (is_same || common > 0).then_some((is_same, common, std::cmp::Reverse(own.len())))
    };
    let scored = all.iter().enumerate().filter_map(|(place, heading)| Some((score(heading.text)?, place)));
    let (_, place) = scored.max_by_key(|(score, place)| (*score, std::cmp::Reverse(*place)))?;
    let heading = all.get(place)?;
    let next = all.iter().skip(place + 1).find(|next| next.level <= heading.level);
    let lines = Lines { from: heading.line, to: next.map_or(whole.to, |next| next.line) };
    Some(Section { heading: heading.text.into(), lines })
}
