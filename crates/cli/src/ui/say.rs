//! What is said to people. Nobody has to be there to hear it: a closed or full standard error, a reader that has gone, a dead
//! terminal end no run, so `eprintln!` and `eprint!` here never fail, unlike those of the standard library.

use crate::ui::stream::all;
use crate::ui::term::ink::Style;
use crate::ui::term::screen;
use crate::ui::term::width::width;
use crate::ui::term::wrap::wrapped;
use crate::ui::whole::is_invisible;
use std::borrow::Cow;
use std::fmt::Arguments;
use std::io::{self, IsTerminal, Write};

macro_rules! eprintln {
    () => { $crate::ui::say::to_people(::std::format_args!("\n")) };
    ($($words:tt)*) => { $crate::ui::say::lines_to_people(::std::format_args!($($words)*)) };
}

macro_rules! eprint {
    ($($words:tt)*) => { $crate::ui::say::to_people(::std::format_args!($($words)*)) };
}

/// Says it on standard error, above what stands at the lower edge of a terminal.
pub fn to_people(words: Arguments<'_>) {
    screen::print(&words.to_string());
}

/// Says lines, which a terminal gets broken between words; further rows stand two columns behind their line's beginning.
pub fn lines_to_people(words: Arguments<'_>) {
    let words = words.to_string();
    // What has styles of its own was fitted where it was made.
    if words.contains('\u{1b}') || !io::stderr().is_terminal() {
        return screen::print(&format!("{words}\n"));
    }
    let room = screen::room();
    let fitted = |line: &str| match width(line) > room {
        true => fitted(line, line.len() - line.trim_start_matches(' ').len() + 2, room),
        false => line.to_string(),
    };
    let rows: Vec<String> = words.split('\n').map(fitted).collect();
    screen::print(&format!("{}\n", rows.join("\n")));
}

fn fitted(line: &str, hang: usize, room: usize) -> String {
    let (head, rest) = line.split_at(line.len() - line.trim_start_matches(' ').len());
    wrapped(&[(Style::PLAIN, head.to_string())], vec![(Style::PLAIN, rest.into())], hang, room)
}

/// Says a line, which a terminal gets broken between words; its further rows begin with so many blanks.
pub fn tell(line: &str, hang: usize) {
    if !io::stderr().is_terminal() {
        return eprintln!("{line}");
    }
    eprintln!("{}", fitted(line, hang, screen::room()));
}

/// Writes to standard output. What a terminal would obey beside our own styles is spelled out there. Errors: those of writing.
pub fn to_output(words: &str) -> io::Result<()> {
    let write = |words: &str| {
        let mut out = io::stdout().lock();
        all(&mut out, words.as_bytes()).and_then(|()| out.flush())
    };
    match io::stdout().is_terminal() {
        // It may be the same terminal.
        true => screen::aside(|| write(&spelled_out(words, |c| c != '\u{1b}' && is_obeyed(c)))),
        false => write(words),
    }
}

/// What is not ours as it is, for standard output: a terminal gets it with all that it would obey, and all that nobody sees, spelled out.
pub fn foreign(words: &str) -> Cow<'_, str> {
    match io::stdout().is_terminal() {
        true => spelled_out(words, is_obeyed),
        false => words.into(),
    }
}

/// The same wherever it goes: what is to be read may be shown in a terminal later.
pub fn readable(words: &str) -> Cow<'_, str> {
    spelled_out(words, is_obeyed)
}

/// Whether a terminal does something other than to show a letter, or a person does not see it.
fn is_obeyed(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t') || is_invisible(c)
}

/// The words with such characters as JSON escapes them, so that JSON stays what it is.
fn spelled_out(words: &str, is_spelled: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !words.contains(&is_spelled) {
        return words.into();
    }
    let mut text = String::with_capacity(words.len() + 64);
    for c in words.chars() {
        if is_spelled(c) {
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().for_each(|unit| text.push_str(&format!("\\u{unit:04x}")));
        } else {
            text.push(c);
        }
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spelled_out_is_the_same_json() {
        let value = serde_json::json!({"a": "x\u{9b}31m\u{202e}y\u{e0041}\u{7f}"});
        let text = value.to_string();
        let told = spelled_out(&text, is_obeyed);
        assert_eq!(told, r#"{"a":"x\u009b31m\u202ey\udb40\udc41\u007f"}"#);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&told).unwrap(), value);
        assert_eq!(spelled_out("plain\n", is_obeyed), "plain\n");
    }
}
