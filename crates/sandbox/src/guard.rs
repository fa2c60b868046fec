//! Files of a workspace that other programs run by themselves: a shell that starts there, an editor that opens the folder,
//! git. An agent that writes them makes its user run them outside the cage, so inside they cannot be changed, and new ones
//! are told after the command.
//!
//! Guarded are the names below in the workspace itself, what they lead to if they are links, and git's own of every repository
//! in it: at its top, in folders up to two levels down, its submodules, and where a `.git` that is a file or a link leads.
//!
//! What this cannot hold: a guarded *file* that somebody outside replaces while a command runs (an editor that renames a new
//! one over it) is not guarded any more in that command's cage, only told at its end. Folders are not affected.

use crate::home::{SECRETS, own_home};
use mainpath_types::{GUARDED, OF_REPOSITORY, REPOSITORY};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, mkdirat, openat2};
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Made where the workspace's repository has none, since a folder that is not there cannot be guarded.
const MADE: [&str; 2] = ["hooks", "info"];

/// Where repositories further down are looked for: not in these, and in no more folders than that.
const NOT_IN: [&str; 4] = [REPOSITORY, "node_modules", "target", ".venv"];
const MOST_FOLDERS: usize = 256;
const MOST_REPOSITORIES: usize = 64;

/// What a cage does about one path, which is absolute and without links.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Guard {
    /// It cannot be moved or removed.
    Pinned(PathBuf),
    /// Nor changed.
    ReadOnly(PathBuf),
}

/// What was to be guarded before a command.
#[derive(Debug)]
pub(crate) struct Watch {
    workspace: PathBuf,
    seen: Vec<(PathBuf, Option<Identity>)>,
}

/// Which file it is: device, number, kind.
type Identity = (u64, u64, u32);

impl Watch {
    /// Looks before the command: what is to be guarded, and what to compare with after it.
    pub fn begin(workspace: &Path) -> (Watch, Vec<Guard>) {
        let is_home = std::env::var_os("HOME").and_then(|home| own_home(&home)).is_some_and(|home| home == workspace);
        prepare(workspace, is_home);
        let mut search = Search { workspace, paths: BTreeSet::new(), guards: BTreeSet::new(), repositories: 0 };
        GUARDED.iter().for_each(|name| search.look(&workspace.join(name)));
        if is_home {
            SECRETS.iter().for_each(|name| search.watch(&workspace.join(name)));
        }
        search.repository(&workspace.join(REPOSITORY));
        search.further_down();
        let seen =
            search.paths.into_iter().map(|path| (identity(&path), path)).map(|(was, path)| (path, was)).collect();
        (Watch { workspace: workspace.into(), seen }, search.guards.into_iter().collect())
    }

    /// Looks again after it: the paths from the workspace that are new, or are another file than before.
    pub fn changed(&self) -> Vec<String> {
        let differs = |(path, was): &&(PathBuf, Option<Identity>)| identity(path).is_some_and(|is| *was != Some(is));
        let mut changed: Vec<&Path> = Vec::new();
        // Sorted: what contains comes first. A repository that is new is one word, not six.
        for (path, _) in self.seen.iter().filter(differs) {
            if !changed.iter().any(|known| path.starts_with(known)) {
                changed.push(path);
            }
        }
        let name = |path: &Path| path.strip_prefix(&self.workspace).unwrap_or(path).display().to_string();
        changed.into_iter().map(name).collect()
    }
}

struct Search<'a> {
    workspace: &'a Path,
    paths: BTreeSet<PathBuf>,
    guards: BTreeSet<Guard>,
    repositories: usize,
}

