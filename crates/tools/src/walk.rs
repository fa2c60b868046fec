//! Going through the workspace, folder by folder, in the order of the names: what `glob`, `grep` and `list_files` look at.
//!
//! Every folder and file is opened from the workspace's root with links forbidden, so nothing leads out of it, whatever is
//! swapped meanwhile. What a hostile tree can cost is bounded, in names and in time. What cannot be read is said, and is
//! no failure.

use crate::ignored::Rules;
use crate::unread::Unread;
use crate::workspace::{Entry, Place};
use crate::{FoundCheck, Problem, Resolved, Workspace};
use ignore::overrides::{Override, OverrideBuilder};
use mainpath_types::Decision;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Names looked at in one call.
const NAMES: usize = 1_000_000;
/// How long one call looks.
const TIME: Duration = Duration::from_secs(30);

/// What a call may still do.
#[derive(Clone)]
pub(crate) struct Watch {
    cancel: CancellationToken,
    until: Instant,
}

/// Why a search ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// Somebody, or a limit of the call, wanted it.
    Stopped,
    /// It took too long.
    Late,
}

impl Watch {
    /// From now on.
    pub fn new(cancel: CancellationToken) -> Watch {
        Watch { cancel, until: Instant::now() + TIME }
    }

    pub fn check(&self) -> Result<(), Over> {
        match () {
            () if self.cancel.is_cancelled() => Err(Over::Stopped),
            () if Instant::now() >= self.until => Err(Over::Late),
            () => Ok(()),
        }
    }
}

/// A walk through a folder and all folders in it.
pub(crate) struct Walk<'a> {
    workspace: &'a Workspace,
    watch: Watch,
    rules: Rules,
    folders: Vec<Folder>,
    names_left: usize,
    unread: Unread,
    /// Whether hidden files and links are found too, but for a repository's own.
    all: bool,
    /// Which files are wanted; none given: all.
    choice: Option<Choice>,
    /// What the rules say of each file, and whether those that they ask about are left out as well.
    found: Option<(FoundCheck, bool)>,
    /// How many files the rules left out.
    withheld: u64,
}

struct Folder {
    path: PathBuf,
    entries: std::vec::IntoIter<Entry>,
}

impl<'a> Walk<'a> {
    /// A walk that begins in a folder. Errors: it is none, or it cannot be read.
    pub fn begin(workspace: &'a Workspace, place: &Place, watch: Watch) -> Result<Walk<'a>, Problem> {
        let mut walk = Walk {
            workspace,
            watch,
            rules: Rules::above(workspace.root()),
            folders: Vec::new(),
            names_left: NAMES,
            unread: Unread::default(),
            all: false,
            choice: None,
            found: None,
            withheld: 0,
        };
        let steps: Vec<&Path> = place.relative().ancestors().skip(1).collect();
        for folder in steps.into_iter().rev() {
            walk.rules.enter(workspace, folder, None, &mut walk.unread);
        }
        match walk.enter(place) {
            Ok(()) => Ok(walk),
            Err(Errno::NOTDIR) => {
                Err(Problem::new("not_a_folder", format!("{:?} is a file, not a folder.", place.path)))
            }
            Err(error) => Err(workspace.failed(place, error)),
        }
    }

    /// The same walk, hidden files and links included, but for what lies in `.git`. No link is followed.
    pub fn over_all(self) -> Walk<'a> {
        Walk { all: true, ..self }
    }

