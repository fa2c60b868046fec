//! Where the suites of a project are.

use super::suite::Suite;
use crate::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// Where a project keeps its suites, from its folder on.
const FOLDER: &str = ".mainpath/evals";

/// The folder of a project's suites, whether it is there or not.
pub fn suites_folder(project: &Path) -> PathBuf {
    project.join(FOLDER)
}

/// The names of a project's suites, in their order. Errors: the folder cannot be read.
pub fn suite_names(project: &Path) -> Result<Vec<String>, Error> {
    let folder = suites_folder(project);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::of_io(&error, format!("{} cannot be read: {error}", folder.display()))),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".toml").filter(|name| !name.starts_with('.')).map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

/// The suite that is meant: a name in the project's folder of suites, or a path. Errors: there is none, or it cannot be read.
pub fn find_suite(project: &Path, wanted: &str) -> Result<Suite, Error> {
    if wanted.contains('/') || wanted.ends_with(".toml") {
        return Suite::read(Path::new(wanted));
    }
    let folder = suites_folder(project);
    let file = folder.join(format!("{wanted}.toml"));
    let places = [project.join(".mainpath"), folder.clone(), file.clone()];
    if let Some(link) = places.iter().find(|place| place.symlink_metadata().is_ok_and(|meta| meta.is_symlink())) {
        let problem = format!("{} cannot be used: it is a link, which may lead out of the project", link.display());
        return Err(Error::invalid(problem));
    }
    match file.symlink_metadata() {
        Ok(_) => Suite::read(&file),
        Err(_) => {
            let wanted: String = wanted.chars().take(80).collect();
            let problem = format!("there is no suite {wanted:?} in {}", folder.display());
            Err(Error::new(ErrorKind::NotFound, problem))
        }
    }
}
