//! Secrets by name in dumps of bytes as decimal or octal numbers, as `od`, `printf '%d '` and lists in programs print them.
//!
//! A number is 1, 2, 4 or 8 bytes of a little-endian machine. Which it is, in which base, and whether the first number of a line is an address
//! depends on the program and its options, so each way of reading has its own [`Reader`], and all of them read the text in one pass.
//! A byte that is in no secret ends what was read so far, so most numbers cost little.

use super::look::{Look, SHORTEST};
use aho_corasick::AhoCorasick;
use std::ops::Range;

/// The longest separator between two numbers of a dump, in bytes: `od` pads a number of 8 bytes to 21 columns.
const MOST_BETWEEN: usize = 24;
/// The widths of numbers, in bytes.
const WIDTHS: [usize; 4] = [1, 2, 4, 8];
/// The most digits of a number of 8 bytes in octal, and a 0 before it.
const MOST_DIGITS: usize = 23;

/// A base in which numbers are printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Base {
    Decimal,
    Octal,
}

impl Base {
    fn radix(self) -> u32 {
        match self {
            Base::Decimal => 10,
            Base::Octal => 8,
        }
    }

    /// The most digits of a number of this width. In C, a 0 before it marks an octal number.
    fn digits(self, width: usize) -> usize {
        match self {
            Base::Decimal => [3, 5, 10, 20][width.ilog2() as usize],
            Base::Octal => (8 * width).div_ceil(3) + 1,
        }
    }
}

/// A number in a text.
struct Number<'a> {
    digits: &'a [u8],
    is_negative: bool,
    /// With its sign.
    range: Range<usize>,
    /// Nothing but separators is before it in its line.
    is_first: bool,
}

impl Number<'_> {
    fn value(&self, base: Base) -> Option<i128> {
        let digits = std::str::from_utf8(self.digits).ok().filter(|digits| digits.len() <= MOST_DIGITS)?;
        let value = i128::from_str_radix(digits, base.radix()).ok()?;
        Some(if self.is_negative { -value } else { value })
    }
}

/// One way of reading numbers as bytes.
struct Reader {
    base: Base,
    width: usize,
    /// The first number of each line is an address or the number of the line.
    skips_first: bool,
    bytes: Vec<u8>,
    /// The number of each byte.
    places: Vec<Range<usize>>,
}

impl Reader {
    /// The bytes of a number that is printed in this way.
    fn bytes_of(&self, number: &Number<'_>, value: Option<i128>) -> Option<[u8; 8]> {
        let bits = 8 * self.width;
        let fits = |value: &i128| (-(1 << (bits - 1))..1 << bits).contains(value);
        let value = value.filter(fits).filter(|_| number.digits.len() <= self.base.digits(self.width))?;
        let mut bytes = [0; 8];
        value.to_le_bytes().iter().zip(&mut bytes).take(self.width).for_each(|(from, to)| *to = *from);
        Some(bytes)
    }
}

/// The values found in a text.
#[derive(Default)]
pub(super) struct Numbered {
    /// The pattern of each value that was found, where it begins, and what is known of it.
    pub found: Vec<(usize, usize, Look)>,
    /// Where a value may have begun that the text ends in.
    pub begun: Option<usize>,
}

/// The search in one text.
struct Search<'a> {
    values: &'a AhoCorasick,
    plain: &'a [(String, Vec<u8>)],
    text: &'a [u8],
    /// The text goes on.
    more: bool,
    /// The bytes that are in any value. Every other byte ends what was read so far.
    bytes: [bool; 256],
    readers: Vec<Reader>,
    /// True if the readers hold any numbers.
    has_numbers: bool,
    came: Numbered,
}

/// Finds values in a text, in lines that end behind `since`. `more`: the text goes on.
pub(super) fn numbered(
    values: &AhoCorasick,
    plain: &[(String, Vec<u8>)],
    text: &[u8],
    since: usize,
    more: bool,
) -> Numbered {
    let since = since.min(text.len());
    let at = text[..since].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    if !text[at..].iter().any(u8::is_ascii_digit) {
        return Numbered::default();
    }
    let ways = [Base::Decimal, Base::Octal].into_iter().flat_map(|base| WIDTHS.map(|width| (base, width)));
    let readers = ways.flat_map(|(base, width)| {
        [false, true].map(|skips_first| Reader { base, width, skips_first, bytes: Vec::new(), places: Vec::new() })
    });
    let mut bytes = [false; 256];
    plain.iter().flat_map(|(_, value)| value).for_each(|byte| bytes[usize::from(*byte)] = true);
    let readers = readers.collect();
    let mut search =
        Search { values, plain, text, more, bytes, readers, has_numbers: false, came: Numbered::default() };
    search.read(at);
    search.came
}

