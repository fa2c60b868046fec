//! The files of skills below a root: folders with a `SKILL.md`, and `*.md` files in the root itself. Nothing is opened here.
//!
//! A folder can be a trap: links that lead to each other or to the whole disk, pipes, a million entries. So links are followed
//! one step and never walked into, what a project links to must lie in the same root, and depth and entries are bounded.

use crate::roots::{Layer, Root};
use crate::validate::FILES;
use serde::{Deserialize, Serialize};
use std::fs::{DirEntry, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How deep below a root a skill's folder may lie: collections sort skills into folders.
const DEEPEST: usize = 4;
/// The most entries of folders that are looked at for one index.
const MOST_ENTRIES: usize = 100_000;

/// What tells that a file is the one that was read before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    inode: u64,
    size: u64,
    modified: i64,
    modified_ns: i64,
    changed: i64,
    changed_ns: i64,
}

impl Stamp {
    fn new(found: &Metadata) -> Stamp {
        Stamp {
            inode: found.ino(),
            size: found.size(),
            modified: found.mtime(),
            modified_ns: found.mtime_nsec(),
            changed: found.ctime(),
            changed_ns: found.ctime_nsec(),
        }
    }
}

/// A skill's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Nothing for a flat skill.
    pub folder: Option<PathBuf>,
    pub file: PathBuf,
    pub stamp: Stamp,
}

/// Something that was not read, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Where it is.
    pub path: PathBuf,
    /// Why: one line for people.
    pub why: String,
}

/// Looks through roots.
pub(crate) struct Walk {
    entries: usize,
    pub skipped: Vec<Skipped>,
}

impl Walk {
    pub fn new() -> Walk {
        Walk { entries: 0, skipped: Vec::new() }
    }

    /// The skills of a root in the order of their names.
    pub fn look(&mut self, root: &Root) -> Vec<Found> {
        let mut found = Vec::new();
        let mut open = vec![Level { folder: root.real.clone(), level: 0 }];
        while let Some(Level { folder, level }) = open.pop() {
            let mut below = Vec::new();
            for entry in self.entries(&folder) {
                let path = entry.path();
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() {
                    match self.skill_in(&path, root.layer) {
                        Some(skill) => found.push(skill),
                        None if level + 1 < DEEPEST => below.push(Level { folder: path, level: level + 1 }),
                        None => {}
                    }
                } else if kind.is_symlink() {
                    found.extend(self.linked(root, &path, level));
                } else if level == 0 && is_markdown(&path) {
                    found.extend(self.flat(path, root.layer));
                }
            }
            below.reverse();
            open.append(&mut below);
        }
        found
    }

    /// What is not hidden, sorted.
    fn entries(&mut self, folder: &Path) -> Vec<DirEntry> {
        let listed = match std::fs::read_dir(folder) {
            Ok(listed) => listed,
            Err(error) => {
                self.skip(folder, format!("the folder cannot be read: {error}"));
                return Vec::new();
            }
        };
        let mut entries = Vec::new();
        for entry in listed.flatten() {
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                self.skip(
                    folder,
                    format!("there are more than {MOST_ENTRIES} files and folders; the rest was not looked at"),
                );
                break;
            }
            let name = entry.file_name();
            match name.to_str() {
                Some(name) if name.starts_with('.') || name == "node_modules" => {}
                Some(_) => entries.push(entry),
                None => self.skip(&entry.path(), "its name is not UTF-8 text".into()),
            }
        }
        entries.sort_by_cached_key(DirEntry::file_name);
        entries
    }

    /// The skill of a folder that has one.
    fn skill_in(&mut self, folder: &Path, layer: Layer) -> Option<Found> {
        for name in FILES {
            let file = folder.join(name);
            let Ok(own) = file.symlink_metadata() else { continue };
            let stamp = self.stamp(&file, own, layer)?;
            return Some(Found { folder: Some(folder.into()), file, stamp });
        }
        None
    }

    fn flat(&mut self, file: PathBuf, layer: Layer) -> Option<Found> {
        let own = file.symlink_metadata().ok()?;
        let stamp = self.stamp(&file, own, layer)?;
        Some(Found { folder: None, file, stamp })
    }

    /// Of a regular file; what a person has linked to counts as well.
    fn stamp(&mut self, file: &Path, own: Metadata, layer: Layer) -> Option<Stamp> {
        let found = match own.is_symlink() && layer != Layer::Project {
            true => file.metadata().unwrap_or(own),
            false => own,
        };
        if found.is_file() {
            return Some(Stamp::new(&found));
        }
        let what = if found.is_symlink() { "it is a link" } else { "it is not a regular file" };
        self.skip(file, what.into());
        None
    }

    /// A link to a skill: its folder or, in the root itself, its file. It is never looked into further.
    fn linked(&mut self, root: &Root, link: &Path, level: usize) -> Option<Found> {
        let real = match link.canonicalize() {
            Ok(real) => real,
            Err(error) => {
                self.skip(link, format!("the link leads nowhere: {error}"));
                return None;
            }
        };
        if root.layer == Layer::Project && !real.starts_with(&root.real) {
            self.skip(link, format!("the link leads out of {}", root.path.display()));
            return None;
        }
        if real.to_str().is_none() {
            self.skip(link, "it leads to a name that is not UTF-8 text".into());
            return None;
        }
        if real.is_dir() {
            self.skill_in(&real, root.layer)
        } else if level == 0 && is_markdown(link) {
            self.flat(real, root.layer)
        } else {
            None
        }
    }

    fn skip(&mut self, path: &Path, why: String) {
        if self.skipped.iter().all(|known| known.path != path) {
            self.skipped.push(Skipped { path: path.into(), why });
        }
    }
}

/// A folder to look through.
struct Level {
    folder: PathBuf,
    level: usize,
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}
