//! Patterns that no call can match. The error states what to write instead.

use super::error::NeverMatches;
use super::foreign::commands;

/// Tools of Mainpath's own that have neither files nor commands nor addresses: only their arguments can be compared.
const OF_ARGUMENTS: [&str; 10] = [
    "ask_human",
    "get_experience",
    "goal",
    "knowledge_save",
    "knowledge_search",
    "process_list",
    "process_output",
    "process_stop",
    "redis_context",
    "web_search",
];

/// Words of the shell's own language: none of them is a program.
const KEYWORDS: [&str; 19] = [
    "!", "[[", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "select",
    "then", "until", "while", "}",
];

/// Arguments of the file tools.
const OF_FILES: [&str; 10] =
    ["content", "contents", "edits", "file", "file_path", "limit", "new_text", "offset", "old_text", "path"];

/// Checks that some call may fit the words of a pattern. `tool`: its own name; `written`: as the pattern has it. Errors: none can; what to
/// write.
pub(super) fn check(tool: &str, written: &str, inner: &str) -> Result<(), NeverMatches> {
    match tool {
        "bash" | "sandbox" => command(written, inner),
        "read_text_file" | "write_text_file" | "edit_text_file" => file(tool, written, inner),
        "list_files" | "glob" | "grep" if !inner.contains('=') => path(written, inner),
        _ if OF_ARGUMENTS.contains(&tool) || tool.starts_with("mcp__") => arguments(written, inner),
        _ => Ok(()),
    }
}

fn command(written: &str, inner: &str) -> Result<(), NeverMatches> {
    let words = bare(inner);
    let rest = inner.split_once(char::is_whitespace).map_or("…", |(_, rest)| rest.trim());
    let first = words.first().map(String::as_str).unwrap_or_default();
    if let Some((name, value)) = first.split_once('=').filter(|(name, _)| is_name(name)) {
        let written = written.into();
        return Err(match name {
            "command" => {
                let command = format!("{value} {rest}").trim_end_matches(" …").into();
                NeverMatches::NamedCommand { written, command }
            }
            _ => NeverMatches::Variable { written, command: rest.into() },
        });
    }
    if words.iter().any(|word| word.ends_with("*,")) {
        return Err(NeverMatches::List(commands(written, inner)));
    }
    if let (Some(program), [_]) = (first.strip_suffix(":*").filter(|program| !program.is_empty()), words.as_slice()) {
        return Err(NeverMatches::Colon { written: written.into(), program: program.into() });
    }
    if KEYWORDS.contains(&first) {
        return Err(NeverMatches::Keyword(first.into()));
    }
    let is_list = |word: &String| {
        matches!(word.as_str(), "&&" | "||" | "&") || word.len() > 1 && (word.starts_with(';') || word.ends_with(';'))
    };
    if let Some(word) = words.iter().find(|word| is_list(word)) {
        return Err(NeverMatches::Separator(word.clone()));
    }
    let is_redirection = |word: &&String| {
        let operator = word.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '&');
        operator.starts_with('>') && !operator.starts_with(">(") || matches!(operator, "<" | "<<" | "<<<")
    };
    if let Some(word) = words.iter().find(is_redirection) {
        let tool = if word.contains('>') { "write" } else { "read" };
        return Err(NeverMatches::Redirection { word: word.clone(), tool });
    }
    let substitutes = |word: &&String| {
        word.contains('`') || word.split("$(").skip(1).any(|inner| !inner.starts_with(['*', '…', '(']))
    };
    match words.iter().find(substitutes) {
        Some(word) => Err(NeverMatches::Substitution(word.clone())),
        None => Ok(()),
    }
}

/// Checks that some command may fit these words. Errors: none can.
pub(crate) fn check_command(words: &str) -> Result<(), NeverMatches> {
    command("bash", words)
}

fn file(tool: &str, written: &str, inner: &str) -> Result<(), NeverMatches> {
    let Some((name, value)) = inner.split_once('=').filter(|(name, _)| OF_FILES.contains(&name.trim())) else {
        return path(written, inner);
    };
    match (tool, name.trim()) {
        ("write_text_file" | "edit_text_file", "content") => Ok(()),
        (_, "path" | "file" | "file_path") => {
            Err(NeverMatches::NamedPath { written: written.into(), path: value.trim().into() })
        }
        ("read_text_file", _) => Err(NeverMatches::ContentOfRead(written.into())),
        (_, name) => Err(NeverMatches::FileArgument { written: written.into(), argument: name.into() }),
    }
}

fn path(written: &str, inner: &str) -> Result<(), NeverMatches> {
    if inner.contains("://") {
        return Err(NeverMatches::AddressAsPath(inner.into()));
    }
    let folder = inner.trim_end_matches('/');
    if folder != inner && !folder.is_empty() {
        return Err(NeverMatches::Slash { written: written.into(), folder: folder.into() });
    }
    if inner == "." || inner == "./" {
        return Err(NeverMatches::Workspace(written.into()));
    }
    if inner == "~" || inner.starts_with('~') && !inner.starts_with("~/") {
        return Err(NeverMatches::Home(inner.into()));
    }
    let relative = inner.strip_prefix("./").unwrap_or(inner);
    let steps = relative.strip_prefix('/').unwrap_or(relative);
    match !steps.is_empty() && steps.split('/').any(|step| step.is_empty() || step == ".") {
        true => Err(NeverMatches::Step(inner.into())),
        false => Ok(()),
    }
}

fn arguments(written: &str, inner: &str) -> Result<(), NeverMatches> {
    let compares = inner
        .split_once('=')
        .is_some_and(|(name, _)| name.trim().chars().all(|c| c.is_alphanumeric() || "_-.".contains(c)));
    match compares
        || matches!(inner, "*" | "**")
        || inner.contains("://")
        || inner.split_once(' ').is_some_and(|(methods, _)| is_methods(methods))
    {
        true => Ok(()),
        false => Err(NeverMatches::Words { written: written.into(), words: inner.into() }),
    }
}

/// Returns true if it looks like `GET,POST`.
fn is_methods(text: &str) -> bool {
    text.chars().all(|letter| letter.is_ascii_uppercase() || letter == ',')
}

fn is_name(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// The words of a pattern, without the letters that are quoted.
fn bare(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut begun) = (Vec::new(), String::new(), None, false);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(end), letter) if letter == end => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => (quote, begun) = (Some(letter), true),
            (None, '\\') => {
                letters.next();
                begun = true;
            }
            (None, letter) if letter.is_whitespace() => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            (None, letter) => {
                word.push(letter);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}
