//! The grammar of JSON (RFC 8259) as an automaton that takes one character at a time. It keeps the depth and nothing of
//! the text.

use crate::error::Problem;

/// An array or object that is open.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Level {
    Object,
    /// With the index of the element that comes or is under way.
    Array(usize),
}

impl Level {
    /// The character that closes it.
    pub(crate) fn closing(self) -> char {
        match self {
            Level::Object => '}',
            Level::Array(_) => ']',
        }
    }
}

/// What a character did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    /// It begins and ends nothing: blanks, punctuation, the inside of an escape, of a number, of a literal.
    Within,
    /// A key begins.
    KeyBegins,
    /// It completes this character of a key.
    KeyText(char),
    /// An array or object begins.
    Opens,
    /// A string, number or literal begins.
    Begins,
    /// It completes this character of a string value.
    Text(char),
    /// It is the last one of a value. A number has no last character: see [`Grammar::number_ends`].
    Ends,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Value,
    FirstValue,
    FirstKey,
    Key,
    Colon,
    /// A value is complete; at depth 0 that is the whole text.
    After,
    String {
        is_key: bool,
        part: Part,
    },
    Number(Number),
    Literal {
        word: &'static str,
        matched: usize,
    },
}

/// Where in a string.
#[derive(Clone, Copy, Debug)]
enum Part {
    Plain,
    Escape,
    /// So many of the four hex digits of a UTF-16 unit are there, and the first half of a pair may precede it.
    Hex {
        digits: u8,
        unit: u16,
        first: Option<u16>,
    },
    /// The first half of a pair is there; the backslash of the second is due, then its `u`.
    Pair {
        first: u16,
        has_backslash: bool,
    },
}

/// Where in a number.
#[derive(Clone, Copy, Debug)]
enum Number {
    Minus,
    Zero,
    Integer,
    Point,
    Fraction,
    E,
    Sign,
    Exponent,
}

impl Number {
    fn next(self, found: char) -> Option<Number> {
        match (self, found) {
            (Number::Minus, '0') => Some(Number::Zero),
            (Number::Minus, '1'..='9') | (Number::Integer, '0'..='9') => Some(Number::Integer),
            (Number::Zero | Number::Integer, '.') => Some(Number::Point),
            (Number::Point | Number::Fraction, '0'..='9') => Some(Number::Fraction),
            (Number::Zero | Number::Integer | Number::Fraction, 'e' | 'E') => Some(Number::E),
            (Number::E, '+' | '-') => Some(Number::Sign),
            (Number::E | Number::Sign | Number::Exponent, '0'..='9') => Some(Number::Exponent),
            _ => None,
        }
    }

    fn may_end_before(self, next: Option<char>) -> bool {
        match self {
            Number::Minus | Number::Point | Number::E | Number::Sign => false,
            // A zero in front of more digits is refused, rather than taken for a number of its own.
            Number::Zero if next.is_some_and(|next| next.is_ascii_digit()) => false,
            Number::Zero | Number::Integer | Number::Fraction | Number::Exponent => {
                next.is_none_or(|next| self.next(next).is_none())
            }
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Grammar {
    state: State,
    levels: Vec<Level>,
    deepest: usize,
}

impl Grammar {
    pub(crate) fn new(deepest: usize) -> Grammar {
        Grammar { state: State::Value, levels: Vec::new(), deepest }
    }

    /// The open arrays and objects, outermost first.
    pub(crate) fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Whether the value is complete, so that only blanks may follow.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self.state, State::After) && self.levels.is_empty()
    }

    /// Whether a string that is a value is open.
    pub(crate) fn is_in_text(&self) -> bool {
        matches!(self.state, State::String { is_key: false, .. })
    }

    /// Whether a string that is a value is open, and the next character is one of its own unless it is a quotation mark, a
    /// backslash or a control character.
    pub(crate) fn is_in_plain_text(&self) -> bool {
        matches!(self.state, State::String { is_key: false, part: Part::Plain })
    }

    /// Whether a number ends in front of this character, or of the end of the text; to be asked before every
    /// [`step`](Grammar::step).
    pub(crate) fn number_ends(&mut self, next: Option<char>) -> bool {
        let ends = matches!(self.state, State::Number(number) if number.may_end_before(next));
        if ends {
            self.state = State::After;
        }
        ends
    }

    /// What would be right here, in words.
    pub(crate) fn expected(&self) -> &'static str {
        match self.state {
            State::Value => "a value",
            State::FirstValue => "a value or ']'",
            State::FirstKey => "a key in quotes or '}'",
            State::Key => "a key in quotes",
            State::Colon => "':'",
            State::After => match self.levels.last() {
                None => "nothing more",
                Some(Level::Object) => "',' or '}'",
                Some(Level::Array(_)) => "',' or ']'",
            },
            State::String { part, .. } => match part {
                Part::Plain => "a character other than a control character, or '\"'",
                Part::Escape => "one of \" \\ / b f n r t u",
                Part::Hex { .. } => "a hex digit",
                Part::Pair { .. } => "the other half of a surrogate pair",
            },
            State::Number(Number::Minus | Number::Point | Number::Sign) => "a digit",
            State::Number(Number::E) => "a digit or a sign",
            State::Number(Number::Zero) => "no digit after a leading 0",
            State::Number(Number::Integer | Number::Fraction | Number::Exponent) => "the end of a number",
            State::Literal { word, .. } => word,
        }
    }

