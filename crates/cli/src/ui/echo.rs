//! What a tool prints while it runs, as far as people are shown it: the beginning as it comes, and of what is too much the end.

use crate::ui::text::count;

/// So many lines of a call are shown as they come,
const LINES: usize = 400;
/// and no more than so many bytes of them.
const BYTES: usize = 64 << 10;
/// So many lines of the rest are shown at its end,
const LAST_LINES: usize = 10;
/// and no more than so many bytes.
const LAST_BYTES: usize = 2 << 10;

/// What was shown of one call.
#[derive(Default)]
pub struct Echo {
    lines: usize,
    bytes: usize,
    /// The line breaks of what is not shown.
    hidden: u64,
    /// The end of it.
    last: String,
}

impl Echo {
    /// Takes a piece; gives what of it is shown now.
    pub fn push<'t>(&mut self, piece: &'t str) -> &'t str {
        let (now, later) = piece.split_at(self.room(piece));
        self.bytes += now.len();
        self.lines += breaks(now);
        self.hidden += breaks(later) as u64;
        self.last.push_str(later);
        if self.last.len() > 2 * LAST_BYTES {
            self.last = tail(&self.last).into();
        }
        now
    }

    /// How much of a piece is shown: nothing any more once something was not.
    fn room(&self, piece: &str) -> usize {
        if !self.last.is_empty() {
            return 0;
        }
        let lines =
            piece.match_indices('\n').nth(LINES.saturating_sub(self.lines + 1)).map_or(piece.len(), |(at, _)| at + 1);
        let lines = if self.lines >= LINES { 0 } else { lines };
        piece.floor_char_boundary(lines.min(BYTES.saturating_sub(self.bytes)))
    }

    /// What follows once the call is over: that something was left out, and the end of it.
    pub fn rest(self) -> Option<String> {
        if self.last.is_empty() {
            return None;
        }
        let last = tail(&self.last);
        let left_out = self.hidden.saturating_sub(breaks(last) as u64);
        let what = if left_out > 0 { count(left_out, "line") } else { "some of it".into() };
        Some(format!("… {what} not shown here …\n{last}"))
    }
}

fn breaks(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// The last lines of a text.
fn tail(text: &str) -> &str {
    let from = text.ceil_char_boundary(text.len().saturating_sub(LAST_BYTES));
    let text = text.get(from..).unwrap_or_default();
    let ends = text.trim_end_matches('\n').rmatch_indices('\n').nth(LAST_LINES - 1).map_or(0, |(at, _)| at + 1);
    text.get(ends..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is shown of pieces as they come, and what follows.
    fn shown<'t>(pieces: impl IntoIterator<Item = &'t str>) -> (String, Option<String>) {
        let mut echo = Echo::default();
        let now = pieces.into_iter().map(|piece| echo.push(piece)).collect();
        (now, echo.rest())
    }

    #[test]
    fn little_is_shown_whole_and_of_much_the_beginning_and_the_end() {
        assert_eq!(shown(["a\n", "b"]), ("a\nb".into(), None));
        let lines: Vec<String> = (1..=1_000).map(|n| format!("line {n}\n")).collect();
        let expected: (String, _) = (
            lines.iter().take(400).cloned().collect(),
            Some(format!("… 590 lines not shown here …\n{}", lines.iter().skip(990).cloned().collect::<String>())),
        );
        assert_eq!(shown(lines.iter().map(String::as_str)), expected);
        assert_eq!(shown([lines.concat().as_str()]), expected);
        let exactly: String = lines.iter().take(400).cloned().collect();
        assert_eq!(shown([exactly.as_str()]), (exactly.clone(), None));
    }

    #[test]
    fn a_line_without_end_is_bounded_too() {
        let pieces = vec!["ä".repeat(1_000); 1_000];
        let (now, rest) = shown(pieces.iter().map(String::as_str));
        assert_eq!(now.len(), 64 << 10);
        assert_eq!(rest, Some(format!("… some of it not shown here …\n{}", "ä".repeat(1_024))));
    }
}
