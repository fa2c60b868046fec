//! JSON as servers really send it. What is not quite right in it costs a character or a count, never the answer.

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// What stands for a character that cannot be read: U+FFFD.
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// The same JSON with strings that every parser reads: what is no UTF-8, and half a surrogate pair, becomes U+FFFD; control
/// characters are escaped. What is right is not copied. What is no JSON stays none.
pub(crate) fn mended(json: &[u8]) -> Cow<'_, [u8]> {
    let is_text = std::str::from_utf8(json).is_ok();
    if is_text && !json.iter().any(|byte| *byte < 0x20) && !has_surrogate(json) {
        return Cow::Borrowed(json);
    }
    let text =
        if is_text { Cow::Borrowed(json) } else { Cow::Owned(String::from_utf8_lossy(json).into_owned().into()) };
    let mut out = Vec::with_capacity(text.len());
    let (mut rest, mut quoted) = (&*text, false);
    while let Some((&byte, after)) = rest.split_first() {
        let taken = match byte {
            b'"' => {
                quoted = !quoted;
                1
            }
            b'\\' if quoted => escape(rest),
            0..0x20 if quoted => {
                out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
                rest = after;
                continue;
            }
            _ => 1,
        };
        let (piece, after) = rest.split_at(taken.min(rest.len()));
        let lone = piece.len() == 6 && surrogate(piece).is_some();
        out.extend_from_slice(if lone { REPLACEMENT } else { piece });
        rest = after;
    }
    Cow::Owned(out)
}

/// The same of a text that holds JSON.
#[cfg(feature = "http")]
pub(crate) fn mended_text(json: String) -> String {
    match mended(json.as_bytes()) {
        Cow::Borrowed(_) => json,
        Cow::Owned(bytes) => String::from_utf8(bytes).unwrap_or(json),
    }
}

/// How many bytes the escape at the beginning takes; both halves of a surrogate pair are one.
fn escape(text: &[u8]) -> usize {
    match surrogate(text) {
        Some(0xd800..0xdc00) if text.get(6..).and_then(surrogate).is_some_and(|low| low >= 0xdc00) => 12,
        Some(_) => 6,
        None => 2,
    }
}

/// The half of a surrogate pair that is written at the beginning.
fn surrogate(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    let code = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    (0xd800..0xe000).contains(&code).then_some(code)
}

fn has_surrogate(json: &[u8]) -> bool {
    memchr::memchr_iter(b'\\', json).any(|at| json.get(at..).and_then(surrogate).is_some())
}

/// The largest count that is believed: more tokens than any window holds a hundred times over.
const MOST: f64 = 1e8;

/// A count of tokens, a place, a number of something: a whole number that is not negative, however it is written. Anything else
/// says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count(pub Option<u64>);

/// A text that matters little, such as a reason or a name of the server's own. Anything else says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word(pub Option<String>);

fn count(number: f64) -> Option<u64> {
    (0.0..=MOST).contains(&number).then_some(number.round() as u64)
}

macro_rules! nothing_else {
    ($nothing:expr) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok($nothing)
        }
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok($nothing)
        }
        fn visit_none<E>(self) -> Result<Self::Value, E> {
            Ok($nothing)
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok($nothing)
        }
        fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
            while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok($nothing)
        }
    };
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Count, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a count")
            }

            fn visit_u64<E>(self, number: u64) -> Result<Count, E> {
                Ok(Count(Some(number).filter(|number| *number <= MOST as u64)))
            }

            fn visit_i64<E>(self, _: i64) -> Result<Count, E> {
                Ok(Count(None))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Count, E> {
                Ok(Count(count(number)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Count, E> {
                Ok(Count(text.trim().parse().ok().and_then(count)))
            }

            nothing_else!(Count(None));
        }
        deserializer.deserialize_any(Any)
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Word, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Word;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_str<E>(self, text: &str) -> Result<Word, E> {
                Ok(Word(Some(text.into())))
            }

            fn visit_string<E>(self, text: String) -> Result<Word, E> {
                Ok(Word(Some(text)))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Word, E> {
                Ok(Word(Some(number.to_string())))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Word, E> {
                Ok(Word(Some(number.to_string())))
            }

            fn visit_f64<E>(self, _: f64) -> Result<Word, E> {
                Ok(Word(None))
            }

            nothing_else!(Word(None));
        }
        deserializer.deserialize_any(Any)
    }
}

/// An object that matters little, such as a usage: `None` where it is something else. `#[serde(deserialize_with = "or_none")]`.
pub(crate) fn or_none<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    let raw = <&serde_json::value::RawValue>::deserialize(deserializer).map_err(D::Error::custom)?;
    Ok(serde_json::from_str::<Option<T>>(raw.get()).unwrap_or(None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn read(json: &[u8]) -> Value {
        serde_json::from_slice(&mended(json)).unwrap()
    }

    #[test]
    fn what_cannot_be_read_in_a_string_becomes_a_replacement_character_and_nothing_else_changes() {
        assert_eq!(read(br#"{"a":"x\ud800y"}"#), json!({"a": "x\u{fffd}y"}));
        assert_eq!(read(br#"{"a":"\udc00\ud83e\udd80\uD83E"}"#), json!({"a": "\u{fffd}\u{1f980}\u{fffd}"}));
        assert_eq!(read(br#"{"a":"\ud800\ud83e\udd80"}"#), json!({"a": "\u{fffd}\u{1f980}"}));
        assert_eq!(read(b"{\"a\":\"\xff caf\xc3\xa9 \xe6\xbc\"}"), json!({"a": "\u{fffd} caf\u{e9} \u{fffd}"}));
        assert_eq!(read(b"{\n\t\"a\":\"one\ntwo\x00\"}"), json!({"a": "one\ntwo\0"}));
        // An escaped backslash before a u begins no escape.
        assert_eq!(read(br#"{"a":"\\ud800"}"#), json!({"a": "\\ud800"}));
        assert!(matches!(mended(br#"{"a":"fine \u00e9"}"#), Cow::Borrowed(_)));
        assert_eq!(&*mended(b"\"\\ud8"), b"\"\\ud8");
    }

    proptest! {
        #[test]
        fn json_that_is_right_means_the_same(text in "\\PC{0,40}", pretty in any::<bool>()) {
            let value = json!({"k": [text, "\t\n\\", 1]});
            let bytes = if pretty { serde_json::to_vec_pretty(&value) } else { serde_json::to_vec(&value) }.unwrap();
            prop_assert_eq!(read(&bytes), value);
        }

        #[test]
        fn any_bytes_at_all_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(std::str::from_utf8(&mended(&bytes)).is_ok());
        }
    }

    #[test]
    fn counts_and_words_are_taken_as_far_as_they_say_anything() {
        let counts = |text: &str| serde_json::from_str::<Vec<Count>>(text).unwrap();
        let known = counts("[7, 7.0, 7.4, \"7\", \" 7 \"]");
        assert_eq!(known, [Count(Some(7)); 5]);
        let unknown = counts(r#"[-7, 1e300, 18446744073709551615, -0.5, null, true, "many", "NaN", [1], {"a": 1}]"#);
        assert_eq!(unknown, [Count(None); 10]);
        let words: Vec<Word> = serde_json::from_str(r#"["stop", 5, null, {"a": [1]}, [2], 0.5, false]"#).unwrap();
        let said: Vec<Option<&str>> = words.iter().map(|word| word.0.as_deref()).collect();
        assert_eq!(said, [Some("stop"), Some("5"), None, None, None, None, None]);
    }
}
