//! Patterns for commands, word by word.

use super::error::PatternError;
use super::fit::{Fit, Reading};
use super::path::plain;
use super::seen::Seen;
use crate::glob::{Glob, escaped};
use crate::shell::Word;

/// `git push *`, or `curl * | sh *` for what one command prints and another reads.
#[derive(Clone, Debug)]
pub(crate) struct CommandPattern {
    command: OneCommand,
    /// The command that reads what the first one prints.
    reader: Option<OneCommand>,
}

/// The words of a command.
#[derive(Clone, Debug)]
struct OneCommand {
    words: Vec<WordPattern>,
    /// Where the first word is a path: the file that it means.
    file: Option<FilePattern>,
}

/// A file that runs, by its path.
#[derive(Clone, Debug)]
struct FilePattern {
    /// The path without `.`, `..` and doubled slashes.
    path: Glob,
    /// Its last step.
    name: Glob,
    is_absolute: bool,
}

#[derive(Clone, Debug)]
enum WordPattern {
    /// `*` alone: any number of words, none as well.
    Any,
    Word(Glob),
}

impl CommandPattern {
    /// Reads words, quoted where a letter is to stand for itself. Errors: what is wrong.
    pub fn parse(text: &str) -> Result<CommandPattern, PatternError> {
        let mut stages = vec![Vec::new()];
        for word in split(text)? {
            match (word.as_str(), stages.last_mut()) {
                ("|", _) => stages.push(Vec::new()),
                (_, Some(stage)) => stage.push(word),
                (_, None) => {}
            }
        }
        let mut stages = stages.into_iter().map(OneCommand::new);
        let (command, reader, more) = (stages.next().transpose()?, stages.next().transpose()?, stages.next());
        match (command, reader, more) {
            (Some(command), reader, None)
                if !command.words.is_empty() && !reader.as_ref().is_some_and(OneCommand::is_empty) =>
            {
                Ok(CommandPattern { command, reader })
            }
            _ => Err(PatternError::NotACommand(text.into())),
        }
    }

    pub fn fit(&self, seen: &Seen<'_>, reading: Reading) -> Fit {
        if self.reader.is_some() { Fit::No } else { self.command.fit(seen, reading) }
    }

    /// How well it fits what some commands print and others read.
    pub fn fit_flow(&self, from: &[Seen<'_>], to: &[Seen<'_>]) -> Fit {
        let Some(reader) = &self.reader else { return Fit::No };
        let best = |pattern: &OneCommand, all: &[Seen<'_>]| {
            all.iter().map(|seen| pattern.fit(seen, Reading::Wide)).max().unwrap_or(Fit::No)
        };
        best(&self.command, from).min(best(reader, to))
    }

    /// How well it fits what nobody can read.
    pub fn fit_unknown(&self) -> Fit {
        if self.is_everything() { Fit::Yes } else { Fit::Maybe }
    }

    pub fn is_everything(&self) -> bool {
        self.reader.is_none() && self.command.words.iter().all(|word| matches!(word, WordPattern::Any))
    }
}

impl OneCommand {
    fn new(words: Vec<String>) -> Result<OneCommand, PatternError> {
        let file = words.first().map(|word| FilePattern::parse(word)).transpose()?.flatten();
        let pattern = |word: &String| match word.as_str() {
            "*" => Ok(WordPattern::Any),
            word => Glob::word(word).map(WordPattern::Word),
        };
        Ok(OneCommand { words: words.iter().map(pattern).collect::<Result<_, _>>()?, file })
    }

    fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    fn fit(&self, seen: &Seen<'_>, reading: Reading) -> Fit {
        let as_it_stands = fit(&self.words, &seen.simple.words, reading);
        if reading == Reading::Strict {
            return as_it_stands;
        }
        let best = seen.others.iter().map(|words| fit(&self.words, words, reading)).fold(as_it_stands, Fit::max);
        let Some(FilePattern { path, name, is_absolute }) = &self.file else { return best };
        let rest = self.words.get(1..).unwrap_or_default();
        let of = |glob: &Glob| [&[WordPattern::Word(glob.clone())], rest].concat();
        let files = seen.files.iter().filter(|(absolute, _)| absolute == is_absolute);
        let best = files.map(|(_, words)| fit(&of(path), words, reading)).fold(best, Fit::max);
        let may_be = seen.strays.iter().map(|words| fit(&of(name), words, reading)).max().unwrap_or(Fit::No);
        best.max(may_be.min(Fit::Maybe))
    }
}

impl FilePattern {
    /// The file that the first word of a pattern means, if it is a path.
    fn parse(word: &str) -> Result<Option<FilePattern>, PatternError> {
        let Some(path) = word.contains('/').then(|| plain(word)).flatten() else { return Ok(None) };
        let name = path.rsplit('/').next().unwrap_or_default();
        let is_absolute = path.starts_with(['/', '~']);
        Ok(Some(FilePattern { name: Glob::word(name)?, path: Glob::word(&path)?, is_absolute }))
    }
}

