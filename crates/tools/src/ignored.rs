//! Which names a search leaves out: the hidden ones and those that ignore files name, by the rules of ripgrep.
//!
//! The rules are those of `gitignore(5)` and of ripgrep 15 (GUIDE.md, "Automatic filtering"): `.rgignore` and `.ignore`
//! win over `.gitignore` and `.git/info/exclude`, the folder nearest to the file wins over those above it, a name that a
//! rule puts back is shown although it is hidden, and a repository does not know the `.gitignore` files around it. Unlike
//! ripgrep, `.gitignore` counts outside of a repository too, and what a user ignores everywhere does not count: a search
//! finds the same on every machine.

use crate::Workspace;
use crate::unread::Unread;
use crate::workspace::Entry;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{FileType, Mode, OFlags};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Larger ignore files are not used.
const MAX_BYTES: u64 = 256 * 1024;

const REPOSITORY: &str = ".git";
const OWN: [&str; 2] = [".ignore", ".rgignore"];
const GIT: [&str; 2] = [".git/info/exclude", ".gitignore"];

/// The rules of the folder that is looked at and of all around it, outermost first.
#[derive(Default)]
pub(crate) struct Rules {
    levels: Vec<Level>,
}

struct Level {
    /// The folder whose rules these are, absolute.
    base: PathBuf,
    own: Gitignore,
    git: Gitignore,
    is_repository: bool,
}

impl Rules {
    /// The `.gitignore` files above the workspace, if it lies inside a repository. They say what to leave out; nothing of
    /// them is shown.
    pub fn above(root: &Path) -> Rules {
        let is_repository = |folder: &Path| folder.join(REPOSITORY).symlink_metadata().is_ok();
        let mut levels = Vec::new();
        if is_repository(root) {
            return Rules::default();
        }
        for folder in root.ancestors().skip(1) {
            let git = matcher(GIT.map(|name| outside(&folder.join(name)).unwrap_or_default()));
            let level =
                Level { base: folder.into(), own: Gitignore::empty(), git, is_repository: is_repository(folder) };
            let is_last = level.is_repository;
            levels.push(level);
            if is_last {
                levels.reverse();
                return Rules { levels };
            }
        }
        Rules::default()
    }

    /// Takes the rules of a folder of the workspace in. `names`: what is in it, sorted by name, where that is known.
    pub fn enter(&mut self, workspace: &Workspace, folder: &Path, names: Option<&[Entry]>, unread: &mut Unread) {
        let there = |name: &str| {
            names.is_none_or(|names| names.binary_search_by(|entry| entry.name.as_os_str().cmp(name.as_ref())).is_ok())
        };
        let is_repository = there(REPOSITORY) && workspace.exists(&folder.join(REPOSITORY));
        let mut read = |name: &str| {
            let first = name.split('/').next().unwrap_or(name);
            let path = folder.join(name);
            let place = if there(first) { workspace.found(&path) } else { None };
            let Some(place) = place else { return String::new() };
            match workspace.open(&place) {
                Ok((file, _)) => lines(file).unwrap_or_else(|error| {
                    unread.add(&path, error);
                    String::new()
                }),
                Err(problem) => {
                    if problem.code != "not_found" {
                        unread.problem(&path, &problem);
                    }
                    String::new()
                }
            }
        };
        let (own, git) = (matcher(OWN.map(&mut read)), matcher(GIT.map(&mut read)));
        self.levels.push(Level { base: workspace.root().join(folder), own, git, is_repository });
    }

    /// Drops the rules of the folder that was entered last.
    pub fn leave(&mut self) {
        self.levels.pop();
    }

    /// Whether a rule leaves a name in the folder that was entered last out; `path` is absolute.
    pub fn ignores(&self, path: &Path, is_folder: bool) -> bool {
        self.own(path, is_folder).or(self.git(path, is_folder)).is_ignore()
    }

    /// Whether a name in the folder that was entered last is shown; `path` is absolute.
    pub fn show(&self, path: &Path, is_folder: bool) -> bool {
        match self.own(path, is_folder).or(self.git(path, is_folder)) {
            Match::Ignore(()) => false,
            Match::Whitelist(()) => true,
            Match::None => !path.file_name().is_some_and(|name| name.as_bytes().starts_with(b".")),
        }
    }

    fn own(&self, path: &Path, is_folder: bool) -> Match<()> {
        let rules = self.levels.iter().rev().map(|level| matched(&level.own, &level.base, path, is_folder));
        rules.into_iter().find(|found| !found.is_none()).unwrap_or(Match::None)
    }

    fn git(&self, path: &Path, is_folder: bool) -> Match<()> {
        for level in self.levels.iter().rev() {
            let found = matched(&level.git, &level.base, path, is_folder);
            if level.is_repository || !found.is_none() {
                return found;
            }
        }
        Match::None
    }
}

fn matched(rules: &Gitignore, base: &Path, path: &Path, is_folder: bool) -> Match<()> {
    // Most folders have no rules, and in a deep tree there are a great many above each name.
    if rules.is_empty() {
        return Match::None;
    }
    rules.matched(path.strip_prefix(base).unwrap_or(path), is_folder).map(|_| ())
}

/// The later a line, the more it counts. Lines that are no patterns are passed over, as git does.
fn matcher(files: [String; 2]) -> Gitignore {
    if files.iter().all(String::is_empty) {
        return Gitignore::empty();
    }
    // Paths are given from the rules' own folder on.
    let mut builder = GitignoreBuilder::new(".");
    for line in files.iter().flat_map(|file| file.lines()) {
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// The text of an ignore file outside of the workspace. Nothing but a regular file is read.
fn outside(path: &Path) -> io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty())?;
    match FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) {
        FileType::RegularFile => lines(File::from(file)),
        _ => Ok(String::new()),
    }
}

fn lines(file: File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::other("not used: it is larger than 256 KiB"));
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(text.strip_prefix('\u{feff}').map(String::from).unwrap_or(text))
}
