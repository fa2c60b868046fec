//! What a parser says of a mistake in `config.toml`, in the words of whoever wrote it.

/// What the parser calls things, and what people do.
const WORDS: [(&str, &str); 18] = [
    ("a nonzero u32", "a whole number, 1 or more"),
    ("a nonzero usize", "a whole number, 1 or more"),
    ("u8", "a whole number from 0 to 255"),
    ("u16", "a whole number, 0 or more"),
    ("u32", "a whole number, 0 or more"),
    ("u64", "a whole number, 0 or more"),
    ("usize", "a whole number, 0 or more"),
    ("i64", "a whole number"),
    ("f64", "a number"),
    ("a sequence", "a list"),
    ("a map", "a table"),
    ("a string", "a text in quotes"),
    ("a boolean", "true or false"),
    ("a borrowed string", "a text in quotes"),
    ("string or table", "a text in quotes or a table"),
    ("a mapping", "a table"),
    ("map", "a table"),
    ("sequence", "a list"),
];

/// A message of the parser in people's words. `text`: the file from the mistake on.
pub fn in_words(message: &str, text: &str) -> String {
    if let Some(near) = near(message) {
        let what = message.split(", expected").next().unwrap_or(message);
        return format!("{what}; did you mean `{near}`?");
    }
    let Some((found, wanted)) = message.split_once(", expected ") else { return message.into() };
    let found = found.strip_suffix("type: map").map_or(found.into(), |rest| format!("{rest}type: table"));
    let found = found.strip_suffix("type: sequence").map_or(found.clone(), |rest| format!("{rest}type: list"));
    let word = WORDS.iter().find(|(word, _)| *word == wanted).map(|(_, meant)| *meant);
    let word = word.or_else(|| wanted.starts_with("struct ").then_some("a table"));
    let header = text.lines().next().unwrap_or_default().trim();
    let is_part = header.starts_with('[') && !header.starts_with("[[") && header.ends_with(']');
    match word.unwrap_or(wanted) {
        "a list" if is_part => format!("there may be several of these; write [{header}]"),
        word => format!("{found}, expected {word}"),
    }
}

/// The nearest of the names that the message says are known, where it is near.
fn near(message: &str) -> Option<&str> {
    let mut names = message.strip_prefix("unknown ")?.split('`').skip(1).step_by(2);
    let wrong = names.next()?;
    let (far, name) = names.map(|name| (strsim::damerau_levenshtein(wrong, name), name)).min()?;
    (far <= 2 && far * 3 <= wrong.chars().count()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::ConfigFile;

    #[test]
    fn a_mistake_is_told_in_the_words_of_whoever_wrote_the_file() {
        let told = |text: &str| {
            let error = toml::from_str::<ConfigFile>(text).unwrap_err();
            in_words(error.message(), &text[error.span().unwrap().start..])
        };
        for (text, words) in [
            ("[limits]\nmax_turns = \"many\"", "invalid type: string \"many\", expected a whole number, 0 or more"),
            ("[limits]\nmax_turns = -1", "invalid value: integer `-1`, expected a whole number, 0 or more"),
            ("context_window = 0", "invalid value: integer `0`, expected a whole number, 1 or more"),
            ("[retention]\nkeep = 0", "invalid value: integer `0`, expected a whole number, 1 or more"),
            ("temperature = \"hot\"", "invalid type: string \"hot\", expected a number"),
            ("fallback = \"a\"", "invalid type: string \"a\", expected a list"),
            ("limits = 3", "invalid type: integer `3`, expected a table"),
            ("model = 3", "invalid type: integer `3`, expected a text in quotes"),
            ("network = 3", "invalid type: integer `3`, expected true or false"),
            ("[retention]\nolder_than = 2", "invalid type: integer `2`, expected a text in quotes"),
            ("[hooks]\nname = \"x\"", "there may be several of these; write [[hooks]]"),
            ("modell = \"x\"", "unknown field `modell`; did you mean `model`?"),
            ("profile = \"trac\"", "unknown variant `trac`; did you mean `trace`?"),
        ] {
            assert_eq!(told(text), words, "{text}");
        }
        assert!(told("colour = 3").starts_with("unknown field `colour`, expected one of `model`, "));
    }
}
