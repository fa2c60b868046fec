//! Text that comes in pieces: its whole lines are printed for good, its unfinished one stands at the lower edge meanwhile.

use crate::ui::term::ink::{Face, Style};
use crate::ui::term::markdown::Markdown;
use crate::ui::term::screen;
use crate::ui::term::width::cut;

/// An unfinished line that is longer than this, in bytes, is shown by its end.
const LONGEST: usize = 4_096;

/// So many rows of a table are shown before it is over.
const ROWS: usize = 8;

/// Whose text it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Voice {
    /// The model's answer: Markdown.
    #[default]
    Answer,
    /// What a tool prints, or the model thinks.
    Aside,
}

/// The text that is coming.
#[derive(Debug)]
pub struct Flow {
    face: Face,
    voice: Voice,
    markdown: Markdown,
    partial: String,
}

impl Flow {
    pub fn new(face: Face) -> Flow {
        Flow { face, voice: Voice::default(), markdown: Markdown::default(), partial: String::new() }
    }

    /// Takes a piece, and prints the lines that it completes.
    pub fn push(&mut self, voice: Voice, text: &str) {
        if voice != self.voice {
            self.end();
            self.voice = voice;
        }
        let mut lines = Vec::new();
        for piece in text.split_inclusive('\n') {
            self.partial.push_str(piece.trim_end_matches('\n'));
            if piece.ends_with('\n') {
                let line = std::mem::take(&mut self.partial);
                lines.extend(look(self.face, voice, &mut self.markdown, &line));
            }
        }
        let rest = self.rest();
        screen::tail(rest);
        print(&lines);
    }

    /// Prints what is unfinished as a line.
    pub fn end(&mut self) {
        let line = std::mem::take(&mut self.partial);
        let mut shown = Vec::new();
        if !line.is_empty() {
            shown.extend(look(self.face, self.voice, &mut self.markdown, &line));
        }
        shown.extend(self.markdown.end(screen::room()));
        if !line.is_empty() || !shown.is_empty() {
            screen::tail(Vec::new());
            print(&shown);
        }
    }

    /// The answer is over: what comes is another text.
    pub fn close(&mut self) {
        self.end();
        self.markdown = Markdown::default();
    }

    /// What is unfinished as it looks so far: the last rows of a table, and the line.
    fn rest(&self) -> Vec<String> {
        let rows = self.markdown.pending();
        let rows = rows.get(rows.len().saturating_sub(ROWS)..).unwrap_or_default();
        rows.iter().map(|row| cut(row, screen::room())).chain(self.line()).collect()
    }

    /// The unfinished line.
    fn line(&self) -> Option<String> {
        let begins = self.partial.len().saturating_sub(LONGEST);
        let begins = (begins..self.partial.len()).find(|at| self.partial.is_char_boundary(*at)).unwrap_or(begins);
        let end = self.partial.get(begins..).unwrap_or_default();
        if end.is_empty() {
            return None;
        }
        // A line of a table has its look at the end of it.
        let mut alone = self.markdown.without_table();
        look(self.face, self.voice, &mut alone, end)
            .or_else(|| alone.pending().first().map(|row| cut(row, screen::room())))
    }
}

fn look(face: Face, voice: Voice, markdown: &mut Markdown, line: &str) -> Option<String> {
    match voice {
        _ if !face.colour => Some(line.into()),
        Voice::Answer => markdown.line(line, screen::room()),
        Voice::Aside => Some(Style::DIM.paint(line)),
    }
}

fn print(lines: &[String]) {
    if !lines.is_empty() {
        eprintln!("{}", lines.join("\n"));
    }
}