    /// The same walk for the files that a pattern chooses.
    pub fn choosing(self, choice: Option<Choice>) -> Walk<'a> {
        Walk { choice, ..self }
    }

    /// The same walk without the names that the rules deny.
    pub fn naming(self, check: FoundCheck) -> Walk<'a> {
        Walk { found: Some((check, false)), ..self }
    }

    /// The same walk without the files that the rules deny or ask about: what they contain is shown to a model.
    pub fn reading(self, check: FoundCheck) -> Walk<'a> {
        Walk { found: Some((check, true)), ..self }
    }

    /// Returns true if the rules leave a name out.
    fn is_withheld(&self, path: &Path) -> bool {
        let Some((check, reads)) = &self.found else { return false };
        let absolute = self.workspace.root().join(path);
        let place = Resolved { absolute, in_workspace: true, protected: false };
        match check(&self.workspace.fact(&path.to_string_lossy(), &place)) {
            Decision::Allow => false,
            Decision::Ask => *reads,
            Decision::Deny => true,
        }
    }

    /// Returns true if a link leads to a name that the rules leave out.
    fn leads_to_withheld(&self, path: &Path, entry: &Entry) -> bool {
        let resolved = path.to_str().filter(|_| entry.kind == FileType::Symlink);
        let resolved = resolved.and_then(|path| self.workspace.resolve(path).ok());
        resolved
            .and_then(|to| Some(to.absolute.strip_prefix(self.workspace.root()).ok()?.to_path_buf()))
            .is_some_and(|target| self.is_withheld(&target))
    }

    fn shows(&self, path: &Path, is_folder: bool) -> bool {
        let absolute = self.workspace.root().join(path);
        match self.all {
            true => path.file_name() != Some(OsStr::new(".git")) && !self.rules.ignores(&absolute, is_folder),
            false => self.rules.show(&absolute, is_folder),
        }
    }

    /// The next file; whatever is no regular file is left out.
    pub fn next_file(&mut self) -> Result<Option<Place>, Over> {
        loop {
            self.watch.check()?;
            let Some(folder) = self.folders.last_mut() else { return Ok(None) };
            let Some(entry) = folder.entries.next() else {
                self.folders.pop();
                self.rules.leave();
                continue;
            };
            let path = folder.path.join(&entry.name);
            let is_folder = entry.kind == FileType::Directory;
            let is_link = self.all && entry.kind == FileType::Symlink;
            if !is_folder && !is_link && entry.kind != FileType::RegularFile {
                continue;
            }
            let Some(place) = self.workspace.found(&path) else { continue };
            if !self.shows(&path, is_folder) {
                continue;
            }
            if !is_folder {
                if self.choice.as_ref().is_some_and(|choice| !choice.takes(&path)) {
                    continue;
                }
                if self.is_withheld(&path) {
                    self.withheld += 1;
                    continue;
                }
                return Ok(Some(place));
            }
            if let Err(error) = self.enter(&place) {
                self.unread.add(&path, io::Error::from(error));
            }
        }
    }

    /// What is in the walk's first folder, and how many names of it are left out as hidden or ignored.
    pub fn first_folder(mut self) -> (Vec<Entry>, u64, Vec<String>) {
        let (mut entries, mut left_out) = (Vec::new(), 0);
        let Some(folder) = self.folders.pop() else { return (entries, left_out, Vec::new()) };
        for entry in folder.entries {
            let path = folder.path.join(&entry.name);
            if self.workspace.found(&path).is_none() {
                continue;
            }
            match self.rules.show(&self.workspace.root().join(&path), entry.kind == FileType::Directory) {
                true if self.is_withheld(&path) || self.leads_to_withheld(&path, &entry) => self.withheld += 1,
                true => entries.push(entry),
                false => left_out += 1,
            }
        }
        let notes = self.notes();
        (entries, left_out, notes)
    }

    fn enter(&mut self, place: &Place) -> Result<(), Errno> {
        let folder = self.workspace.folder(place)?;
        let mut entries = crate::workspace::entries(&folder, self.names_left)?;
        self.names_left -= entries.len();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let path = place.relative().to_path_buf();
        self.rules.enter(self.workspace, &path, Some(&entries), &mut self.unread);
        self.folders.push(Folder { path, entries: entries.into_iter() });
        Ok(())
    }

    /// What to say of the search itself.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.names_left == 0 {
            let names = crate::words::count(NAMES as u64, "name");
            notes.push(format!("only the first {names} were looked at; narrow it by `path`"));
        }
        notes.extend(self.unread.note());
        if self.withheld > 0 {
            notes.push(format!("{} left out by rules", crate::words::count(self.withheld, "name")));
        }
        notes
    }
}