impl Search<'_> {
    fn watch(&mut self, path: &Path) {
        self.paths.insert(path.into());
    }

    /// A path that must not change, nor what it leads to.
    fn look(&mut self, path: &Path) {
        self.watch(path);
        if let Some(real) = self.real(path) {
            self.guards.insert(Guard::ReadOnly(real));
        }
    }

    /// Where a path leads, if that is in the workspace; elsewhere nothing can be changed anyway.
    fn real(&self, path: &Path) -> Option<PathBuf> {
        path.symlink_metadata().ok()?;
        path.canonicalize().ok().filter(|real| real.starts_with(self.workspace) && real != self.workspace)
    }

    /// A `.git`: a folder, a link to one, or a file that names one.
    fn repository(&mut self, path: &Path) {
        self.watch(path);
        let Some(real) = self.real(path) else { return };
        if real.is_dir() {
            return self.folder(real);
        }
        self.guards.insert(Guard::ReadOnly(real.clone()));
        let named = text_of(&real).and_then(|text| Some(real.parent()?.join(text.strip_prefix("gitdir:")?.trim())));
        if let Some(folder) = named.and_then(|path| self.real(&path)) {
            self.folder(folder);
        }
    }

    /// The folder of a repository.
    fn folder(&mut self, folder: PathBuf) {
        if self.repositories == MOST_REPOSITORIES || !self.guards.insert(Guard::Pinned(folder.clone())) {
            return;
        }
        self.repositories += 1;
        // With a folder above it moved away another one could be put in its place.
        let way = folder.ancestors().skip(1).take_while(|above| *above != self.workspace);
        self.guards.extend(way.map(|above| Guard::Pinned(above.into())));
        OF_REPOSITORY.iter().for_each(|name| self.look(&folder.join(name)));
        let common = text_of(&folder.join("commondir")).map(|text| folder.join(text.trim()));
        if let Some(common) = common.and_then(|path| self.real(&path)) {
            self.folder(common);
        }
        self.submodules(&folder.join("modules"), 4);
    }

    /// Submodules have names with slashes, so their folders lie at any depth.
    fn submodules(&mut self, folder: &Path, depth: usize) {
        for inner in folders(folder) {
            if inner.join("HEAD").exists() {
                self.folder(inner);
            } else if depth > 0 {
                self.submodules(&inner, depth - 1);
            }
        }
    }

    fn further_down(&mut self) {
        let top = folders(self.workspace);
        let below: Vec<PathBuf> = top.iter().take(MOST_FOLDERS).flat_map(|folder| folders(folder)).collect();
        for folder in top.iter().chain(&below).take(MOST_FOLDERS) {
            let path = folder.join(REPOSITORY);
            if path.symlink_metadata().is_ok() {
                self.repository(&path);
            }
        }
    }
}

/// The folders in a folder, links left out, in a stable order.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_searched = |entry: &fs::DirEntry| {
        entry.file_type().is_ok_and(|kind| kind.is_dir()) && !NOT_IN.iter().any(|name| entry.file_name() == *name)
    };
    let mut found: Vec<PathBuf> = entries.filter(is_searched).map(|entry| entry.path()).take(MOST_FOLDERS).collect();
    found.sort();
    found
}

/// The beginning of a small file. Whatever lies there: it is not waited for.
fn text_of(path: &Path) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok()?;
    let is_file = FileType::from_raw_mode(fstat(&file).ok()?.st_mode) == FileType::RegularFile;
    let mut text = String::new();
    is_file.then_some(())?;
    fs::File::from(file).take(4096).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Makes the folders that must be there to be guarded: of the workspace's repository, and in a home the one with the keys that
/// let people in.
fn prepare(workspace: &Path, is_home: bool) {
    let open = |at: &OwnedFd, name: &str, flags: OFlags| {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        openat2(at, name, OFlags::PATH | OFlags::CLOEXEC | flags, Mode::empty(), resolve)
    };
    let Ok(workspace) = rustix::fs::open(workspace, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) else { return };
    if is_home {
        let _ = mkdirat(&workspace, ".ssh", Mode::from(0o700));
    }
    if let Ok(folder) = open(&workspace, REPOSITORY, OFlags::DIRECTORY)
        && open(&folder, "HEAD", OFlags::empty()).is_ok()
    {
        for name in MADE {
            // One that cannot be made here cannot be made inside either.
            let _ = mkdirat(&folder, name, Mode::from(0o777));
        }
    }
}