/// How well words fit a pattern, from the end to the beginning: `row[i]` is how well the words from `i` on fit what is left.
fn fit(pattern: &[WordPattern], words: &[Word], reading: Reading) -> Fit {
    // Most rules are about another program.
    if let (Some(WordPattern::Word(wanted)), Some(first)) = (pattern.first(), words.first())
        && first.fixed
        && !wanted.matches(&first.text)
    {
        return Fit::No;
    }
    let unknown = if reading == Reading::Wide { Fit::Maybe } else { Fit::No };
    let count = words.len();
    let at = |row: &[Fit], at: usize| row.get(at).copied().unwrap_or(Fit::No);
    // Nothing is left of the pattern: the words must be over, or vanish.
    let mut row = vec![Fit::Yes; count + 1];
    for i in (0..count).rev() {
        let vanishes = words.get(i).is_some_and(|word| word.many);
        row[i] = if vanishes { unknown.min(at(&row, i + 1)) } else { Fit::No };
    }
    for wanted in pattern.iter().rev() {
        let mut next = vec![Fit::No; count + 1];
        match wanted {
            WordPattern::Any => {
                let mut best = Fit::No;
                for i in (0..=count).rev() {
                    best = best.max(at(&row, i));
                    next[i] = best;
                }
            }
            WordPattern::Word(glob) => {
                for i in (0..count).rev() {
                    let Some(word) = words.get(i) else { continue };
                    let same = match (word.fixed, glob.matches(&word.text)) {
                        (true, matches) => Fit::from(matches),
                        (false, true) if reading == Reading::Wide => Fit::Yes,
                        (false, _) => unknown,
                    };
                    next[i] = same.min(at(&row, i + 1));
                    if word.many {
                        // It may be no word at all, or this word and more.
                        let other = at(&next, i + 1).max(at(&row, i));
                        next[i] = next[i].max(unknown.min(other));
                    }
                }
            }
        }
        row = next;
    }
    at(&row, 0)
}

/// The words of a pattern: quotes keep letters from being special.
fn split(text: &str) -> Result<Vec<String>, PatternError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' | '"' => {
                let mut quoted = String::new();
                loop {
                    match letters.next() {
                        Some(next) if next == letter => break,
                        Some(next) => quoted.push(next),
                        None => return Err(PatternError::Unquoted { text: text.into(), quote: letter }),
                    }
                }
                let word = word.get_or_insert_default();
                // A quoted | is a word and leads to no other command.
                word.push_str(&escaped(&quoted).replace('|', "\\|"));
            }
            '\\' => {
                let word = word.get_or_insert_default();
                word.push('\\');
                word.push(letters.next().ok_or_else(|| PatternError::Backslash(text.into()))?);
            }
            letter if letter.is_whitespace() => words.extend(word.take()),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Ok(words)
}

/// A word as a pattern that matches nothing else.
pub(crate) fn quoted(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:=,@%+~#^".contains(letter);
    if !text.is_empty() && text.chars().all(plain) {
        return text.into();
    }
    match (text.contains('\''), text.contains('"')) {
        (false, _) => format!("'{text}'"),
        (true, false) => format!("\"{text}\""),
        (true, true) => text.split('\'').map(|piece| format!("'{piece}'")).collect::<Vec<_>>().join("\"'\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell;

    fn fits(pattern: &str, line: &str) -> (Fit, Fit) {
        let script = shell::read(line);
        let seen = Seen::new(&script.commands[0], &super::super::Folders::default());
        let pattern = CommandPattern::parse(pattern).unwrap();
        (pattern.fit(&seen, Reading::Wide), pattern.fit(&seen, Reading::Strict))
    }

    #[test]
    fn words_are_compared_one_by_one() {
        use Fit::*;
        for (pattern, line, wide, strict) in [
            ("git status", "git status", Yes, Yes),
            ("git status", "git status -s", No, No),
            ("git status", "git", No, No),
            ("git push *", "git push", Yes, Yes),
            ("git push *", "git push origin main", Yes, Yes),
            ("git push *", "git pushy", No, No),
            ("git push * --force *", "git push origin --force", Yes, Yes),
            ("git push * --force *", "git push --force origin", Yes, Yes),
            ("git push * --force *", "git push origin", No, No),
            ("rm -*r* *", "rm -fr x", Yes, Yes),
            ("git commit -m 'a *'", "git commit -m 'a *'", Yes, Yes),
            ("git commit -m 'a *'", "git commit -m 'a b'", No, No),
            ("*", "anything at all", Yes, Yes),
            // Another way to write the same program or subcommand.
            ("git push *", "/usr/bin/git push", Yes, No),
            ("git push *", "git -C . --no-pager -c a=b push x", Yes, No),
            ("git push *", "git --git-dir=x push", Yes, No),
            ("cargo publish *", "cargo +nightly publish", Yes, No),
            ("git push *", "\\git 'pu'\"sh\"", Yes, Yes),
            // What is not written out.
            ("git push *", "git $x", Maybe, No),
            ("git push *", "git \"$x\" y", Maybe, No),
            ("git push *", "git status $x", No, No),
            ("git push *", "git $x status", Maybe, No),
            ("echo *", "echo $x", Yes, Yes),
            ("git * --force", "git push $x", Maybe, No),
            ("rm * $HOME", "rm -rf $HOME", Yes, No),
            ("git status", "git status $x", Maybe, No),
            ("git status", "git status \"$x\"", No, No),
        ] {
            assert_eq!(fits(pattern, line), (wide, strict), "{pattern} / {line}");
        }
    }

    #[test]
    fn a_quoted_word_is_that_word() {
        for word in ["a", "a b", "it's", "say \"it's\"", "*", "", "a\\b", "[x]", "|", "||", "a|b"] {
            assert_eq!(split(&quoted(word)).map(|words| words.len()), Ok(1), "{word}");
            let words = split(&quoted(word)).unwrap();
            assert!(Glob::word(&words[0]).unwrap().matches(word), "{word}");
            let (pattern, line) = (format!("grep {}", quoted(word)), format!("grep {}", quoted(word)));
            assert_eq!(fits(&pattern, &line), (Fit::Yes, Fit::Yes), "{word}");
        }
    }
}
