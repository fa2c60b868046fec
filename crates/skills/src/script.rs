//! Scripts of a skill: what one holds, how it is run, and a copy of the skill in which it can be run.
//!
//! A script is run as it was judged. So the whole folder is hashed, as a script may use what lies beside it, and what is run is a
//! copy that has this very hash: whatever is changed meanwhile, in the folder or by the script itself, runs nothing else.

use crate::body::{LoadError, folder};
use crate::open::{Problem, open_file_in, open_folder_inside, open_inside, read_whole, steps};
use crate::skill::{Location, Skill};
use crate::trust::{MOST_BYTES, content_hash, hash_of_folder};
use rustix::fs::{Dir, FileType, fstat};
use sha2::{Digest, Sha256};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Where scripts are.
const SCRIPTS: &str = "scripts/";
/// The largest script, in bytes.
const LARGEST: u64 = MOST_BYTES;
/// What runs scripts that cannot be executed themselves, by the ends of their names.
const INTERPRETERS: [(&str, &str); 8] = [
    (".sh", "bash"),
    (".bash", "bash"),
    (".py", "python3"),
    (".js", "node"),
    (".mjs", "node"),
    (".cjs", "node"),
    (".rb", "ruby"),
    (".pl", "perl"),
];

/// A script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The skill's folder.
    pub folder: PathBuf,
    /// The script, from the skill's folder.
    pub path: String,
    /// The SHA-256 of its bytes.
    pub hash: String,
    /// The hash of the skill's folder; see [`content_hash`].
    pub folder_hash: String,
    /// The program that runs it; nothing for one that can be executed.
    pub interpreter: Option<&'static str>,
}

impl Script {
    /// Where it is in a folder that holds the skill.
    pub fn within(&self, folder: &Path) -> PathBuf {
        folder.join(&self.path)
    }
}

/// Looks at a script, as it is now. Errors: it is none, nothing is known that runs it, the folder has what cannot be hashed, or the
/// skill is not trusted as it is now.
pub fn script(skill: &Skill, path: &str) -> Result<Script, LoadError> {
    let failed = |problem| LoadError::File { path: path.into(), problem };
    let parts = steps(path).map_err(failed)?;
    let plain = parts.iter().filter_map(|step| step.to_str()).collect::<Vec<_>>().join("/");
    if !plain.starts_with(SCRIPTS) {
        return Err(LoadError::NoScript(path.into()));
    }
    let opened = folder(skill)?;
    let file = open_inside(&opened, path).map_err(failed)?;
    let can_run = fstat(&file).map_err(|error| failed(error.into()))?.st_mode & 0o111 != 0;
    let bytes = read_whole(file, LARGEST).map_err(failed)?;
    let by_name = INTERPRETERS.iter().find(|(end, _)| plain.ends_with(end)).map(|(_, program)| *program);
    let interpreter = if can_run { None } else { Some(by_name.ok_or_else(|| LoadError::NoInterpreter(path.into()))?) };
    let folder_hash = hash_of_folder(&opened).map_err(|why| LoadError::Unfit { name: skill.card.name.clone(), why })?;
    let Location::Folder { folder, .. } = &skill.location else {
        return Err(LoadError::SingleFile(skill.card.name.clone()));
    };
    let hash = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Script { folder: folder.clone(), path: plain, hash, folder_hash, interpreter })
}

/// Copies a skill's folder into an empty one. Errors: something cannot be copied, or the copy has not this hash, as it was changed.
pub fn copy_skill(skill: &Skill, folder_hash: &str, to: &Path) -> Result<(), LoadError> {
    let name = &skill.card.name;
    let failed = |problem: Problem| LoadError::File { path: name.clone(), problem };
    let opened = folder(skill)?;
    let mut open = vec![String::new()];
    let mut left = MOST_BYTES;
    while let Some(path) = open.pop() {
        let within = open_folder_inside(&opened, path.trim_end_matches('/')).map_err(failed)?;
        copy_level(&within, &path, to, &mut open, &mut left).map_err(failed)?;
    }
    match content_hash(to) {
        Ok(hash) if hash == folder_hash => Ok(()),
        Ok(_) => Err(LoadError::Changed(name.clone())),
        Err(why) => Err(LoadError::Unfit { name: name.clone(), why }),
    }
}

fn copy_level(within: &OwnedFd, path: &str, to: &Path, open: &mut Vec<String>, left: &mut u64) -> Result<(), Problem> {
    let unwritable = |error: std::io::Error| Problem::Unreadable(format!("the copy cannot be written: {error}"));
    for entry in Dir::read_from(within.as_fd())? {
        let entry = entry?;
        let name = entry.file_name().to_str().map_err(|_| Problem::NotText)?;
        if name == "." || name == ".." {
            continue;
        }
        let inside = format!("{path}{name}");
        match entry.file_type() {
            FileType::Directory => {
                DirBuilder::new().mode(0o700).create(to.join(&inside)).map_err(unwritable)?;
                open.push(format!("{inside}/"));
            }
            _ => {
                let file: File = open_file_in(within, name.as_ref())?;
                let mode = if fstat(&file)?.st_mode & 0o111 != 0 { 0o500 } else { 0o400 };
                let bytes = read_whole(file, *left)?;
                *left -= bytes.len() as u64;
                let made = OpenOptions::new().write(true).create_new(true).mode(mode).open(to.join(&inside));
                made.and_then(|mut file| file.write_all(&bytes)).map_err(unwritable)?;
            }
        }
    }
    Ok(())
}
