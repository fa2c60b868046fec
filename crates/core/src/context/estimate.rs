//! Token estimates where no vendor has counted: four letters of prose a token, two of Chinese, fewer where a text is as dense as code
//! and data are.
//!
//! Held against `o200k_base` and `cl100k_base` (the npm package `gpt-tokenizer`): of their counts prose comes to 1.0, program text to 1.1
//! to 1.2, JSON to 0.9, JSON on one line with hashes in it to 1.3, tables of numbers to 1.2, HTML to 1.0, hexadecimal digits to 1.3, lists
//! of files to 0.75, base64 to 0.65, Chinese to 0.9 and 0.7, Russian to 1.1 and 0.7. Letters alone would make 0.6 of JSON and 0.4 of
//! numbers and digits.

use mainpath_types::{Part, Source};

/// The estimated size of a text in tokens.
pub fn estimate(text: &str) -> u32 {
    let mut whole = Estimate::default();
    whole.push(text);
    whole.tokens()
}

/// The estimate of a text that comes in pieces: at any time that of all of them together.
#[derive(Debug, Default)]
pub struct Estimate {
    wide: usize,
    /// Letters that are not wide, each a quarter of a token.
    quarters: usize,
    ascii: usize,
    /// Signs and digits.
    signs: usize,
    /// Letters behind the sixteenth of what is no word.
    long: usize,
    /// Letters since the last that is in no word.
    word: usize,
}

impl Estimate {
    /// Takes the next piece.
    pub fn push(&mut self, text: &str) {
        if text.is_ascii() {
            self.quarters += text.len();
        } else {
            for c in text.chars() {
                *(if is_wide(c) { &mut self.wide } else { &mut self.quarters }) += weight(c);
            }
        }
        const WORD: usize = 16;
        self.ascii += text.bytes().filter(u8::is_ascii).count();
        let Estimate { mut signs, mut long, mut word, .. } = *self;
        for byte in text.bytes() {
            let Class { in_word, is_sign } = CLASSES[usize::from(byte)];
            // Without branches: every text of a request passes here.
            word = (word + 1) * usize::from(in_word);
            signs += usize::from(is_sign);
            long += usize::from(word > WORD);
        }
        *self = Estimate { signs, long, word, ..*self };
    }

    /// The size of what has come, in tokens.
    pub fn tokens(&self) -> u32 {
        u32::try_from(self.wide.div_ceil(2) + (self.quarters + self.dense()).div_ceil(4)).unwrap_or(u32::MAX)
    }

    /// What the text comes to beyond prose of its length, in quarters of a token: half a token for each sign and digit beyond those
    /// that prose has, a quarter for each letter of what is too long for a word.
    fn dense(&self) -> usize {
        /// Prose has one sign or digit in so many characters.
        const PROSE: usize = 10;
        self.signs.saturating_sub(self.ascii.div_ceil(PROSE)) * 2 + self.long
    }
}

/// What a byte is.
#[derive(Clone, Copy)]
struct Class {
    in_word: bool,
    is_sign: bool,
}

/// The same of all of them.
const CLASSES: [Class; 256] = {
    let mut all = [Class { in_word: false, is_sign: false }; 256];
    let mut byte = 0u8;
    while byte.is_ascii() {
        all[byte as usize] = Class {
            in_word: byte.is_ascii_alphanumeric(),
            is_sign: byte.is_ascii_digit() || byte.is_ascii_punctuation(),
        };
        byte += 1;
    }
    all
};

/// What a letter counts: for arrows and frames, and for pictures, as much as so many others.
fn weight(c: char) -> usize {
    match u32::from(c) {
        0x2000..=0x2BFF => 4,
        0x1F000..=0x1FFFF => 8,
        _ => 1,
    }
}

/// The size of a text by its letters alone. What is shown of a text was cut by it from the first, and has to stay as it is.
pub(crate) fn letters(text: &str) -> u32 {
    let wide = if text.is_ascii() { 0 } else { text.chars().filter(|c| is_wide(*c)).count() };
    let narrow = if text.is_ascii() { text.len() } else { text.chars().count() - wide };
    u32::try_from(wide.div_ceil(2) + narrow.div_ceil(4)).unwrap_or(u32::MAX)
}

/// The same of a text that is measured letter by letter.
#[derive(Default)]
pub(crate) struct Size {
    wide: u32,
    narrow: u32,
}

impl Size {
    /// Takes a letter if the text is of at most so many tokens with it.
    pub fn takes(&mut self, c: char, most: u32) -> bool {
        *(if is_wide(c) { &mut self.wide } else { &mut self.narrow }) += 1;
        self.wide.div_ceil(2) + self.narrow.div_ceil(4) <= most
    }
}

fn is_wide(c: char) -> bool {
    matches!(u32::from(c), 0x1100..=0x11FF | 0x2E80..=0xA4CF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0xFE30..=0xFE4F | 0xFF00..=0xFFEF | 0x20000..=0x3FFFF)
}

/// The estimated size of a message with these parts, what frames it included.
pub fn estimate_parts(parts: &[Part]) -> u32 {
    parts.iter().map(part).fold(4, u32::saturating_add)
}

/// A picture: what Anthropic counts for the largest that it does not scale down (1,092 × 1,092 pixels, its page "Vision"),
/// and about what the others count for one of that size.
const IMAGE: u32 = 1_600;

/// A page of a document: its picture, and 1,500 to 3,000 tokens of text (Anthropic's page "PDF support").
const PAGE: u32 = 3_000;

/// Sound whose length is not known: a minute, at the 32 tokens a second that Google counts ("Audio understanding").
const SOUND: u32 = 2_000;

/// Sound that is at hand, at 32 tokens a second: wave files have at least 32,000 bytes a second, others some 16,000. In base64
/// three bytes are four letters.
fn sound(source: &Source) -> u32 {
    let Source::Base64 { data, media_type } = source else { return SOUND };
    let bytes_a_token = if media_type.contains("wav") { 1_000 } else { 500 };
    u32::try_from((data.len() / 4 * 3).div_ceil(bytes_a_token)).unwrap_or(u32::MAX)
}

fn part(part: &Part) -> u32 {
    match part {
        Part::Text { text } => estimate(text),
        Part::StoredText { bytes, .. } => u32::try_from(bytes.div_ceil(4)).unwrap_or(u32::MAX),
        Part::Thinking { text, signature } => {
            estimate(text) + signature.as_ref().map_or(0, |signature| estimate(&signature.value))
        }
        Part::Image { .. } => IMAGE,
        Part::Audio { source } => sound(source),
        Part::Document { pages, .. } => PAGE.saturating_mul(pages.unwrap_or(2)),
        Part::ToolCall { name, arguments, .. } => estimate(name) + estimate(arguments) + 8,
        Part::ToolResult { content, .. } => estimate_parts(content) + 8,
    }
}
