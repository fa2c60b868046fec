//! Single characters in the text of a pattern: escapes, and sets in brackets.

use regex_syntax::hir::ClassUnicode;

use super::error::PatternError;
use super::sets;
use super::syntax::{Node, Reader};

/// What an escape or a part of a set stands for.
pub(super) enum Item {
    /// A code point; one half of a pair is none of a character.
    Point(u32),
    Set(ClassUnicode),
}

impl Item {
    pub(super) fn ranges(&self) -> Vec<[u32; 2]> {
        match self {
            Item::Point(point) => vec![[*point; 2]],
            Item::Set(set) => set.iter().map(|range| [range.start(), range.end()].map(u32::from)).collect(),
        }
    }
}

impl Reader {
    /// A set, after its bracket.
    pub(super) fn set(&mut self) -> Result<Node, PatternError> {
        let negated = self.eat("^");
        let mut ranges = Vec::new();
        while !self.eat("]") {
            let first = self.item()?;
            // At the end of a set it stands for itself.
            let to = self.peek() == Some('-') && self.text.get(self.at + 1).is_some_and(|next| *next != ']');
            let last = match to {
                true => {
                    self.at += 1;
                    Some(self.item()?)
                }
                false => None,
            };
            let before = ranges.len();
            match (first, last) {
                (Item::Point(first), Some(Item::Point(last))) if first > last => {
                    return Err(self.wrong("a range ends before it begins"));
                }
                (Item::Point(first), Some(Item::Point(last))) => ranges.push([first, last]),
                (first, last) => {
                    ranges.extend(first.ranges());
                    // Beside a set it stands for itself too.
                    ranges.extend(last.iter().flat_map(Item::ranges).chain(last.as_ref().map(|_| [u32::from('-'); 2])));
                }
            }
            self.take(ranges.len() - before)?;
        }
        let mut set = self.in_any_case(sets::set(ranges))?;
        if negated {
            set.negate();
        }
        self.one(set)
    }

    fn item(&mut self) -> Result<Item, PatternError> {
        match self.next()? {
            '\\' if self.eat("b") => Ok(Item::Point(0x08)),
            '\\' => self.escaped(),
            literal => Ok(Item::Point(literal.into())),
        }
    }

    /// What an escape stands for, after its backslash, in a set and elsewhere.
    pub(super) fn escaped(&mut self) -> Result<Item, PatternError> {
        let point = match self.next()? {
            kind @ ('d' | 'D' | 'w' | 'W' | 's' | 'S') => {
                let set = match kind.to_ascii_lowercase() {
                    'd' => sets::digits(),
                    's' => sets::spaces(),
                    _ => self.in_any_case(sets::of_words())?,
                };
                return Ok(Item::Set(unless(kind.is_uppercase(), set)));
            }
            kind @ ('p' | 'P') => {
                let end = self.text.iter().skip(self.at).position(|one| *one == '}').filter(|_| self.eat("{"));
                let name: String = self.text.iter().skip(self.at).take(end.unwrap_or(1) - 1).collect();
                let set = sets::with_property(&name).ok_or_else(|| self.wrong("ECMAScript has no such property"))?;
                self.at += name.chars().count() + 1;
                return Ok(Item::Set(unless(kind == 'P', set)));
            }
            'f' => 0x0c,
            'n' => 0x0a,
            'r' => 0x0d,
            't' => 0x09,
            'v' => 0x0b,
            '0' if !self.peek().is_some_and(|next| next.is_ascii_digit()) => 0,
            'c' => match self.next()? {
                letter if letter.is_ascii_alphabetic() => u32::from(letter) % 32,
                _ => return Err(self.wrong(r"\c wants a letter")),
            },
            'x' => self.hexadecimal(2)?,
            'u' => self.code_point()?,
            other if !other.is_alphanumeric() => other.into(),
            _ => return Err(self.wrong("ECMAScript has no such escape")),
        };
        Ok(Item::Point(point))
    }

    fn hexadecimal(&mut self, digits: usize) -> Result<u32, PatternError> {
        let mut number = 0;
        for _ in 0..digits {
            let digit = self.peek().and_then(|one| one.to_digit(16));
            number = number * 16 + digit.ok_or_else(|| self.wrong("a hexadecimal digit is missing"))?;
            self.at += 1;
        }
        Ok(number)
    }

    /// `{1F600}`, or four digits; of the two halves of a pair, what they are together.
    fn code_point(&mut self) -> Result<u32, PatternError> {
        if self.eat("{") {
            let mut point = 0_u32;
            while {
                point = point.saturating_mul(16).saturating_add(self.hexadecimal(1)?);
                !self.eat("}")
            } {}
            return match point {
                0..=0x10_ffff => Ok(point),
                _ => Err(self.wrong("there is no such character")),
            };
        }
        let first = self.hexadecimal(4)?;
        let before = self.at;
        if (0xd800..0xdc00).contains(&first) && self.eat(r"\u") {
            match self.hexadecimal(4) {
                Ok(second @ 0xdc00..=0xdfff) => return Ok(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)),
                _ => self.at = before,
            }
        }
        Ok(first)
    }
}

/// A set, or all that is not in it.
fn unless(negated: bool, mut set: ClassUnicode) -> ClassUnicode {
    if negated {
        set.negate();
    }
    set
}