    /// Takes the next character.
    pub(crate) fn step(&mut self, found: char) -> Result<Sign, Problem> {
        match self.state {
            State::String { is_key, part } => return self.string(is_key, part, found),
            State::Number(number) => {
                let next = number.next(found).ok_or_else(|| self.unexpected(found))?;
                self.state = State::Number(next);
                return Ok(Sign::Within);
            }
            State::Literal { word, matched } => return self.literal(word, matched, found),
            State::Value | State::FirstValue | State::FirstKey | State::Key | State::Colon | State::After => {}
        }
        if matches!(found, ' ' | '\n' | '\r' | '\t') {
            return Ok(Sign::Within);
        }
        match (self.state, found) {
            (State::Value | State::FirstValue, _) if found != ']' => self.value(found),
            (State::FirstValue, ']') => Ok(self.close()),
            (State::FirstKey | State::Key, '"') => {
                self.state = State::String { is_key: true, part: Part::Plain };
                Ok(Sign::KeyBegins)
            }
            (State::FirstKey, '}') => Ok(self.close()),
            (State::Colon, ':') => {
                self.state = State::Value;
                Ok(Sign::Within)
            }
            (State::After, _) => self.after(found),
            _ => Err(self.unexpected(found)),
        }
    }

    fn value(&mut self, found: char) -> Result<Sign, Problem> {
        match found {
            '{' => return self.open(Level::Object, State::FirstKey),
            '[' => return self.open(Level::Array(0), State::FirstValue),
            '"' => self.state = State::String { is_key: false, part: Part::Plain },
            '-' => self.state = State::Number(Number::Minus),
            '0' => self.state = State::Number(Number::Zero),
            '1'..='9' => self.state = State::Number(Number::Integer),
            't' => self.state = State::Literal { word: "true", matched: 1 },
            'f' => self.state = State::Literal { word: "false", matched: 1 },
            'n' => self.state = State::Literal { word: "null", matched: 1 },
            _ => return Err(self.unexpected(found)),
        }
        Ok(Sign::Begins)
    }

    fn open(&mut self, level: Level, state: State) -> Result<Sign, Problem> {
        if self.levels.len() == self.deepest {
            return Err(Problem::TooDeep { limit: self.deepest });
        }
        self.levels.push(level);
        self.state = state;
        Ok(Sign::Opens)
    }

    fn close(&mut self) -> Sign {
        self.levels.pop();
        self.state = State::After;
        Sign::Ends
    }

    fn after(&mut self, found: char) -> Result<Sign, Problem> {
        match self.levels.last_mut() {
            Some(level) if found == level.closing() => return Ok(self.close()),
            Some(Level::Array(index)) if found == ',' => {
                *index += 1;
                self.state = State::Value;
            }
            Some(Level::Object) if found == ',' => self.state = State::Key,
            _ => return Err(self.unexpected(found)),
        }
        Ok(Sign::Within)
    }

    fn literal(&mut self, word: &'static str, matched: usize, found: char) -> Result<Sign, Problem> {
        if word.as_bytes().get(matched).copied().map(char::from) != Some(found) {
            return Err(self.unexpected(found));
        }
        if matched + 1 < word.len() {
            self.state = State::Literal { word, matched: matched + 1 };
            return Ok(Sign::Within);
        }
        self.state = State::After;
        Ok(Sign::Ends)
    }

    fn string(&mut self, is_key: bool, part: Part, found: char) -> Result<Sign, Problem> {
        let (next, text) = match (part, found) {
            (Part::Plain, '"') => {
                self.state = if is_key { State::Colon } else { State::After };
                return Ok(if is_key { Sign::Within } else { Sign::Ends });
            }
            (Part::Plain, '\\') => (Part::Escape, None),
            (Part::Plain, '\0'..='\x1f') => return Err(self.unexpected(found)),
            (Part::Plain, _) => (Part::Plain, Some(found)),
            (Part::Escape, 'u') => (Part::Hex { digits: 0, unit: 0, first: None }, None),
            (Part::Escape, _) => (Part::Plain, Some(escaped(found).ok_or_else(|| self.unexpected(found))?)),
            (Part::Hex { digits, unit, first }, _) => {
                let digit = found.to_digit(16).ok_or_else(|| self.unexpected(found))?;
                let unit = unit << 4 | digit as u16;
                if digits < 3 { (Part::Hex { digits: digits + 1, unit, first }, None) } else { joined(first, unit)? }
            }
            (Part::Pair { first, has_backslash: false }, '\\') => (Part::Pair { first, has_backslash: true }, None),
            (Part::Pair { first, has_backslash: true }, 'u') => {
                (Part::Hex { digits: 0, unit: 0, first: Some(first) }, None)
            }
            (Part::Pair { .. }, _) => return Err(Problem::LoneSurrogate),
        };
        self.state = State::String { is_key, part: next };
        Ok(match text {
            None => Sign::Within,
            Some(text) if is_key => Sign::KeyText(text),
            Some(text) => Sign::Text(text),
        })
    }

    fn unexpected(&self, found: char) -> Problem {
        Problem::Unexpected { expected: self.expected(), found }
    }
}

/// What a backslash and this character stand for.
fn escaped(letter: char) -> Option<char> {
    match letter {
        '"' | '\\' | '/' => Some(letter),
        'b' => Some('\x08'),
        'f' => Some('\x0c'),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        _ => None,
    }
}

/// A UTF-16 unit is a character, the first half of one, or completes the one whose first half is there.
fn joined(first: Option<u16>, unit: u16) -> Result<(Part, Option<char>), Problem> {
    if first.is_none() && matches!(unit, 0xD800..=0xDBFF) {
        return Ok((Part::Pair { first: unit, has_backslash: false }, None));
    }
    let mut decoded = char::decode_utf16(first.into_iter().chain([unit]));
    match (decoded.next(), decoded.next()) {
        (Some(Ok(character)), None) => Ok((Part::Plain, Some(character))),
        _ => Err(Problem::LoneSurrogate),
    }
}
