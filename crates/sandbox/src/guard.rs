//! Files of a workspace that other programs run by themselves: a shell that starts there, an editor that opens the folder, an
//! agent, git. An agent that writes them makes its user run them outside the cage.
//!
//! And sockets of other programs in the workspace, through which a command without a network would reach them.
//!
//! Held inside the cage: the guarded names at the workspace's top, what they lead to if they are links, and git's own of the
//! repositories called `.git` at its top and up to two levels down, their submodules, and where a `.git` that is a file or a
//! link leads. Whatever else there is of the kind, at any depth, is compared before and after a command (`planted/`).
//!
//! What this cannot hold: a guarded *file* that somebody outside replaces while a command runs (an editor that renames a new
//! one over it) is not guarded any more in that command's cage, only told at its end. Folders are not affected.

use crate::own_home::{SECRETS, is_home};
use crate::planted::{Seen, Watch};
use crate::search::search;
use crate::short_text::{LINE, text_of};
use mainpath_types::{GUARDED, GUARDED_ANYWHERE, OF_REPOSITORY, REPOSITORY};
use rustix::fs::{Mode, OFlags, ResolveFlags, mkdirat, openat2};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Made where the workspace's repository has none, since a folder that is not there cannot be guarded.
const MADE: [&str; 2] = ["hooks", "info"];

/// Repositories in these, further down than that, or beyond that number are not held, only compared.
const NOT_IN: [&str; 4] = [REPOSITORY, "node_modules", "target", ".venv"];
const MOST_LEVELS: usize = 2;
const MOST_REPOSITORIES: usize = 64;

/// What a cage does about one path, which is absolute and without links.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Guard {
    /// It cannot be moved or removed.
    Pinned(PathBuf),
    /// Nor changed.
    ReadOnly(PathBuf),
    /// Nothing is there.
    Hidden(PathBuf),
}

/// Inspects the workspace before a command that only reads: the guards. `sockets`: file names of the machine's sockets that it must not reach.
pub(crate) fn of_reading(workspace: &Path, own: &[PathBuf], sockets: &BTreeSet<OsString>) -> Vec<Guard> {
    // Looking through the workspace takes a while.
    match sockets.is_empty() {
        true => Vec::new(),
        false => hidden(search(workspace, own, false).sockets, sockets).collect(),
    }
}

fn hidden(found: Vec<PathBuf>, sockets: &BTreeSet<OsString>) -> impl Iterator<Item = Guard> {
    found.into_iter().filter(|path| path.file_name().is_some_and(|name| sockets.contains(name))).map(Guard::Hidden)
}

/// Inspects the workspace before a command that may write: the guards, and the state to compare with afterwards. `own`: Mainpath's own
/// folders; the first stores files that are moved out. `sockets`: as in [`of_reading`].
pub(crate) fn begin(workspace: &Path, own: &[PathBuf], sockets: &BTreeSet<OsString>) -> (Watch, Vec<Guard>) {
    let is_home = is_home(workspace);
    prepare(workspace, is_home);
    let found = search(workspace, own, is_home);
    let mut holding = Holding { workspace, held: BTreeSet::new(), guards: BTreeSet::new(), repositories: 0 };
    GUARDED.iter().chain(GUARDED_ANYWHERE).for_each(|name| holding.look(&workspace.join(name)));
    found.of_home.iter().for_each(|path| holding.look(path));
    let called_git = |path: &&PathBuf| path.file_name().is_some_and(|name| name == REPOSITORY);
    let repositories = found.repositories.iter().filter(called_git).chain(&found.pointers);
    repositories.filter(|path| is_near(workspace, path)).for_each(|path| holding.repository(path));
    let told = if is_home { SECRETS.iter().map(|name| workspace.join(name)).collect() } else { Vec::new() };
    let Holding { held, mut guards, .. } = holding;
    let seen = Seen::of(workspace, &found, &held, told);
    guards.extend(hidden(found.sockets, sockets));
    (Watch::new(workspace, own, is_home, seen), guards.into_iter().collect())
}

struct Holding<'a> {
    workspace: &'a Path,
    /// What is read-only inside, by the names that lead to it.
    held: BTreeSet<PathBuf>,
    guards: BTreeSet<Guard>,
    repositories: usize,
}

