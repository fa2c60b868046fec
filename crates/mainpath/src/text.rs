//! Text for people: nothing in it steers a terminal, hides or reorders letters.

/// The text without control characters other than line breaks and tabs, so that no output can move the cursor, change the
/// title or answer for the user; and without what hides or reorders letters.
pub fn plain(text: &str) -> String {
    without_controls(text).chars().filter(|c| !is_invisible(*c)).collect()
}

fn without_controls(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

/// The same on one line: what stands in a line of a listing cannot make another, and what hides or reorders letters is named in it: people
/// decide by such lines.
pub fn one_line(text: &str) -> String {
    named(&without_controls(text), is_invisible).replace(['\n', '\t'], " ")
}

/// The text as [`one_line`] has it, at most so many characters.
pub fn short(text: &str, most: usize) -> String {
    let line = named(&without_controls(text), is_invisible).split_whitespace().collect::<Vec<_>>().join(" ");
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

/// The text with the code point, such as `<U+202E>`, instead of control characters, characters that hide or reorder text, blanks other than
/// spaces, and look-alike letters in Latin words. A word in another script alone is unchanged.
pub fn visible(text: &str) -> String {
    named(text, |c| c.is_control() || is_invisible(c) || is_blank(c))
}

/// The text with the names of these characters in their place, and of what chooses or joins pictures where there are none.
fn named(text: &str, is_hidden: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut before = None;
    let mut letters = text.chars().peekable();
    // The current word mixes look-alike letters, and the count of combining marks in a row.
    let (mut in_word, mut is_mixed, mut marks) = (false, false, 0);
    while let Some(c) = letters.next() {
        if !in_word {
            let word = || std::iter::once(c).chain(letters.clone()).take_while(|c| c.is_alphabetic() || is_mark(*c));
            is_mixed = word().any(|c| c.is_ascii_alphabetic()) && word().any(is_lookalike);
        }
        in_word = c.is_alphabetic() || is_mark(c);
        marks = if is_mark(c) { marks + 1 } else { 0 };
        let is_seen = match c {
            '\n' | '\t' => true,
            c if is_mixed && is_lookalike(c) || marks > MOST_MARKS => false,
            '\u{FE00}'..='\u{FE0F}' => before.is_some_and(is_picture),
            '\u{200D}' => before.is_some_and(is_picture) && letters.peek().copied().is_some_and(is_picture),
            c => !is_hidden(c),
        };
        match is_seen {
            true => shown.push(c),
            false => shown.push_str(&format!("<U+{:04X}>", u32::from(c))),
        }
        // A colour or a variant belongs to the picture before it; there is one of it.
        before = match c {
            '\u{FE00}'..='\u{FE0F}' if letters.peek() != Some(&'\u{200D}') => None,
            '\u{FE0F}' | '\u{1F3FB}'..='\u{1F3FF}' => before,
            c => Some(c),
        };
    }
    shown
}

/// The maximum count of combining marks on a letter (Unicode TR39, section 5.4, "Optional Detection"). More of them cover neighbouring text.
const MOST_MARKS: u32 = 4;

/// Returns true for a combining mark: the blocks of combining marks in Unicode's Blocks.txt.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36F}' | '\u{1AB0}'..='\u{1AFF}' | '\u{1DC0}'..='\u{1DFF}' | '\u{20D0}'..='\u{20FF}'
        | '\u{FE20}'..='\u{FE2F}')
}

/// Returns true for a letter that looks like a Latin one: letters of related scripts, some of Greek, fullwidth letters, and mathematical
/// letters (Unicode's Blocks.txt and confusables.txt).
fn is_lookalike(c: char) -> bool {
    matches!(c, '\u{400}'..='\u{52F}' | '\u{1C80}'..='\u{1C8F}' | '\u{A640}'..='\u{A69F}' | '\u{530}'..='\u{58F}'
        | '\u{13A0}'..='\u{13FF}' | '\u{AB70}'..='\u{ABBF}' | '\u{2C80}'..='\u{2CFF}' | '\u{A4D0}'..='\u{A4FF}'
        | '\u{FF21}'..='\u{FF3A}' | '\u{FF41}'..='\u{FF5A}' | '\u{1D400}'..='\u{1D7FF}')
        || GREEK.contains(c)
}

/// The letters of Greek that look like Latin ones.
const GREEK: &str = "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοικνρυ";

/// Whether a character is a picture, or a sign that has one too.
fn is_picture(c: char) -> bool {
    matches!(c, '#' | '*' | '0'..='9' | '\u{A9}' | '\u{AE}' | '\u{203C}'..='\u{32FF}' | '\u{1F000}'..='\u{1FAFF}')
}

/// Blanks that look like a space and are none.
fn is_blank(c: char) -> bool {
    c.is_whitespace() && !matches!(c, ' ' | '\u{3000}')
}

/// Characters that reorder or hide what a person reads: format characters, separators of lines, blank letters, tags, variants of
/// letters (Unicode TR36, section 3; `Default_Ignorable_Code_Point` of Unicode's DerivedCoreProperties).
pub fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
            | '\u{200B}' | '\u{200C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
            | '\u{2800}' | '\u{3164}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}' | '\u{1BCA0}'..='\u{1BCA3}'
            | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}'
    )
}

/// A text in a fence that nothing in it can end.
pub fn fenced(text: &str) -> String {
    let longest = text.lines().map(|line| line.chars().take_while(|c| *c == '`').count()).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end())
}
