//! What a command has written, in bounded memory: its start, its end, and the whole of it aside.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, Write};

/// Characters that the model sees.
pub(crate) const SHOWN: usize = 30_000;
/// Of these, from the start; the end says more about what happened.
const HEAD: usize = SHOWN / 3;
const TAIL: usize = SHOWN - HEAD;
/// UTF-8 needs at most four bytes for a character.
const BYTES_PER_CHAR: usize = 4;
/// A secret longer than this, in bytes, may be shown in part where a text is cut.
pub(crate) const LONGEST_SECRET: usize = 16 * 1024;
/// What is kept of the end.
const RING: usize = TAIL * BYTES_PER_CHAR + LONGEST_SECRET;
/// What is kept in memory; the rest goes to a file.
const IN_MEMORY: usize = 1024 * 1024;
/// What is kept at all.
const KEPT: u64 = 64 * 1024 * 1024;

/// Takes a stream of bytes of any length.
#[derive(Default)]
pub(crate) struct Collector {
    total: u64,
    memory: Vec<u8>,
    spill: Option<File>,
    spilled: u64,
    /// Why the file could not be written; what came after that is not kept.
    broken: Option<io::Error>,
    tail: VecDeque<u8>,
}

impl Collector {
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let end = &bytes[bytes.len().saturating_sub(RING)..];
        self.tail.extend(end);
        self.tail.drain(..self.tail.len().saturating_sub(RING));
        let (now, later) = bytes.split_at(bytes.len().min(IN_MEMORY - self.memory.len()));
        self.memory.extend_from_slice(now);
        let room = usize::try_from(KEPT - IN_MEMORY as u64 - self.spilled).unwrap_or(usize::MAX);
        let later = &later[..later.len().min(room)];
        if later.is_empty() || self.broken.is_some() {
            return;
        }
        match self.spill(later) {
            Ok(()) => self.spilled += later.len() as u64,
            Err(error) => self.broken = Some(error),
        }
    }

    /// Bytes taken so far.
    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    fn spill(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.spill {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        file.write_all(bytes)
    }

    /// What the model sees, secrets hidden by `redact`, and whether something was left out of it. Nothing is cut before it
    /// is redacted: half a secret would not be known any more.
    pub fn shown(&self, redact: &dyn Fn(&str) -> String) -> (String, bool) {
        let whole = self.total == self.memory.len() as u64;
        let (head, tail) = if whole {
            let text = redact(&String::from_utf8_lossy(&self.memory));
            if text.chars().count() <= SHOWN {
                return (text, false);
            }
            (text.clone(), text)
        } else {
            let head = redact(&String::from_utf8_lossy(&self.memory[..HEAD * BYTES_PER_CHAR + LONGEST_SECRET]));
            let tail: Vec<u8> = self.tail.iter().copied().collect();
            // The ring may begin inside a character; its remaining bytes are no part of the text.
            let begin = tail.iter().take(3).take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count();
            let tail = redact(&String::from_utf8_lossy(&tail[begin..]));
            // Where the pieces were cut out of the stream, a secret may have been cut as well.
            let head_end = boundary(&head, head.len().saturating_sub(LONGEST_SECRET));
            let tail_begin = boundary(&tail, tail.len().min(LONGEST_SECRET + 3));
            (head[..head_end].to_string(), tail[tail_begin..].to_string())
        };
        let head: String = head.chars().take(HEAD).collect();
        let skip = tail.chars().count().saturating_sub(TAIL);
        let tail: String = tail.chars().skip(skip).collect();
        let left_out = self.total.saturating_sub((head.len() + tail.len()) as u64);
        (format!("{head}\n[… {} left out …]\n{tail}", crate::words::count(left_out, "byte")), true)
    }

    /// The output as text, as far as it was kept, secrets hidden by `redact`; and a note if something was not kept.
    pub fn into_text(mut self, redact: &dyn Fn(&str) -> String) -> io::Result<(Vec<u8>, Option<String>)> {
        let kept = self.memory.len() as u64 + self.spilled;
        let mut text = Vec::with_capacity(usize::try_from(kept).unwrap_or(0));
        let mut decoder = Lines::default();
        // The end waits for what follows, since a secret may have begun there.
        let mut held = String::new();
        let mut take = |piece: String| {
            held.push_str(&piece);
            if held.len() > 4 * LONGEST_SECRET {
                held = redact(&held);
                let end = boundary(&held, held.len().saturating_sub(LONGEST_SECRET));
                text.extend(held.drain(..end).as_str().as_bytes());
            }
        };
        decoder.push(&self.memory, &mut take);
        self.memory = Vec::new();
        if let Some(file) = &mut self.spill {
            file.rewind()?;
            let mut from = file.take(self.spilled);
            let mut buffer = vec![0; 256 * 1024];
            loop {
                match from.read(&mut buffer)? {
                    0 => break,
                    got => decoder.push(&buffer[..got], &mut take),
                }
            }
        }
        decoder.flush(true, &mut take);
        text.extend_from_slice(redact(&held).as_bytes());
        let note = (kept < self.total).then(|| {
            let why = self.broken.map_or_else(String::new, |error| format!(" ({error})"));
            format!("only the first {} of the output were kept{why}", crate::words::count(kept, "byte"))
        });
        Ok((text, note))
    }
}

