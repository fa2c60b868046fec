//! Texts by pattern: `*` stands for any letters, `\*` for a star and `\\` for a backslash.

use serde_json::{Value, json};

/// Whether a text fits a pattern.
pub(super) fn fits(pattern: &str, text: &str) -> bool {
    let (mut pieces, mut letters) = (vec![String::new()], pattern.chars());
    while let Some(letter) = letters.next() {
        match (letter, pieces.last_mut()) {
            ('*', _) => pieces.push(String::new()),
            ('\\', Some(piece)) => piece.push(letters.next().unwrap_or('\\')),
            (letter, Some(piece)) => piece.push(letter),
            (_, None) => {}
        }
    }
    let (Some((first, more)), Some(mut rest)) = (pieces.split_first(), Some(text)) else { return false };
    let Some((last, between)) = more.split_last() else { return text == first };
    let Some(after) = rest.strip_prefix(first.as_str()) else { return false };
    rest = after;
    for piece in between {
        let Some(at) = rest.find(piece.as_str()) else { return false };
        rest = rest.get(at + piece.len()..).unwrap_or_default();
    }
    rest.ends_with(last.as_str())
}

/// What null fits in a pattern: TOML has none.
pub(super) fn null() -> Value {
    json!({ "null": true })
}

/// The pattern that only this text fits.
pub(super) fn literal(text: &str) -> String {
    text.replace('\\', "\\\\").replace('*', "\\*")
}

#[cfg(test)]
mod tests {
    use super::{fits, literal};

    #[test]
    fn stars_stand_for_any_letters_and_can_be_meant_themselves() {
        let cases = [
            ("git *", "git push origin", true),
            ("git *", "gits", false),
            ("*.rs", "src/a.rs", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*a", "a", false),
            ("", "", true),
            ("*", "", true),
            ("a\\*b", "a*b", true),
            ("a\\*b", "axb", false),
        ];
        for (pattern, text, wanted) in cases {
            assert_eq!(fits(pattern, text), wanted, "{pattern:?} on {text:?}");
        }
        let text = "rm *.o \\* \\";
        assert!(fits(&literal(text), text) && !fits(&literal(text), "rm a.o \\* \\"));
    }
}
