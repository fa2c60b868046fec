//! Words as the search compares them: lower case, endings of English removed, Chinese, Japanese and Korean in pairs of
//! characters, because they have no spaces.

/// Words that say nothing about a subject.
const STOP: [&str; 61] = [
    "a", "an", "and", "are", "as", "at", "be", "been", "by", "can", "could", "do", "does", "for", "from", "get",
    "have", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "need", "of", "on", "or", "our", "please",
    "should", "skill", "so", "some", "task", "that", "the", "their", "them", "then", "there", "this", "to", "use",
    "used", "using", "want", "was", "way", "we", "what", "when", "which", "will", "with", "would", "you", "your",
];

/// The words of a text, in order, each in the form that is compared.
pub fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut word = String::new();
    let mut han: Vec<char> = Vec::new();
    for c in text.chars().flat_map(char::to_lowercase).chain([' ']) {
        let is_han = is_cjk(c);
        if !is_han {
            add_pairs(&mut han, &mut found);
        }
        if is_han || !c.is_alphanumeric() {
            add_word(&mut word, &mut found);
        }
        match is_han {
            true => han.push(c),
            false if c.is_alphanumeric() => word.push(c),
            false => {}
        }
    }
    found
}

fn add_word(word: &mut String, found: &mut Vec<String>) {
    if !word.is_empty() && STOP.binary_search(&word.as_str()).is_err() {
        found.push(stem(word));
    }
    word.clear();
}

fn add_pairs(han: &mut Vec<char>, found: &mut Vec<String>) {
    match han.as_slice() {
        [one] => found.push(one.to_string()),
        all => found.extend(all.windows(2).map(|pair| pair.iter().collect::<String>())),
    }
    han.clear();
}

fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Endings, the longer ones first, and what they become. Enough that a verb, its noun and its plural meet; it needs no word to be
/// right.
const ENDINGS: [(&str, &str); 20] = [
    ("ization", "ize"),
    ("izations", "ize"),
    ("ations", "ate"),
    ("ation", "ate"),
    ("ators", "ate"),
    ("ator", "ate"),
    ("ments", ""),
    ("ment", ""),
    ("ings", ""),
    ("ing", ""),
    ("ions", ""),
    ("ion", ""),
    ("ers", ""),
    ("er", ""),
    ("ies", "y"),
    ("ied", "y"),
    ("ed", ""),
    ("ly", ""),
    ("es", ""),
    ("s", ""),
];

/// The shortest stem, in characters.
const SHORTEST: usize = 3;

fn stem(word: &str) -> String {
    if !word.is_ascii() || word.ends_with("ss") {
        return word.into();
    }
    let ending = ENDINGS.iter().find(|(ending, _)| word.len() >= SHORTEST + ending.len() && word.ends_with(ending));
    let Some((ending, instead)) = ending else { return without_e(word).into() };
    let stem = word.strip_suffix(ending).unwrap_or(word);
    let whole = format!("{stem}{instead}");
    // planning, plan
    let bytes = whole.as_bytes();
    let is_doubled = instead.is_empty()
        && bytes.len() > SHORTEST
        && bytes.last() == bytes.get(bytes.len() - 2)
        && !matches!(bytes.last(), Some(b'l' | b's' | b'z' | b'e' | b'o'));
    let whole = if is_doubled { whole.get(..whole.len() - 1).unwrap_or(&whole) } else { &whole };
    without_e(whole).into()
}

/// `create` and `creat(ing)`.
fn without_e(word: &str) -> &str {
    word.strip_suffix('e').filter(|stem| stem.len() >= SHORTEST).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_stem_meet() {
        let of = |text: &str| words(text).join(" ");
        assert_eq!(of("create creates creating created creation"), "creat creat creat creat creat");
        assert_eq!(of("plan plans planning planned planner"), "plan plan plan plan plan");
        assert_eq!(of("deploy deployments deploying"), "deploy deploy deploy");
        assert_eq!(of("How do I use the queries query?"), "query query");
        assert_eq!(of("access process"), "access process");
        assert_eq!(of("migration migrate migrating"), "migrat migrat migrat");
    }

    #[test]
    fn languages_without_spaces_are_pairs_of_characters() {
        assert_eq!(words("生成PDF报告,表"), ["生成", "pdf", "报告", "表"]);
        assert_eq!(words("数据库"), ["数据", "据库"]);
    }

    #[test]
    fn stop_words_are_sorted_for_the_search_in_them() {
        assert!(STOP.is_sorted());
    }
}
