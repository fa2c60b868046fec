//! Files of a workspace that other programs run by themselves: a shell that starts there, an editor that opens the folder,
//! git. An agent that writes them makes its user run them outside the cage, so inside they cannot be changed, and new ones
//! are told after the command.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Names in a workspace that are read-only in its cage where they exist.
pub(crate) const GUARDED: &[&str] = &[
    // Shells.
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".config/fish",
    ".envrc",
    // Editors and debuggers.
    ".vscode",
    ".idea",
    ".fleet",
    ".zed",
    ".devcontainer",
    ".vimrc",
    ".exrc",
    ".nvimrc",
    ".gdbinit",
    ".lldbinit",
    // Agents, this one included.
    ".mcp.json",
    ".mainpath",
    // Git.
    ".gitconfig",
    ".gitmodules",
    ".git/hooks",
    ".git/info",
    ".git/config",
    ".git/config.worktree",
    // Makes git look for its configuration elsewhere.
    ".git/commondir",
];

/// The folder itself cannot be moved away, and so replaced; what is in it can change, or nobody could commit.
pub(crate) const PINNED: &str = ".git";

/// Folders that are made where `.git` has none, since a folder that is not there cannot be guarded.
pub(crate) const GIT_FOLDERS: [&str; 2] = ["hooks", "info"];

/// What the guarded names were before a command.
#[derive(Debug)]
pub struct Watch(Vec<(&'static str, Option<Identity>)>);

/// Which file it is: device, number, kind.
type Identity = (u64, u64, u32);

impl Watch {
    /// Looks before the command.
    pub fn begin(workspace: &Path) -> Watch {
        Watch(names().map(|name| (name, identity(workspace, name))).collect())
    }

    /// Looks again after it: the names that are new, or are another file than before.
    pub fn changed(&self, workspace: &Path) -> Vec<&'static str> {
        let now = |name: &str| identity(workspace, name);
        let mut changed: Vec<&'static str> = self
            .0
            .iter()
            .filter(|(name, was)| now(name).is_some_and(|is| *was != Some(is)))
            .map(|(name, _)| *name)
            .collect();
        // A repository that is new is one word, not six.
        if changed.contains(&PINNED) {
            changed.retain(|name| !name.starts_with(".git/"));
        }
        changed
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    // The two folders are made by the cage itself.
    let is_ours = |name: &str| GIT_FOLDERS.iter().any(|folder| name == format!("{PINNED}/{folder}"));
    std::iter::once(PINNED).chain(GUARDED.iter().copied().filter(move |name| !is_ours(name)))
}

fn identity(workspace: &Path, name: &str) -> Option<Identity> {
    let found = workspace.join(name).symlink_metadata().ok()?;
    Some((found.dev(), found.ino(), found.mode() & 0o170_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn new_and_replaced_files_are_told_and_changed_content_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path(".envrc"), "a").unwrap();
        fs::write(path(".profile"), "a").unwrap();
        let watch = Watch::begin(folder.path());
        assert_eq!(watch.changed(folder.path()), [""; 0]);
        fs::write(path(".envrc"), "b").unwrap();
        fs::write(path("new"), "b").unwrap();
        fs::rename(path("new"), path(".profile")).unwrap();
        fs::create_dir(path(".vscode")).unwrap();
        fs::create_dir_all(path(".git/hooks")).unwrap();
        fs::write(path(".git/config"), "").unwrap();
        assert_eq!(watch.changed(folder.path()), [".git", ".profile", ".vscode"]);
    }
}
