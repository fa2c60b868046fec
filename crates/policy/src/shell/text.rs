//! Commands inside text that the parser leaves as text: here-documents, defaults of variables, arithmetic.

/// A piece of text that a shell would run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The source of a command.
    Command(String),
    /// A sum; what it holds is searched as well.
    Sum(String),
    /// Where it ends cannot be told without being the shell.
    Unclear(String),
}

/// Everything in the text that a shell would run when it expands the text. `process`: whether `<(…)` counts.
pub(super) fn find(text: &str, process: bool) -> Vec<Found> {
    let letters: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(letter) = letters.get(at) {
        let next = letters.get(at + 1);
        match (letter, next) {
            ('\\', _) => at += 2,
            ('$', Some('\\')) => {
                found.push(Found::Unclear(text.into()));
                at += 2;
            }
            ('$', Some('(')) | ('<' | '>', Some('(')) if *letter == '$' || process => match end(&letters, at + 2) {
                Some(end) => {
                    found.push(inner(&letters, at + 2, end));
                    at = end + 1;
                }
                None => {
                    found.push(Found::Unclear(text.into()));
                    at += 2;
                }
            },
            ('`', _) => match backtick(&letters, at + 1) {
                Some((source, end)) => {
                    // In double quotes, which are not looked at here, the backslash would go first.
                    let twice = source.contains("\\\"");
                    found.push(if twice { Found::Unclear(source) } else { Found::Command(source) });
                    at = end + 1;
                }
                None => {
                    found.push(Found::Unclear(text.into()));
                    at += 1;
                }
            },
            _ => at += 1,
        }
    }
    found
}

/// What stands between `$(` and its `)`.
fn inner(letters: &[char], from: usize, to: usize) -> Found {
    let source: String = letters.get(from..to).unwrap_or_default().iter().collect();
    let sum = source.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    if let Some(sum) = sum {
        let is_sum = |letter: char| letter.is_ascii_alphanumeric() || " _+-*/%()<>=!&|^~?:,.$[]{}".contains(letter);
        return if sum.chars().all(is_sum) { Found::Sum(sum.into()) } else { Found::Unclear(source) };
    }
    // Comments, here-documents and case patterns may hold a `)` that ends nothing.
    match ["#", "<<", "case"].iter().any(|word| source.contains(word)) {
        true => Found::Unclear(source),
        false => Found::Command(source),
    }
}

/// Where the parenthesis that was opened before `from` is closed, quotes respected.
fn end(letters: &[char], from: usize) -> Option<usize> {
    let (mut at, mut open, mut quote) = (from, 1_u32, None);
    while let Some(&letter) = letters.get(at) {
        match (quote, letter) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => at += 1,
            (None, '\'' | '"') => quote = Some(letter),
            // In double quotes only `$(` opens one; taking every one as such errs towards no end at all.
            (_, '(') => open += 1,
            (_, ')') => {
                open -= 1;
                if open == 0 {
                    return quote.is_none().then_some(at);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The source up to the next backtick, and where that is.
fn backtick(letters: &[char], from: usize) -> Option<(String, usize)> {
    let (mut at, mut source) = (from, String::new());
    loop {
        match (letters.get(at)?, letters.get(at + 1)) {
            ('`', _) => return Some((source, at)),
            ('\\', Some(next @ ('`' | '\\' | '$'))) => {
                source.push(*next);
                at += 2;
            }
            (letter, _) => {
                source.push(*letter);
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_in_text() {
        let command = |source: &str| Found::Command(source.into());
        let unclear = |source: &str| Found::Unclear(source.into());
        for (text, process, expected) in [
            ("nothing here", true, vec![]),
            (r"\$(a) \`b\`", true, vec![]),
            ("x $(a b) y `c`", false, vec![command("a b"), command("c")]),
            ("$(a \"x\" ')' $(b))", false, vec![command("a \"x\" ')' $(b)")]),
            ("$(a \")\")", false, vec![unclear("$(a \")\")")]),
            ("<(a)", true, vec![command("a")]),
            ("<(a)", false, vec![]),
            ("$(a \\) b)", false, vec![command("a \\) b")]),
            ("$(a `b`) `c`", false, vec![command("a `b`"), command("c")]),
            ("$((1+$(a)))", false, vec![Found::Sum("1+$(a)".into())]),
            ("$((a; b))", false, vec![unclear("(a; b)")]),
            ("$(echo # )\nb)", false, vec![unclear("echo # ")]),
            ("$(a", false, vec![unclear("$(a")]),
            ("`a", false, vec![unclear("`a")]),
            ("$\\\n(a)", false, vec![unclear("$\\\n(a)")]),
        ] {
            assert_eq!(find(text, process), expected, "{text}");
        }
    }
}
