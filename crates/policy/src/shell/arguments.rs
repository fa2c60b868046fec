//! The words of a command as options, their values, and operands; and the files that they name.

use super::{File, Word};

/// The effects of a command's words on files.
#[derive(Default)]
pub(super) struct Touched {
    /// Files whose handling is what its program is for: they need no permission besides the command's.
    pub operands: Vec<File>,
    /// Files that an option has it write: as with a redirection, whoever allows the command has not allowed the write.
    pub outputs: Vec<File>,
}

/// A file that is read.
pub(super) fn read(path: Word) -> File {
    File { path, write: false, whole: false }
}

/// A file that is written.
pub(super) fn written(path: Word) -> File {
    File { path, write: true, whole: false }
}

/// The values of an option: in the next word or in its own, for one letter also behind others, as in `-sSLo FILE`.
pub(super) fn values(words: &[Word], option: &str) -> Vec<Word> {
    let value = |at: usize, word: &Word| {
        let attached = match option.strip_prefix("--") {
            Some(_) => {
                let (given, value) =
                    word.text.split_once('=').map_or((word.text.as_str(), None), |(a, b)| (a, Some(b)));
                is_long(given, option).then_some(value)?
            }
            None => {
                let letters = word.text.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
                let (_, rest) = letters.split_once(option.trim_start_matches('-'))?;
                Some(rest).filter(|rest| !rest.is_empty())
            }
        };
        match attached {
            Some(text) => Some(Word { text: text.into(), ..word.clone() }),
            None => words.get(at + 1).cloned(),
        }
    };
    words.iter().enumerate().filter_map(|(at, word)| value(at, word)).collect()
}

/// Returns true if a word gives this long option: programs take the beginning of one for the whole.
pub(super) fn is_long(given: &str, option: &str) -> bool {
    given.len() > 2 && option.starts_with(given)
}

/// The words that are no options.
pub(super) fn operands(words: &[Word]) -> Vec<&Word> {
    let end = words.iter().position(|word| word.text == "--").unwrap_or(words.len());
    let is_operand = |(at, word): &(usize, &Word)| *at > end || !word.text.starts_with('-');
    words.iter().enumerate().filter(is_operand).map(|(_, word)| word).collect()
}

/// Returns true if a word gives this option: by its letter, also among others, or by its name.
pub(super) fn has(word: &Word, letter: char, long: &str) -> bool {
    let text = word.text.as_str();
    let named = text.split('=').next().unwrap_or_default();
    is_long(named, long) || text.starts_with('-') && !text.starts_with("--") && text.contains(letter)
}
