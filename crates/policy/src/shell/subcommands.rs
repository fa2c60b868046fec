//! Other names of subcommands: what a rule about one is about as well.

use super::Word;

/// Programs, and pairs of another name of a subcommand and its own name.
type Aliases = (&'static [&'static str], &'static [(&'static str, &'static str)]);

const ALIASES: &[Aliases] = &[
    (&["git"], &[("send-pack", "push"), ("http-push", "push"), ("stage", "add"), ("annotate", "blame")]),
    (
        &["npm"],
        &[
            ("add", "install"),
            ("author", "owner"),
            ("c", "config"),
            ("clean-install", "ci"),
            ("create", "init"),
            ("ddp", "dedupe"),
            ("dist-tags", "dist-tag"),
            ("find", "search"),
            ("i", "install"),
            ("in", "install"),
            ("innit", "init"),
            ("isntall", "install"),
            ("it", "install-test"),
            ("la", "ls"),
            ("list", "ls"),
            ("ll", "ls"),
            ("ln", "link"),
            ("login", "adduser"),
            ("r", "uninstall"),
            ("rb", "rebuild"),
            ("remove", "uninstall"),
            ("rm", "uninstall"),
            ("rum", "run"),
            ("run-script", "run"),
            ("t", "test"),
            ("tst", "test"),
            ("udpate", "update"),
            ("un", "uninstall"),
            ("unlink", "uninstall"),
            ("up", "update"),
            ("upgrade", "update"),
            ("urn", "run"),
            ("v", "view"),
            ("x", "exec"),
        ],
    ),
    (
        &["pnpm", "yarn", "bun"],
        &[("i", "install"), ("rm", "remove"), ("un", "remove"), ("x", "exec"), ("up", "update")],
    ),
    (&["cargo"], &[("b", "build"), ("c", "check"), ("d", "doc"), ("r", "run"), ("rm", "remove"), ("t", "test")]),
];

/// Subcommands of npm, whose beginnings it takes for the whole.
const OF_NPM: [&str; 40] = [
    "access",
    "adduser",
    "audit",
    "bugs",
    "cache",
    "completion",
    "config",
    "dedupe",
    "deprecate",
    "diff",
    "dist-tag",
    "docs",
    "doctor",
    "edit",
    "exec",
    "explain",
    "explore",
    "fund",
    "help",
    "hook",
    "init",
    "install",
    "link",
    "logout",
    "ls",
    "org",
    "outdated",
    "owner",
    "pack",
    "ping",
    "profile",
    "prune",
    "publish",
    "rebuild",
    "restart",
    "run",
    "search",
    "uninstall",
    "unpublish",
    "update",
];

/// Groups of which the next word is the subcommand that a rule means: `docker image push` is `docker push`.
const GROUPS: &[(&[&str], &[&str])] =
    &[(&["docker", "podman", "nerdctl"], &["container", "image"]), (&["git"], &["subtree", "lfs"])];

/// Programs whose subcommands may be programs of their own: `git x` is `git-x`.
const EXTENDED: [&str; 6] = ["cargo", "docker", "gh", "git", "kubectl", "podman"];

/// Other words for a command of this program: its subcommand by its own name, and the module that an interpreter runs.
pub(crate) fn subcommands(program: &str, words: &[Word]) -> Vec<Vec<Word>> {
    let mut found = Vec::new();
    let mut follows_option = false;
    for (at, word) in words.iter().enumerate() {
        let (text, rest) = (word.text.as_str(), words.get(at + 1..).unwrap_or_default());
        let is_option = text.starts_with(['-', '+']);
        if let Some(module) = text.strip_prefix("-m").filter(|_| matches!(program, "python" | "pypy" | "py")) {
            found.extend(match module.is_empty() {
                true => Some(rest.to_vec()).filter(|rest| !rest.is_empty()),
                false => Some(joined(&[module], rest)),
            });
            return found;
        }
        if !is_option && word.fixed {
            found.extend(own_names(program, text).map(|own| joined(&[program, own], rest)));
            let is_extended = EXTENDED.contains(&program);
            found.extend(is_extended.then(|| joined(&[&format!("{program}-{text}")], rest)));
            let is_group = GROUPS.iter().any(|(names, groups)| names.contains(&program) && groups.contains(&text));
            found.extend(is_group.then(|| joined(&[program], rest)));
        }
        // What follows an option may be its value.
        if !is_option && !follows_option {
            break;
        }
        follows_option = is_option;
    }
    found
}

/// The subcommands that a word may mean besides the one of its name.
fn own_names<'a>(program: &'a str, text: &'a str) -> impl Iterator<Item = &'static str> + 'a {
    let aliases = ALIASES.iter().filter(move |(names, _)| names.contains(&program)).flat_map(|(_, aliases)| *aliases);
    let aliased = aliases.filter(move |(alias, _)| *alias == text).map(|(_, own)| *own);
    let is_begun = move |own: &&str| program == "npm" && text.len() > 1 && own.starts_with(text) && *own != text;
    aliased.chain(OF_NPM.into_iter().filter(is_begun))
}

fn joined(first: &[&str], rest: &[Word]) -> Vec<Word> {
    first.iter().map(|word| Word::fixed(*word)).chain(rest.iter().cloned()).collect()
}
