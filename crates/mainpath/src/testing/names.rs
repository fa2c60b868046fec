//! Which tests a project has.

use super::file::TestFile;
use super::folder;
use crate::{Error, ErrorKind};
use mainpath_types::TraceId;
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

/// The tests of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundTests {
    /// Their names, in their order.
    pub names: Vec<String>,
    /// What lies among them and is none, each with why: a line each.
    pub passed_over: Vec<String>,
}

/// The names of a project's tests, in their order. Errors: their folder cannot be read.
pub fn test_names(project: &Path) -> Result<Vec<String>, Error> {
    Ok(found_tests(project)?.names)
}

/// The tests that are named, each once; all of them, where none is. Errors: there is no test of a name.
pub(super) fn chosen_tests(project: &Path, named: &[String]) -> Result<Vec<String>, Error> {
    if named.is_empty() {
        return test_names(project);
    }
    let mut chosen: Vec<String> = Vec::new();
    for name in named {
        test_folder(project, name)?;
        if !chosen.contains(name) {
            chosen.push(name.clone());
        }
    }
    Ok(chosen)
}

/// The tests of a project, and what lies among them. What begins with a dot is not looked at. Errors: their folder cannot be read.
pub fn found_tests(project: &Path) -> Result<FoundTests, Error> {
    let folder = tests_folder(project)?;
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(FoundTests::default()),
        Err(error) => return Err(Error::of_io(&error, format!("{} cannot be read: {error}", folder.display()))),
    };
    let mut found = FoundTests::default();
    for entry in entries {
        let entry = entry?;
        let (name, kind) = (entry.file_name().to_string_lossy().into_owned(), entry.file_type()?);
        // What begins so is being written, or none of ours.
        if name.starts_with('.') || name == BASELINE {
            continue;
        }
        let why = match check_name(&name) {
            _ if kind.is_symlink() => "it is a link, which may lead out of the project".to_owned(),
            _ if !kind.is_dir() => "it is not a folder".to_owned(),
            Err(error) => error.message().to_owned(),
            Ok(()) => {
                found.names.push(name);
                continue;
            }
        };
        let name: String = name.chars().take(80).collect();
        found.passed_over.push(format!("{name:?} in {} is no test: {why}", folder.display()));
    }
    found.names.sort();
    found.passed_over.sort();
    Ok(found)
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
        let problem = format!(
            "a test cannot be called {name:?}: a name is 1 to {LONGEST} letters of ASCII, digits, -, _ and ., and does not begin with - or ."
        );
        return Err(Error::invalid(problem));
    }
    Ok(())
}

/// What a test expects. Errors: there is no such test, or its `test.toml` cannot be read.
pub fn test_file(project: &Path, name: &str) -> Result<TestFile, Error> {
    folder::read_file(&test_folder(project, name)?)
}

/// The tests of a project that were made of one of these traces, and hold its words. Those that cannot be read are left out.
pub fn tests_made_of(project: &Path, traces: &[TraceId]) -> Vec<String> {
    let is_of = |name: &String| {
        test_file(project, name).is_ok_and(|file| traces.iter().any(|trace| trace.as_str() == file.from))
    };
    test_names(project).unwrap_or_default().into_iter().filter(is_of).collect()
}

/// Removes a test. Errors: there is no such test.
pub fn remove_test(project: &Path, name: &str) -> Result<(), Error> {
    Ok(std::fs::remove_dir_all(test_folder(project, name)?)?)
}
