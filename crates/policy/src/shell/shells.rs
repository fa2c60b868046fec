//! Shells: what they are given to run.

use super::Word;
use super::inner::Inner;
use super::runners::{is_input, is_stream};

/// `-c` gives them a script.
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "ash", "rbash"];

/// Returns true if a program is a shell whose language is read here.
pub(super) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// The commands in the words after a shell's name.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ShellRuns {
    Nothing,
    /// What it reads from its standard input.
    Input,
    /// The script in this word.
    Script(usize),
    /// The file that this word names.
    File(usize),
    Unclear(String),
}

/// What a shell with these words runs (bash 5.2).
pub(super) fn shell(words: &[Word]) -> ShellRuns {
    let unclear = |text: &str| ShellRuns::Unclear(format!("what the shell runs is not written out: {text:?}"));
    let (mut at, mut wants_script) = (0, false);
    while let Some(word) = words.get(at) {
        let text = word.text.as_str();
        match text {
            _ if !word.fixed => return unclear(text),
            "--version" | "--help" => return ShellRuns::Nothing,
            "--norc" | "--noprofile" | "--posix" | "--login" | "--noediting" | "--verbose" | "--restricted" => at += 1,
            "--" | "-" => {
                at += 1;
                break;
            }
            _ if text.starts_with(['-', '+']) => {
                let letters = text.get(1..).unwrap_or_default();
                if !letters.chars().all(|letter| "abcefhiklmnoprstuvxBCDEHOPT".contains(letter)) || letters.is_empty() {
                    return ShellRuns::Unclear(format!("the option {text:?} is not known"));
                }
                wants_script |= letters.contains('c');
                if letters.contains('s') {
                    return ShellRuns::Input;
                }
                // Each of these letters takes a word.
                at += 1 + letters.matches(['o', 'O']).count();
            }
            _ => break,
        }
    }
    match words.get(at) {
        Some(word) if !word.fixed => unclear(&word.text),
        Some(_) if wants_script => ShellRuns::Script(at),
        None if wants_script => ShellRuns::Nothing,
        Some(file) if is_input(&file.text) => ShellRuns::Input,
        Some(file) if is_stream(&file.text) => ShellRuns::Unclear(format!("{:?} is not a file", file.text)),
        Some(_) => ShellRuns::File(at),
        None => ShellRuns::Input,
    }
}

/// The same as what is read on.
pub(super) fn inner(words: &[Word]) -> Vec<Inner> {
    match shell(words) {
        ShellRuns::Nothing | ShellRuns::File(_) => Vec::new(),
        ShellRuns::Input => vec![Inner::Input],
        ShellRuns::Script(at) => words.get(at).map(|word| Inner::Script(word.text.clone())).into_iter().collect(),
        ShellRuns::Unclear(why) => vec![Inner::Unclear(why)],
    }
}
