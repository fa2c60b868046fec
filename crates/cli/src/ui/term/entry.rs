//! The place where a person types: what is asked there, the text so far, and when it is given.

use crate::ui::term::ink::Style;
use crate::ui::term::keys::Key;
use crate::ui::term::line::Line;
use crate::ui::term::width::{columns, width};
use crate::ui::term::wrap::wrapped;
use std::time::Duration;

/// What is asked where nothing is asked.
pub const PROMPT: &str = "› ";
/// What is asked after a no.
const WHY: &str = "  no, because (Enter: no reason; Esc: back to the question): ";
/// A key that comes sooner after its question was meant for something else.
const GRACE: Duration = Duration::from_millis(400);
/// An Enter that comes so soon after what follows an answer was typed behind that answer.
const SOON: Duration = Duration::from_secs(1);
/// So much of a text is shown around the cursor, in bytes.
const SHOWN: usize = 2_000;
/// So many rows of it.
const ROWS: usize = 10;

/// A place to type.
#[derive(Debug, Default)]
pub struct Entry {
    /// What is asked; empty where nothing is.
    prompt: String,
    /// The keys that answer it at once. An `n` among them is asked for its reason first.
    keys: &'static str,
    /// Whether the reason of a no is being typed.
    refuses: bool,
    line: Line,
    /// An Enter right after a key that answered at once belongs to that.
    swallows: bool,
}

/// What came of a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Given {
    /// This was said, and this stays on the screen of it.
    Said { text: String, shown: String },
    /// Nothing more will be.
    Closed,
}

/// What is to be seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    pub rows: Vec<String>,
    /// The row in which the cursor stands.
    pub row: usize,
    /// The columns before it.
    pub column: usize,
}

impl Entry {
    /// Asks this; what was typed so far stays.
    pub fn ask(&mut self, prompt: &str, keys: &'static str) {
        (self.prompt, self.keys, self.refuses) = (prompt.into(), keys, false);
    }

    /// Takes a key. `alone`: nothing came with it. `asked`: for so long the question has been there.
    pub fn press(&mut self, key: Key, alone: bool, asked: Duration) -> Option<Given> {
        let swallows = std::mem::take(&mut self.swallows);
        let at_once = alone && !self.refuses && self.line.text().is_empty() && asked >= GRACE;
        match key {
            Key::Char(c) if at_once && self.keys.contains(c.to_ascii_lowercase()) => {
                let c = c.to_ascii_lowercase();
                if c == 'n' {
                    self.refuses = true;
                    return None;
                }
                self.swallows = true;
                Some(Given::Said { text: c.to_string(), shown: format!("{}{c}", self.prompt) })
            }
            Key::Enter if swallows && asked < SOON && self.line.text().is_empty() => None,
            Key::Enter => {
                let prompt = self.asked().to_string();
                let said = self.line.take();
                let shown = shown(&said);
                let text = if std::mem::take(&mut self.refuses) { format!("n {said}") } else { said };
                Some(Given::Said { text, shown: format!("{prompt}{shown}") })
            }
            Key::Escape if self.refuses => {
                self.clear();
                None
            }
            Key::Close if self.line.text().is_empty() => Some(Given::Closed),
            key => {
                self.line.press(key);
                None
            }
        }
    }

    /// Takes away what is typed, and goes back from the reason of a no to its question. False if there is nothing.
    pub fn clear(&mut self) -> bool {
        let had = self.refuses || !self.line.text().is_empty();
        self.refuses = false;
        self.line.press(Key::End);
        self.line.press(Key::KillToBegin);
        had
    }

    fn asked(&self) -> &str {
        match self.prompt.as_str() {
            _ if self.refuses => WHY,
            "" => PROMPT,
            prompt => prompt,
        }
    }

    /// How it looks in a terminal with so many columns, in at most so many rows.
    pub fn view(&self, room: usize, most: usize) -> View {
        let prompt = self.asked();
        let (before, after) = self.line.halves();
        let from = before.len().saturating_sub(SHOWN);
        let from = (from..before.len()).find(|at| before.is_char_boundary(*at)).unwrap_or(from);
        let to = (SHOWN.min(after.len())..=after.len()).find(|at| after.is_char_boundary(*at)).unwrap_or_default();
        let cut = if from > 0 { "…" } else { "" };
        let mut rows: Vec<String> = asked_in_rows(prompt, room);
        rows.iter_mut().last().into_iter().for_each(|row| row.push_str(cut));
        typed(&mut rows, before.get(from..).unwrap_or_default(), room);
        let (row, column) = (rows.len() - 1, rows.last().map_or(0, |row| width(row)));
        typed(&mut rows, after.get(..to).unwrap_or_default(), room);
        // Where there is no room for all of it, the rows around the cursor.
        let most = most.clamp(1, ROWS);
        let first = (row + 1).saturating_sub(most);
        let rows: Vec<String> = rows.into_iter().skip(first).take(most).collect();
        View { rows, row: row - first, column }
    }
}

/// The rows of what is asked; behind the last one is the text.
fn asked_in_rows(prompt: &str, room: usize) -> Vec<String> {
    let rows = wrapped(&[], vec![(Style::PLAIN, prompt.trim_end().into())], 2, room.max(2));
    let mut rows: Vec<String> = rows.split('\n').map(String::from).collect();
    if let Some(last) = rows.last_mut().filter(|_| prompt.ends_with(' ')) {
        last.push(' ');
    }
    rows
}

