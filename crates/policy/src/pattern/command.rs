//! Patterns for commands, word by word.

use super::fit::{Fit, Reading};
use crate::glob::{Glob, escaped};
use crate::shell::{Simple, Word};

/// `git push *`, or `curl * | sh *` for what one command prints and another reads.
#[derive(Clone, Debug)]
pub(crate) struct CommandPattern {
    words: Vec<WordPattern>,
    /// The command that reads what the first one prints.
    reader: Option<Vec<WordPattern>>,
}

#[derive(Clone, Debug)]
enum WordPattern {
    /// `*` alone: any number of words, none as well.
    Any,
    Word(Glob),
}

/// A command as patterns see it.
#[derive(Clone, Debug)]
pub(crate) struct Seen<'a> {
    /// As it stands.
    pub simple: &'a Simple,
    /// Other ways to write it that come to the same: without the program's folder, without options before the subcommand.
    others: Vec<Vec<Word>>,
}

impl<'a> Seen<'a> {
    /// Looks at a command.
    pub fn new(simple: &'a Simple) -> Seen<'a> {
        let is_option = |word: &Word| word.text.len() > 1 && word.text.starts_with(['-', '+']);
        let mut rests: Vec<&[Word]> = Vec::new();
        // Every word that may be the subcommand: those before it are options or the values of options.
        let mut at = 1;
        while simple.words.get(at).is_some_and(is_option) && rests.len() < 16 {
            at += 1;
            if simple.words.get(at).is_some_and(|word| !is_option(word)) {
                rests.extend([simple.words.get(at..), simple.words.get(at + 1..)].into_iter().flatten());
                at += 1;
            }
        }
        let joined = |program: &Word, rest: &[Word]| std::iter::once(program).chain(rest).cloned().collect();
        let first = simple.words.first();
        let mut others: Vec<Vec<Word>> = Vec::new();
        others.extend(first.into_iter().flat_map(|program| rests.iter().map(|rest| joined(program, rest))));
        if let Some(program) = first.filter(|word| word.fixed && word.text.contains('/')) {
            let name = Word { text: simple.program().into(), ..program.clone() };
            rests.extend(simple.words.get(1..));
            others.extend(rests.iter().map(|rest| joined(&name, rest)));
        }
        Seen { simple, others }
    }
}

impl CommandPattern {
    /// Reads words, quoted where a letter is to stand for itself. Errors: what is wrong.
    pub fn parse(text: &str) -> Result<CommandPattern, String> {
        let mut stages = vec![Vec::new()];
        for word in split(text)? {
            match (word.as_str(), stages.last_mut()) {
                ("|", _) => stages.push(Vec::new()),
                ("*", Some(stage)) => stage.push(WordPattern::Any),
                (word, Some(stage)) => stage.push(WordPattern::Word(Glob::word(word)?)),
                (_, None) => {}
            }
        }
        let mut stages = stages.into_iter();
        let (words, reader, more) = (stages.next().unwrap_or_default(), stages.next(), stages.next());
        if more.is_some() || words.is_empty() || reader.as_ref().is_some_and(Vec::is_empty) {
            return Err(format!(
                "{text:?} is not a command; a pattern has at most one |, with a command on both sides"
            ));
        }
        Ok(CommandPattern { words, reader })
    }

    pub fn fit(&self, seen: &Seen<'_>, reading: Reading) -> Fit {
        if self.reader.is_some() { Fit::No } else { fit_seen(&self.words, seen, reading) }
    }

    /// How well it fits what some commands print and others read.
    pub fn fit_flow(&self, from: &[Seen<'_>], to: &[Seen<'_>]) -> Fit {
        let Some(reader) = &self.reader else { return Fit::No };
        let best = |pattern: &[WordPattern], all: &[Seen<'_>]| {
            all.iter().map(|seen| fit_seen(pattern, seen, Reading::Wide)).max().unwrap_or(Fit::No)
        };
        best(&self.words, from).min(best(reader, to))
    }

    /// How well it fits what nobody can read.
    pub fn fit_unknown(&self) -> Fit {
        if self.is_everything() { Fit::Yes } else { Fit::Maybe }
    }

    pub fn is_everything(&self) -> bool {
        self.reader.is_none() && self.words.iter().all(|word| matches!(word, WordPattern::Any))
    }
}

fn fit_seen(pattern: &[WordPattern], seen: &Seen<'_>, reading: Reading) -> Fit {
    let as_it_stands = fit(pattern, &seen.simple.words, reading);
    let others = if reading == Reading::Wide { seen.others.as_slice() } else { &[] };
    others.iter().map(|words| fit(pattern, words, reading)).fold(as_it_stands, Fit::max)
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
fn split(text: &str) -> Result<Vec<String>, String> {
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
                        None => return Err(format!("{text:?} lacks a closing {letter}")),
                    }
                }
                let word = word.get_or_insert_default();
                // A quoted | is a word and leads to no other command.
                word.push_str(&escaped(&quoted).replace('|', "\\|"));
            }
            '\\' => {
                let word = word.get_or_insert_default();
                word.push('\\');
                word.push(letters.next().ok_or_else(|| format!("{text:?} ends in a backslash"))?);
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
        let seen = Seen::new(&script.commands[0]);
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
