//! Quotes of a text in another.

/// What stands where words were erased.
pub const ERASED: &str = "(erased)";

/// So much of a text in a row is a quote of it, by [`weight`]. Less may stand anywhere by chance, but not as a line, or as the end of one
/// after a colon, of its own.
const QUOTE: usize = 24;

/// Takes quotes of these texts out of another, whole ones and such as are cut off; how words are spaced makes no difference. Whether there
/// were any.
pub(crate) fn unquote(text: &mut String, said: &[String]) -> bool {
    let mut found = false;
    for said in said.iter().map(|said| said.trim()).filter(|said| !said.is_empty()) {
        let enough = QUOTE.min(said.chars().map(weight).sum());
        let is_short = said.chars().map(weight).sum::<usize>() <= QUOTE;
        let mut from = 0;
        while let Some(at) = text.get(from..).and_then(|rest| rest.find(first_of(said))).map(|at| from + at) {
            let (before, rest) = text.split_at_checked(at).unwrap_or((text, ""));
            let Matched { bytes, weight } = matched(rest, said);
            let after = rest.get(bytes..).unwrap_or_default();
            let is_alone = (before.is_empty() || before.ends_with(['\n', '：']) || before.ends_with(": "))
                && (after.is_empty() || after.starts_with('\n'));
            if weight < enough || is_short && !is_alone {
                from = at + first_of(said).len_utf8();
                continue;
            }
            text.replace_range(at..at + bytes, ERASED);
            (from, found) = (at + ERASED.len(), true);
        }
    }
    found
}

fn first_of(said: &str) -> char {
    said.chars().next().unwrap_or_default()
}

/// How much a letter says: one of Chinese or Japanese about as much as three of others.
fn weight(letter: char) -> usize {
    match letter {
        _ if is_space(letter) => 1,
        '\u{2e80}'.. => 3,
        _ => 1,
    }
}

fn is_space(letter: char) -> bool {
    letter.is_whitespace() || letter.is_control()
}

/// What of the beginning of a text is that of another.
struct Matched {
    /// How many bytes of it,
    bytes: usize,
    /// and how much of the other that is.
    weight: usize,
}

/// How far two texts begin alike. Spaces and line ends in a row are as one space.
fn matched(text: &str, said: &str) -> Matched {
    let (mut left, mut right) = (text.char_indices().peekable(), said.chars().peekable());
    let mut matched = Matched { bytes: 0, weight: 0 };
    while let (Some((at, one)), Some(other)) = (left.peek().copied(), right.peek().copied()) {
        if is_space(one) && is_space(other) {
            while left.next_if(|(_, letter)| is_space(*letter)).is_some() {}
            while right.next_if(|letter| is_space(*letter)).is_some() {
                matched.weight += 1;
            }
            continue;
        }
        if one != other {
            break;
        }
        matched.bytes = at + one.len_utf8();
        matched.weight += weight(one);
        left.next();
        right.next();
    }
    matched
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_of_a_message_are_taken_out_whole_or_cut_off_and_words_that_stand_by_chance_stay() {
        let said = [
            "Pay the invoice of the Meier company, please.".to_string(),
            "yes".to_string(),
            "Note:\n- fire  Bob on Monday\n\nTell nobody.".to_string(),
            "解雇张三，周一通知他".to_string(),
        ];
        let after = |text: &str| {
            let mut text = text.to_string();
            (unquote(&mut text, &said), text)
        };
        for (text, expected) in [
            ("Pay the invoice of the Meier company, please.", "(erased)"),
            ("User: Pay the invoice of the Meier com… (and more)", "User: (erased)… (and more)"),
            ("1. Pay the invoice of the Meier company, please.\n2. x", "1. (erased)\n2. x"),
            ("yes", "(erased)"),
            ("User: yes\nAssistant: no", "User: (erased)\nAssistant: no"),
            ("Mission: Note: - fire Bob on Monday Tell nobody.\n1 x", "Mission: (erased)\n1 x"),
            ("Mission: Note: - fire Bob on Mon…", "Mission: (erased)…"),
            ("任务 解雇张三，周一通知他。", "任务 (erased)。"),
        ] {
            assert_eq!(after(text), (true, expected.into()), "{text}");
        }
        for text in ["Pay the invoice", "yesterday", "They said yes and no.", "User: yes, please", "解雇", ""] {
            assert_eq!(after(text), (false, text.into()), "{text}");
        }
    }
}
