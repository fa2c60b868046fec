//! The settings of a repository, of which some make git run programs.
//!
//! Whatever is not known to be harmless counts as harmful: git reads several hundred keys, and dozens of them name a program
//! (`core.fsmonitor`, `core.sshCommand`, `filter.*`, `diff.*`, `alias.*`, `include.path`, …; see `git help config`).

use std::collections::BTreeSet;

/// What stands for the settings: `None` if they are harmless as they are, else the same without the lines that are not known
/// to be harmless and were not there `before` in the same section. `is_inside`: whether a path from the repository's folder
/// stays in the workspace.
pub(crate) fn harmless(text: &str, before: &str, is_inside: &dyn Fn(&str) -> bool) -> Option<String> {
    let mut known = BTreeSet::new();
    filtered(before, &mut |section, key, value| {
        known.insert((section.text.clone(), key.to_string(), value.map(str::to_string)));
        true
    });
    filtered(text, &mut |section, key, value| {
        section.is_harmless(key, value, is_inside)
            || known.contains(&(section.text.clone(), key.to_string(), value.map(str::to_string)))
    })
}

/// The text without the settings that are not kept; `None` if all are.
fn filtered(text: &str, keeps: &mut dyn FnMut(&Section, &str, Option<&str>) -> bool) -> Option<String> {
    let (mut kept, mut all) = (String::new(), true);
    let mut section: Option<Section> = None;
    for line in text.strip_prefix('\u{feff}').unwrap_or(text).split_inclusive('\n') {
        let is_kept = match Line::read(line.trim_end_matches('\n').trim_end_matches('\r')) {
            Some(Line::Nothing) => true,
            Some(Line::Section(read)) => {
                section = Some(read);
                true
            }
            Some(Line::Setting { key, value }) => section.as_ref().is_some_and(|section| keeps(section, &key, value)),
            None => {
                // Whether a section begins in it, nobody knows.
                section = None;
                false
            }
        };
        match is_kept {
            true => kept.push_str(line),
            false => all = false,
        }
    }
    (!all).then_some(kept)
}

/// A line that says but one thing. Quotes within a value may be there, backslashes may not: with one at its end a line goes on.
enum Line<'a> {
    Nothing,
    Section(Section),
    Setting { key: String, value: Option<&'a str> },
}

impl Line<'_> {
    fn read(line: &str) -> Option<Line<'_>> {
        let text = line.trim_matches([' ', '\t']);
        if text.is_empty() || text.starts_with(['#', ';']) {
            return Some(Line::Nothing);
        }
        if text.contains('\\') || text.chars().any(|letter| letter.is_control() && letter != '\t') {
            return None;
        }
        if let Some(inner) = text.strip_prefix('[') {
            return Section::read(inner.strip_suffix(']')?).map(Line::Section);
        }
        let (key, value) = match text.split_once('=') {
            Some((key, value)) => (key.trim_matches([' ', '\t']), Some(value.trim_matches([' ', '\t']))),
            None => (text, None),
        };
        let is_key = |key: &str| {
            key.starts_with(|letter: char| letter.is_ascii_alphabetic())
                && key.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
        };
        is_key(key).then(|| Line::Setting { key: key.to_ascii_lowercase(), value })
    }
}

/// `[name "of"]`.
struct Section {
    /// As it is written.
    text: String,
    name: String,
    has_subsection: bool,
}

impl Section {
    fn read(text: &str) -> Option<Section> {
        let (name, rest) = match text.split_once([' ', '\t']) {
            Some((name, rest)) => (name, Some(rest.trim_matches([' ', '\t']))),
            None => (text, None),
        };
        let is_name = !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
        let subsection = match rest {
            Some(rest) => Some(rest.strip_prefix('"')?.strip_suffix('"')?),
            None => None,
        };
        let is_plain = subsection.is_none_or(|name| !name.contains(['"', ']', '[']));
        (is_name && is_plain).then(|| Section {
            text: text.into(),
            name: name.to_ascii_lowercase(),
            has_subsection: subsection.is_some(),
        })
    }

    fn is_harmless(&self, key: &str, value: Option<&str>, is_inside: &dyn Fn(&str) -> bool) -> bool {
        let value = value.unwrap_or("true");
        let is_bool = || ["true", "false", "yes", "no", "on", "off", "1", "0"].contains(&value);
        // `NAME::…` runs the program git-remote-NAME.
        let is_address = || {
            let address = value.replace('"', "");
            !address.contains("::") && !address.starts_with('-')
        };
        match (self.name.as_str(), self.has_subsection) {
            ("core", false) => match key {
                "fsmonitor" => is_bool(),
                "worktree" => !value.contains(['"', '#', ';']) && is_inside(value),
                _ => CORE.contains(&key),
            },
            ("extensions" | "advice" | "index" | "feature", false) => true,
            ("user" | "author" | "committer", false) => ["name", "email", "useconfigonly", "signingkey"].contains(&key),
            ("init", false) => key == "defaultbranch",
            ("push", false) => ["default", "autosetupremote", "followtags", "recursesubmodules"].contains(&key),
            ("pull", false) => ["ff", "rebase"].contains(&key),
            ("fetch", false) => ["prune", "prunetags", "parallel", "recursesubmodules"].contains(&key),
            ("commit" | "tag", false) => ["gpgsign", "verbose", "sort"].contains(&key),
            ("merge", false) => ["ff", "conflictstyle", "log", "renames", "stat"].contains(&key),
            ("rebase", false) => ["autosquash", "autostash", "updaterefs", "stat"].contains(&key),
            ("color" | "column", _) => true,
            ("diff", false) => ["algorithm", "renames", "mnemonicprefix", "noprefix", "context"].contains(&key),
            ("gc" | "maintenance", false) => is_bool() || value.chars().all(|digit| digit.is_ascii_digit()),
            ("receive", false) => {
                ["denycurrentbranch", "denynonfastforwards", "denydeletes", "fsckobjects"].contains(&key)
            }
            ("lfs", false) => key == "repositoryformatversion",
            ("branch", true) => ["remote", "merge", "rebase", "pushremote", "description"].contains(&key),
            ("branch", false) => ["autosetupmerge", "autosetuprebase", "sort"].contains(&key),
            ("remote", true) => match key {
                "url" | "pushurl" => is_address(),
                _ => REMOTE.contains(&key),
            },
            ("submodule", true) => match key {
                "url" => is_address(),
                "update" => ["checkout", "rebase", "merge", "none"].contains(&value),
                _ => ["active", "branch", "ignore", "fetchrecursesubmodules", "shallow"].contains(&key),
            },
            ("submodule", false) => ["active", "recurse", "fetchjobs"].contains(&key),
            _ => false,
        }
    }
}

