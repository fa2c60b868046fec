//! Files of a workspace that other programs run or obey by themselves: a shell that starts there, an editor that opens the
//! folder, git. The sandbox keeps commands from changing them, policy the tools that write files.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Where a workspace keeps what Mainpath itself goes by: its rules, its settings, its skills.
pub const OWN_FOLDER: &str = ".mainpath";

/// Names that are guarded at the top of a workspace: what shells, sessions and git read in a home.
pub const GUARDED: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".config/fish",
    ".config/autostart",
    ".config/systemd",
    ".inputrc",
    ".tmux.conf",
    ".xprofile",
    ".xinitrc",
    ".xsession",
    ".gitconfig",
    OWN_FOLDER,
];

/// Names that are guarded in every folder: programs look for them in the folder that they are started in, and above it. Files that run
/// only when their project is built or tested (`Makefile`, `conftest.py`) are the agent's work, and not among them.
pub const GUARDED_ANYWHERE: &[&str] = &[
    // Environments and versions of tools: direnv, mise, rustup.
    ".envrc",
    "mise.toml",
    ".mise.toml",
    "mise.local.toml",
    ".mise.local.toml",
    ".mise",
    ".tool-versions",
    ".config/mise",
    ".config/mise.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
    // Editors and debuggers.
    ".vscode",
    ".idea",
    ".fleet",
    ".zed",
    ".devcontainer",
    ".devcontainer.json",
    ".dir-locals.el",
    ".nvim.lua",
    ".vimrc",
    ".exrc",
    ".nvimrc",
    ".lvimrc",
    ".vs",
    ".theia",
    ".gdbinit",
    ".lldbinit",
    ".pdbrc",
    "Session.vim",
    ".emacs",
    ".screenrc",
    // Interpreters that read a file of the folder they are started in.
    ".pryrc",
    ".irbrc",
    ".Rprofile",
    ".ghci",
    ".ocamlinit",
    ".psqlrc",
    ".sqliterc",
    "sitecustomize.py",
    "usercustomize.py",
    // Agents, this one included.
    "AGENTS.md",
    "AGENTS.override.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "AGENT.md",
    "CRUSH.md",
    "WARP.md",
    ".rules",
    "GEMINI.md",
    "QWEN.md",
    ".mcp.json",
    "mcp.json",
    "crush.json",
    ".crush.json",
    ".factory",
    ".augment",
    ".kilocode",
    ".kilocodemodes",
    ".openhands",
    ".trae",
    ".agents",
    ".claude",
    ".codex",
    ".cursor",
    ".cursorrules",
    ".gemini",
    ".qwen",
    ".opencode",
    "opencode.json",
    "opencode.jsonc",
    ".pi",
    ".amp",
    ".kiro",
    ".junie",
    ".roo",
    ".roomodes",
    ".continue",
    ".clinerules",
    ".windsurf",
    ".windsurfrules",
    ".goosehints",
    ".aider.conf.yml",
    ".aider.conf.yaml",
    ".amazonq",
    ".aiassistant",
    ".github/copilot-instructions.md",
    ".github/instructions",
    ".github/prompts",
    ".github/agents",
    // What a server runs as soon as it is pushed.
    ".github/workflows",
    ".github/actions",
    ".gitea/workflows",
    ".forgejo/workflows",
    ".gitlab-ci.yml",
    ".circleci",
    ".buildkite",
    ".travis.yml",
    ".drone.yml",
    ".woodpecker",
    ".woodpecker.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "Jenkinsfile",
    ".gitlab/ci",
    "appveyor.yml",
    ".appveyor.yml",
    ".cirrus.yml",
    "cloudbuild.yaml",
    "buildspec.yml",
    ".semaphore",
    ".tekton",
    // Package managers and builds: settings that name programs, plugins or where packages come from.
    ".cargo/config",
    ".cargo/config.toml",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".yarn/plugins",
    ".yarn/releases",
    ".pnpmfile.cjs",
    ".pnpmfile.mjs",
    "bunfig.toml",
    "pip.conf",
    "uv.toml",
    ".bundle/config",
    ".mvn",
    ".bazelrc",
    "user.bazelrc",
    "devbox.json",
    "flake.nix",
    "shell.nix",
    ".buckconfig",
    // Git, Mercurial and Jujutsu, and hooks that a repository brings along.
    ".hg/hgrc",
    ".hg/hgrc-not-shared",
    ".hg/sharedpath",
    ".jj/repo/config.toml",
    ".gitmodules",
    ".husky",
    ".githooks",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    "lefthook.yaml",
    "lefthook-local.yml",
    ".lefthook.yml",
    ".config/lefthook.yml",
];

