//! Which tests a project has.

use super::file::TestFile;
use super::folder;
use crate::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// Where a project keeps its tests, from its folder on.
const FOLDER: &str = ".mainpath/tests";
/// What tests came to against models, beside them. No test is called so.
pub(super) const BASELINE: &str = "baseline.toml";
/// The longest name of a test, in letters.
const LONGEST: usize = 64;

/// The folder of a project's tests, whether it is there or not. Errors: it is a link, or leads out of the project.
pub fn tests_folder(project: &Path) -> Result<PathBuf, Error> {
    let folder = project.join(FOLDER);
    let bad = |why: &str| Error::failed(format!("{} cannot be used: {why}", folder.display()));
    for place in [project.join(".mainpath"), folder.clone()] {
        match place.symlink_metadata() {
            Ok(meta) if meta.is_symlink() => return Err(bad("it is a link, which may lead out of the project")),
            Ok(meta) if !meta.is_dir() => return Err(bad("it is not a folder")),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(bad(&error.to_string())),
        }
    }
    Ok(folder)
}

/// The names of a project's tests, in their order.
pub fn test_names(project: &Path) -> Result<Vec<String>, Error> {
    let folder = tests_folder(project)?;
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::failed(format!("{} cannot be read: {error}", folder.display()))),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        // What begins so is being written, or none of ours.
        if check_name(&name).is_ok() {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// The folder of a test. Errors: there is no such test, or it is a link.
pub(super) fn test_folder(project: &Path, name: &str) -> Result<PathBuf, Error> {
    check_name(name)?;
    let folder = tests_folder(project)?.join(name);
    match folder.symlink_metadata() {
        Ok(meta) if meta.is_dir() => Ok(folder),
        Ok(_) => Err(Error::failed(format!("the test {name} is not a folder"))),
        Err(_) => {
            let problem = format!("there is no test {name:?} in {}", folder.parent().unwrap_or(project).display());
            Err(Error::new(ErrorKind::NotFound, problem))
        }
    }
}

/// Whether a test can have this name. Errors: why not.
pub(super) fn check_name(name: &str) -> Result<(), Error> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    if name == BASELINE {
        return Err(Error::invalid(format!("a test cannot be called {name:?}: that is the file of the baseline")));
    }
    if name.is_empty() || name.len() > LONGEST || name.starts_with(['.', '-']) || !name.chars().all(fits) {
        let name: String = name.chars().take(80).collect();
        let problem = format!("a test cannot be called {name:?}: a name is 1 to {LONGEST} letters, digits, -, _ and .");
        return Err(Error::invalid(problem));
    }
    Ok(())
}

/// What a test expects. Errors: there is no such test, or its `test.toml` cannot be read.
pub fn test_file(project: &Path, name: &str) -> Result<TestFile, Error> {
    folder::read_file(&test_folder(project, name)?)
}

/// Removes a test. Errors: there is no such test.
pub fn remove_test(project: &Path, name: &str) -> Result<(), Error> {
    Ok(std::fs::remove_dir_all(test_folder(project, name)?)?)
}