impl Search<'_> {
    /// Reads from the beginning of a line on.
    fn read(&mut self, mut at: usize) {
        let text = self.text;
        // Where the separators before `at` begin, and whether a line begins in them.
        let (mut gap, mut is_first) = (at, true);
        while at < text.len() {
            let byte = text[at];
            if byte.is_ascii_digit() {
                if at - gap > MOST_BETWEEN {
                    self.end();
                }
                let count = text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                let end = at + count;
                if text.get(end).is_some_and(|next| is_word(*next)) {
                    let end = self.word(at, is_first);
                    (at, gap, is_first) = (end, end, false);
                    continue;
                }
                let is_negative = is_sign(text, at);
                let range = at - usize::from(is_negative)..end;
                if self.more && end == text.len() {
                    // It may get longer.
                    self.hold(range.start);
                    (at, gap) = (end, end);
                    continue;
                }
                self.number(&Number { digits: &text[at..end], is_negative, range, is_first });
                (at, gap, is_first) = (end, end, false);
            } else if is_word(byte) {
                let end = self.word(at, is_first);
                (at, gap, is_first) = (end, end, false);
            } else {
                match (byte, text.get(at + 1)) {
                    (b'\n', _) => (at, is_first) = (at + 1, true),
                    // JSON has escaped it.
                    (b'\\', Some(b'n')) => (at, is_first) = (at + 2, true),
                    (b'\\', Some(b'r' | b't')) => at += 2,
                    // A column of letters follows.
                    (b'>', _) if text[..at].ends_with(b"  ") => at = line_end(text, at),
                    _ => at += 1,
                }
            }
        }
        if self.more && at - gap <= MOST_BETWEEN {
            self.hold_begun();
        }
        self.end();
    }

    /// Ends what was read at a word that is no number, unless it is an address in hexadecimal. Returns the end of the word.
    fn word(&mut self, from: usize, is_first: bool) -> usize {
        let rest = &self.text[from..];
        let word = &rest[..rest.iter().take_while(|byte| is_word(**byte)).count()];
        if !is_first || !word.iter().all(u8::is_ascii_hexdigit) {
            self.end();
        }
        from + word.len()
    }

    fn number(&mut self, number: &Number<'_>) {
        self.has_numbers = true;
        let values = [Base::Decimal, Base::Octal].map(|base| number.value(base));
        for at in 0..self.readers.len() {
            let reader = &mut self.readers[at];
            if number.is_first && reader.skips_first {
                continue;
            }
            let value = values[usize::from(reader.base == Base::Octal)];
            let (width, bytes) = (reader.width, reader.bytes_of(number, value));
            match bytes {
                Some(bytes) => {
                    for byte in &bytes[..width] {
                        if !self.bytes[usize::from(*byte)] {
                            self.end_reader(at);
                            continue;
                        }
                        self.readers[at].bytes.push(*byte);
                        self.readers[at].places.push(number.range.clone());
                    }
                }
                // An address.
                None if number.is_first => {}
                None => self.end_reader(at),
            }
        }
    }

    /// Ends what the readers hold: the next number does not continue it.
    fn end(&mut self) {
        if !std::mem::take(&mut self.has_numbers) {
            return;
        }
        (0..self.readers.len()).for_each(|at| self.end_reader(at));
    }

    fn end_reader(&mut self, at: usize) {
        let Some(Reader { bytes, places, .. }) = self.readers.get_mut(at) else { return };
        if bytes.len() < SHORTEST {
            bytes.clear();
            places.clear();
            return;
        }
        let (bytes, places) = (std::mem::take(bytes), std::mem::take(places));
        for found in self.values.find_overlapping_iter(&bytes) {
            let (start, end) = (places[found.start()].start, places[found.end() - 1].end);
            let line = line_end(self.text, end);
            let end = if self.text[end..line].windows(3).any(|three| three == b"  >") { line } else { end };
            let look = match self.more && line == self.text.len() {
                true => Look::Open { start, end: Some(end) },
                false => Look::Secret(start..end),
            };
            self.came.found.push((found.pattern().as_usize(), start, look));
        }
    }

    /// Holds back values that the text ends in.
    fn hold_begun(&mut self) {
        let longest = self.plain.iter().map(|(_, value)| value.len()).max().unwrap_or_default();
        let starts = self.readers.iter().filter_map(|Reader { bytes, places, .. }| {
            let begins = |at: &usize| self.plain.iter().any(|(_, value)| value.starts_with(&bytes[*at..]));
            let first = (bytes.len().saturating_sub(longest)..bytes.len()).find(begins);
            first.map(|at| places[at].start)
        });
        if let Some(start) = starts.min() {
            self.hold(start);
        }
    }

    fn hold(&mut self, start: usize) {
        self.came.begun = Some(self.came.begun.map_or(start, |begun| begun.min(start)));
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Returns true if a number that begins here has a minus sign, rather than a separator, before it.
fn is_sign(text: &[u8], at: usize) -> bool {
    let before = text[..at].strip_suffix(b"-");
    before.is_some_and(|before| before.last().is_none_or(|byte| b" \t\n,[".contains(byte)))
}

/// The end of a line. Breaks count as well if JSON has escaped them.
fn line_end(text: &[u8], from: usize) -> usize {
    let rest = &text[from..];
    let ends = |at: &usize| rest[*at] == b'\n' || rest[*at..].starts_with(b"\\n");
    from + (0..rest.len()).find(ends).unwrap_or(rest.len())
}
