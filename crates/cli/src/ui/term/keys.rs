//! What a terminal sends when keys are pressed or something is pasted (ECMA-48; xterm's control sequences).

/// What a person did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    Char(char),
    /// Several lines at once, or whatever else was not typed.
    Paste(String),
    Enter,
    /// An end of line within the text.
    Break,
    Backspace,
    Delete,
    Left,
    Right,
    WordLeft,
    WordRight,
    Home,
    End,
    Up,
    Down,
    KillToBegin,
    KillToEnd,
    KillWord,
    Escape,
    /// Ctrl-D.
    Close,
}

/// What begins and ends a paste.
const PASTE: (&[u8], &[u8]) = (b"\x1b[200~", b"\x1b[201~");
/// No sequence is longer than this; what is, is none.
const LONGEST: usize = 32;

/// Bytes that are not yet a key.
#[derive(Debug, Default)]
pub struct Keys {
    bytes: Vec<u8>,
    /// Whether they are within a paste.
    pastes: bool,
    /// Up to where the end of the paste was looked for.
    searched: usize,
}

impl Keys {
    /// Takes what was read at once. An Enter with text before and behind it was not typed: it is a line break of a paste by a terminal that
    /// does not mark it.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.bytes.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while let Some(taken) = self.take(&mut keys) {
            self.bytes.drain(..taken);
            if self.bytes.is_empty() {
                break;
            }
        }
        let is_letter = |key: &Key| matches!(key, Key::Char(_));
        let first = keys.iter().position(is_letter).unwrap_or_default();
        let last = keys.iter().rposition(is_letter).unwrap_or_default();
        let between = keys.iter_mut().take(last).skip(first);
        between.filter(|key| **key == Key::Enter).for_each(|key| *key = Key::Break);
        keys
    }

    /// Nothing has come for a while: what could have begun a sequence was the Escape key.
    pub fn rest(&mut self) -> Option<Key> {
        let is_escape = self.bytes == b"\x1b" && !self.pastes;
        is_escape.then(|| {
            self.bytes.clear();
            Key::Escape
        })
    }

    /// Takes one key; gives how many bytes it was. `None`: more must come first.
    fn take(&mut self, keys: &mut Vec<Key>) -> Option<usize> {
        let bytes = &self.bytes;
        if self.pastes {
            let from = self.searched.saturating_sub(PASTE.1.len());
            let end = bytes.get(from..)?.windows(PASTE.1.len()).position(|part| part == PASTE.1).map(|at| from + at);
            let Some(end) = end else {
                self.searched = bytes.len();
                return None;
            };
            let text = String::from_utf8_lossy(bytes.get(..end)?).replace("\r\n", "\n").replace('\r', "\n");
            keys.push(Key::Paste(text));
            (self.pastes, self.searched) = (false, 0);
            return Some(end + PASTE.1.len());
        }
        match *bytes.first()? {
            0x1b => self.sequence(keys),
            byte @ (..0x20 | 0x7f) => {
                keys.extend(control(byte));
                Some(1)
            }
            byte => {
                let long = match byte {
                    ..0x80 => 1,
                    0xc0..0xe0 => 2,
                    0xe0..0xf0 => 3,
                    0xf0.. => 4,
                    _ => return Some(1),
                };
                let letter = bytes.get(..long)?;
                match std::str::from_utf8(letter).ok().and_then(|text| text.chars().next()) {
                    Some(letter) => {
                        keys.push(Key::Char(letter));
                        Some(long)
                    }
                    None => Some(1),
                }
            }
        }
    }

    /// A sequence that begins with an Escape.
    fn sequence(&mut self, keys: &mut Vec<Key>) -> Option<usize> {
        let bytes = &self.bytes;
        match *bytes.get(1)? {
            b'[' => {
                let length = bytes.iter().skip(2).position(|byte| (0x40..0x7f).contains(byte)).map(|at| at + 3);
                let Some(length) = length else { return (bytes.len() > LONGEST).then_some(1) };
                let whole = bytes.get(..length)?;
                if whole == PASTE.0 {
                    self.pastes = true;
                } else {
                    keys.extend(moving(whole));
                }
                Some(length)
            }
            b'O' => {
                let last = *bytes.get(2)?;
                keys.extend(moving(&[0x1b, b'[', last]));
                Some(3)
            }
            // Alt with a letter.
            b'b' => push(keys, Key::WordLeft),
            b'f' => push(keys, Key::WordRight),
            b'\r' | b'\n' => push(keys, Key::Break),
            0x7f => push(keys, Key::KillWord),
            // An Escape, and what comes then.
            _ => {
                keys.push(Key::Escape);
                Some(1)
            }
        }
    }
}

