//! Markdown for a terminal, a line at a time, so that an answer can be shown while it is written.

use crate::term::ink::Style;
use crate::term::width::width;
use crate::term::wrap::{Piece, push, wrapped};

/// A line longer than this is shown as it is, in bytes: looking for pairs of marks takes longer than it is long.
const LONGEST: usize = 4_096;
/// How deep emphasis may stand in emphasis.
const DEEPEST: u32 = 6;

/// What was seen of a text up to the line that comes.
#[derive(Clone, Debug, Default)]
pub struct Markdown {
    /// The fence that a block of code began with, and how far it was indented.
    fence: Option<(String, usize)>,
}

impl Markdown {
    /// A whole line as it looks, in rows of at most so many columns but for code and tables. `None`: it only says where code begins or ends.
    pub fn line(&mut self, line: &str, room: usize) -> Option<String> {
        let line = line.replace('\t', "    ");
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if let Some((fence, by)) = &self.fence {
            if text.starts_with(fence.as_str()) && text.trim_end().chars().all(|c| fence.starts_with(c)) {
                self.fence = None;
                return None;
            }
            let code = line.get((*by).min(indent)..).unwrap_or(&line);
            return Some(Style::DIM.paint(&format!("  {code}")));
        }
        if let Some(fence) = fence(text) {
            self.fence = Some((fence, indent));
            return None;
        }
        if line.len() > LONGEST || text.starts_with('|') {
            return Some(line);
        }
        Some(prose(text, indent, room))
    }
}

/// The marks that a block of code begins with: three or more.
fn fence(text: &str) -> Option<String> {
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let fence: String = text.chars().take_while(|c| *c == mark).collect();
    // What is closed on the same line is code in a sentence.
    let rest = text.get(fence.len()..)?;
    (fence.len() >= 3 && !(mark == '`' && rest.contains('`'))).then_some(fence)
}

fn prose(text: &str, indent: usize, room: usize) -> String {
    let hashes = text.chars().take_while(|c| *c == '#').count();
    if let (1..=6, Some(title)) = (hashes, text.get(hashes..).and_then(|rest| rest.strip_prefix(' '))) {
        let pieces = inline(title.trim().trim_end_matches('#').trim_end(), Style::BOLD);
        return wrapped(&[], pieces, 0, room);
    }
    if is_rule(text) {
        return Style::DIM.paint(&"─".repeat(room.min(40)));
    }
    let mut head: Vec<Piece> = vec![(Style::PLAIN, " ".repeat(indent))];
    let mut rest = text;
    while let Some(quoted) = rest.strip_prefix('>') {
        head.push((Style::DIM, "│ ".into()));
        rest = quoted.strip_prefix(' ').unwrap_or(quoted);
    }
    if let Some((mark, item)) = item(rest) {
        head.push((Style::PLAIN, mark));
        rest = item;
    }
    let hang = head.iter().map(|(_, text)| width(text)).sum();
    wrapped(&head, inline(rest, Style::PLAIN), hang, room)
}

/// Three or more of the same mark and nothing else.
fn is_rule(text: &str) -> bool {
    let marks: String = text.chars().filter(|c| *c != ' ').collect();
    marks.len() >= 3 && ['-', '*', '_'].iter().any(|mark| marks.chars().all(|c| c == *mark))
}

