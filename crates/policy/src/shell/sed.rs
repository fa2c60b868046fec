//! Scripts of `sed`, which can run commands: the command `e` and the flag of that name (GNU sed 4.9).

use super::Word;
use super::arguments::is_long;
use super::inner::Inner;
use super::runners::is_stream;
use std::iter::Peekable;
use std::str::Chars;

/// Letters of options without a value.
const FLAGS: &str = "nrsuzEb";

/// The commands that a call of `sed` runs.
pub(super) fn sed(words: &[Word]) -> Vec<Inner> {
    let is_safe = words.iter().any(|word| word.text == "--sandbox");
    let found = !is_safe && may_run(words);
    found.then(|| Inner::Unclear("a script of sed runs commands".into())).into_iter().collect()
}

/// Returns true if a script among the words runs commands, or comes from a stream.
fn may_run(words: &[Word]) -> bool {
    let is_unknown = |file: &str, word: &Word| !word.fixed || is_stream(file);
    let (mut operands, mut has_script, mut at) = (Vec::new(), false, 0);
    while let Some(word) = words.get(at) {
        at += 1;
        let text = word.text.as_str();
        if text == "--" {
            operands.extend(words.get(at..).unwrap_or_default());
            break;
        }
        let (given, value) = text.split_once('=').map_or((text, None), |(given, value)| (given, Some(value)));
        let (option, value) = match text.strip_prefix('-') {
            _ if is_long(given, "--expression") => ('e', value),
            _ if is_long(given, "--file") => ('f', value),
            _ if is_long(given, "--line-length") => ('l', value),
            None | Some("") => {
                operands.push(word);
                continue;
            }
            Some(letters) => {
                let mut rest = letters.trim_start_matches(|letter| FLAGS.contains(letter)).chars();
                (rest.next().unwrap_or_default(), Some(rest.as_str()).filter(|value| !value.is_empty()))
            }
        };
        if !matches!(option, 'e' | 'f' | 'l') {
            continue;
        }
        has_script |= option != 'l';
        let next = words.get(at).map(|word| (word.text.as_str(), word));
        at += usize::from(value.is_none());
        match (option, value.map(|value| (value, word)).or(next)) {
            ('e', Some((script, _))) if runs_commands(script) => return true,
            ('f', Some((file, word))) if is_unknown(file, word) => return true,
            _ => {}
        }
    }
    // What begins with a variable may be an option, so that the next word is the script.
    let is_begun = |word: &Word| word.text.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '/');
    let count = operands.iter().take_while(|word| !word.fixed && !is_begun(word)).count() + 1;
    !has_script && operands.iter().take(count).any(|word| runs_commands(&word.text))
}

/// Returns true if a script has a command that runs others. It is read twice, as a delimiter between `[` and `]` may end a pattern or not.
fn runs_commands(script: &str) -> bool {
    [true, false].into_iter().any(|brackets| reads_e(script, brackets).unwrap_or(false))
}

/// Reads the commands of a script up to one that runs others. `None`: sed refuses the script.
fn reads_e(script: &str, brackets: bool) -> Option<bool> {
    let mut letters = script.chars().peekable();
    loop {
        match letters.next() {
            None => return Some(false),
            // The lines that a command is for: `/x/`, `\%x%`.
            Some('/') => skip_pattern(&mut letters, '/', brackets)?,
            Some('\\') => {
                let delimiter = letters.next()?;
                skip_pattern(&mut letters, delimiter, brackets)?;
            }
            Some('e') => return Some(true),
            Some('s') => {
                let delimiter = letters.next()?;
                skip_pattern(&mut letters, delimiter, brackets)?;
                skip_pattern(&mut letters, delimiter, false)?;
                let mut runs = false;
                while let Some(flag) = letters.next_if(|letter| letter.is_ascii_alphanumeric()) {
                    match flag {
                        'e' => runs = true,
                        'w' => skip_line(&mut letters),
                        _ => {}
                    }
                }
                if letters.peek().is_some_and(|letter| !letter.is_whitespace() && !matches!(letter, ';' | '}' | '#')) {
                    return None;
                }
                if runs {
                    return Some(true);
                }
            }
            Some('y') => {
                let delimiter = letters.next()?;
                skip_pattern(&mut letters, delimiter, false)?;
                skip_pattern(&mut letters, delimiter, false)?;
            }
            // Their text goes on after a backslash at the end of a line.
            Some('a' | 'i' | 'c') => {
                while let Some(letter) = letters.next_if(|letter| *letter != '\n') {
                    if letter == '\\' {
                        letters.next();
                    }
                }
            }
            Some('r' | 'R' | 'w' | 'W' | '#') => skip_line(&mut letters),
            Some(':' | 'b' | 't' | 'T' | 'v') => {
                while letters.next_if(|letter| !matches!(letter, ';' | '\n' | '}')).is_some() {}
            }
            // What stands between commands and between lines, and commands that take no text.
            Some(_) => {}
        }
    }
}

/// Skips to the end of a pattern.
fn skip_pattern(letters: &mut Peekable<Chars<'_>>, delimiter: char, brackets: bool) -> Option<()> {
    let mut in_brackets = false;
    loop {
        match letters.next()? {
            letter if letter == delimiter && !in_brackets => return Some(()),
            '\\' if !in_brackets => drop(letters.next()?),
            '[' if brackets && !in_brackets => {
                in_brackets = true;
                // The first letter of a list is one of it.
                letters.next_if_eq(&'^');
                letters.next_if_eq(&']');
            }
            ']' => in_brackets = false,
            _ => {}
        }
    }
}

fn skip_line(letters: &mut Peekable<Chars<'_>>) {
    while letters.next_if(|letter| *letter != '\n').is_some() {}
}
