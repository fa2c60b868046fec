//! Programs of which one subcommand runs another program: in a container, an environment, a package.

use super::Word;
use super::wrappers::Inner;

/// A program, the subcommands that run another (none: it always does), and how many words of its own stand before that one.
type Launcher = (&'static [&'static str], &'static [&'static str], usize);

/// From the manuals of npm 11, pnpm 10, yarn 4, bun 1, uv 0.9, docker 29, kubectl 1.34 and the others as of 2026.
const LAUNCHERS: [Launcher; 18] = [
    (&["npx", "pnpx", "bunx", "uvx", "dotenv"], &[], 0),
    (&["npm"], &["exec", "x"], 0),
    (&["pnpm", "yarn"], &["exec", "dlx"], 0),
    (&["bun"], &["x"], 0),
    (&["uv", "poetry", "pipenv", "pdm", "hatch", "rye", "pipx", "conda", "mamba"], &["run"], 0),
    (&["bundle", "rbenv", "pyenv", "asdf", "stack", "cabal", "opam", "dune"], &["exec"], 0),
    (&["mise"], &["exec", "x"], 0),
    (&["rustup"], &["run"], 1),
    (&["docker", "podman", "nerdctl"], &["run", "exec"], 1),
    (&["docker-compose"], &["run", "exec"], 1),
    (&["kubectl", "oc", "lxc", "incus", "direnv", "aws-vault", "chamber"], &["exec"], 1),
    (&["flatpak", "toolbox", "op", "doppler", "heroku"], &["run"], 0),
    (&["nix"], &["run", "shell", "develop"], 0),
    (&["distrobox"], &["enter"], 1),
    (&["vagrant"], &["ssh"], 0),
    (&["machinectl"], &["shell"], 1),
    (&["ip"], &["netns"], 2),
    (&["adb"], &["shell"], 0),
];

/// What such a program runs.
pub(super) fn launched(name: &str, words: &[Word]) -> Vec<Inner> {
    let Some((_, subcommands, own)) = LAUNCHERS.iter().find(|(names, ..)| names.contains(&name)) else {
        return Vec::new();
    };
    let unclear = || vec![Inner::Unclear(format!("what {name} runs cannot be told"))];
    let mut words = words;
    if !subcommands.is_empty() {
        // Options before it, a group such as `uv tool`, then the subcommand.
        let at = words.iter().position(|word| subcommands.contains(&word.text.as_str()));
        let Some(at) = at else {
            return if words.first().is_some_and(|word| !word.fixed) { unclear() } else { Vec::new() };
        };
        words = words.get(at + 1..).unwrap_or_default();
    }
    if let Some(at) = words.iter().position(|word| word.text == "--") {
        return command(words.get(at + 1..).unwrap_or_default());
    }
    // Which options have a value is not told apart.
    match words.first() {
        Some(word) if word.text.starts_with('-') || !word.fixed => unclear(),
        _ => command(words.get(*own..).unwrap_or_default()),
    }
}

fn command(words: &[Word]) -> Vec<Inner> {
    if words.is_empty() { Vec::new() } else { vec![Inner::Command(words.to_vec())] }
}
