//! Programs that run a command in one of their options, and what reads its commands from somewhere else.

use super::Word;
use super::arguments::is_long;
use super::inner::Inner;

/// Programs, and the options whose value is a command: `-x evil`, `-xevil`, `--exec evil`, `--exec=evil`. From the manuals of GNU
/// tar 1.35, coreutils 9, findutils, zip 3, OpenSSH 9, rsync 3.4, ripgrep 14, man-db 2.13, cpio 2.15 and tcpdump 4.99.
const OPTIONS: &[(&[&str], &[&str])] = &[
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
    (&["sdiff", "diff3"], &["--diff-program"]),
    (&["zip"], &["-TT", "--unzip-command"]),
    (&["rsync"], &["-e", "--rsh", "--rsync-path"]),
    (&["scp", "sftp"], &["-S", "-D"]),
    (&["rg"], &["--pre", "--hostname-bin"]),
    (&["man"], &["-P", "--pager", "-H", "--html"]),
    (&["bat", "delta"], &["--pager"]),
    (&["cpio"], &["--rsh-command"]),
    (&["tcpdump"], &["-z"]),
    (&["wget"], &["--use-askpass"]),
    (&["fzf"], &["--preview", "--bind", "--with-shell"]),
    (&["dpkg"], &["--pre-invoke", "--post-invoke", "--status-logger"]),
    (&["svn"], &["--editor-cmd", "--diff-cmd", "--diff3-cmd"]),
    (&["yt-dlp", "youtube-dl"], &["--exec", "--exec-before-download"]),
    (&["npm", "pnpm", "yarn"], &["--script-shell", "--shell", "--editor", "--viewer", "--git"]),
    (&["ctest"], &["--launch-test"]),
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
    // `tar cfI x.tar evil y`: options without a dash, which take their values in order.
    let is_old = |word: &&Word| name.ends_with("tar") && !word.text.starts_with('-') && word.text.contains(['I', 'F']);
    if words.first().filter(is_old).is_some() {
        inner.push(unclear());
    }
    for (at, word) in words.iter().enumerate() {
        let text = word.text.as_str();
        if text == "--" {
            break;
        }
        for option in &options {
            // `--checkpoint-action=exec`: only such a value is a command.
            let (option, kind) = option.split_once('=').map_or((*option, None), |(option, kind)| (option, Some(kind)));
            let (given, value) = text.split_once('=').map_or((text, None), |(given, value)| (given, Some(value)));
            let found = match option.strip_prefix("--") {
                Some(_) if is_long(given, option) => Some(value.map(|value| (value, word.fixed))),
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
            match (own.or(next), kind) {
                (Some((value, true)), Some(kind)) => {
                    let script = value.strip_prefix(kind).and_then(|rest| rest.strip_prefix('='));
                    inner.extend(script.map(|script| Inner::Script(script.into())));
                }
                (Some((script, true)), None) => inner.push(Inner::Script(script.into())),
                _ => inner.push(unclear()),
            }
        }
    }
    inner
}

/// The programs that options of `go` run; they take one dash or two (`go help build`, 1.22).
pub(super) fn go(words: &[Word]) -> Vec<Inner> {
    let unclear = || Inner::Unclear("what go runs is not written out".into());
    let mut inner = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let text = word.text.strip_prefix("--").or(word.text.strip_prefix('-')).unwrap_or_default();
        let (given, value) = text.split_once('=').map_or((text, None), |(given, value)| (given, Some(value)));
        let next = words.get(at + 1).map(|word| (word.text.as_str(), word.fixed));
        match given {
            "toolexec" | "vettool" | "exec" => match value.map(|value| (value, word.fixed)).or(next) {
                Some((script, true)) => inner.push(Inner::Script(script.into())),
                _ => inner.push(unclear()),
            },
            // The linker's own options name programs.
            "ldflags" | "gccgoflags"
                if value.or(next.map(|next| next.0)).is_some_and(|value| value.contains("-ext")) =>
            {
                inner.push(unclear());
            }
            _ => {}
        }
    }
    inner
}

/// Settings of `apt` that run nothing, by their beginnings (apt.conf(5)).
const HARMLESS_OF_APT: [&str; 11] = [
    "acquire::http",
    "acquire::retries",
    "acquire::check",
    "acquire::forceip",
    "acquire::languages",
    "apt::get::",
    "apt::install-",
    "debug::",
    "dpkg::lock::",
    "dpkg::options::=--force-",
    "dpkg::use-pty",
];