/// What to say when a search ended early.
pub(crate) fn late() -> String {
    format!("ended after {}; narrow it by `path`", crate::words::count(TIME.as_secs(), "second"))
}

/// A choice of files by a pattern, as ripgrep's `--glob` makes it.
pub(crate) struct Choice {
    matcher: Override,
    base: PathBuf,
}

impl Choice {
    /// Errors: `pattern` of the tool's argument `field` is none.
    pub fn new(pattern: &str, base: &Place, tool: &str, field: &str) -> Result<Choice, Problem> {
        let wrong = |what: String| {
            let what: String = what.chars().take(600).collect();
            Problem::new("invalid_arguments", format!("Wrong arguments for {tool}: `{field}`: {what}."))
        };
        let written = pattern.strip_prefix("./").unwrap_or(pattern);
        let mut builder = OverrideBuilder::new(".");
        let built = builder.add(written).and_then(|builder| builder.build());
        let matcher = built.map_err(|error| wrong(error.to_string()))?;
        if matcher.is_empty() {
            return Err(wrong("it is empty".into()));
        }
        Ok(Choice { matcher, base: base.relative().to_path_buf() })
    }

    pub fn takes(&self, file: &Path) -> bool {
        !self.matcher.matched(file.strip_prefix(&self.base).unwrap_or(file), false).is_ignore()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unread::shown;

    fn tree(files: &[&str]) -> (tempfile::TempDir, Workspace) {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let workspace = Workspace::new(folder.path(), vec![]).unwrap();
        (folder, workspace)
    }

    fn begin<'a>(workspace: &'a Workspace, watch: Watch) -> Walk<'a> {
        Walk::begin(workspace, &workspace.found(Path::new("")).unwrap(), watch).unwrap()
    }

    #[test]
    fn a_walk_ends_when_it_is_stopped_and_when_its_time_is_up() {
        let (_folder, workspace) = tree(&["a", "b"]);
        let watch = Watch::new(CancellationToken::new());
        let mut walk = begin(&workspace, watch.clone());
        assert_eq!(walk.next_file().unwrap().unwrap().relative(), Path::new("a"));
        watch.cancel.cancel();
        assert_eq!(walk.next_file().map(|found| found.is_some()), Err(Over::Stopped));
        let late = Watch { cancel: CancellationToken::new(), until: Instant::now() };
        assert_eq!(begin(&workspace, late).next_file().map(|found| found.is_some()), Err(Over::Late));
    }

    #[test]
    fn a_walk_ends_when_it_has_seen_enough_names_and_says_so() {
        let (_folder, workspace) = tree(&["a", "b/c", "b/d", "e"]);
        let mut walk = begin(&workspace, Watch::new(CancellationToken::new()));
        walk.names_left = 1;
        let mut found = Vec::new();
        while let Some(place) = walk.next_file().unwrap() {
            found.push(shown(place.relative()));
        }
        // Which of the two in the second folder comes first is the file system's choice.
        assert_eq!((found.len(), found[0].as_str(), found[2].as_str()), (3, "a", "e"));
        assert_eq!(walk.notes(), ["only the first 1,000,000 names were looked at; narrow it by `path`"]);
    }

    #[test]
    fn a_folder_that_is_swapped_for_a_link_is_not_entered() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "").unwrap();
        let (folder, workspace) = tree(&["a/x", "b"]);
        let mut walk = begin(&workspace, Watch::new(CancellationToken::new()));
        std::fs::remove_dir_all(folder.path().join("a")).unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.path().join("a")).unwrap();
        assert_eq!(walk.next_file().unwrap().unwrap().relative(), Path::new("b"));
        assert!(walk.next_file().unwrap().is_none());
        assert_eq!(walk.notes().len(), 1);
    }
}
