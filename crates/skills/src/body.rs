//! What is read of a skill once it was chosen: its body, its files, and parts of them.
//!
//! Nothing outside the skill's folder can be opened: every step of a path is opened by itself, links are refused at every step,
//! and `..` and absolute paths are never tried.

use crate::excerpt::{Excerpt, excerpt};
use crate::front::{line_feeds, read_text};
use crate::open::{self, Problem, open_folder, open_folder_inside, open_inside, open_regular, read_whole};
use crate::skill::{Location, Skill, Standing};
use crate::trust::{Untrusted, content_hash, hash_of_folder};
use rustix::fs::{Dir, FileType};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// The largest file that is read, in bytes.
pub const LARGEST_FILE: u64 = 4 << 20;
/// The most files that are listed.
pub const MOST_LISTED: usize = 500;
/// How deep folders are listed.
const DEEPEST: usize = 8;

/// Why nothing can be read of a skill.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// A file cannot be read.
    #[error("{path}: {problem}")]
    File {
        /// The file, from the skill's folder.
        path: String,
        /// Why.
        problem: Problem,
    },
    /// The skill has no folder, so no files.
    #[error("the skill {0} is a single file and has no others")]
    SingleFile(String),
    /// Only what lies in `scripts/` is run.
    #[error("{0} is not a script: those are in scripts/")]
    NoScript(String),
    /// It can be executed neither by itself nor by a program that is known for such files.
    #[error("{0} cannot be run: make it executable, or name it as a .sh, .py, .js, .rb or .pl file")]
    NoInterpreter(String),
    /// The folder is not what was judged.
    #[error("the skill {0} was changed meanwhile; nothing was run")]
    Changed(String),
    /// The folder holds what cannot be hashed.
    #[error("the scripts of {name} cannot be run: {why}")]
    Unfit {
        /// The skill.
        name: String,
        /// Why.
        why: Untrusted,
    },
    /// It is a project's, and not trusted.
    #[error("the skill {name} of this project cannot be used: {why}")]
    Untrusted {
        /// The skill.
        name: String,
        /// Why.
        why: Untrusted,
    },
}

/// The files of a skill's folder, from that folder, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// Everything but its own text and what is hidden. Links are not listed: they are not opened.
    pub files: Vec<String>,
    /// Those of them in `scripts/`.
    pub scripts: Vec<String>,
    /// Whether there are more.
    pub has_more: bool,
}

/// The body of a skill, without its front matter, of at most so many characters. A body that is longer is cut at a line, and its
/// last line says so. Errors: it cannot be read, or the skill is not trusted as it is now.
pub fn load_body(skill: &Skill, most: usize) -> Result<Excerpt, LoadError> {
    let text = match &skill.location {
        Location::Builtin(text) => text.clone(),
        Location::File(path) => {
            confirm_file(skill, path)?;
            let name = path.display().to_string();
            text_of(open_regular(path), &name)?
        }
        Location::Folder { file, .. } => text_of(open_inside(&folder(skill)?, file), file)?,
    };
    let text = line_feeds(&text);
    Ok(excerpt(read_text(&text).body.trim(), None, most))
}

/// A part of a file in a skill's folder, of at most so many characters: the section whose heading is most like the hint, else the
/// beginning. Lines in brackets say what was left out. Errors: the path leads out of the folder or through a link, it is no text
/// file, or the skill is not trusted as it is now.
pub fn load_resource(skill: &Skill, path: &str, section: Option<&str>, most: usize) -> Result<Excerpt, LoadError> {
    let text = text_of(open_inside(&folder(skill)?, path), path)?;
    Ok(excerpt(&line_feeds(&text), section, most))
}

/// The files in a skill's folder; none for a skill without one. Errors: the folder cannot be read, or the skill is not trusted as
/// it is now.
pub fn list_files(skill: &Skill) -> Result<Files, LoadError> {
    let Location::Folder { file, .. } = &skill.location else { return Ok(Files::default()) };
    let mut listed = Files::default();
    let own = folder(skill)?;
    let mut open = vec![Level { path: String::new(), level: 0 }];
    while let Some(level) = open.pop() {
        list_level(&own, &level, &mut listed, &mut open).map_err(|problem| failed(".", problem))?;
    }
    listed.files.retain(|path| path != file);
    listed.files.sort();
    listed.scripts = listed.files.iter().filter(|path| path.starts_with("scripts/")).cloned().collect();
    Ok(listed)
}

/// A folder to list, with its path from the skill's: empty, or with a slash at its end.
struct Level {
    path: String,
    level: usize,
}

fn list_level(own: &OwnedFd, here: &Level, listed: &mut Files, open: &mut Vec<Level>) -> Result<(), Problem> {
    let opened = open_folder_inside(own, &here.path)?;
    for entry in Dir::read_from(opened.as_fd())? {
        let entry = entry?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        if name.starts_with('.') {
            continue;
        }
        if listed.files.len() + open.len() > MOST_LISTED {
            listed.has_more = true;
            return Ok(());
        }
        let path = format!("{}{name}", here.path);
        match entry.file_type() {
            FileType::RegularFile => listed.files.push(path),
            FileType::Directory if here.level < DEEPEST => {
                open.push(Level { path: format!("{path}/"), level: here.level + 1 });
            }
            FileType::Directory => listed.has_more = true,
            _ => {}
        }
    }
    Ok(())
}

/// The skill's folder, if the skill may be used as it is now.
pub(crate) fn folder(skill: &Skill) -> Result<OwnedFd, LoadError> {
    let Location::Folder { folder, .. } = &skill.location else {
        return Err(LoadError::SingleFile(skill.card.name.clone()));
    };
    let opened = open_folder(folder).map_err(|problem| failed(&folder.to_string_lossy(), problem))?;
    confirm(skill, || hash_of_folder(&opened))?;
    Ok(opened)
}

fn confirm_file(skill: &Skill, path: &Path) -> Result<(), LoadError> {
    confirm(skill, || content_hash(path))
}

/// Whether what is there now is what was trusted: a skill is read long after it was listed.
fn confirm(skill: &Skill, now: impl FnOnce() -> Result<String, Untrusted>) -> Result<(), LoadError> {
    let why = match &skill.standing {
        Standing::Own => return Ok(()),
        Standing::Untrusted(why) => why.clone(),
        Standing::Trusted { hash } => match now() {
            Ok(now) if now == *hash => return Ok(()),
            Ok(_) => Untrusted::Changed,
            Err(why) => why,
        },
    };
    Err(LoadError::Untrusted { name: skill.card.name.clone(), why })
}

fn text_of(file: Result<File, Problem>, path: &str) -> Result<String, LoadError> {
    let text = file.and_then(|file| read_whole(file, LARGEST_FILE)).and_then(|bytes| {
        // Text has no zeros; a file that has is something else, even if it could be decoded.
        let text = String::from_utf8(bytes).map_err(|_| Problem::NotText)?;
        if text.contains('\0') { Err(Problem::NotText) } else { Ok(text) }
    });
    text.map_err(|problem| failed(path, problem))
}

fn failed(path: &str, problem: open::Problem) -> LoadError {
    LoadError::File { path: path.into(), problem }
}
