//! The lower edge of the terminal while a run goes on: what is only for the moment stands there, below all that was printed for
//! good. It is taken away before anything is printed and put back after it, so that nothing is left behind and nothing is mixed.
//!
//! There is one terminal, so there is one of these.

use crate::ui::stream;
use crate::ui::term::entry::{Entry, Given, View};
use crate::ui::term::ink::Face;
use crate::ui::term::keys::Key;
use crate::ui::term::raw::{MARK_NO_PASTES, MARK_PASTES, Raw};
use crate::ui::term::width::{columns, cut, width};
use rustix::process::getpgrp;
use rustix::termios::{Winsize, tcgetpgrp, tcgetwinsize};
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What comes in pieces is drawn at most so often.
const MOMENT: Duration = Duration::from_millis(30);
/// How many rows of an unfinished line are shown.
const TAIL: usize = 6;

/// What stands there.
struct Screen {
    /// How often it was begun and not ended.
    users: usize,
    /// The unfinished line of a text that is coming.
    tail: Vec<String>,
    /// What is being waited for, and how long already.
    status: String,
    /// Where a person types, if anybody listens.
    entry: Option<Entry>,
    /// The terminal's mode meanwhile.
    raw: Raw,
    /// Since when what is asked has been there.
    asked: Option<Instant>,
    /// Whether somebody else reads what is typed now.
    is_paused: bool,
    /// What is drawn now: the columns of each row up to the one that the cursor is in, and of that those before it.
    drawn: Vec<usize>,
    at: Option<Instant>,
    /// Whether what stands there is another than what is drawn.
    is_late: bool,
    /// Whether what was printed last ends within a line: nothing is drawn behind it.
    is_open: bool,
}

static SCREEN: Mutex<Screen> = Mutex::new(Screen {
    users: 0,
    tail: Vec::new(),
    status: String::new(),
    entry: None,
    raw: Raw::new(),
    asked: None,
    is_paused: false,
    drawn: Vec::new(),
    at: None,
    is_late: false,
    is_open: false,
});

fn screen() -> MutexGuard<'static, Screen> {
    SCREEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As long as this lives, the lower edge is in use.
#[derive(Debug)]
pub struct Used(());

/// Begins to use the lower edge, if standard error is a terminal that can take lines back.
pub fn begin() -> Option<Used> {
    let can = Face::of_errors().moves;
    can.then(|| {
        screen().users += 1;
        Used(())
    })
}

impl Drop for Used {
    fn drop(&mut self) {
        let mut screen = screen();
        screen.users = screen.users.saturating_sub(1);
        let mut bytes = String::new();
        screen.erase(&mut bytes);
        // What was waited for is over, also where a conversation goes on.
        screen.tail.clear();
        screen.status.clear();
        if screen.users == 0 && screen.entry.take().is_some() {
            bytes.push_str(MARK_NO_PASTES);
            screen.raw.leave();
        }
        screen.draw(&mut bytes);
        stream::write(&bytes);
    }
}

/// The columns of the terminal, less one: what fills a row exactly is shown differently by different terminals.
pub fn room() -> usize {
    size().0.saturating_sub(1)
}

/// Columns and rows of the terminal.
fn size() -> (usize, usize) {
    size_of(tcgetwinsize(std::io::stderr()).or_else(|_| tcgetwinsize(std::io::stdout())))
}

/// What a terminal says of its size; what it does not say is assumed.
fn size_of(said: rustix::io::Result<Winsize>) -> (usize, usize) {
    let (columns, rows) = said.map_or((0, 0), |size| (usize::from(size.ws_col), usize::from(size.ws_row)));
    let from_name = || std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|columns| *columns > 0);
    let columns = if columns > 0 { columns } else { from_name().unwrap_or(80) };
    (columns.max(8), if rows > 0 { rows } else { 24 })
}

/// The columns of the terminal that standard output goes to, if it does.
pub fn output_columns() -> Option<usize> {
    std::io::stdout().is_terminal().then(|| size_of(tcgetwinsize(std::io::stdout())).0)
}

/// A line of a list, which takes one row where standard output is a terminal.
pub fn in_a_row(line: &str) -> String {
    output_columns().map_or_else(|| line.into(), |columns| cut(line, columns))
}

/// Prints for good.
pub fn print(words: &str) {
    let mut screen = screen();
    if screen.users == 0 {
        return stream::write(words);
    }
    let mut bytes = String::new();
    screen.erase(&mut bytes);
    bytes.push_str(words);
    screen.is_open = !words.ends_with('\n');
    screen.draw(&mut bytes);
    stream::write(&bytes);
}

