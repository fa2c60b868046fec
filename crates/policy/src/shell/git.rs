//! What git runs beside itself (git 2.47: `git help` of each command, `git help config`).

use super::Word;
use super::editor::is_plain_editor;
use super::inner::Inner;

/// Options before the subcommand that take the next word as their value.
const VALUED: [&str; 4] = ["-C", "--git-dir", "--work-tree", "--namespace"];

/// Keys of settings that name no program, or their beginnings where they end in a dot.
const HARMLESS: [&str; 34] = [
    "advice.",
    "author.",
    "color.",
    "column.",
    "committer.",
    "commit.gpgsign",
    "commit.verbose",
    "core.abbrev",
    "core.autocrlf",
    "core.bare",
    "core.compression",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.longpaths",
    "core.quotepath",
    "core.symlinks",
    "core.whitespace",
    "diff.algorithm",
    "diff.mnemonicprefix",
    "diff.noprefix",
    "diff.renames",
    "fetch.",
    "gc.auto",
    "http.",
    "init.defaultbranch",
    "log.",
    "merge.conflictstyle",
    "merge.ff",
    "pull.",
    "push.",
    "tag.gpgsign",
    "user.",
    "safe.",
];

/// Programs that show or accept what they are given.
const HARMLESS_PROGRAMS: [&str; 6] = ["", "cat", "less", "true", ":", "false"];

/// Options with a command as their value: `-x evil`, `-xevil`, `--exec evil`, `--exec=evil`. By the subcommand, which is empty
/// where it does not matter.
const RUNS: [(&str, &[&str]); 13] = [
    ("", &["--upload-pack", "--receive-pack"]),
    ("rebase", &["-x", "--exec"]),
    ("difftool", &["-x", "--extcmd"]),
    ("grep", &["-O", "--open-files-in-pager"]),
    ("clone", &["-u"]),
    ("push", &["--exec"]),
    ("send-pack", &["--exec"]),
    ("fetch-pack", &["--exec"]),
    ("ls-remote", &["--exec"]),
    ("archive", &["--exec"]),
    ("send-email", &["--sendmail-cmd", "--to-cmd", "--cc-cmd", "--header-cmd", "--smtp-server"]),
    ("instaweb", &["-d", "--httpd", "-b", "--browser"]),
    ("help", &["--web"]),
];

/// Subcommands that run what their settings, files or arguments say.
const OPAQUE: [&str; 9] =
    ["shell", "hook", "for-each-repo", "remote-ext", "remote-fd", "web--browse", "mergetool", "credential", "daemon"];

/// Subcommands where a word that is not written out may be one of those options.
const TELLING: [&str; 5] = ["rebase", "bisect", "submodule", "filter-branch", "difftool"];

/// Options of their own that another begins with.
const WHOLE: [&str; 2] = ["--to", "--cc"];

/// Whether git may take a word for a long option: the beginning of one is as good as the whole, if no other begins so.
fn begins(given: &str, option: &str) -> bool {
    given == option || given.len() > 2 && option.starts_with(given) && !WHOLE.contains(&given)
}

/// The setting that `-c` or `--config` gives: attached, or in the next word.
fn given_setting(attached: Option<&str>, word: &Word, next: Option<&Word>) -> Option<Inner> {
    match (attached, next) {
        (Some(value), _) => setting(value, word.fixed),
        (None, Some(word)) => setting(&word.text, word.fixed),
        (None, None) => None,
    }
}

/// What `git` with these words runs.
pub(super) fn inner(mut words: &[Word]) -> Vec<Inner> {
    let mut inner = Vec::new();
    let unclear = |what: &str| Inner::Unclear(format!("what git runs by {what} cannot be told"));
    while let Some((word, rest)) = words.split_first() {
        let text = word.text.as_str();
        // Neither an option nor a subcommand that is not written out can be told.
        if !word.fixed {
            inner.push(unclear(&format!("{text:?}")));
        }
        if text == "-c" {
            inner.extend(rest.first().and_then(|word| setting(&word.text, word.fixed)));
            words = rest.get(1..).unwrap_or_default();
        } else if text.starts_with("--config-env") || text.starts_with("--exec-path=") || text == "--super-prefix" {
            inner.push(unclear(text));
            words = rest.get(usize::from(!text.contains('='))..).unwrap_or_default();
        } else if VALUED.contains(&text) {
            words = rest.get(1..).unwrap_or_default();
        } else if text.starts_with('-') {
            words = rest;
        } else {
            inner.extend(subcommand(text, rest));
            return inner;
        }
    }
    inner
}

