//! Patterns that no call can match. The error states what to write instead.

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
pub(super) fn check(tool: &str, written: &str, inner: &str) -> Result<(), String> {
    match tool {
        "bash" | "sandbox" => command(written, inner),
        "read_text_file" | "write_text_file" | "edit_text_file" => file(tool, written, inner),
        "list_files" | "glob" | "grep" if !inner.contains('=') => path(written, inner),
        _ if OF_ARGUMENTS.contains(&tool) || tool.starts_with("mcp__") => arguments(written, inner),
        _ => Ok(()),
    }
}

fn command(written: &str, inner: &str) -> Result<(), String> {
    let words = bare(inner);
    let rest = inner.split_once(char::is_whitespace).map_or("…", |(_, rest)| rest.trim());
    let first = words.first().map(String::as_str).unwrap_or_default();
    if let Some((name, value)) = first.split_once('=').filter(|(name, _)| is_name(name)) {
        return Err(match name {
            "command" => {
                format!("a command is written alone: {written}({})", format!("{value} {rest}").trim_end_matches(" …"))
            }
            _ => format!("a variable set before a command is not one of its words; write {written}({rest})"),
        });
    }
    if let (Some(program), [_]) = (first.strip_suffix(":*").filter(|program| !program.is_empty()), words.as_slice()) {
        return Err(format!(
            "no program is called {program:?} and a colon; with any arguments write {written}({program} *)"
        ));
    }
    if KEYWORDS.contains(&first) {
        return Err(format!("{first:?} is a word of the shell, not a program; write a rule for the command after it"));
    }
    let is_list = |word: &String| {
        matches!(word.as_str(), "&&" | "||" | "&") || word.len() > 1 && (word.starts_with(';') || word.ends_with(';'))
    };
    if let Some(word) = words.iter().find(|word| is_list(word)) {
        return Err(format!(
            "a command line is judged command by command, so no command contains {word:?}; write one rule for each \
             command, or quote the word"
        ));
    }
    let is_redirection = |word: &&String| {
        let operator = word.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '&');
        operator.starts_with('>') && !operator.starts_with(">(") || matches!(operator, "<" | "<<" | "<<<")
    };
    if let Some(word) = words.iter().find(is_redirection) {
        let tool = if word.contains('>') { "write" } else { "read" };
        return Err(format!(
            "a redirection such as {word:?} is not part of a command; write {tool}(FILE), or quote the word"
        ));
    }
    let substitutes = |word: &&String| {
        word.contains('`') || word.split("$(").skip(1).any(|inner| !inner.starts_with(['*', '…', '(']))
    };
    match words.iter().find(substitutes) {
        Some(word) => Err(format!(
            "a command inside another, as in {word:?}, is judged on its own; write one rule for each command, or quote the word"
        )),
        None => Ok(()),
    }
}

/// Checks that some command may fit these words. Errors: none can.
pub(crate) fn check_command(words: &str) -> Result<(), String> {
    command("bash", words)
}

fn file(tool: &str, written: &str, inner: &str) -> Result<(), String> {
    let Some((name, value)) = inner.split_once('=').filter(|(name, _)| OF_FILES.contains(&name.trim())) else {
        return path(written, inner);
    };
    match (tool, name.trim()) {
        ("write_text_file" | "edit_text_file", "content") => Ok(()),
        (_, "path" | "file" | "file_path") => Err(format!("the path is written alone: {written}({})", value.trim())),
        ("read_text_file", _) => Err(format!(
            "what a file contains is not known before it is read; write {written}(PATH), such as {written}(src/**)"
        )),
        (_, name) => {
            Err(format!("{written} has no {name:?} to compare; the text that is written is {written}(content=…)"))
        }
    }
}

fn path(written: &str, inner: &str) -> Result<(), String> {
    if inner.contains("://") {
        return Err(format!("{inner:?} is an address, not a file; write web_fetch({inner}) or http_request({inner})"));
    }
    let folder = inner.trim_end_matches('/');
    if folder != inner && !folder.is_empty() {
        return Err(format!("no path ends in a slash; write {written}({folder}/**) for all that is in the folder"));
    }
    if inner == "." || inner == "./" {
        return Err(format!("write {written}(**) for everything in the workspace"));
    }
    if inner == "~" || inner.starts_with('~') && !inner.starts_with("~/") {
        return Err(format!("{inner:?} cannot be resolved; write ~/ for your home, or the absolute path"));
    }
    let relative = inner.strip_prefix("./").unwrap_or(inner);
    let steps = relative.strip_prefix('/').unwrap_or(relative);
    match !steps.is_empty() && steps.split('/').any(|step| step.is_empty() || step == ".") {
        true => Err(format!("{inner:?} has an empty step or a . step, which no resolved path has; leave it out")),
        false => Ok(()),
    }
}

fn arguments(written: &str, inner: &str) -> Result<(), String> {
    let compares = inner
        .split_once('=')
        .is_some_and(|(name, _)| name.trim().chars().all(|c| c.is_alphanumeric() || "_-.".contains(c)));
    match compares
        || matches!(inner, "*" | "**")
        || inner.contains("://")
        || inner.split_once(' ').is_some_and(|(methods, _)| is_methods(methods))
    {
        true => Ok(()),
        false => Err(format!(
            "{written} is compared by its arguments; write {written}(NAME=VALUE), such as {written}(text=*{inner}*)"
        )),
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