/// The last place at or before `at` where a character begins or the text ends.
pub(crate) fn boundary(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Turns a stream of bytes into pieces of text that end at line ends where possible, so that what is looked for in a
/// piece is not cut in two. Bytes that are no UTF-8 become replacement characters.
#[derive(Default)]
pub(crate) struct Lines {
    pending: Vec<u8>,
}

/// A line longer than this is handed on in pieces.
const LONG_LINE: usize = 16 * 1024;

impl Lines {
    /// Takes bytes and hands on the lines that are complete.
    pub fn push(&mut self, bytes: &[u8], take: &mut dyn FnMut(String)) {
        self.pending.extend_from_slice(bytes);
        if let Some(at) = self.pending.iter().rposition(|byte| *byte == b'\n') {
            let rest = self.pending.split_off(at + 1);
            let lines = std::mem::replace(&mut self.pending, rest);
            take(String::from_utf8_lossy(&lines).into_owned());
        }
        if self.pending.len() > LONG_LINE {
            self.flush(false, take);
        }
    }

    /// Hands on what there is, except, unless it is the end, the beginning of a character.
    pub fn flush(&mut self, end: bool, take: &mut dyn FnMut(String)) {
        let whole = if end { self.pending.len() } else { whole_chars(&self.pending) };
        if whole > 0 {
            let rest = self.pending.split_off(whole);
            let text = std::mem::replace(&mut self.pending, rest);
            take(String::from_utf8_lossy(&text).into_owned());
        }
    }

    /// Whether there is something that was not handed on yet.
    pub fn waits(&self) -> bool {
        whole_chars(&self.pending) > 0
    }
}

/// The length without a character that has only begun at the end.
fn whole_chars(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(3);
    for at in from..bytes.len() {
        let begun = matches!(std::str::from_utf8(&bytes[at..]), Err(error) if error.error_len().is_none() && error.valid_up_to() == 0);
        if begun {
            return at;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plainly(collector: &Collector) -> (String, bool) {
        collector.shown(&|text| text.into())
    }

    fn collected(pieces: &[&[u8]]) -> Collector {
        let mut collector = Collector::default();
        pieces.iter().for_each(|piece| collector.push(piece));
        collector
    }

    #[test]
    fn what_fits_is_shown_whole() {
        let exact = "é".repeat(SHOWN);
        assert_eq!(plainly(&collected(&[exact.as_bytes()])), (exact, false));
        assert_eq!(plainly(&collected(&[])), (String::new(), false));
        assert_eq!(plainly(&collected(&[b"a\xff", b"b"])), ("a\u{fffd}b".into(), false));
    }

    #[test]
    fn what_does_not_fit_loses_its_middle() {
        let text = format!("{}{}{}", "a".repeat(HEAD), "b".repeat(7), "c".repeat(TAIL));
        let shown = format!("{}\n[… 7 bytes left out …]\n{}", "a".repeat(HEAD), "c".repeat(TAIL));
        assert_eq!(plainly(&collected(&[text.as_bytes()])), (shown, true));
    }

    #[test]
    fn a_tail_that_begins_inside_a_character_begins_at_the_next() {
        let text = format!("xy{}", "€".repeat(100_000));
        let (shown, _) = plainly(&collected(&[text.as_bytes()]));
        let tail = shown.rsplit_once("…]\n").unwrap().1;
        assert_eq!(tail, "€".repeat(TAIL));
    }

    #[test]
    fn a_secret_is_hidden_before_the_middle_is_left_out() {
        let secret = "<secret of thirty-two characters>";
        let redact = |text: &str| text.replace(secret, "*");
        for times in [2 * SHOWN / secret.len(), 2 * IN_MEMORY / secret.len()] {
            // Every place where a cut may fall.
            for before in 0..secret.len() {
                let text = format!("{}{}", "a".repeat(before), secret.repeat(times));
                let (shown, shortened) = collected(&[text.as_bytes()]).shown(&redact);
                assert!(!shown.contains("secret") && !shown.contains("characters"), "{times} times after {before}");
                assert_eq!(shortened, times > SHOWN);
            }
        }
        let long_line = collected(&[secret.repeat(2 * IN_MEMORY / secret.len()).as_bytes()]);
        let (text, _) = long_line.into_text(&redact).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "*".repeat(2 * IN_MEMORY / secret.len()));
    }

    #[test]
    fn the_whole_text_comes_back_from_memory_and_file() {
        let mut collector = Collector::default();
        let line = "0123456789 €\n";
        let times = 2 * IN_MEMORY / line.len();
        (0..times).for_each(|_| collector.push(line.as_bytes()));
        let (text, note) = collector.into_text(&|text| text.replace('9', "#")).unwrap();
        assert_eq!(note, None);
        assert!(text == "012345678# €\n".repeat(times).into_bytes());
    }

    #[test]
    fn what_is_too_much_is_dropped_with_a_note() {
        let mut collector = Collector::default();
        let mebibyte = vec![b'a'; 1024 * 1024];
        (0..65).for_each(|_| collector.push(&mebibyte));
        let (text, note) = collector.into_text(&|text| text.into()).unwrap();
        assert_eq!(text.len() as u64, KEPT);
        assert_eq!(note.unwrap(), "only the first 67,108,864 bytes of the output were kept");
    }

    #[test]
    fn pieces_end_at_lines_and_never_inside_a_character() {
        let mut lines = Lines::default();
        let mut pieces = Vec::new();
        let mut take = |piece: String| pieces.push(piece);
        lines.push("a\nb€".as_bytes().split_last().unwrap().1, &mut take);
        assert!(lines.waits());
        lines.flush(false, &mut take);
        assert!(!lines.waits());
        lines.push(&"€".as_bytes()[2..], &mut take);
        lines.push(b"\n\xff", &mut take);
        lines.flush(true, &mut take);
        assert_eq!(pieces, ["a\n", "b", "€\n", "\u{fffd}"]);
    }
}