impl Holding<'_> {
    /// A path that must not change, nor what it leads to.
    fn look(&mut self, path: &Path) {
        if let Some(real) = self.real(path) {
            self.held.insert(path.into());
            self.hold(real);
        }
    }

    /// Where a path leads, if that is in the workspace; elsewhere nothing can be changed anyway.
    fn real(&self, path: &Path) -> Option<PathBuf> {
        path.symlink_metadata().ok()?;
        path.canonicalize().ok().filter(|real| real.starts_with(self.workspace) && real != self.workspace)
    }

    /// A `.git`: a folder, a link to one, or a file that names one.
    fn repository(&mut self, path: &Path) {
        let Some(real) = self.real(path) else { return };
        if real.is_dir() {
            return self.folder(real);
        }
        self.held.insert(path.into());
        self.hold(real.clone());
        let named =
            text_of(&real, LINE).and_then(|text| Some(real.parent()?.join(text.strip_prefix("gitdir:")?.trim())));
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
        self.way_to(&folder);
        OF_REPOSITORY.iter().for_each(|name| self.look(&folder.join(name)));
        let common = text_of(&folder.join("commondir"), LINE).map(|text| folder.join(text.trim()));
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

    /// With a folder above it moved away another one could be put in its place.
    fn way_to(&mut self, real: &Path) {
        let way = real.ancestors().skip(1).take_while(|above| *above != self.workspace);
        self.guards.extend(way.map(|above| Guard::Pinned(above.into())));
    }

    fn hold(&mut self, real: PathBuf) {
        self.way_to(&real);
        self.held.insert(real.clone());
        self.guards.insert(Guard::ReadOnly(real));
    }
}

/// The folders in a folder, links left out, in a stable order.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let mut found: Vec<PathBuf> = entries.filter(is_folder).map(|entry| entry.path()).take(MOST_REPOSITORIES).collect();
    found.sort();
    found
}

/// Whether a repository lies where it is held.
fn is_near(workspace: &Path, path: &Path) -> bool {
    let above = path.parent().and_then(|above| above.strip_prefix(workspace).ok());
    above.is_some_and(|above| {
        above.components().count() <= MOST_LEVELS
            && !above.components().any(|step| NOT_IN.iter().any(|name| step.as_os_str() == *name))
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

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
            Guard::Hidden(path) => format!("{} hidden", name(path)),
        };
        begin(workspace, &[], &BTreeSet::new()).1.iter().map(told).collect()
    }

    #[test]
    fn a_repository_is_pinned_and_what_git_runs_of_it_is_read_only() {
        let (_folder, workspace) = workspace();
        repository(&workspace.join(".git"));
        assert_eq!(guards(&workspace), [".git*", ".git/config", ".git/hooks", ".git/info"]);
    }

    #[test]
    fn sockets_of_the_machine_are_hidden_and_others_can_be_replaced() {
        let (_folder, workspace) = workspace();
        fs::create_dir(workspace.join("run")).unwrap();
        let _sockets =
            ["dev.sock", "run/s.5432", "run/left"].map(|name| UnixListener::bind(workspace.join(name)).unwrap());
        fs::write(workspace.join("s.5432"), "no socket").unwrap();
        let names = ["dev.sock", "s.5432"].map(OsString::from).into();
        let expected = ["dev.sock", "run/s.5432"].map(|name| Guard::Hidden(workspace.join(name)));
        assert_eq!(begin(&workspace, &[], &names).1, expected);
        assert_eq!(of_reading(&workspace, &[], &names), expected);
        assert_eq!(of_reading(&workspace, &[], &BTreeSet::new()), []);
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
    fn what_links_lead_to_is_guarded_if_it_can_be_changed() {
        let (_folder, workspace) = workspace();
        fs::write(workspace.join("env"), "a").unwrap();
        symlink("env", workspace.join(".envrc")).unwrap();
        symlink("/etc/profile", workspace.join(".profile")).unwrap();
        symlink(".", workspace.join(".vscode")).unwrap();
        repository(&workspace.join("elsewhere"));
        symlink("elsewhere", workspace.join(".git")).unwrap();
        assert_eq!(guards(&workspace), ["elsewhere*", "elsewhere/config", "env"]);
    }

    #[test]
    fn the_way_to_what_is_guarded_cannot_be_moved_away() {
        let (_folder, workspace) = workspace();
        fs::create_dir_all(workspace.join(".github/workflows")).unwrap();
        fs::create_dir_all(workspace.join("sub/.vscode")).unwrap();
        fs::write(workspace.join("AGENTS.md"), "").unwrap();
        assert_eq!(guards(&workspace), [".github*", ".github/workflows", "AGENTS.md"]);
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