/// Puts a text behind the rows. Nothing of it steers the terminal.
fn typed(rows: &mut Vec<String>, text: &str, room: usize) {
    for c in text.chars() {
        let is_full = rows.last().is_none_or(|row| width(row) + columns(c) > room.max(2));
        if c == '\n' || is_full {
            rows.push(String::new());
        }
        if let Some(row) = rows.last_mut() {
            match c {
                '\t' => row.push(' '),
                c if c.is_control() => {}
                c => row.push(c),
            }
        }
    }
}

/// What stays on the screen of a text that was given.
fn shown(text: &str) -> String {
    let plain = |text: &str| text.chars().filter(|c| !c.is_control() || *c == '\n').collect::<String>();
    let lines = text.lines().count();
    if text.len() <= SHOWN && lines <= ROWS {
        return plain(text).replace('\n', "\n  ");
    }
    let first: String = text.lines().next().unwrap_or_default().chars().take(60).collect();
    format!("{} … ({lines} lines, {} bytes)", plain(&first), text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: Duration = Duration::from_secs(1);

    fn said(text: &str, shown: &str) -> Option<Given> {
        Some(Given::Said { text: text.into(), shown: shown.into() })
    }

    fn asked() -> Entry {
        let mut entry = Entry::default();
        entry.ask("  sure? ", "ynd");
        entry
    }

    #[test]
    fn one_key_answers_a_question_that_was_there_to_be_read() {
        assert_eq!(asked().press(Key::Char('Y'), true, LATER), said("y", "  sure? y"));
        // Too soon, with more behind it, behind something else, or pasted: that wants an Enter.
        assert_eq!(asked().press(Key::Char('y'), true, Duration::ZERO), None);
        assert_eq!(asked().press(Key::Char('y'), false, LATER), None);
        assert_eq!(asked().press(Key::Paste("y".into()), true, LATER), None);
        let mut typing = Entry::default();
        assert_eq!(typing.press(Key::Char('o'), true, LATER), None);
        typing.ask("  sure? ", "ynd");
        assert_eq!(typing.press(Key::Char('y'), true, LATER), None);
        assert_eq!(typing.press(Key::Enter, true, LATER), said("oy", "  sure? oy"));
        // Nothing is asked, or this key answers nothing.
        assert_eq!(Entry::default().press(Key::Char('y'), true, LATER), None);
        assert_eq!(asked().press(Key::Char('a'), true, LATER), None);
    }

    #[test]
    fn an_enter_behind_a_key_that_answered_belongs_to_it() {
        let mut entry = asked();
        entry.press(Key::Char('y'), true, LATER);
        assert_eq!(entry.press(Key::Enter, true, GRACE), None);
        assert_eq!(entry.press(Key::Enter, true, GRACE), said("", "  sure? "));
        entry.press(Key::Char('y'), true, LATER);
        assert_eq!(entry.press(Key::Enter, true, LATER), said("", "  sure? "), "one that comes later is meant");
    }

    #[test]
    fn a_no_is_asked_for_its_reason_and_can_be_taken_back() {
        let mut entry = asked();
        assert_eq!(entry.press(Key::Char('n'), true, LATER), None);
        entry.press(Key::Char('y'), true, LATER);
        assert_eq!(entry.press(Key::Enter, true, LATER), said("n y", &format!("{WHY}y")));
        let mut entry = asked();
        for key in [Key::Char('n'), Key::Char('x'), Key::Escape] {
            assert_eq!(entry.press(key, true, LATER), None);
        }
        assert_eq!(entry.press(Key::Char('y'), true, LATER), said("y", "  sure? y"));
    }

    #[test]
    fn it_takes_the_rows_it_needs_and_not_more_than_there_are() {
        let mut entry = Entry::default();
        entry.press(Key::Paste("ab\u{1b}[2Jcd\nef".into()), true, LATER);
        entry.press(Key::Left, true, LATER);
        let rows = ["› ab[2", "Jcd", "ef"].map(String::from).to_vec();
        assert_eq!(entry.view(6, 10), View { rows, row: 2, column: 1 });
        assert_eq!(entry.view(6, 1), View { rows: vec!["ef".into()], row: 0, column: 1 });
        let mut long = asked();
        long.press(Key::Paste("x".repeat(1_000_000)), true, LATER);
        let view = long.view(80, 50);
        assert_eq!((view.rows.len(), view.row), (ROWS, ROWS - 1));
        let given = long.press(Key::Enter, true, LATER);
        let shown = format!("  sure? {} … (1 lines, 1000000 bytes)", "x".repeat(60));
        assert_eq!(given, said(&"x".repeat(1_000_000), &shown));
    }

    #[test]
    fn a_long_question_is_broken_between_words() {
        let mut entry = Entry::default();
        entry.ask("  [y]es, [n]o (and why), [l]ater: ", "");
        let rows = ["  [y]es, [n]o", "  (and why),", "  [l]ater: "].map(String::from).to_vec();
        assert_eq!(entry.view(14, 10), View { rows, row: 2, column: 11 });
    }
}
