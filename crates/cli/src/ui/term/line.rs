//! The text that a person is typing, and where the cursor stands in it.

use crate::ui::term::keys::Key;

/// So many earlier texts can be brought back.
const KEPT: usize = 100;

/// A text that is being typed.
#[derive(Debug, Default)]
pub struct Line {
    text: String,
    /// The cursor, as a place in the bytes of the text.
    at: usize,
    earlier: Vec<String>,
    /// Which of the earlier ones is shown, counted from the last; with 0 the present one.
    back: usize,
    /// The present one, while an earlier one is shown.
    present: String,
}

impl Line {
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What stands before the cursor, and what behind it.
    pub fn halves(&self) -> (&str, &str) {
        self.text.split_at_checked(self.at).unwrap_or((&self.text, ""))
    }

    /// Ends the text and gives it; it can be brought back.
    pub fn take(&mut self) -> String {
        let text = std::mem::take(&mut self.text);
        (self.at, self.back) = (0, 0);
        if !text.trim().is_empty() && self.earlier.last() != Some(&text) {
            self.earlier.push(text.clone());
            let more = self.earlier.len().saturating_sub(KEPT);
            self.earlier.drain(..more);
        }
        text
    }

    /// Does what a key means within a text.
    pub fn press(&mut self, key: Key) {
        match key {
            Key::Char(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            Key::Paste(text) => self.insert(&text),
            Key::Break => self.insert("\n"),
            Key::Backspace => self.cut(self.before(1), self.at),
            Key::Delete => self.cut(self.at, self.after(1)),
            Key::Left => self.at = self.before(1),
            Key::Right => self.at = self.after(1),
            Key::WordLeft => self.at = self.word_before(),
            Key::WordRight => self.at = self.word_after(),
            Key::Home => self.at = 0,
            Key::End => self.at = self.text.len(),
            Key::KillToBegin => self.cut(0, self.at),
            Key::KillToEnd => self.cut(self.at, self.text.len()),
            Key::KillWord => self.cut(self.word_before(), self.at),
            Key::Up => self.show(self.back.saturating_add(1)),
            Key::Down => self.show(self.back.saturating_sub(1)),
            Key::Enter | Key::Escape | Key::Close => {}
        }
    }

    fn insert(&mut self, text: &str) {
        self.text.insert_str(self.at, text);
        self.at += text.len();
    }

    fn cut(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.at = from;
    }

    fn before(&self, letters: usize) -> usize {
        let (before, _) = self.halves();
        before.char_indices().rev().take(letters).last().map_or(self.at, |(at, _)| at)
    }

    fn after(&self, letters: usize) -> usize {
        let (_, after) = self.halves();
        self.at + after.chars().take(letters).map(char::len_utf8).sum::<usize>()
    }

    fn word_before(&self) -> usize {
        let (before, _) = self.halves();
        let word = before.trim_end().trim_end_matches(|c: char| !c.is_whitespace());
        word.len()
    }

    fn word_after(&self) -> usize {
        let (_, after) = self.halves();
        let blank = after.len() - after.trim_start().len();
        let rest = after.trim_start();
        self.at + blank + rest.find(char::is_whitespace).unwrap_or(rest.len())
    }

    /// Shows an earlier text in place of the present one, or that again.
    fn show(&mut self, back: usize) {
        let back = back.min(self.earlier.len());
        if self.back == back {
            return;
        }
        if self.back == 0 {
            self.present.clone_from(&self.text);
        }
        self.back = back;
        self.text = match back {
            0 => std::mem::take(&mut self.present),
            _ => self.earlier.get(self.earlier.len() - back).cloned().unwrap_or_default(),
        };
        self.at = self.text.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_changed_where_the_cursor_stands() {
        let mut line = Line::default();
        let mut press = |keys: &[Key]| {
            keys.iter().for_each(|key| line.press(key.clone()));
            line.halves().0.to_string() + "|" + line.halves().1
        };
        assert_eq!(press(&[Key::Paste("run the 回溯 tests".into()), Key::WordLeft, Key::Left]), "run the 回溯| tests");
        assert_eq!(press(&[Key::Backspace, Key::Char('é'), Key::Left, Key::Left, Key::Delete]), "run the |é tests");
        assert_eq!(press(&[Key::KillWord, Key::End, Key::Home, Key::WordRight]), "run| é tests");
        assert_eq!(
            press(&[Key::KillToEnd, Key::Break, Key::Right, Key::Delete, Key::KillToBegin, Key::Backspace]),
            "|"
        );
    }

    #[test]
    fn earlier_texts_come_back_and_the_present_one_is_not_lost() {
        let mut line = Line::default();
        for text in ["one", "two", "two", " "] {
            line.press(Key::Paste(text.into()));
            assert_eq!(line.take(), text);
        }
        line.press(Key::Paste("new".into()));
        let mut shown = |key: Key| {
            line.press(key);
            line.text().to_string()
        };
        let seen = [Key::Up, Key::Up, Key::Up, Key::Down, Key::Down, Key::Down].map(&mut shown);
        assert_eq!(seen, ["two", "one", "one", "two", "new", "new"]);
    }
}
