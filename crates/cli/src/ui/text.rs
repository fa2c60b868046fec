//! Text for a terminal: what models and tools say must not steer it.

use crate::ui::term::width::columns;
use mainpath::intervals::Interval;
pub use mainpath::text::{GIST, gist, one_line, plain, short, span};
use mainpath::types::{Micros, Spent, TraceId};

/// The lines of a text, broken between words so that none is wider than this. Longer words are broken where they must be.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in plain(text).replace('\t', "    ").lines() {
        let (mut rest, mut first) = (line, true);
        while first || !rest.is_empty() {
            let (now, later) = rest.split_at(fitting(rest, width.max(2)));
            lines.push(now.trim_end().to_string());
            (rest, first) = (later.trim_start(), false);
        }
    }
    lines
}

/// How much of a line fits: up to the last space that does, or what there is room for.
fn fitting(line: &str, width: usize) -> usize {
    let (mut used, mut space) = (0, None);
    for (at, c) in line.char_indices() {
        used += columns(c);
        if used > width {
            return space.filter(|_| c != ' ').unwrap_or(at);
        }
        if c == ' ' && !line.get(..at).unwrap_or_default().trim().is_empty() {
            space = Some(at + 1);
        }
    }
    line.len()
}

/// A text of somebody else's on one line, whatever line breaks it has: none of it can look like a line of ours.
pub fn in_one_line(text: &str) -> String {
    short(text, usize::MAX)
}

/// A number with separators: `12,345`.
pub fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How many there are of something: `1 event`, `1,200 events`.
pub fn count(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", number(n), if n == 1 { "" } else { "s" })
}

/// The same as the beginning of a sentence: `1 event was`, `2 events were`.
pub fn were(n: u64, noun: &str) -> String {
    format!("{} {}", count(n, noun), if n == 1 { "was" } else { "were" })
}

/// What a model call or a run used: `1,234 in (900 cached), 56 out (20 reasoning) · $0.0123`.
/// What nobody has counted is said to be about so much.
pub fn spent(Spent { usage, cost, about }: Spent) -> String {
    let aside = |parts: &[(u64, &str)]| {
        let said: Vec<String> =
            parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", number(*n))).collect();
        if said.is_empty() { String::new() } else { format!(" ({})", said.join(", ")) }
    };
    let cached = aside(&[(usage.cache_read, "cached"), (usage.cache_write, "written to the cache")]);
    let reasoning = aside(&[(usage.reasoning, "reasoning")]);
    let about = if about { "about " } else { "" };
    let tokens = format!("{about}{} in{cached}, {} out{reasoning}", number(usage.input), number(usage.output));
    if cost == 0 { tokens } else { format!("{tokens} · {about}{}", money(cost)) }
}

/// An interval of a share for people: `49 % to 94 %`.
pub fn range(of: Interval) -> String {
    format!("{:.0} % to {:.0} %", of.low * 100.0, of.high * 100.0)
}

/// Millionths of a dollar for people: two digits after the point, or as many as it takes to show something.
pub fn money(cost: Micros) -> String {
    let (whole, rest) = (cost / 1_000_000, cost % 1_000_000);
    let digits = format!("{rest:06}");
    let shown = digits.trim_end_matches('0');
    format!("${}.{shown:0<2}", number(whole))
}

/// That pins went with a conversation that was cleared; `None` where there were none.
pub fn pins_went(trace: &TraceId, pins: usize) -> Option<String> {
    let them = match pins {
        0 => return None,
        1 => "1 pin was removed too".into(),
        pins => format!("{} pins were removed too", number(pins as u64)),
    };
    Some(format!("{them}; to pin again: mainpath pin {trace} \"…\""))
}

/// A name as it is typed.
pub fn quoted(name: &str) -> String {
    if name.contains(' ') { format!("'{name}'") } else { name.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_cannot_steer_the_terminal() {
        assert_eq!(plain("a\u{1b}[2Jb\u{7}\r\nc\td\u{202E}e"), "a[2Jb\nc\tde");
    }

    #[test]
    fn lines_are_broken_between_words_and_wide_characters_count_twice() {
        assert_eq!(wrapped("one two three\n\n  four", 8), ["one two", "three", "", "  four"]);
        assert_eq!(wrapped("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrapped("回溯到消息", 4), ["回溯", "到消", "息"]);
        assert_eq!(wrapped("exactly it", 10), ["exactly it"]);
        assert_eq!(wrapped("", 10), Vec::<String>::new());
    }

    #[test]
    fn what_hides_in_a_call_is_named_in_its_line_too() {
        assert_eq!(gist(r#"{"command":"ls\u202e #\u200b\u001b[2J\nrm x"}"#), "ls<U+202E> #<U+200B><U+001B>[2J rm x");
    }

    #[test]
    fn long_text_is_cut_to_one_line() {
        assert_eq!(short("one\n two  three", 9), "one two …");
        assert_eq!(
            (number(1_234_567), span(1_250), gist(r#"{"path":"a b"}"#)),
            ("1,234,567".into(), "1.2 s".into(), "a b".into())
        );
    }
}
