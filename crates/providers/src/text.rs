//! Long texts in JSON. Nearly all of a request is text, and serde_json looks at a text byte by byte; here it is looked
//! at in steps that the compiler turns into vector instructions.

use serde::Serializer;
use serde_json::ser::{CharEscape, Formatter};
use std::io::{Result, Write};

/// Serialises a field that may be long: `#[serde(serialize_with = "as_text")]`. It becomes a JSON string if
/// [`push_json`](crate::words::push_json) writes it, and must not meet another serializer: it is handed over as bytes, which
/// is the one way past serde_json's own look at strings.
pub(crate) fn as_text<T: AsRef<str>, S: Serializer>(text: &T, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_bytes(text.as_ref().as_bytes())
}

/// Compact JSON, with bytes as what [`as_text`] means by them.
pub(crate) struct Compact;

impl Formatter for Compact {
    fn write_byte_array<W: ?Sized + Write>(&mut self, writer: &mut W, text: &[u8]) -> Result<()> {
        writer.write_all(b"\"")?;
        let mut rest = text;
        while let Some(plain) = first_special(rest) {
            let (before, special) = rest.split_at(plain);
            writer.write_all(before)?;
            self.write_char_escape(writer, escape(special[0]))?;
            rest = &special[1..];
        }
        writer.write_all(rest)?;
        writer.write_all(b"\"")
    }
}

/// How many bytes are looked at together.
const STEP: usize = 32;

fn first_special(text: &[u8]) -> Option<usize> {
    // Without a branch in it, so that all of a step is compared at once.
    let has_special = |step: &[u8]| step.iter().fold(false, |found, byte| found | is_special(*byte));
    let plain = text.chunks_exact(STEP).take_while(|step| !has_special(step)).count() * STEP;
    text[plain..].iter().position(|byte| is_special(*byte)).map(|at| plain + at)
}

/// What a JSON string cannot hold as it is (RFC 8259, section 7).
fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

fn escape(byte: u8) -> CharEscape {
    match byte {
        b'"' => CharEscape::Quote,
        b'\\' => CharEscape::ReverseSolidus,
        0x08 => CharEscape::Backspace,
        0x0c => CharEscape::FormFeed,
        b'\n' => CharEscape::LineFeed,
        b'\r' => CharEscape::CarriageReturn,
        b'\t' => CharEscape::Tab,
        other => CharEscape::AsciiControl(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::push_json;
    use proptest::prelude::*;
    use serde::Serialize;

    #[derive(Serialize)]
    struct Text<'a>(#[serde(serialize_with = "as_text")] &'a str);

    proptest! {
        #[test]
        fn a_text_is_the_json_string_that_serde_makes_of_it(text in "([ -~]{0,80}|[\\x00-\\x7f\"\\\\é漢🦀]{0,40}){0,4}") {
            let mut ours = Vec::new();
            push_json(&mut ours, &[Text(&text), Text(&text)]);
            prop_assert_eq!(ours, serde_json::to_vec(&[&text, &text]).unwrap());
        }
    }

    #[test]
    fn every_character_that_needs_an_escape_gets_serdes_wherever_it_stands() {
        for special in (0..0x20u8).chain([b'"', b'\\', 0x7f]) {
            for before in 0..2 * STEP {
                let text = format!("{}{}é", "a".repeat(before), char::from(special));
                let mut ours = Vec::new();
                push_json(&mut ours, &Text(&text));
                assert_eq!(ours, serde_json::to_vec(&text).unwrap());
            }
        }
    }
}
