//! Lines for people on standard error, and text that comes in pieces: as it comes, or by whole lines between those of others.

use crate::ui::term::flow::{Flow, Voice};
use crate::ui::term::ink::{Face, Style};
use crate::ui::term::screen;
use crate::ui::term::width::{cut, width};
use crate::ui::text::{plain, wrapped};

/// Where lines go.
pub struct LineOut {
    /// What the terminal can do, if there is one.
    pub face: Face,
    /// The text that is coming, where there is a terminal.
    flow: Flow,
    /// Whether the cursor is in the middle of a line.
    open_line: bool,
    /// Whose lines stand between those of others, and what there is of one that is not complete.
    between: Option<Between>,
}

/// Text whose lines stand between those of others: none is torn.
#[derive(Default)]
struct Between {
    /// What each line begins with.
    label: String,
    /// A line that is not complete.
    partial: String,
}

impl LineOut {
    pub fn new() -> LineOut {
        let face = Face::of_errors();
        LineOut { face, flow: Flow::new(face), open_line: false, between: None }
    }

    /// Begins each line with what somebody is called, between those of others.
    pub fn label(&mut self, label: &str) {
        self.between = Some(Between { label: format!("{} ", plain(label)), partial: String::new() });
    }

    /// Whether lines stand between those of others, so that they are printed when they are complete.
    pub fn stand_between(&mut self, others: bool) {
        if others != self.between.is_some() {
            self.end_line();
            self.between = others.then(Between::default);
        }
    }

    /// Whether lines are printed when they are complete.
    pub fn stands_between(&self) -> bool {
        self.between.is_some()
    }

    /// Whether each line begins with a name.
    pub fn is_labelled(&self) -> bool {
        self.between.as_ref().is_some_and(|between| !between.label.is_empty())
    }

    /// What each line begins with, and how many columns that takes.
    fn begin(&self) -> (String, usize) {
        let label = self.between.as_ref().map_or("", |between| &between.label);
        (self.face.paint(Style::DIM, label), width(label))
    }

    /// A line. In a terminal what only names a call takes one row, and anything else is broken between words.
    pub fn line(&mut self, mark: &str, text: &str) {
        self.end_line();
        let text = plain(text);
        let text = text.trim_end();
        let (label, taken) = self.begin();
        let below = format!("\n{label}  ");
        if !self.face.moves {
            let text = if taken == 0 { text.into() } else { text.replace('\n', &below) };
            return eprintln!("{label}{mark} {text}");
        }
        let room = screen::room().saturating_sub(taken + width(mark) + 1);
        let text = match mark {
            "→" | "✓" => cut(&text.replace('\n', " "), room),
            _ => wrapped(text, room).join(&below),
        };
        eprintln!("{label}{} {text}", self.face.mark(mark));
    }

    /// A line of what a call does: as it is, whatever its length.
    pub fn rail(&mut self, line: &str) {
        self.end_line();
        let style = match line {
            line if line.starts_with("+ ") => Style::GREEN,
            line if line.starts_with("- ") => Style::RED,
            _ => Style::PLAIN,
        };
        eprintln!("{}  {} {}", self.begin().0, self.face.paint(Style::DIM, "│"), self.face.paint(style, line));
    }

    /// A line below another: as it is, whatever its length.
    pub fn detail(&mut self, line: &str) {
        self.end_line();
        eprintln!("{}  │ {line}", self.begin().0);
    }

    /// Ends a line that was begun.
    pub fn end_line(&mut self) {
        if let Some(between) = &mut self.between {
            let line = std::mem::take(&mut between.partial);
            if !line.is_empty() {
                self.whole_line(&line);
            }
        } else if self.face.moves {
            self.flow.end();
            screen::tail(Vec::new());
        } else if self.open_line {
            eprintln!();
            self.open_line = false;
        }
    }

    /// The answer is over: what comes is another text.
    pub fn close(&mut self) {
        self.end_line();
        self.flow.close();
    }

    /// What a tool prints, or the model thinks.
    pub fn aside(&mut self, text: &str) {
        match self.face.moves && self.between.is_none() {
            true => self.flow.push(Voice::Aside, text),
            false => self.text(text),
        }
    }

    /// A piece of an answer.
    pub fn text(&mut self, text: &str) {
        if let Some(between) = &mut self.between {
            between.partial.push_str(text);
            if let Some((whole, rest)) = between.partial.rsplit_once('\n') {
                let (whole, rest) = (whole.to_string(), rest.to_string());
                between.partial = rest;
                whole.split('\n').for_each(|line| self.whole_line(line));
            }
        } else if self.face.moves {
            self.flow.push(Voice::Answer, text);
        } else if !text.is_empty() {
            eprint!("{text}");
            self.open_line = !text.ends_with('\n');
        }
    }

    /// A line of what is said or printed, between those of others.
    fn whole_line(&self, line: &str) {
        let (label, taken) = self.begin();
        if !self.face.moves {
            return eprintln!("{}", format!("{label}{line}").trim_end());
        }
        let rows = wrapped(line, screen::room().saturating_sub(taken));
        if rows.is_empty() {
            return eprintln!("{}", label.trim_end());
        }
        rows.iter().for_each(|row| eprintln!("{label}{row}"));
    }
}
