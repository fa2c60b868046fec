//! What was probably meant by a word that is none.

use crate::commands::Cli;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};
use std::error::Error;

/// What other programs call these commands.
const OTHER_WORDS: [(&str, &str); 26] = [
    ("undo", "rewind"),
    ("rollback", "rewind"),
    ("checkout", "rewind"),
    ("retry", "regenerate"),
    ("redo", "regenerate"),
    ("branch", "fork"),
    ("list", "ls"),
    ("status", "ls"),
    ("search", "ls --search"),
    ("logs", "show"),
    ("log", "show"),
    ("history", "show"),
    ("cat", "show"),
    ("tail", "watch"),
    ("follow", "watch"),
    ("ask", "run"),
    ("start", "run"),
    ("new", "run"),
    ("kill", "stop"),
    ("cancel", "stop"),
    ("abort", "stop"),
    ("reset", "clear"),
    ("delete", "rm"),
    ("cost", "stats"),
    ("usage", "stats"),
    ("login", "models"),
];

/// The word that is nearest, if one is near: few letters changed, and no more than a third of them.
pub fn nearest<'w>(word: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let letters = word.chars().count();
    let far = |other: &str| strsim::damerau_levenshtein(word, other);
    let near = words.into_iter().map(|other| (far(other), other.chars().count().abs_diff(letters), other));
    // Where as much is changed, letters that changed places come before one that is missing.
    let near = near.filter(|(far, ..)| *far <= 2 && far * 3 <= letters).min_by_key(|(far, by, _)| (*far, *by));
    near.map(|(_, _, other)| other)
}

/// A command or an option that there is not, in a line that says what may have been meant; `None` for other mistakes.
pub fn told(error: &clap::Error, words: &[String]) -> Option<String> {
    let text = |kind| match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        _ => None,
    };
    let root = Cli::command();
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let (wrong, (at, path)) = (text(ContextKind::InvalidSubcommand)?, at(&root, words));
            let names =
                at.get_subcommands().flat_map(|one| std::iter::once(one.get_name()).chain(one.get_all_aliases()));
            let other = OTHER_WORDS.iter().filter(|_| path == "mainpath").find(|(word, _)| *word == wrong);
            let near = other.map(|(_, meant)| *meant).or_else(|| nearest(&wrong, names));
            let hint = near.map_or_else(
                || "; its commands:".to_string(),
                |near| format!("; did you mean {path} {near}? All commands:"),
            );
            Some(format!("{path} has no command {wrong:?}{hint} {path} --help"))
        }
        ErrorKind::UnknownArgument => {
            let wrong = text(ContextKind::InvalidArg)?;
            let (at, path) = at(&root, words);
            if !wrong.starts_with('-') {
                let said = at.get_positionals().find(|one| SENTENCES.contains(&one.get_id().as_str()))?;
                let name = said.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str());
                return Some(format!(
                    "{path} takes one {name}, and {wrong:?} is one word too many; put the {name} in quotes"
                ));
            }
            let name = wrong.trim_start_matches('-').split('=').next().unwrap_or_default();
            let longs: Vec<&str> = at.get_arguments().filter_map(|one| one.get_long()).collect();
            let near = nearest(name, longs.iter().copied());
            // One that only lacks a letter is as near as one with another letter.
            let far = |long: &str| strsim::damerau_levenshtein(name, long);
            let is_near = |long: &&str| {
                near.is_some_and(|near| near == *long || far(long) == far(near) && long.len() > name.len())
            };
            let meant: Vec<String> = longs.iter().copied().filter(is_near).map(|near| format!("--{near}")).collect();
            let hint = if meant.is_empty() { String::new() } else { format!("; did you mean {}?", meant.join(" or ")) };
            let dash = if wrong.starts_with("--") { "" } else { "; put -- before words that begin with a dash" };
            Some(format!("{path} has no option {wrong}{hint}{dash} (see {path} --help)"))
        }
        ErrorKind::ValueValidation => {
            let (arg, value) = (text(ContextKind::InvalidArg)?, text(ContextKind::InvalidValue)?);
            let why = match error.source()?.to_string() {
                why if NO_NUMBER.contains(&why.as_str()) => "expected a whole number, 0 or more".into(),
                why if why.starts_with("number too large") => "the number is too large".into(),
                why => why,
            };
            Some(format!("invalid value '{value}' for '{}': {why}", as_written(at(&root, words).0, &arg, words)))
        }
        _ => None,
    }
}

/// What the standard library says of a text that is no number.
const NO_NUMBER: [&str; 2] = ["invalid digit found in string", "cannot parse integer from empty string"];

/// The arguments that are whole sentences.
const SENTENCES: [&str; 2] = ["task", "text"];

/// The option by the name by which it was given, if that is another one.
fn as_written(at: &Command, arg: &str, words: &[String]) -> String {
    let long = arg.trim_start_matches('-').split(' ').next().unwrap_or_default();
    let option = at.get_arguments().find(|one| one.get_long() == Some(long));
    let names = option.and_then(|one| one.get_all_aliases()).unwrap_or_default();
    let is_given = |name: &&str| {
        let flag = format!("--{name}");
        words.iter().any(|word| word.split('=').next() == Some(&flag))
    };
    match names.into_iter().find(is_given) {
        Some(name) => arg.replacen(long, name, 1),
        None => arg.into(),
    }
}

/// The command that words lead to, and how it is called.
fn at<'c>(root: &'c Command, words: &[String]) -> (&'c Command, String) {
    let (mut at, mut path) = (root, String::from("mainpath"));
    for word in words.iter().filter(|word| !word.starts_with('-')) {
        let Some(next) = at.find_subcommand(word) else { break };
        path = format!("{path} {}", next.get_name());
        at = next;
    }
    (at, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_the_one_with_the_fewest_changes() {
        let words = ["run", "resume", "rm", "mode", "model", "config", "compact"];
        let near = |word| nearest(word, words);
        let found = [near("rnu"), near("modle"), near("confg"), near("resum"), near("xyz"), near("r")];
        assert_eq!(found, [Some("run"), Some("model"), Some("config"), Some("resume"), None, None]);
    }
}
