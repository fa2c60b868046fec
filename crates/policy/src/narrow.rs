//! "Always allow": the narrowest rule that would allow just this kind of call.

use crate::glob::escaped;
use crate::pattern::{Address, check_command, quoted};
use crate::shell::{self, Simple};
use crate::{CallFacts, PathFact};
use mainpath_types::{Destination, EffectClass};
use std::fmt;

/// A rule as `--allow` takes it: patterns that allow a kind of call together. As text they
/// stand on lines of their own, and a rule file takes that text as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleText(Vec<String>);

impl fmt::Display for RuleText {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0.join("\n"))
    }
}

/// The rule for all files of the workspace; it does not cover those that other programs run or obey.
pub const EVERY_FILE_HERE: &str = "write(**)";

/// Whether a rule that [`narrowest`] made is for nothing but changes to files of the workspace, so that [`EVERY_FILE_HERE`] says
/// more of the same.
pub fn is_for_files_here(rule: &str) -> bool {
    let is_here = |line: &str| line.strip_prefix("write(").is_some_and(|path| !path.starts_with(['/', '~', '\\', ':']));
    rule.lines().all(is_here)
}

/// Programs whose first word says what they do: with these first words, other arguments do more of the same. What their options
/// write is a part of its own (`shell/output_options.rs`), which a rule for the command does not cover.
const USUAL: [(&str, &[&str]); 11] = [
    ("git", &["status", "diff", "log", "show", "add", "commit", "blame", "rev-parse", "ls-files"]),
    ("cargo", &["build", "check", "test", "clippy", "fmt", "doc", "tree", "bench"]),
    ("npm", &["test", "ls", "ci", "outdated"]),
    ("pnpm", &["test", "ls", "outdated"]),
    ("yarn", &["test", "why"]),
    ("go", &["build", "test", "vet", "fmt", "doc", "list"]),
    ("pip", &["list", "show", "check"]),
    ("docker", &["ps", "images", "logs", "inspect"]),
    ("kubectl", &["get", "describe", "logs"]),
    ("gh", &["status"]),
    ("ruff", &["check"]),
];

/// Programs that do the same whatever their arguments: they look, or check and test. Not those whose arguments are what they do,
/// such as `make` and `mvn`, which take several targets, or `jq`, whose programs show the environment, and not those that write
/// without being told where, such as `tsc`.
const PLAIN: [&str; 13] =
    ["ls", "cat", "head", "tail", "wc", "grep", "diff", "stat", "du", "df", "pytest", "mypy", "eslint"];

/// The most commands of a line that a rule is made for: more than that is no kind of call.
const MOST_COMMANDS: usize = 5;

/// The narrowest rule that would allow such a call: of a command its very words, or program and subcommand where any
/// arguments are usual; of a file that file; of an address its method, host and path. `None` where no rule is sensible.
pub fn narrowest(facts: &CallFacts) -> Option<RuleText> {
    let mut rules = Vec::new();
    for line in &facts.commands {
        let script = shell::read(line);
        let asked: Vec<&Simple> = script.commands.iter().filter(|simple| !simple.is_harmless()).collect();
        if !script.unclear.is_empty() || script.tainted.is_some() || asked.len() > MOST_COMMANDS {
            return None;
        }
        let asked = if asked.is_empty() { script.commands.iter().collect() } else { asked };
        for simple in asked {
            rules.push(format!("bash({})", command(simple)?));
        }
        for file in script.files {
            if !file.path.fixed {
                return None;
            }
            let tool = if file.write { "write" } else { "read" };
            let home = file.path.text.strip_prefix("~/");
            let named =
                home.map_or_else(|| path(&file.path.text), |below| path(below).map(|below| format!("~/{below}")));
            rules.push(format!("{tool}({})", named?));
        }
    }
    for fact in &facts.paths {
        rules.push(file(facts, fact)?);
    }
    for fact in &facts.urls {
        rules.push(format!("{}({})", facts.tool, Address::new(fact).pattern()?));
    }
    if rules.is_empty() {
        match facts.effect {
            EffectClass::ProcessControl | EffectClass::MessageSend => return None,
            _ if facts.destinations.is_empty() => rules.push(escaped(&facts.tool)),
            _ => rules.push(destinations(facts)?),
        }
    }
    let mut seen = Vec::new();
    rules.retain(|rule| {
        !seen.contains(rule) && {
            seen.push(rule.clone());
            true
        }
    });
    Some(RuleText(rules))
}