fn push(keys: &mut Vec<Key>, key: Key) -> Option<usize> {
    keys.push(key);
    Some(2)
}

fn control(byte: u8) -> Option<Key> {
    Some(match byte {
        b'\r' | b'\n' => Key::Enter,
        0x08 | 0x7f => Key::Backspace,
        0x01 => Key::Home,
        0x02 => Key::Left,
        0x04 => Key::Close,
        0x05 => Key::End,
        0x06 => Key::Right,
        0x0b => Key::KillToEnd,
        0x0e => Key::Down,
        0x10 => Key::Up,
        0x15 => Key::KillToBegin,
        0x17 => Key::KillWord,
        b'\t' => Key::Char(' '),
        _ => return None,
    })
}

/// Cursor keys and their like.
fn moving(sequence: &[u8]) -> Option<Key> {
    let by_word = sequence.windows(2).any(|pair| matches!(pair, b";3" | b";5"));
    Some(match (sequence.last()?, sequence.get(2)?) {
        (b'A', _) => Key::Up,
        (b'B', _) => Key::Down,
        (b'C', _) if by_word => Key::WordRight,
        (b'D', _) if by_word => Key::WordLeft,
        (b'C', _) => Key::Right,
        (b'D', _) => Key::Left,
        (b'H', _) | (b'~', b'1' | b'7') => Key::Home,
        (b'F', _) | (b'~', b'4' | b'8') => Key::End,
        (b'~', b'3') => Key::Delete,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys of these bytes, in one piece and byte by byte.
    fn keys(bytes: &[u8]) -> (Vec<Key>, Vec<Key>) {
        let mut one = Keys::default();
        (Keys::default().feed(bytes), bytes.iter().flat_map(|byte| one.feed(&[*byte])).collect())
    }

    #[test]
    fn keys_are_known_however_their_bytes_arrive() {
        let bytes = "aé回\u{1b}[D\u{1b}OC\u{1b}[1;5D\u{1b}[3~\u{1b}b\u{7f}\u{4}\r".as_bytes();
        use Key::*;
        let expected =
            vec![Char('a'), Char('é'), Char('回'), Left, Right, WordLeft, Delete, WordLeft, Backspace, Close, Enter];
        assert_eq!(keys(bytes), (expected.clone(), expected));
    }

    #[test]
    fn what_is_pasted_is_one_text_also_where_the_terminal_does_not_mark_it() {
        let marked = b"\x1b[200~one\r\ntwo\x1b[D\rthree\x1b[201~x";
        let expected = vec![Key::Paste("one\ntwo\u{1b}[D\nthree".into()), Key::Char('x')];
        assert_eq!(keys(marked), (expected.clone(), expected));
        let unmarked = Keys::default().feed(b"a\rb\r");
        assert_eq!(unmarked, [Key::Char('a'), Key::Break, Key::Char('b'), Key::Enter]);
        assert_eq!(Keys::default().feed(b"\ra"), [Key::Enter, Key::Char('a')]);
    }

    #[test]
    fn an_escape_alone_is_known_once_nothing_follows_and_nonsense_is_nothing() {
        let mut one = Keys::default();
        assert_eq!((one.feed(b"\x1b"), one.rest(), one.rest()), (vec![], Some(Key::Escape), None));
        assert_eq!(Keys::default().feed(b"\x1b[99;99z\xff\x80\x00a"), [Key::Char('a')]);
        assert_eq!(
            Keys::default().feed(&[b"\x1b[".as_slice(), &[b'1'; 40], b"za"].concat()).last(),
            Some(&Key::Char('a'))
        );
    }
}