fn identity(path: &Path) -> Option<Identity> {
    let found = path.symlink_metadata().ok()?;
    Some((found.dev(), found.ino(), found.mode() & 0o170_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn workspace() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        (folder, path)
    }

    fn repository(at: &Path) {
        fs::create_dir_all(at).unwrap();
        fs::write(at.join("HEAD"), "ref: refs/heads/main").unwrap();
        fs::write(at.join("config"), "").unwrap();
    }

    /// The guards, as paths from the workspace: pinned ones with a star.
    fn guards(workspace: &Path) -> Vec<String> {
        let name = |path: &Path| path.strip_prefix(workspace).unwrap().display().to_string();
        let told = |guard: &Guard| match guard {
            Guard::Pinned(path) => format!("{}*", name(path)),
            Guard::ReadOnly(path) => name(path),
        };
        Watch::begin(workspace).1.iter().map(told).collect()
    }

    #[test]
    fn new_and_replaced_files_are_told_and_changed_content_is_not() {
        let (_folder, workspace) = workspace();
        let path = |name: &str| workspace.join(name);
        fs::write(path(".envrc"), "a").unwrap();
        fs::write(path(".profile"), "a").unwrap();
        let (watch, _) = Watch::begin(&workspace);
        assert_eq!(watch.changed(), [""; 0]);
        fs::write(path(".envrc"), "b").unwrap();
        fs::write(path("new"), "b").unwrap();
        fs::rename(path("new"), path(".profile")).unwrap();
        fs::create_dir(path(".vscode")).unwrap();
        repository(&path(".git"));
        assert_eq!(watch.changed(), [".git", ".profile", ".vscode"]);
    }

    #[test]
    fn a_repository_is_pinned_and_what_git_runs_of_it_is_read_only() {
        let (_folder, workspace) = workspace();
        repository(&workspace.join(".git"));
        assert_eq!(guards(&workspace), [".git*", ".git/config", ".git/hooks", ".git/info"]);
        let (watch, _) = Watch::begin(&workspace);
        fs::write(workspace.join(".git/commondir"), "../other").unwrap();
        assert_eq!(watch.changed(), [".git/commondir"]);
    }

    #[test]
    fn submodules_repositories_further_down_and_what_a_file_names_are_found() {
        let (_folder, workspace) = workspace();
        repository(&workspace.join("store/own.git"));
        fs::write(workspace.join(".git"), "gitdir: store/own.git\n").unwrap();
        repository(&workspace.join("store/own.git/modules/lib/deep"));
        repository(&workspace.join("a/b/.git"));
        repository(&workspace.join("a/b/c/.git"));
        let wanted = [
            "a*",
            "a/b*",
            "a/b/.git*",
            "store*",
            "store/own.git*",
            "store/own.git/modules*",
            "store/own.git/modules/lib*",
            "store/own.git/modules/lib/deep*",
            ".git",
            "a/b/.git/config",
            "store/own.git/config",
            "store/own.git/modules/lib/deep/config",
        ];
        assert_eq!(guards(&workspace), wanted);
    }

    #[test]
    fn what_links_lead_to_is_guarded_if_it_can_be_changed_and_the_link_is_watched() {
        let (_folder, workspace) = workspace();
        fs::write(workspace.join("env"), "a").unwrap();
        symlink("env", workspace.join(".envrc")).unwrap();
        symlink("/etc/profile", workspace.join(".profile")).unwrap();
        symlink(".", workspace.join(".vscode")).unwrap();
        repository(&workspace.join("elsewhere"));
        symlink("elsewhere", workspace.join(".git")).unwrap();
        assert_eq!(guards(&workspace), ["elsewhere*", "elsewhere/config", "env"]);
        let (watch, _) = Watch::begin(&workspace);
        fs::remove_file(workspace.join(".envrc")).unwrap();
        fs::write(workspace.join(".envrc"), "b").unwrap();
        assert_eq!(watch.changed(), [".envrc"]);
    }

    #[test]
    fn odd_files_hold_nobody_up() {
        let (_folder, workspace) = workspace();
        let pipe = workspace.join(".git");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(guards(&workspace), [".git"]);
        fs::remove_file(&pipe).unwrap();
        fs::write(&pipe, vec![b'x'; 1 << 20]).unwrap();
        assert_eq!(guards(&workspace), [".git"]);
    }
}
