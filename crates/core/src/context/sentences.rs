//! Sentences and the words in them, Chinese and English, as far as rules need them.

/// Words that make a sentence what it is.
pub(crate) struct Words {
    /// Found anywhere: Chinese has no spaces between words.
    pub wide: &'static [&'static str],
    /// Found as whole words, in any case.
    pub narrow: &'static [&'static str],
}

impl Words {
    pub fn are_in(&self, text: &str) -> bool {
        self.wide.iter().any(|word| text.contains(word)) || self.narrow.iter().any(|word| has_word(text, word))
    }
}

/// Whether a text has these words side by side, in any case, with nothing before or after that would make them others. A
/// typographic apostrophe is an apostrophe.
fn has_word(text: &str, word: &str) -> bool {
    let same =
        |a: char, b: char| a.to_ascii_lowercase() == b || (a == '’' && b == '\'') || (a.is_whitespace() && b == ' ');
    let mut before = None;
    text.char_indices().any(|(at, c)| {
        let starts = !before.is_some_and(char::is_alphanumeric);
        before = Some(c);
        let mut rest = text.get(at..).unwrap_or_default().chars();
        starts
            && word.chars().all(|b| rest.next().is_some_and(|a| same(a, b)))
            && !rest.next().is_some_and(char::is_alphanumeric)
    })
}

/// The sentences of a text, with the marks that end them. A dot ends one before a space only, so that names and numbers stay
/// whole.
pub(crate) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let end = rest.char_indices().find_map(|(at, c)| {
                let after = at + c.len_utf8();
                (c == '\n' || ends(c, rest.get(after..))).then_some(after)
            });
            let (sentence, more) = rest.split_at(end.unwrap_or(rest.len()));
            rest = more;
            let sentence = sentence.trim();
            if !sentence.is_empty() {
                return Some(sentence);
            }
        }
        None
    })
}

/// Whether a mark ends a sentence, by what comes after it.
pub(crate) fn ends(mark: char, after: Option<&str>) -> bool {
    let spaced = || after.is_none_or(|after| after.chars().next().is_none_or(char::is_whitespace));
    matches!(mark, '。' | '！' | '？' | '；') || (matches!(mark, '.' | '!' | '?' | ';') && spaced())
}

/// A text on one line, cut to so many characters.
pub(crate) fn line(text: &str, most: usize) -> String {
    let mut line = String::new();
    for c in text.trim().chars().take(most) {
        line.push(if c.is_control() { ' ' } else { c });
    }
    if text.trim().chars().nth(most).is_some() {
        line.push_str(" […]");
    }
    line
}

/// The beginning of a text, its words on one line, so many characters at most.
pub fn in_brief(text: &str, most: usize) -> String {
    let words = words(text).join(" ");
    match words.char_indices().nth(most) {
        None => words,
        Some((end, _)) => format!("{}…", words.get(..end).unwrap_or_default()),
    }
}

/// The words of a text, without spaces, line ends and control characters.
pub(crate) fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()).collect()
}

/// The beginning of a text, so many bytes at most.
pub(crate) fn head_of(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}