/// Endings of names that are guarded in every folder: what editors open as a project, with tasks that they run.
pub const GUARDED_ENDINGS: &[&str] = &[".code-workspace", ".sublime-project"];

/// The folder of a repository: it cannot be moved away, and so replaced; what is in it can change, or nobody could commit.
pub const REPOSITORY: &str = ".git";

/// The file without which no folder is a repository, whatever it is called.
pub const HEAD: &str = "HEAD";

/// What of a repository's folder is guarded. The last one makes git look for the others elsewhere.
pub const OF_REPOSITORY: &[&str] = &["hooks", "info", "config", "config.worktree", "commondir"];

/// Where a repository's folder keeps those of its submodules and further worktrees.
const INNER_REPOSITORIES: [&str; 2] = ["modules", "worktrees"];

/// Why a file is guarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guarded {
    /// Mainpath itself goes by it.
    Own,
    /// Another program runs or obeys it.
    Run,
}

/// Why the file at a path from the workspace is guarded, if it is; the path has `/` between names, and no `.` and `..`.
///
/// [`GUARDED`] names are looked for at the top, the others in every folder. Letters count alike in either case, as some
/// file systems have it. A [`HEAD`] outside of a `.git` makes its folder a repository; what else of such a folder git obeys
/// only the disk can tell: see [`of_bare_repository`].
pub fn guarded(path: &str) -> Option<Guarded> {
    let path = fold(path);
    let steps: Vec<&str> = path.split('/').filter(|step| !step.is_empty()).collect();
    if steps.contains(&OWN_FOLDER) {
        return Some(Guarded::Own);
    }
    let at_top = AT_TOP.begins(&steps);
    let anywhere = (0..steps.len()).any(|at| ANYWHERE.begins(steps.get(at..).unwrap_or_default()));
    let has_ending = steps.iter().any(|step| GUARDED_ENDINGS.iter().any(|ending| step.ends_with(ending)));
    let in_git = steps.contains(&REPOSITORY);
    let makes_repository = !in_git && steps.last().is_some_and(|last| *last == fold(HEAD));
    let mut rest = steps.as_slice();
    let mut in_repository = false;
    while let Some(at) = rest.iter().position(|step| *step == REPOSITORY) {
        rest = rest.get(at + 1..).unwrap_or_default();
        in_repository |= match rest.split_first() {
            // A file of that name says where the repository is.
            None => true,
            Some((first, below)) if INNER_REPOSITORIES.contains(first) => {
                below.iter().any(|step| OF_REPOSITORY.contains(step))
            }
            Some((first, _)) => OF_REPOSITORY.contains(first),
        };
    }
    (at_top || anywhere || has_ending || makes_repository || in_repository).then_some(Guarded::Run)
}

/// Guarded names by their first step: each call is looked up here, so they are folded once.
struct Names(BTreeMap<String, Vec<Vec<String>>>);

static AT_TOP: LazyLock<Names> = LazyLock::new(|| Names::of(GUARDED));
static ANYWHERE: LazyLock<Names> = LazyLock::new(|| Names::of(GUARDED_ANYWHERE));

impl Names {
    fn of(names: &[&str]) -> Names {
        let mut by_first: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
        for name in names {
            let mut steps = name.split('/').map(fold);
            by_first.entry(steps.next().unwrap_or_default()).or_default().push(steps.collect());
        }
        Names(by_first)
    }

    /// Whether folded steps begin with one of the names.
    fn begins(&self, steps: &[&str]) -> bool {
        let Some((first, below)) = steps.split_first() else { return false };
        let fits =
            |rest: &Vec<String>| rest.len() <= below.len() && rest.iter().zip(below).all(|(part, step)| part == step);
        self.0.get(*first).is_some_and(|names| names.iter().any(fits))
    }
}

/// Returns true for a path from a home folder that shells, sessions and other programs may run or obey: in a hidden file or folder of
/// the home, or in its `bin`. No list of them is complete, so every hidden name counts, except a repository, which is guarded as
/// everywhere.
pub fn of_home(path: &str) -> bool {
    let first = path.split('/').find(|step| !matches!(*step, "" | ".")).unwrap_or_default();
    first.starts_with('.') && first != REPOSITORY || fold(first) == "bin"
}

