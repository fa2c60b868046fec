//! Programs of which one subcommand runs another program: in a container, an environment, a package, on another machine.

use super::Word;
use super::inner::Inner;

/// A program that launches others.
struct Launcher {
    names: &'static [&'static str],
    /// The subcommands that run another program. None: it always does.
    subcommands: &'static [&'static str],
    /// How many words of its own stand before the command, options aside.
    own: usize,
    /// Whether the command is what follows `--`, and nothing before it.
    separated: bool,
}

const fn launcher(names: &'static [&'static str], subcommands: &'static [&'static str], own: usize) -> Launcher {
    Launcher { names, subcommands, own, separated: false }
}

const LAUNCHERS: [Launcher; 19] = [
    launcher(&["npx", "pnpx", "bunx", "uvx", "dotenv"], &[], 0),
    launcher(&["npm"], &["exec", "x"], 0),
    launcher(&["pnpm", "yarn"], &["exec", "dlx"], 0),
    launcher(&["bun"], &["x"], 0),
    launcher(&["uv", "poetry", "pipenv", "pdm", "hatch", "rye", "pipx", "conda", "mamba"], &["run"], 0),
    launcher(&["bundle", "rbenv", "pyenv", "asdf", "stack", "cabal", "opam", "dune"], &["exec"], 0),
    launcher(&["mise"], &["exec", "x"], 0),
    launcher(&["rustup"], &["run"], 1),
    launcher(&["docker", "podman", "nerdctl"], &["run", "exec"], 1),
    launcher(&["docker-compose"], &["run", "exec"], 1),
    Launcher { names: &["kubectl", "oc"], subcommands: &["exec"], own: 1, separated: true },
    launcher(&["lxc", "incus", "direnv", "aws-vault", "chamber"], &["exec"], 1),
    launcher(&["flatpak", "toolbox", "op", "doppler", "heroku"], &["run"], 0),
    launcher(&["nix"], &["run", "shell", "develop"], 0),
    launcher(&["distrobox"], &["enter"], 1),
    launcher(&["vagrant"], &["ssh"], 0),
    launcher(&["machinectl"], &["shell"], 1),
    launcher(&["ip"], &["netns"], 2),
    launcher(&["adb"], &["shell"], 0),
];

/// Options without a value that change nothing about what is run.
const FLAGS: [&str; 11] =
    ["-y", "--yes", "--rm", "-it", "-ti", "--quiet", "--frozen", "--locked", "--offline", "--no-install", "--no-sync"];

/// The shortest beginning of a subcommand that some of them take for the whole: `npm exe`, `ip net`.
const SHORTEST: usize = 3;

/// What such a program runs.
pub(super) fn launched(name: &str, words: &[Word]) -> Vec<Inner> {
    let Some(launcher) = LAUNCHERS.iter().find(|launcher| launcher.names.contains(&name)) else { return Vec::new() };
    let unclear = || Inner::Unclear(format!("what {name} runs cannot be told"));
    let mut words = words;
    if !launcher.subcommands.is_empty() {
        // Options before it, a group such as `uv tool`, then the subcommand.
        let Some(at) = words.iter().position(|word| names_one(launcher, &word.text)) else {
            let is_unknown = words.first().is_some_and(|word| !word.fixed);
            return if is_unknown { vec![unclear()] } else { Vec::new() };
        };
        words = words.get(at + 1..).unwrap_or_default();
    }
    while let Some(rest) = words.split_first().and_then(|(first, rest)| is_flag(first).then_some(rest)) {
        words = rest;
    }
    let end = words.iter().position(|word| word.text == "--");
    let (own, behind) = match end {
        Some(at) => (words.get(..at).unwrap_or_default(), words.get(at + 1..).unwrap_or_default()),
        None => (words, [].as_slice()),
    };
    if end.is_some() && launcher.separated {
        return command(behind);
    }
    // Which options have a value is not told apart: one of the next words may be the command, and what follows `--` as well.
    if own.iter().take(launcher.own + 1).any(|word| word.text.starts_with('-') || !word.fixed) {
        return [vec![unclear()], command(behind)].concat();
    }
    // Where its own words are all before `--`, the command stands behind it; else `--` is a word of the command.
    if own.len() > launcher.own {
        return command(words.get(launcher.own..).unwrap_or_default());
    }
    command(behind.get(launcher.own - own.len()..).unwrap_or_default())
}

fn names_one(launcher: &Launcher, text: &str) -> bool {
    launcher
        .subcommands
        .iter()
        .any(|subcommand| *subcommand == text || text.len() >= SHORTEST && subcommand.starts_with(text))
}

fn is_flag(word: &Word) -> bool {
    word.fixed && FLAGS.contains(&word.text.as_str())
}

fn command(words: &[Word]) -> Vec<Inner> {
    if words.is_empty() { Vec::new() } else { vec![Inner::Command(words.to_vec())] }
}