/// The programs that settings on the command line of `apt` run.
pub(super) fn apt(words: &[Word]) -> Vec<Inner> {
    let setting = |(at, word): (usize, &Word)| {
        let text = word.text.as_str();
        let attached = match text.split_once('=') {
            Some((given, value)) if is_long(given, "--option") => Some(value),
            _ => text.strip_prefix("-o").map(|value| value.trim_start_matches('=')).filter(|value| !value.is_empty()),
        };
        let is_option = text == "-o" || is_long(text, "--option");
        let next = words.get(at + 1).filter(|_| is_option).map(|word| (word.text.clone(), word.fixed));
        attached.map(|value| (value.to_string(), word.fixed)).or(next)
    };
    let runs = |(value, fixed): (String, bool)| {
        let value = value.to_lowercase();
        let is_harmless = HARMLESS_OF_APT.iter().any(|beginning| value.starts_with(beginning));
        !fixed || !is_harmless || value.contains("proxy-auto") || value.contains("proxyauto")
    };
    let found = words.iter().enumerate().filter_map(setting).any(runs);
    found.then(|| Inner::Unclear("what apt runs by its settings is not told apart".into())).into_iter().collect()
}

fn is_bundle(text: &str) -> bool {
    text.strip_prefix('-').is_some_and(|letters| letters.bytes().all(|byte| byte.is_ascii_alphabetic()))
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
        let given = text.split('=').next().unwrap_or_default();
        is_long(given, "--eval")
            || text.starts_with("-E")
            || text.starts_with("SHELL=")
            || text.starts_with(".SHELLFLAGS=")
    };
    let reads = |word: &Word, next: Option<&Word>| {
        let text = word.text.as_str();
        let is_file = |given: &str| is_long(given, "--file") || is_long(given, "--makefile");
        let value = match text.split_once('=') {
            Some((given, value)) if is_file(given) => Some((value, word.fixed)),
            _ if text == "-f" || is_file(text) => next.map(|word| (word.text.as_str(), word.fixed)),
            _ => text.strip_prefix("-f").map(|value| (value, word.fixed)),
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

/// Programs whose own commands can run others, and the words that tell it.
fn telling(name: &str) -> &'static [&'static str] {
    match name {
        "sqlite3" => &[".shell", ".system", ".sh ", ".import |", ".output |", ".once |", ".excel", ".load", "edit("],
        "psql" => &["\\!", "\\o |", "\\g |", "program"],
        "mysql" | "mariadb" => &["system", "\\!"],
        "less" | "more" => &["!", "|", "LESSOPEN"],
        "socat" => &["exec:", "system:", "shell:"],
        "nc" | "ncat" | "netcat" => &["-e", "-c", "--exec", "--sh-exec"],
        "gcc" | "cc" | "g++" | "clang" => &["-wrapper", "-fplugin"],
        "rustc" => &["linker="],
        "cargo" => &["runner", "rustc-wrapper", "linker"],
        "nix" | "nix-shell" | "nix-env" => &["-c", "--command", "--run"],
        "hg" => &["alias.", "hooks.", "extensions."],
        "rpm" | "rpmbuild" | "rpmspec" => &["%("],
        "svn" => &["tunnels:"],
        _ => &[],
    }
}

/// Returns true if a text that such a program is given tells that it runs another.
pub(super) fn tells(name: &str, text: &str) -> bool {
    let text = text.to_lowercase();
    telling(name).iter().any(|tell| if tell.starts_with('-') { text.starts_with(tell) } else { text.contains(tell) })
}

/// The commands that the words of such a program run.
pub(super) fn by_words(name: &str, words: &[Word]) -> Vec<Inner> {
    let has_option = name != "cargo" || words.iter().any(|word| word.text.starts_with("--config"));
    let found = has_option && words.iter().any(|word| tells(name, &word.text));
    found.then(|| Inner::Unclear(format!("what {name} runs is not told apart"))).into_iter().collect()
}

/// Returns true if such a program takes commands from its standard input.
pub(super) fn takes_commands(name: &str) -> bool {
    matches!(name, "sqlite3" | "psql" | "mysql" | "mariadb")
}
