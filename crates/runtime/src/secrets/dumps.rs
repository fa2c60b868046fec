//! Secrets by name in dumps of bytes, as `xxd`, `hexdump`, `od -tx1` and others print them: digits with blanks between, over several lines, with
//! addresses before and letters behind.
//!
//! A line holds sequences of tokens, each a few bytes in hexadecimal. What is an address and what is a column of letters depends on the program and
//! its options, so a value may go on at the beginning of a sequence in the next line, or within one where the distance or the length of tokens
//! changes. Words of little-endian machines (`hexdump`, `od -x`, `xxd -e`) are read backwards as well.

use super::look::Look;
use std::ops::Range;

/// Separators between two tokens of a sequence at most.
const MOST_BETWEEN: usize = 4;
/// Values that may go on in the next line at most.
const MOST_BEGUN: usize = 256;

/// Bytes in hexadecimal without anything between.
struct Token {
    /// With `0x`, `\x` or `%` before it.
    range: Range<usize>,
    /// Where its digits begin.
    digits: usize,
    /// The length of the separators before it; of the first one, 0.
    gap: usize,
}

impl Token {
    fn width(&self) -> usize {
        self.range.end - self.digits
    }
}

/// Tokens that follow each other in a line.
struct Sequence {
    tokens: Vec<Token>,
    /// Nothing but an address is before it in its line.
    is_first: bool,
    /// The text ends in it, so that its last token may be longer.
    is_open: bool,
}

/// A value of which the last line had the beginning.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Begun {
    value: usize,
    known: usize,
    start: usize,
    backwards: bool,
}

/// The values in a text, in lines that end behind `since`: the number of each, its first byte's place, and what is known of it. `more`: the text
/// goes on.
pub(super) fn dumped(values: &[(String, Vec<u8>)], text: &[u8], since: usize, more: bool) -> Vec<(usize, usize, Look)> {
    let mut found = Vec::new();
    if values.is_empty() {
        return found;
    }
    let since = since.min(text.len());
    let mut at = text[..since].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut begun: Vec<Begun> = Vec::new();
    while at < text.len() {
        let (end, next) = line_end(text, at);
        let is_open = more && end == text.len();
        let mut line = Line { values, text, end, is_open, next: Vec::new(), found: &mut found };
        if is_open {
            begun.iter().for_each(|begun| line.hold(begun.value, begun.start));
        }
        for sequence in sequences(text, at..end) {
            line.read(&sequence, &begun, false);
            if sequence.is_first {
                line.read(&sequence, &begun, true);
            }
        }
        begun = line.next;
        begun.truncate(MOST_BEGUN);
        at = next;
    }
    if more {
        // The text ends with a line break.
        found
            .extend(begun.iter().map(|begun| (begun.value, begun.start, Look::Open { start: begun.start, end: None })));
    }
    found
}

struct Line<'a> {
    values: &'a [(String, Vec<u8>)],
    text: &'a [u8],
    end: usize,
    /// It may be longer.
    is_open: bool,
    /// What goes on in the next line.
    next: Vec<Begun>,
    found: &'a mut Vec<(usize, usize, Look)>,
}

impl Line<'_> {
    /// Looks for values in a sequence, and for those that the last line had the beginning of.
    fn read(&mut self, sequence: &Sequence, before: &[Begun], backwards: bool) {
        let Sequence { tokens, is_open, .. } = sequence;
        let last = tokens.len().saturating_sub(1);
        let (mut bytes, mut places) = (Vec::new(), Vec::new());
        // Where a value may go on from the last line, and where it may end to go on in the next one.
        let (mut entries, mut exits) = (Vec::new(), Vec::new());
        for (at, token) in tokens.iter().enumerate() {
            let other = |other: Option<&Token>| other.is_none_or(|other| other.width() != token.width());
            let previous = at.checked_sub(1).and_then(|at| tokens.get(at));
            if other(previous) || token.gap > 1 {
                entries.push(bytes.len());
            }
            let digits = &self.text[token.digits..token.range.end];
            let place = |at: usize| token.digits + 2 * at..token.digits + 2 * at + 2;
            let pairs = digits.chunks_exact(2).enumerate();
            let mut own: Vec<(u8, Range<usize>)> = pairs.map(|(at, pair)| (byte(pair), place(at))).collect();
            if backwards {
                own.reverse();
                own.iter_mut().for_each(|(_, place)| *place = token.digits..token.range.end);
            }
            for (byte, place) in own {
                bytes.push(byte);
                places.push(place);
            }
            let following = tokens.get(at + 1);
            if at == last || other(following) || following.is_some_and(|next| next.gap > 1) {
                exits.push(bytes.len());
            }
        }
        if self.is_open && *is_open && backwards {
            // How its last token is read depends on how long it gets.
            tokens.iter().take(1).for_each(|token| self.hold(0, token.digits));
        }
        for (value, (_, wanted)) in self.values.iter().enumerate() {
            let starts = (0..bytes.len()).filter(|at| bytes.get(*at) == wanted.first());
            for start in starts {
                let rest = &bytes[start..];
                if rest.starts_with(wanted) {
                    self.take(value, places[start].start, places[start + wanted.len() - 1].end);
                }
                for known in lengths(&exits, start, wanted).filter(|known| rest[..*known] == wanted[..*known]) {
                    self.go_on(Begun { value, known, start: places[start].start, backwards });
                }
            }
        }
        for begun in before.iter().filter(|begun| begun.backwards == backwards) {
            let Some((_, wanted)) = self.values.get(begun.value) else { continue };
            let left = wanted.get(begun.known..).unwrap_or_default();
            for entry in &entries {
                let rest = bytes.get(*entry..).unwrap_or_default();
                if rest.starts_with(left) {
                    self.take(begun.value, begun.start, places[entry + left.len() - 1].end);
                }
                for more in lengths(&exits, *entry, left).filter(|more| rest[..*more] == left[..*more]) {
                    self.go_on(Begun { known: begun.known + more, ..*begun });
                }
            }
        }
        if self.is_open && *is_open {
            self.hold_last(tokens);
        }
    }

    /// Holds the last token back if a value may begin in it.
    fn hold_last(&mut self, tokens: &[Token]) {
        let Some(token) = tokens.last().filter(|token| token.range.end == self.text.len()) else { return };
        let digits = &self.text[token.digits..token.range.end];
        for (value, (_, wanted)) in self.values.iter().enumerate() {
            let hexadecimal: Vec<u8> = wanted.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect();
            let begins = |at: usize| {
                let rest = &digits[at..];
                rest.len() < hexadecimal.len() && hexadecimal[..rest.len()].eq_ignore_ascii_case(rest)
            };
            if let Some(at) = (0..digits.len()).step_by(2).find(|at| begins(*at)) {
                self.hold(value, token.digits + at);
            }
        }
    }

    /// A value that ends here.
    fn take(&mut self, value: usize, start: usize, end: usize) {
        let end = self.with_letters(end);
        let look = match self.is_open {
            true => Look::Open { start, end: Some(end) },
            false => Look::Secret(start..end),
        };
        self.found.push((value, start, look));
    }

    /// A value that may go on.
    fn go_on(&mut self, begun: Begun) {
        if self.is_open {
            self.hold(begun.value, begun.start);
        }
        if !self.next.contains(&begun) {
            self.next.push(begun);
        }
    }

    fn hold(&mut self, value: usize, start: usize) {
        self.found.push((value, start, Look::Open { start, end: None }));
    }

    /// The end of the line if it has a column of letters behind this place, which spells the bytes.
    fn with_letters(&self, end: usize) -> usize {
        let rest = &self.text[end..self.end];
        let has_column = rest.contains(&b'|')
            || rest.windows(2).enumerate().any(|(at, two)| {
                two.iter().all(|byte| b" \t".contains(byte)) && rest[at..].iter().any(|byte| !b" \t".contains(byte))
            });
        if has_column { self.end } else { end }
    }
}

