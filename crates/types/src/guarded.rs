//! Files of a workspace that other programs run or obey by themselves: a shell that starts there, an editor that opens the
//! folder, git. The sandbox keeps commands from changing them, policy the tools that write files.

/// Where a workspace keeps what Mainpath itself goes by: its rules, its settings, its skills.
pub const OWN_FOLDER: &str = ".mainpath";

/// Names in a workspace that are guarded where they exist.
pub const GUARDED: &[&str] = &[
    // Shells and sessions.
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
    ".envrc",
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
    ".gdbinit",
    ".lldbinit",
    // Agents, this one included.
    ".mcp.json",
    OWN_FOLDER,
    // Git.
    ".gitconfig",
    ".gitmodules",
    // Hooks that a repository brings along.
    ".husky",
    ".githooks",
];

/// The folder of a repository: it cannot be moved away, and so replaced; what is in it can change, or nobody could commit.
pub const REPOSITORY: &str = ".git";

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
/// file systems have it.
pub fn guarded(path: &str) -> Option<Guarded> {
    let fold = |text: &str| text.to_uppercase().to_lowercase();
    let path = fold(path);
    let steps: Vec<&str> = path.split('/').filter(|step| !step.is_empty()).collect();
    if steps.contains(&OWN_FOLDER) {
        return Some(Guarded::Own);
    }
    let is_top = |name: &&str| steps.iter().zip(name.split('/')).all(|(step, part)| *step == fold(part));
    let at_top = GUARDED.iter().any(|name| name.split('/').count() <= steps.len() && is_top(name));
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
    (at_top || in_repository).then_some(Guarded::Run)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        ] {
            assert_eq!(guarded(path), Some(Guarded::Run), "{path}");
        }
        for path in [".mainpath/policy.toml", ".mainpath", "sub/.Mainpath/config.toml"] {
            assert_eq!(guarded(path), Some(Guarded::Own), "{path}");
        }
        for path in
            ["", "src/main.rs", ".config", ".config/x", ".git/HEAD", ".gitignore", "git/config", "docs/.envrc.md"]
        {
            assert_eq!(guarded(path), None, "{path}");
        }
    }
}