/// What stands before an item of a list, and the item.
fn item(text: &str) -> Option<(String, &str)> {
    if let Some(item) = ["- ", "* ", "+ "].iter().find_map(|mark| text.strip_prefix(mark)) {
        let done = [("[ ] ", "☐ "), ("[x] ", "☑ "), ("[X] ", "☑ ")];
        let ticked = done.iter().find_map(|(mark, shown)| Some(((*shown).to_string(), item.strip_prefix(mark)?)));
        return Some(ticked.unwrap_or(("• ".into(), item)));
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let item = text.get(digits..).and_then(|rest| rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")))?;
    (1..=9).contains(&digits).then(|| (text.get(..digits + 2).unwrap_or_default().to_string(), item))
}

/// A line's pieces: code, emphasis, links.
fn inline(text: &str, style: Style) -> Vec<Piece> {
    let mut pieces = Vec::new();
    spans(text, (style, DEEPEST), &mut pieces);
    pieces
}

fn spans(text: &str, (style, deeper): (Style, u32), pieces: &mut Vec<Piece>) {
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
                spans(inside, (style.and(more), deeper - 1), pieces);
                inside.len() + 2 * mark.len()
            }),
            '[' | '!' if deeper > 0 => link(rest).map(|(shown, to, taken)| {
                spans(shown, (style.and(Style::UNDERLINED), deeper - 1), pieces);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines as they look, in which `<1>…<>` stands for a style.
    fn shown(text: &str, room: usize) -> Vec<String> {
        let mut markdown = Markdown::default();
        let lines = text.lines().filter_map(|line| markdown.line(line, room));
        let lines = lines.flat_map(|line| line.split('\n').map(String::from).collect::<Vec<_>>());
        lines.map(|line| line.replace("\u{1b}[0m", "<>").replace("\u{1b}[", "<").replace('m', ">")).collect()
    }

    #[test]
    fn headings_lists_quotes_and_code_look_like_what_they_are() {
        let text = "# The *key*\n\n- one\n  * [x] two\n12. three\n> so\n```rust\nfn a() {\n    *b*\n}\n```\n---";
        let expected = [
            "<1>The <><1;3>key<>",
            "",
            "• one",
            "  ☑ two",
            "12. three",
            "<2>│ <>so",
            "<2>  fn a() {<>",
            "<2>      *b*<>",
            "<2>  }<>",
        ];
        let shown = shown(text, 20);
        assert_eq!(shown.get(..9).unwrap(), expected);
        assert_eq!(shown.get(9).unwrap(), &format!("<2>{}<>", "─".repeat(20)));
    }

    #[test]
    fn emphasis_code_and_links_are_told_from_marks_that_mean_themselves() {
        let cases = [
            ("a **b _c_** `d*e*`", "a <1>b <><1;3>c<> <36>d*e*<>"),
            ("see [it](http://x/y) ok", "see <4>it<><2> (http://x/y)<> ok"),
            ("[http://x](http://x)", "<4>http://x<>"),
            ("2 * 3 * 4, a_b_c, *open, `open", "2 * 3 * 4, a_b_c, *open, `open"),
            ("\\*so\\* ~~gone~~ ~x~", "*so* <9>gone<> ~x~"),
            ("``a ` b``", "<36>a ` b<>"),
            ("***both***", "<1;3>both<>"),
            ("![alt](p.png)", "<4>alt<><2> (p.png)<>"),
            ("| a | b |", "| a | b |"),
            ("```not a fence```", "<36>not a fence<>"),
        ];
        for (line, expected) in cases {
            assert_eq!(shown(line, 80), [expected], "{line:?}");
        }
    }

    #[test]
    fn lines_are_broken_between_words_and_items_stay_in_line_with_themselves() {
        assert_eq!(shown("- one two three four five", 14), ["• one two", "  three four", "  five"]);
        assert_eq!(shown("**one two three**", 8), ["<1>one two<>", "<1>three<>"]);
        assert_eq!(shown("回溯到消息 ok", 6), ["回溯到", "消息", "ok"]);
        assert_eq!(shown("abcdefghijkl", 5), ["abcdefghijkl"]);
    }

    #[test]
    fn what_looks_for_pairs_ends_soon_on_any_line() {
        for piece in ["[", "*a", "`", "**_", "![a](", "~~a", "\\"] {
            let line = format!("x{}", piece.repeat((LONGEST - 1) / piece.len()));
            assert!(!shown(&line, 80).is_empty());
        }
        let long = "*a* ".repeat(LONGEST);
        assert_eq!(Markdown::default().line(&long, 80).as_deref(), Some(long.as_str()));
    }
}