/// Does this while nothing stands at the lower edge.
pub fn aside<T>(what: impl FnOnce() -> T) -> T {
    let mut screen = screen();
    let mut bytes = String::new();
    screen.erase(&mut bytes);
    stream::write(&bytes);
    let done = what();
    let mut bytes = String::new();
    screen.draw(&mut bytes);
    stream::write(&bytes);
    done
}

/// Shows an unfinished line; nothing takes it away.
pub fn tail(rows: Vec<String>) {
    let mut screen = screen();
    screen.tail = rows;
    let is_due = screen.at.is_none_or(|at| at.elapsed() >= MOMENT);
    if is_due || screen.tail.is_empty() {
        screen.redraw();
    } else {
        screen.is_late = true;
    }
}

/// Shows what is being waited for, in a line that is cut to the width; an empty one shows nothing.
pub fn status(line: &str) {
    let mut screen = screen();
    let is_due = screen.at.is_none_or(|at| at.elapsed() >= MOMENT);
    if screen.users > 0 && (screen.status != line || is_due && screen.is_late) {
        screen.status = line.into();
        screen.redraw();
    }
}

/// Lets a person type at the lower edge from now on, for as long as it is in use. False where that cannot be.
pub fn hear() -> bool {
    let mut screen = screen();
    if screen.users == 0 || !std::io::stdin().is_terminal() {
        return false;
    }
    screen.entry.get_or_insert_default();
    screen.keep();
    true
}

/// Whether what is typed is for the lower edge now. Puts the terminal into its mode if it is not.
pub fn hears() -> bool {
    let mut screen = screen();
    let hears = screen.entry.is_some() && !screen.is_paused;
    if hears {
        screen.keep();
    }
    hears
}

/// Asks this where a person types; these keys answer it at once. Nothing asks nothing. False if nobody listens there.
pub fn ask(prompt: &str, keys: &'static str) -> bool {
    let mut screen = screen();
    let Some(entry) = &mut screen.entry else { return false };
    entry.ask(prompt, keys);
    screen.asked = Some(Instant::now());
    screen.redraw();
    true
}

/// Takes away what is half typed, or the reason that a no is asked for. False if there is nothing.
pub fn clear_typed() -> bool {
    let mut screen = screen();
    let is_cleared = screen.entry.as_mut().is_some_and(Entry::clear);
    if is_cleared {
        screen.redraw();
    }
    is_cleared
}

/// Calls a person who may look elsewhere.
pub fn ring() {
    if screen().users > 0 {
        stream::write("\u{7}");
    }
}

/// Takes keys, and shows what is given with them. `alone`: nothing came with the one.
pub fn press(keys: Vec<Key>, alone: bool) -> Vec<Given> {
    let mut screen = screen();
    let asked = screen.asked.map_or(Duration::ZERO, |asked| asked.elapsed());
    let Some(entry) = &mut screen.entry else { return Vec::new() };
    let is_pressed = !keys.is_empty();
    let given: Vec<Given> = keys.into_iter().filter_map(|key| entry.press(key, alone, asked)).collect();
    if !is_pressed {
        return given;
    }
    let mut bytes = String::new();
    screen.erase(&mut bytes);
    for said in &given {
        if let Given::Said { shown, .. } = said {
            bytes.push_str(shown);
            bytes.push('\n');
        }
    }
    screen.draw(&mut bytes);
    stream::write(&bytes);
    given
}

/// As long as this lives, somebody else asks and reads.
pub struct Paused(());

/// Leaves the terminal to somebody else, as it was before.
pub fn pause() -> Paused {
    let mut screen = screen();
    screen.is_paused = true;
    let mut bytes = String::new();
    screen.erase(&mut bytes);
    if screen.entry.is_some() {
        bytes.push_str(MARK_NO_PASTES);
        screen.raw.leave();
    }
    stream::write(&bytes);
    Paused(())
}

impl Drop for Paused {
    fn drop(&mut self) {
        screen().is_paused = false;
    }
}

impl Screen {
    /// Keeps the terminal in the mode in which keys are read.
    fn keep(&mut self) {
        if self.raw.keep() {
            stream::write(MARK_PASTES);
            self.drawn.clear();
            self.redraw();
        }
    }

    fn redraw(&mut self) {
        let mut bytes = String::new();
        self.erase(&mut bytes);
        self.draw(&mut bytes);
        stream::write(&bytes);
    }

