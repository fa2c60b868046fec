//! Programs that run a command in one of their options, and what reads its commands from somewhere else.

use super::Word;
use super::inner::Inner;

/// Programs, and the options whose value is a command: `-x evil`, `-xevil`, `--exec evil`, `--exec=evil`. From the manuals of GNU
/// tar 1.35, coreutils 9, findutils, zip 3, OpenSSH 9, rsync 3.4, ripgrep 14, man-db 2.13, cpio 2.15 and tcpdump 4.99.
const OPTIONS: [(&[&str], &[&str]); 13] = [
    (
        &["tar", "gtar", "bsdtar"],
        &[
            "-I",
            "-F",
            "--use-compress-program",
            "--to-command",
            "--info-script",
            "--new-volume-script",
            "--rsh-command",
            "--rmt-command",
            "--checkpoint-action=exec",
        ],
    ),
    (&["sort"], &["--compress-program"]),
    (&["split"], &["--filter"]),
    (&["install"], &["--strip-program"]),
    (&["zip"], &["-TT", "--unzip-command"]),
    (&["rsync"], &["-e", "--rsh", "--rsync-path"]),
    (&["scp", "sftp"], &["-S"]),
    (&["rg"], &["--pre"]),
    (&["man"], &["-P", "--pager", "-H", "--html"]),
    (&["cpio"], &["--rsh-command"]),
    (&["tcpdump"], &["-z"]),
    (&["wget"], &["--use-askpass"]),
    (&["fzf"], &["--preview", "--bind", "--with-shell"]),
];

/// What an option of such a program runs, if this is one.
pub(super) fn in_options(name: &str, words: &[Word]) -> Vec<Inner> {
    let mut inner = Vec::new();
    let options = OPTIONS.iter().filter(|(names, _)| names.contains(&name)).flat_map(|(_, options)| *options);
    let options: Vec<&str> = options.copied().collect();
    if options.is_empty() {
        return inner;
    }
    let unclear = || Inner::Unclear(format!("what {name} runs is not written out"));
    for (at, word) in words.iter().enumerate() {
        let text = word.text.as_str();
        if text == "--" {
            break;
        }
        for option in &options {
            let (given, value) = match (option.contains('='), text.rsplit_once('=')) {
                (true, Some((given, value))) => (given, Some(value)),
                (false, _) => text.split_once('=').map_or((text, None), |(given, value)| (given, Some(value))),
                (true, None) => (text, None),
            };
            let found = match option.strip_prefix("--") {
                // Programs take the beginning of a long option for the whole.
                Some(_) if given.len() > 3 && option.starts_with(given) => Some(value.map(|value| (value, word.fixed))),
                None if text.starts_with(option) => {
                    let attached = text.get(option.len()..).filter(|value| !value.is_empty());
                    Some(attached.map(|value| (value, word.fixed)))
                }
                // Among other letters: `-xIf`.
                None if option.len() == 2 && is_bundle(text) && text.contains(option.trim_start_matches('-')) => {
                    inner.push(unclear());
                    None
                }
                _ => None,
            };
            let Some(own) = found else { continue };
            let next = words.get(at + 1).map(|word| (word.text.as_str(), word.fixed));
            inner.push(match own.or(next) {
                Some((script, true)) => Inner::Script(script.into()),
                _ => unclear(),
            });
        }
    }
    inner
}

fn is_bundle(text: &str) -> bool {
    text.strip_prefix('-')
        .is_some_and(|letters| letters.len() > 1 && letters.bytes().all(|byte| byte.is_ascii_alphabetic()))
}

/// What an `ssh` on this machine runs here: not what it runs there.
pub(super) fn ssh(words: &[Word]) -> Vec<Inner> {
    let keys = ["proxycommand", "localcommand", "knownhostscommand"];
    let mut inner = Vec::new();
    for word in words {
        let option = word.text.strip_prefix("-o").unwrap_or(&word.text).trim_start();
        let (key, value) = option.split_once(['=', ' ']).unwrap_or((option, ""));
        if keys.contains(&key.trim().to_lowercase().as_str()) {
            inner.push(match word.fixed {
                true => Inner::Script(value.trim().into()),
                false => Inner::Unclear("what ssh runs is not written out".into()),
            });
        }
    }
    inner
}

