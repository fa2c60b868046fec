//! Texts as they are compared: case, invisible letters and wide forms do not count.

/// The text without case, without letters that nobody sees, and with those of wide forms as they are usually written.
pub(crate) fn folded(text: &str) -> String {
    let unseen = |letter: &char| matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    let usual = |letter: char| match letter {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(letter) - 0xfee0).unwrap_or(letter),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{3002}' | '\u{ff61}' => '.',
        other => other,
    };
    text.chars().filter(|letter| !unseen(letter)).map(usual).flat_map(char::to_lowercase).collect()
}