/// The end of the line that begins here, and the beginning of the next one. Breaks count as well if JSON has escaped them.
fn line_end(text: &[u8], from: usize) -> (usize, usize) {
    let mut at = from;
    while let Some(byte) = text.get(at) {
        match (byte, text.get(at + 1)) {
            (b'\n', _) => return (at, at + 1),
            (b'\r', Some(b'\n')) | (b'\\', Some(b'n')) => return (at, at + 2),
            _ => at += 1,
        }
    }
    (at, at)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The sequences of a line.
fn sequences(text: &[u8], line: Range<usize>) -> Vec<Sequence> {
    let mut found: Vec<Sequence> = Vec::new();
    let mut tokens: Vec<Token> = Vec::new();
    let (mut at, mut gap) = (line.start, 0);
    let is_address =
        |until: usize| text[line.start..until].iter().all(|byte| byte.is_ascii_hexdigit() || b" \t:".contains(byte));
    let mut close = |tokens: &mut Vec<Token>, is_open: bool| {
        if let Some(first) = tokens.first() {
            let is_first = is_address(first.range.start);
            found.push(Sequence { tokens: std::mem::take(tokens), is_first, is_open });
        }
    };
    while at < line.end {
        let prefix = match &text[at..line.end] {
            [b'0', b'x' | b'X', ..] | [b'\\', b'x', ..] => 2,
            [b'%', ..] => 1,
            _ => 0,
        };
        let digits = at + prefix;
        // An escape has two digits, and another one may follow at once.
        let most = if prefix == 0 || text[at] == b'0' { line.end } else { line.end.min(digits + 2) };
        let count = text[digits..most].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let end = digits + count;
        let touches = end == line.end && end == text.len();
        let ends = end == line.end || !is_word(text[end]) || most < line.end && end == most;
        if count > 0 && ends && (count % 2 == 0 || touches) {
            tokens.push(Token { range: at..end, digits, gap });
            let rest = &text[end..line.end];
            // JSON doubles a backslash.
            let separates = |at: &usize| b" \t,:;-'\"".contains(&rest[*at]) || rest[*at..].starts_with(b"\\\\");
            let between = (0..rest.len()).take_while(separates).count();
            (at, gap) = (end + between, between);
            if between > MOST_BETWEEN && at < line.end {
                close(&mut tokens, false);
            }
            continue;
        }
        close(&mut tokens, false);
        gap = 0;
        // The rest of a word is no token.
        let word = text[at..line.end].iter().take_while(|byte| is_word(**byte)).count();
        at += word.max(1);
    }
    close(&mut tokens, true);
    found
}

/// The lengths, from a place to each exit, that are shorter than a value.
fn lengths<'a>(exits: &'a [usize], start: usize, value: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let first = exits.partition_point(|exit| *exit <= start);
    exits[first..].iter().map(move |exit| exit - start).take_while(|length| *length < value.len())
}

fn byte(pair: &[u8]) -> u8 {
    let digit = |digit: &u8| match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        b'A'..=b'F' => digit - b'A' + 10,
        _ => 0,
    };
    pair.iter().fold(0, |byte, next| byte << 4 | digit(next))
}