const CORE: [&str; 22] = [
    "repositoryformatversion",
    "filemode",
    "bare",
    "logallrefupdates",
    "ignorecase",
    "precomposeunicode",
    "symlinks",
    "autocrlf",
    "eol",
    "safecrlf",
    "whitespace",
    "sharedrepository",
    "abbrev",
    "quotepath",
    "longpaths",
    "untrackedcache",
    "preloadindex",
    "compression",
    "sparsecheckout",
    "sparsecheckoutcone",
    "multipackindex",
    "commitgraph",
];

const REMOTE: [&str; 9] =
    ["fetch", "push", "tagopt", "prune", "prunetags", "mirror", "skipdefaultupdate", "promisor", "partialclonefilter"];

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(text: &str) -> Option<String> {
        harmless(text, "", &|path| !path.starts_with('/'))
    }

    #[test]
    fn what_git_itself_writes_into_a_new_repository_stays() {
        for text in [
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n",
            "[remote \"origin\"]\n\turl = git@github.com:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n[user]\n\tname = \"A B\"\n\temail = a@b\n",
            "# note\n\n[submodule \"lib\"]\n\tactive = true\n\turl = ../lib\n[core]\n\tworktree = ../../../lib\n",
            "[core]\r\n\tbare = false\r\n[commit]\n\tgpgsign = false\n",
        ] {
            assert_eq!(cleaned(text), None, "{text}");
        }
    }

    #[test]
    fn whatever_may_run_a_program_goes_and_the_rest_stays() {
        let text = "[core]\n\tbare = false\n\tfsmonitor = ./evil\n\tFSMonitor = true\n[alias]\n\tst = !evil\n\
                    [remote \"origin\"]\n\turl = ext::sh -c evil\n\tuploadpack = evil\n[user]\n\tname = a\n";
        let wanted = "[core]\n\tbare = false\n\tFSMonitor = true\n[alias]\n[remote \"origin\"]\n[user]\n\tname = a\n";
        assert_eq!(cleaned(text).as_deref(), Some(wanted));
        for line in [
            "[core] fsmonitor = ./evil",
            "[core]\n\thooksPath = h",
            "[core]\n\tsshCommand = evil",
            "[core]\n\tworktree = /home/u",
            "[core]\n\tbare = false \\\n\tfsmonitor = evil",
            "[core \"x\"]\n\tbare = false",
            "[include]\n\tpath = x",
            "[includeIf \"gitdir:/\"]\n\tpath = x",
            "[filter \"x\"]\n\tclean = evil",
            "[diff \"x\"]\n\ttextconv = evil",
            "[diff]\n\texternal = evil",
            "[submodule \"x\"]\n\tupdate = !evil",
            "[url \"ext::x\"]\n\tinsteadOf = evil",
            "[credential]\n\thelper = !evil",
            "[gpg]\n\tprogram = evil",
            "[core.x]\n\tbare = false",
            "fsmonitor = x",
            "[co\\re]\n\tbare = false",
            "[remote \"a\"]\n\turl = e\"xt:\":evil",
            "[core]\n\tworktree = \"/evil\"",
            "[init]\n\ttemplateDir = evil",
        ] {
            assert!(cleaned(line).is_some_and(|left| !left.contains("evil")), "{line}");
        }
    }

    #[test]
    fn what_was_there_before_stays() {
        let before = "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n[diff]\n\texternal = mine\n";
        let inside = |_: &str| true;
        let more = format!("{before}[user]\n\tname = a\n");
        assert_eq!(harmless(&more, before, &inside), None);
        let moved = "[filter \"x\"]\n\tclean = git-lfs clean -- %f\n";
        assert_eq!(harmless(moved, before, &inside).as_deref(), Some("[filter \"x\"]\n"));
    }

    #[test]
    fn no_text_makes_what_stays_harmful() {
        // What stays is harmless itself: nothing is put together from two lines.
        let pieces =
            ["[core]", "\\\n", "fsmonitor = x", "\n", "[x]", "bare", " = ", "\"", "#", "[remote \"a]b\"]", "\r"];
        for number in 0..pieces.len().pow(4) {
            let text: String = (0..4).map(|at| pieces[number / pieces.len().pow(at) % pieces.len()]).collect();
            if let Some(left) = cleaned(&text) {
                assert_eq!(cleaned(&left), None, "{text:?} leaves {left:?}");
            }
        }
    }
}