/// Returns the guarded name in a folder's absolute path, if there is one. Inside such a folder, paths relative to it would not be
/// recognised as guarded, so it must not be a workspace. A repository of its own below the guarded name is allowed, except in `.git` and
/// [`OWN_FOLDER`]. `is_root` returns true for the root of a repository.
pub fn guarded_above(folder: &str, is_root: impl Fn(&str) -> bool) -> Option<&str> {
    let steps: Vec<&str> = folder.split('/').filter(|step| !step.is_empty()).collect();
    let folded: Vec<String> = steps.iter().map(|step| fold(step)).collect();
    let folded: Vec<&str> = folded.iter().map(String::as_str).collect();
    if let Some(at) = folded.iter().position(|step| *step == REPOSITORY || *step == OWN_FOLDER) {
        return steps.get(at).copied();
    }
    let (mut path, mut from) = (String::new(), 0);
    for (at, step) in steps.iter().enumerate() {
        path = format!("{path}/{step}");
        if is_root(&path) {
            from = at + 1;
        }
    }
    let is_guarded = |at: &usize| ANYWHERE.begins(folded.get(*at..).unwrap_or_default());
    (from..steps.len()).find(is_guarded).and_then(|at| steps.get(at).copied())
}

/// Whether git obeys a file at this path from the folder of a repository.
pub fn of_bare_repository(path: &str) -> bool {
    let first = fold(path.split('/').find(|step| !step.is_empty()).unwrap_or_default());
    first == fold(HEAD) || OF_REPOSITORY.contains(&first.as_str())
}

/// Letters without their case, as file systems compare names that do not tell it apart.
fn fold(text: &str) -> String {
    text.to_uppercase().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_other_programs_look_into_is_no_place_to_work_in() {
        let above = |folder: &'static str| guarded_above(folder, |path| matches!(path, "/r" | "/r/.claude/trees/x"));
        for folder in ["/r", "/r/src", "/home/u/vscode", "/r/.claude/trees/x", "/r/.claude/trees/x/src", "/"] {
            assert_eq!(above(folder), None, "{folder}");
        }
        assert_eq!(above("/r/.git/hooks"), Some(".git"));
        assert_eq!(above("/r/.Mainpath"), Some(".Mainpath"));
        assert_eq!(above("/r/a/.vscode"), Some(".vscode"));
        assert_eq!(above("/r/.claude/agents"), Some(".claude"));
        assert_eq!(above("/r/.github/workflows"), Some(".github"));
        assert_eq!(above("/r/.claude/trees/x/.idea/y"), Some(".idea"));
    }

    #[test]
    fn what_other_programs_run_is_guarded_and_what_lies_beside_it_is_not() {
        for path in [
            ".envrc",
            ".vscode/tasks.json",
            ".VSCode/tasks.json",
            ".mcp.json",
            ".config/fish/config.fish",
            ".git",
            ".git/config",
            ".git/hooks/pre-commit",
            ".GIT/Config",
            "sub/.git",
            "a/b/c/d/.git/hooks/x",
            ".git/modules/lib/deep/hooks/x",
            ".git/worktrees/w/config.worktree",
            ".git/modules/lib/commondir",
            "x/.git/y/.git/config",
            ".hu\u{17f}ky/pre-commit",
            "sub/.envrc",
            "AGENTS.md",
            "docs/agents.md",
            "pkg/CLAUDE.md",
            ".claude/settings.json",
            "a/.cursor/rules/x.mdc",
            ".codex/config.toml",
            ".gemini/settings.json",
            "mise.toml",
            "crates/a/.cargo/config.toml",
            ".yarnrc.yml",
            "sub/.hg/hgrc",
            "a/My.Code-Workspace",
            ".rules",
            ".github/workflows/ci.yml",
            "evil/HEAD",
            "evil/head",
        ] {
            assert_eq!(guarded(path), Some(Guarded::Run), "{path}");
        }
        for path in [".mainpath/policy.toml", ".mainpath", "sub/.Mainpath/config.toml"] {
            assert_eq!(guarded(path), Some(Guarded::Own), "{path}");
        }
        for path in [
            "",
            "src/main.rs",
            ".config",
            ".config/x",
            ".git/HEAD",
            ".gitignore",
            "git/config",
            "docs/.envrc.md",
            "sub/.bashrc",
            ".github/ISSUE_TEMPLATE.md",
            ".cargo",
            ".hg",
            ".hg/store/data",
            "code-workspace",
            "HEAD.md",
            "src/agents.rs",
            "agents.md.bak",
        ] {
            assert_eq!(guarded(path), None, "{path}");
        }
    }

    #[test]
    fn of_a_repository_by_shape_what_git_obeys_is_told_apart() {
        for path in
            ["config", "hooks/post-checkout", "commondir", "HEAD", "Config", "config.worktree", "info/attributes"]
        {
            assert!(of_bare_repository(path), "{path}");
        }
        for path in ["", "objects/ab/cd", "refs/heads/main", "description", "src/config", "configs"] {
            assert!(!of_bare_repository(path), "{path}");
        }
    }
}