/// What `make` is told to do on its command line.
pub(super) fn make(words: &[Word]) -> Vec<Inner> {
    let told = |word: &Word| {
        let text = word.text.as_str();
        text.starts_with("--eval")
            || text.starts_with("-E")
            || text.starts_with("SHELL=")
            || text.starts_with(".SHELLFLAGS=")
    };
    let reads = |word: &Word, next: Option<&Word>| {
        let text = word.text.as_str();
        let value = match text {
            "-f" | "--file" | "--makefile" => next.map(|word| (word.text.as_str(), word.fixed)),
            _ => ["--file=", "--makefile=", "-f"]
                .iter()
                .find_map(|option| text.strip_prefix(option))
                .map(|value| (value, word.fixed)),
        };
        value.is_some_and(|(file, fixed)| !fixed || is_stream(file))
    };
    let at = words.iter().enumerate().find(|(at, word)| told(word) || reads(word, words.get(at + 1)));
    at.map(|_| Inner::Unclear("what make runs stands in its command line or comes from elsewhere".into()))
        .into_iter()
        .collect()
}

/// What `.` and `source` run.
pub(super) fn sourced(words: &[Word]) -> Vec<Inner> {
    match words.iter().find(|word| word.text != "--") {
        Some(word) if !word.fixed => {
            vec![Inner::Unclear(format!("what is read from {:?} is not written out", word.text))]
        }
        Some(word) if is_input(&word.text) => vec![Inner::Input],
        Some(word) if is_stream(&word.text) => vec![Inner::Unclear(format!("{:?} is not a file", word.text))],
        _ => Vec::new(),
    }
}

/// Whether a path is the standard input.
pub(super) fn is_input(path: &str) -> bool {
    path.ends_with("dev/stdin") || path.ends_with("/fd/0")
}

/// Whether a path is what a process has open, or `-`.
pub(super) fn is_stream(path: &str) -> bool {
    path == "-" || is_input(path) || path.contains("/fd/")
}

/// Whether a script of `sed` runs commands: the command `e` and the flag of that name (GNU sed 4.9).
pub(super) fn sed(words: &[Word]) -> Vec<Inner> {
    let runs = |script: &str| {
        script.split([';', '\n', '{', '}']).any(|command| {
            let command = after_address(command.trim_start());
            let flags = |command: &str| {
                let delimiter = command.chars().nth(1)?;
                command.rsplit(delimiter).next().map(|flags| flags.contains('e'))
            };
            match command.chars().next() {
                Some('e') => command.len() == 1 || command.starts_with("e ") || command.starts_with("e\t"),
                Some('s') => flags(command).unwrap_or(false),
                _ => false,
            }
        })
    };
    let is_script = |text: &str| !text.starts_with('-') || text.starts_with("-e") || text.starts_with("--expression");
    let text = |word: &Word| word.text.trim_start_matches("--expression=").trim_start_matches("-e").to_string();
    let found = words.iter().any(|word| is_script(&word.text) && runs(&text(word)));
    let found = found && !words.iter().any(|word| word.text == "--sandbox");
    found.then(|| Inner::Unclear("a script of sed runs commands".into())).into_iter().collect()
}

/// A command of `sed` without the lines that it is for.
fn after_address(command: &str) -> &str {
    let mut rest = command;
    loop {
        let short = rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || "$,!~+ \t".contains(letter));
        let pattern = short.strip_prefix('/').and_then(|inner| inner.find('/').and_then(|end| inner.get(end + 1..)));
        match pattern {
            Some(after) => rest = after,
            None => return short,
        }
    }
}

/// Programs whose own commands can run others; only where one does, in words that tell it.
pub(super) fn by_words(name: &str, words: &[Word]) -> Vec<Inner> {
    let tells: &[&str] = match name {
        "sqlite3" => &[".shell", ".system", ".sh ", ".import |", "edit("],
        "psql" => &["\\!", "\\o |", "\\g |", "program"],
        "mysql" | "mariadb" => &["system", "\\!"],
        "less" | "more" => &["!", "|", "LESSOPEN"],
        "socat" => &["exec:", "system:", "shell:"],
        "nc" | "ncat" | "netcat" => &["-e", "-c", "--exec", "--sh-exec"],
        "gcc" | "cc" | "g++" | "clang" => &["-wrapper"],
        "cargo" => &["runner", "rustc-wrapper", "linker"],
        "nix" | "nix-shell" | "nix-env" => &["-c", "--command", "--run"],
        _ => return Vec::new(),
    };
    let tells = |word: &Word| {
        let text = word.text.to_lowercase();
        tells.iter().any(|tell| if tell.starts_with('-') { text.starts_with(tell) } else { text.contains(tell) })
    };
    let has_option = name != "cargo" || words.iter().any(|word| word.text.starts_with("--config"));
    let found = has_option && words.iter().any(tells);
    found.then(|| Inner::Unclear(format!("what {name} runs is not told apart"))).into_iter().collect()
}
