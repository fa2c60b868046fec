//! Token estimates where no vendor has counted: two characters a token for CJK, four for everything else.

use mainpath_types::Part;

/// The estimated size of a text in tokens.
pub fn estimate(text: &str) -> u32 {
    let wide = if text.is_ascii() { 0 } else { text.chars().filter(|c| is_wide(*c)).count() };
    let narrow = if text.is_ascii() { text.len() } else { text.chars().count() - wide };
    u32::try_from(wide.div_ceil(2) + narrow.div_ceil(4)).unwrap_or(u32::MAX)
}

fn is_wide(c: char) -> bool {
    matches!(u32::from(c), 0x1100..=0x11FF | 0x2E80..=0xA4CF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0xFE30..=0xFE4F | 0xFF00..=0xFFEF | 0x20000..=0x3FFFF)
}

/// The estimated size of a message with these parts, what frames it included.
pub fn estimate_parts(parts: &[Part]) -> u32 {
    parts.iter().map(part).fold(4, u32::saturating_add)
}

fn part(part: &Part) -> u32 {
    match part {
        Part::Text { text } => estimate(text),
        Part::StoredText { bytes, .. } => u32::try_from(bytes.div_ceil(4)).unwrap_or(u32::MAX),
        Part::Thinking { text, signature } => {
            estimate(text) + signature.as_ref().map_or(0, |signature| estimate(&signature.value))
        }
        // What vendors charge for a picture of about a megapixel.
        Part::Image { .. } => 1_600,
        Part::Audio { .. } => 2_000,
        Part::Document { .. } => 6_000,
        Part::ToolCall { name, arguments, .. } => estimate(name) + estimate(arguments) + 8,
        Part::ToolResult { content, .. } => estimate_parts(content) + 8,
    }
}
