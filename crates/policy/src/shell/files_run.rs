//! The files that commands run: programs, scripts, and the files from which programs take commands by themselves.

use super::Simple;
use super::arguments::is_long;
use super::shells::{ShellRuns, is_shell, shell};

/// Interpreters: the first of their words that is not an option names a script.
const INTERPRETERS: [&str; 28] = [
    "awk",
    "bun",
    "csh",
    "deno",
    "elvish",
    "fish",
    "gawk",
    "groovy",
    "julia",
    "ksh",
    "lua",
    "mawk",
    "mksh",
    "node",
    "nu",
    "osascript",
    "perl",
    "php",
    "posh",
    "pwsh",
    "pypy",
    "python",
    "ruby",
    "swift",
    "tclsh",
    "tcsh",
    "yash",
    "zsh",
];

/// Programs, and the names of the files from which they take commands of a shell. A name that begins with a dot and has another one
/// is an ending.
const RECIPES: [(&[&str], &[&str]); 9] = [
    (&["make", "gmake"], &["Makefile", "makefile", "GNUmakefile", ".mk."]),
    (&["npm", "pnpm", "yarn", "bun"], &["package.json", ".npmrc", ".yarnrc.yml", ".pnpmfile.cjs"]),
    (&["just"], &["justfile", "Justfile", ".justfile", ".just."]),
    (&["rake"], &["Rakefile", "rakefile", "Rakefile.rb", "rakefile.rb"]),
    (&["ninja"], &["build.ninja"]),
    (&["task"], &["Taskfile.yml", "Taskfile.yaml"]),
    (&["pre-commit"], &[".pre-commit-config.yaml"]),
    (&["sqlite3"], &[".sqliterc"]),
    (&["psql"], &[".psqlrc"]),
];

/// The files that a shell reads when it starts interactively or as a login shell.
const START_FILES: [&str; 5] = [".bashrc", ".bash_profile", ".bash_login", ".profile", ".bash_logout"];

/// Subcommands of package managers that run nothing of a package.
const SHOWING: [&str; 14] = [
    "-v",
    "--version",
    "help",
    "info",
    "view",
    "show",
    "ls",
    "list",
    "outdated",
    "search",
    "config",
    "whoami",
    "why",
    "init",
];

/// The name of a program without the version at its end: `python3.12` is `python`.
pub(crate) fn unversioned(name: &str) -> &str {
    let short = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.').trim_end_matches('-');
    if short.is_empty() { name } else { short }
}

/// The words of a command that may name a file that it runs as a program or script.
pub(crate) fn files_run(simple: &Simple) -> Vec<usize> {
    let Some((program, rest)) = simple.words.split_first() else { return Vec::new() };
    let name = simple.program();
    let mut found: Vec<usize> = program.text.contains('/').then_some(0).into_iter().collect();
    let operand =
        |from: usize| rest.iter().skip(from).position(|word| !word.text.starts_with(['-', '+'])).map(|at| from + at);
    match name {
        "." | "source" => found.extend(rest.iter().position(|word| word.text != "--").map(|at| at + 1)),
        name if is_shell(name) => {
            if let ShellRuns::File(at) = shell(rest) {
                found.push(at + 1);
            }
        }
        name if INTERPRETERS.contains(&unversioned(name)) => {
            let Some(first) = operand(0) else { return found };
            found.push(first + 1);
            // It may be a subcommand, or the value of the option before it.
            let is_value = matches!(name, "bun" | "deno")
                || first.checked_sub(1).and_then(|at| rest.get(at)).is_some_and(|word| !word.text.contains('='));
            found.extend(operand(first + 1).filter(|_| is_value).map(|at| at + 1));
        }
        _ => {}
    }
    found
}

/// The names of the files from which a command takes commands of a shell by itself.
pub(super) fn recipes(simple: &Simple) -> Vec<&str> {
    let rest = simple.words.get(1..).unwrap_or_default();
    let name = simple.program();
    if is_shell(name) {
        let starts = rest.iter().any(|word| {
            let letters = word.text.strip_prefix('-').unwrap_or_default();
            word.text == "--login" || !letters.starts_with('-') && letters.contains(['i', 'l'])
        });
        return if starts { START_FILES.to_vec() } else { Vec::new() };
    }
    let Some((names, files)) = RECIPES.iter().find(|(names, _)| names.contains(&name)) else { return Vec::new() };
    if names.contains(&"npm") && rest.first().is_some_and(|word| SHOWING.contains(&word.text.as_str())) {
        return Vec::new();
    }
    let mut found = files.to_vec();
    // The recipe that an option names.
    for (at, word) in rest.iter().enumerate() {
        let text = word.text.as_str();
        let long = text.split_once('=').filter(|(given, _)| is_recipe_option(given));
        match (long, text.strip_prefix("-f")) {
            (Some((_, value)), _) => found.push(value),
            (None, Some("")) => found.extend(rest.get(at + 1).map(|word| word.text.as_str())),
            (None, Some(value)) => found.push(value),
            (None, None) if is_recipe_option(text) => {
                found.extend(rest.get(at + 1).map(|word| word.text.as_str()));
            }
            (None, None) => {}
        }
    }
    found
}

fn is_recipe_option(given: &str) -> bool {
    ["--file", "--makefile", "--justfile", "--rakefile", "--taskfile"].iter().any(|option| is_long(given, option))
}
