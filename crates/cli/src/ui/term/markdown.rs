//! Markdown for a terminal, a line at a time, so that an answer can be shown while it is written.

use crate::ui::term::ink::Style;
use crate::ui::term::inline::inline;
use crate::ui::term::table;
use crate::ui::term::width::width;
use crate::ui::term::wrap::{Piece, wrapped};

/// A line longer than this is shown as it is, in bytes: looking for pairs of marks takes longer than it is long.
const LONGEST: usize = 4_096;

/// What was seen of a text up to the line that comes.
#[derive(Clone, Debug, Default)]
pub struct Markdown {
    /// The fence that a block of code began with, and how far it was indented.
    fence: Option<(String, usize)>,
    /// The lines of the table that has begun: how wide its columns are is known at its end.
    table: Vec<String>,
}

/// A table of more bytes than this is shown as it is.
const LARGEST_TABLE: usize = 64 << 10;

impl Markdown {
    /// A text that is all there.
    pub fn all(text: &str, room: usize) -> String {
        let mut markdown = Markdown::default();
        let mut lines: Vec<String> = text.lines().filter_map(|line| markdown.line(line, room)).collect();
        lines.extend(markdown.end(room));
        lines.join("\n")
    }

    /// A whole line as it looks, in rows of at most so many columns but for code. `None`: it says where code begins or ends, or
    /// belongs to a table that is not over.
    pub fn line(&mut self, line: &str, room: usize) -> Option<String> {
        let is_row = self.fence.is_none() && line.trim_start().starts_with('|') && line.len() <= LONGEST;
        if is_row && self.table.iter().map(String::len).sum::<usize>() <= LARGEST_TABLE {
            self.table.push(line.replace('\t', "    "));
            return None;
        }
        let table = self.end(room);
        let line = self.one(line, room);
        match (table, line) {
            (Some(table), Some(line)) => Some(format!("{table}\n{line}")),
            (table, line) => table.or(line),
        }
    }

    /// The table that the text has ended with, as it looks.
    pub fn end(&mut self, room: usize) -> Option<String> {
        let lines = std::mem::take(&mut self.table);
        (!lines.is_empty()).then(|| table::drawn(&lines, room).unwrap_or_else(|| lines.join("\n")))
    }

    /// The lines of a table that is not over, as they were written.
    pub fn pending(&self) -> &[String] {
        &self.table
    }

    /// The same without the table.
    pub fn without_table(&self) -> Markdown {
        Markdown { fence: self.fence.clone(), table: Vec::new() }
    }

    fn one(&mut self, line: &str, room: usize) -> Option<String> {
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
        if line.len() > LONGEST {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines as they look, in which `<1>…<>` stands for a style.
    fn shown(text: &str, room: usize) -> Vec<String> {
        let text = Markdown::all(text, room).replace("\u{1b}[0m", "<>").replace("\u{1b}[", "<").replace('m', ">");
        text.split('\n').map(String::from).collect()
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
    fn a_table_has_columns_and_what_is_none_stays_as_it_is() {
        let text = "so:\n| a | *b* |\n|---|--:|\n| one | 2 |\n| `x\\|y` | 回 |\nend";
        let expected =
            ["so:", "<1>a  <><2> │ <><1> <><1;3>b<>", "<2>────┼───<>", "one<2> │ <> 2", "<36>x|y<><2> │ <>回", "end"];
        assert_eq!(shown(text, 40), expected);
        assert_eq!(shown("| a | b |\nx", 40), ["| a | b |", "x"]);
        assert_eq!(shown("```\n| a |\n|---|\n```", 40), ["<2>  | a |<>", "<2>  |---|<>"]);
        assert_eq!(
            shown("| one two three | four five |\n|---|---|", 16),
            ["<1>one two<><2> │ <><1>four<>", "<1>three  <><2> │ <><1>five<>"]
        );
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