/// What a setting `KEY=VALUE` makes git run, if it may be anything.
fn setting(text: &str, fixed: bool) -> Option<Inner> {
    let (key, value) = text.split_once('=').unwrap_or((text, "true"));
    let key = key.to_lowercase();
    let is_harmless = HARMLESS.iter().any(|name| key == *name || name.ends_with('.') && key.starts_with(name))
        || key == "protocol.version"
        || key.starts_with("protocol.") && key != "protocol.ext.allow" && key != "protocol.allow"
        || key == "core.fsmonitor" && matches!(value, "true" | "false");
    // Mail of a proxy and the like have programs of their own.
    let is_harmless = is_harmless && !["http.proxyauthmethod", "user.signingkey"].contains(&key.as_str());
    let names_program =
        key.starts_with("pager.") || ["core.pager", "core.editor", "sequence.editor"].contains(&key.as_str());
    match value.strip_prefix('!') {
        _ if is_harmless && (fixed || !key.contains('$')) => None,
        _ if names_program && fixed && HARMLESS_PROGRAMS.contains(&value) => None,
        // An editor may write commands into the steps of a rebase.
        None if key.ends_with(".editor") && fixed && !is_plain_editor(value) => {
            Some(Inner::Unclear(format!("what git runs by the setting {text:?} cannot be told")))
        }
        Some(script) if fixed => Some(Inner::Script(script.into())),
        _ if names_program && fixed => Some(Inner::Script(value.into())),
        _ => Some(Inner::Unclear(format!("what git runs by the setting {text:?} cannot be told"))),
    }
}

fn subcommand(name: &str, rest: &[Word]) -> Vec<Inner> {
    let mut inner = Vec::new();
    let unclear = |what: &str| Inner::Unclear(format!("what git {name} runs by {what} cannot be told"));
    if OPAQUE.contains(&name) && !rest.iter().any(|word| matches!(word.text.as_str(), "-h" | "--help")) {
        inner.push(unclear("itself"));
    }
    if TELLING.contains(&name) && rest.iter().any(|word| word.many) {
        inner.push(unclear("words that are not written out"));
    }
    // An address such as `ext::sh -c …` is a command for the program git-remote-ext.
    if rest.iter().any(|word| {
        word.text.split_once("::").is_some_and(|(helper, _)| {
            !helper.is_empty() && helper.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        })
    }) {
        inner.push(unclear("an address of a helper"));
    }
    for (at, word) in rest.iter().enumerate() {
        let text = word.text.as_str();
        let options = RUNS.iter().filter(|(of, _)| of.is_empty() || *of == name).flat_map(|(_, options)| *options);
        let filters = name == "filter-branch"
            && text.starts_with("--")
            && text.split('=').next().is_some_and(|option| option.ends_with("-filter"));
        let next = || rest.get(at + 1);
        if filters || text == "--filter-branch" {
            inner.push(script(text.split_once('=').map(|(_, script)| (script, word.fixed)), next(), name));
        }
        for option in options {
            let is_long = option.starts_with("--");
            let (given, value) = text.split_once('=').map_or((text, None), |(given, value)| (given, Some(value)));
            if is_long && begins(given, option) {
                inner.push(script(value.map(|value| (value, word.fixed)), next(), name));
            } else if !is_long && text.starts_with(option) && !text.starts_with("--") {
                let attached = text.get(option.len()..).filter(|value| !value.is_empty());
                inner.push(script(attached.map(|value| (value, word.fixed)), next(), name));
            }
        }
        match (name, text) {
            ("clone" | "init", text) if text.starts_with("-c") => {
                let value = text.strip_prefix("-c").filter(|value| !value.is_empty());
                inner.extend(given_setting(value, word, next()));
            }
            ("clone" | "init", text) => {
                let (given, value) = text.split_once('=').map_or((text, None), |(given, value)| (given, Some(value)));
                if begins(given, "--config") {
                    inner.extend(given_setting(value, word, next()));
                }
                if begins(given, "--template") && value != Some("") {
                    inner.push(unclear("the hooks of a template"));
                }
            }
            (_, text) if begins(text, "--ext-diff") => inner.push(unclear("--ext-diff")),
            _ => {}
        }
    }
    match (name, rest) {
        ("bisect", [run, command @ ..]) if run.text == "run" => inner.push(Inner::Command(command.to_vec())),
        ("submodule", words) => {
            let at = words.iter().position(|word| word.text == "foreach");
            let command = at.and_then(|at| words.get(at + 1..)).unwrap_or_default();
            let is_option = |word: &&Word| matches!(word.text.as_str(), "--recursive" | "-q" | "--quiet");
            let command = command.get(command.iter().take_while(is_option).count()..).unwrap_or_default();
            match command {
                [] => {}
                [only] => inner.push(script(Some((&only.text, only.fixed)), None, name)),
                more => inner.push(Inner::Command(more.to_vec())),
            }
        }
        ("config", words) => {
            let plain: Vec<&Word> =
                words.iter().filter(|word| !word.text.starts_with('-') && word.text != "set").collect();
            let reads = words.iter().any(|word| {
                word.text.starts_with("--get")
                    || matches!(word.text.as_str(), "get" | "list" | "unset" | "--unset" | "--list" | "-l")
            });
            if let ([key, value, ..], false) = (plain.as_slice(), reads) {
                inner.extend(setting(&format!("{}={}", key.text, value.text), key.fixed && value.fixed));
            }
        }
        _ => {}
    }
    inner
}

/// The command in the value of an option: its own, or the next word.
fn script(own: Option<(&str, bool)>, next: Option<&Word>, name: &str) -> Inner {
    match own.or(next.map(|word| (word.text.as_str(), word.fixed))) {
        Some((script, true)) => Inner::Script(script.into()),
        _ => Inner::Unclear(format!("what git {name} runs is not written out")),
    }
}