    /// What stands there now, and where the cursor is in it.
    fn view(&self, room: usize, most: usize) -> View {
        let entry = self.entry.as_ref().map(|entry| entry.view(room, most.saturating_sub(1).max(1)));
        let View { rows: typed, row, column } = entry.clone().unwrap_or_default();
        let status = Some(cut(&self.status, room)).filter(|line| !line.is_empty() && most > typed.len());
        let left = most.saturating_sub(typed.len() + usize::from(status.is_some()));
        let tail: Vec<String> =
            self.tail.iter().flat_map(|line| line.split('\n')).flat_map(|line| rows(line, room)).collect();
        let skipped = tail.len().saturating_sub(TAIL.min(left));
        let above: Vec<String> = tail.into_iter().skip(skipped).chain(status).collect();
        let (row, column) = match entry {
            Some(_) => (above.len() + row, column),
            None => (above.len().saturating_sub(1), above.last().map_or(0, |row| plain_width(row))),
        };
        View { rows: above.into_iter().chain(typed).collect(), row, column }
    }

    fn draw(&mut self, bytes: &mut String) {
        if self.users == 0 || self.is_open || self.is_paused || !is_ours() {
            return;
        }
        let (columns, height) = size();
        let View { rows, row, column } = self.view(columns.saturating_sub(1), height.saturating_sub(1).max(1));
        bytes.push_str(&rows.join("\n"));
        let below = rows.len().saturating_sub(row + 1);
        if below > 0 {
            bytes.push_str(&format!("\u{1b}[{below}A"));
        }
        if self.entry.is_some() {
            bytes.push('\r');
            if column > 0 {
                bytes.push_str(&format!("\u{1b}[{column}C"));
            }
        }
        self.drawn = rows.iter().take(row).map(|row| plain_width(row)).collect();
        if !rows.is_empty() {
            self.drawn.push(column);
        }
        (self.at, self.is_late) = (Some(Instant::now()), false);
    }

    /// Takes away what is drawn. A terminal that was made narrower since has broken its rows.
    fn erase(&mut self, bytes: &mut String) {
        let drawn = std::mem::take(&mut self.drawn);
        // In the background the shell has its line where ours was.
        if drawn.is_empty() || !is_ours() {
            return;
        }
        let columns = size().0;
        let lines: usize = drawn.iter().map(|wide| wide.div_ceil(columns).max(1)).sum();
        bytes.push('\r');
        if lines > 1 {
            bytes.push_str(&format!("\u{1b}[{}A", lines - 1));
        }
        bytes.push_str("\u{1b}[J");
    }
}

/// Whether the terminal is ours now, and not the shell's that we run behind.
fn is_ours() -> bool {
    tcgetpgrp(std::io::stderr()).map_or(true, |group| group == getpgrp())
}

/// The columns of a line without what switches its colours.
fn plain_width(line: &str) -> usize {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().map_or(0, width);
    first + parts.map(|part| part.split_once('m').map_or(0, |(_, shown)| width(shown))).sum::<usize>()
}

/// The rows of a line with colours, each with so many columns. A colour goes on in the next row.
fn rows(line: &str, room: usize) -> Vec<String> {
    let (mut rows, mut row, mut used, mut colour) = (Vec::new(), String::new(), 0, String::new());
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let switch = rest.find('m').filter(|_| c == '\u{1b}').and_then(|end| rest.get(..=end));
        if let Some(switch) = switch {
            colour = if switch == "\u{1b}[0m" { String::new() } else { switch.into() };
            row.push_str(switch);
            rest = rest.get(switch.len()..).unwrap_or_default();
            continue;
        }
        let shown = if c == '\t' { ' ' } else { c };
        if used + columns(shown) > room.max(2) {
            if !colour.is_empty() {
                row.push_str("\u{1b}[0m");
            }
            rows.push(std::mem::replace(&mut row, colour.clone()));
            used = 0;
        }
        used += columns(shown);
        row.push(shown);
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    rows.push(row);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_as_wide_as_what_is_seen_of_it() {
        assert_eq!(plain_width("a\u{1b}[1;36mbc\u{1b}[0m回"), 5);
        assert_eq!(rows("a\u{1b}[2mbcd\u{1b}[0me", 3), ["a\u{1b}[2mbc\u{1b}[0m", "\u{1b}[2md\u{1b}[0me"]);
        assert_eq!(rows("", 3), [""]);
    }
}