/// A rule for calls to the destinations of this one.
fn destinations(facts: &CallFacts) -> Option<String> {
    let named = |destination: &Destination| {
        let value = &destination.value;
        let fits = !value.chars().any(char::is_control) && !value.contains(", ") && value.trim() == value;
        fits.then(|| format!("{}={}", destination.argument, escaped(value)))
    };
    let named: Vec<String> = facts.destinations.iter().map(named).collect::<Option<_>>()?;
    Some(format!("{}({})", escaped(&facts.tool), named.join(", ")))
}

fn command(simple: &Simple) -> Option<String> {
    let (program, rest) = simple.words.split_first()?;
    let first = rest.first().filter(|word| word.fixed).map(|word| word.text.as_str());
    let usual = USUAL.iter().find(|(name, _)| *name == program.text).map(|(_, firsts)| *firsts);
    if let (Some(firsts), Some(first)) = (usual, first)
        && firsts.contains(&first)
    {
        return Some(format!("{} {first} *", program.text));
    }
    if let ("npm" | "pnpm" | "yarn", [run, script, ..]) = (program.text.as_str(), rest)
        && run.text == "run"
        && script.fixed
    {
        return Some(format!("{} run {} *", program.text, quoted(&script.text)));
    }
    if PLAIN.contains(&program.text.as_str()) {
        return Some(format!("{} *", program.text));
    }
    let is_plain = |text: &str| !text.chars().any(char::is_control);
    let all = simple.words.iter().all(|word| word.fixed && is_plain(&word.text));
    all.then_some(())?;
    let words = rest.iter().map(|word| quoted(&word.text));
    Some(std::iter::once(quoted_program(&program.text)?).chain(words).collect::<Vec<_>>().join(" "))
}

/// A program as the first word of a pattern. Errors: `None` where it cannot be told from what is no program.
fn quoted_program(text: &str) -> Option<String> {
    let plain = quoted(text);
    let is_program = |text: &str| check_command(text).is_ok();
    let in_quotes =
        ["'", "\""].into_iter().filter(|quote| !text.contains(*quote)).map(|quote| format!("{quote}{text}{quote}"));
    std::iter::once(plain).chain(in_quotes).find(|text| is_program(text))
}

/// A rule for one file.
fn file(facts: &CallFacts, fact: &PathFact) -> Option<String> {
    let named = path(fact.relative.as_deref().filter(|relative| !relative.is_empty()).unwrap_or(&fact.absolute))?;
    let tool = match (facts.effect, fact.write) {
        (EffectClass::LocalWrite, true) => "write",
        (EffectClass::ReadOnly | EffectClass::LocalWrite, false) => "read",
        _ => facts.tool.as_str(),
    };
    Some(format!("{tool}({named})"))
}

/// A path as a pattern for itself alone.
fn path(path: &str) -> Option<String> {
    let fits = !path.is_empty() && path.len() < 500 && path.trim() == path && !path.chars().any(char::is_control);
    // A folder of the workspace may be called as the home is written, or begin as a word for certain files does.
    let home = if path.starts_with(['~', ':']) { "\\" } else { "" };
    // What comes before it may be taken for an argument's name.
    let here = if path.contains('=') && home.is_empty() && !path.starts_with('/') { "./" } else { "" };
    fits.then(|| format!("{here}{home}{}", escaped(path)))
}
