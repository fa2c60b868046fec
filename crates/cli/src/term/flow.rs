//! Text that comes in pieces: its whole lines are printed for good, its unfinished one stands at the lower edge meanwhile.

use crate::term::ink::{Face, Style};
use crate::term::markdown::Markdown;
use crate::term::screen;

/// An unfinished line that is longer than this, in bytes, is shown by its end.
const LONGEST: usize = 4_096;

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
        if !line.is_empty() {
            let shown = look(self.face, self.voice, &mut self.markdown, &line);
            screen::tail(Vec::new());
            print(&Vec::from_iter(shown));
        }
    }

    /// The answer is over: what comes is another text.
    pub fn close(&mut self) {
        self.end();
        self.markdown = Markdown::default();
    }

    /// The unfinished line as it looks so far.
    fn rest(&self) -> Vec<String> {
        let begins = self.partial.len().saturating_sub(LONGEST);
        let begins = (begins..self.partial.len()).find(|at| self.partial.is_char_boundary(*at)).unwrap_or(begins);
        let end = self.partial.get(begins..).unwrap_or_default();
        if end.is_empty() {
            return Vec::new();
        }
        look(self.face, self.voice, &mut self.markdown.clone(), end).into_iter().collect()
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
