//! Text for people: nothing in it steers a terminal, hides or reorders letters.

/// The text without control characters other than line breaks and tabs, so that no output can move the cursor, change the
/// title or answer for the user.
pub fn plain(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).filter(|c| !is_invisible(*c)).collect()
}

/// The same on one line: what stands in a line of a listing cannot make another.
pub fn one_line(text: &str) -> String {
    plain(text).replace(['\n', '\t'], " ")
}

/// The text on one line, at most so many characters.
pub fn short(text: &str, most: usize) -> String {
    let line = plain(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return line;
    }
    let mut cut: String = line.chars().take(most.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// A time span for people: `0.3 s`, `4 min`, `3 h`, `2 d`.
pub fn span(ms: u64) -> String {
    match ms {
        0..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        60_000..3_600_000 => format!("{} min", ms / 60_000),
        3_600_000..86_400_000 => format!("{} h", ms / 3_600_000),
        _ => format!("{} d", ms / 86_400_000),
    }
}

/// What a call is about, from its arguments: the command, the path, or all of it.
pub fn gist(arguments: &str) -> String {
    let parsed: serde_json::Value = serde_json::from_str(arguments).unwrap_or_default();
    let told = ["command", "path", "pattern", "url", "query"].iter().find_map(|name| parsed.get(name)?.as_str());
    // Whoever decides by this line is shown what hides in it.
    short(&visible(told.unwrap_or(arguments)), GIST)
}

/// The most characters of a call in a line that only names it.
pub const GIST: usize = 100;

/// A text in which what steers a terminal, hides or reorders letters is named: `<U+202E>`.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            c if c.is_control() || is_invisible(c) => shown.push_str(&format!("<U+{:04X}>", u32::from(c))),
            c => shown.push(c),
        }
    }
    shown
}

/// Characters that reorder or hide what a person reads: format characters, separators of lines, blank letters, tags
/// (Unicode TR36, section 3).
pub fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180E}'
            | '\u{200B}' | '\u{200C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
            | '\u{3164}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}'
    )
}

/// A text in a fence that nothing in it can end.
pub fn fenced(text: &str) -> String {
    let longest = text.lines().map(|line| line.chars().take_while(|c| *c == '`').count()).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end())
}
