//! Programs of the owner that run outside the sandbox. Nothing that they load may come from a folder that an agent can change.

use crate::error::OwnerProgramError;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A command of the owner that runs outside the sandbox: a hook, a witness, an MCP server with `sandbox = "full"`.
///
/// It starts in the folder of the configuration that names it, so a relative name is resolved there, and so is what an interpreter
/// imports from its current folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerProgram {
    words: Vec<String>,
    folder: PathBuf,
    protected: Vec<PathBuf>,
    workspaces: Vec<PathBuf>,
}

impl OwnerProgram {
    /// A command that starts in `folder`. No tool can change the `protected` folders, also where they are inside a workspace.
    pub fn new(words: Vec<String>, folder: &Path, protected: Vec<PathBuf>) -> OwnerProgram {
        OwnerProgram { words, folder: folder.into(), protected, workspaces: Vec::new() }
    }

    /// The same where agents also work in these folders, whichever agent it is started for.
    pub fn with_workspaces(self, workspaces: Vec<PathBuf>) -> OwnerProgram {
        OwnerProgram { workspaces, ..self }
    }

    /// A command that the user typed for one use: it starts in the user's folder, and nothing of it is checked.
    pub fn typed(words: Vec<String>, folder: &Path) -> OwnerProgram {
        OwnerProgram::new(words, folder, vec!["/".into()])
    }

    /// The program and its arguments.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The folder that it starts in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Checks that an agent that works in these folders, or in the known workspaces, can change nothing that the command names. Returns the `PATH` to start it with:
    /// the folders of the current one that are outside.
    ///
    /// # Errors
    /// What it names inside, in one line.
    pub fn check<'a>(&'a self, folders: impl IntoIterator<Item = &'a Path>) -> Result<OsString, OwnerProgramError> {
        let mut all: Vec<&Path> = self.workspaces.iter().map(PathBuf::as_path).collect();
        all.extend(folders);
        let is_changeable = |path: &Path| all.iter().any(|folder| is_inside(path, folder, &self.protected));
        if is_changeable(&self.folder) {
            return Err(OwnerProgramError::StartsIn(self.folder.clone()));
        }
        if let Some(named) = named_paths(&self.words, &self.folder).find(|path| is_changeable(path)) {
            return Err(OwnerProgramError::Names(named));
        }
        let path = std::env::var_os("PATH").unwrap_or_else(|| USUAL_PATH.into());
        let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute() && !is_changeable(folder));
        Ok(std::env::join_paths(folders)?)
    }
}

/// What `PATH` is where it is not set, as for commands.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Everything in the words that may be a path, also within a line of a shell and after the `=` of an option.
fn named_paths<'a>(words: &'a [String], folder: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
    let separates = |letter: char| letter.is_whitespace() || "'\"`=;|&<>(),:".contains(letter);
    let home = std::env::var("HOME").unwrap_or_default();
    words.iter().flat_map(move |word| {
        let word = word.replace("${HOME}", &home).replace("$HOME", &home);
        let pieces = word.split(separates).chain([word.as_str()]).filter(|piece| !piece.is_empty());
        let paths = pieces.map(|piece| match piece.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => PathBuf::from(format!("{home}{rest}")),
            _ => folder.join(piece),
        });
        paths.collect::<Vec<_>>()
    })
}

/// Returns true if a path, with its links followed, is inside the workspace and outside the protected folders.
fn is_inside(path: &Path, workspace: &Path, protected: &[PathBuf]) -> bool {
    let path = real(path);
    path.starts_with(real(workspace)) && !protected.iter().any(|folder| path.starts_with(real(folder)))
}

/// The path with all links followed, of as much of it as exists.
fn real(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (ancestor.canonicalize(), path.strip_prefix(ancestor)) {
            return if rest == Path::new("") { real } else { real.join(rest) };
        }
    }
    path.into()
}

/// A command of the system's shell.
pub fn shell_words(command: &str) -> Vec<String> {
    ["/bin/sh", "-c", command].map(String::from).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_string()).collect()
    }

    /// A folder with a workspace `w` and a configuration `c`.
    fn place() -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        for name in ["w/bin", "c"] {
            std::fs::create_dir_all(place.path().join(name)).unwrap();
        }
        for name in ["w/guard.py", "w/bin/python3", "c/own.py"] {
            std::fs::write(place.path().join(name), "").unwrap();
        }
        std::os::unix::fs::symlink(place.path().join("w/guard.py"), place.path().join("c/link.py")).unwrap();
        place
    }

    #[test]
    fn a_command_that_names_something_in_the_workspace_is_refused() {
        let place = place();
        let (root, workspace) = (place.path().display().to_string(), place.path().join("w"));
        let check = |texts: &[String]| {
            OwnerProgram::new(texts.to_vec(), &place.path().join("c"), Vec::new()).check([&*workspace]).is_ok()
        };
        let command = |script: &str| words(&["python3", script]);
        for refused in [
            command(&format!("{root}/w/guard.py")),
            command(&format!("{root}/w/not-there-yet.py")),
            command("../w/guard.py"),
            command("link.py"),
            words(&["node", &format!("--require={root}/w/guard.py"), "own.py"]),
            words(&["make", "-C", &format!("{root}/w")]),
            words(&[&format!("{root}/w/bin/python3"), "own.py"]),
            shell_words(&format!("cd /; python3 '{root}/w/guard.py' | cat")),
        ] {
            assert!(!check(&refused), "{refused:?}");
        }
        for allowed in [command("own.py"), command(&format!("{root}/c/own.py")), shell_words("cat >> heads.jsonl")] {
            assert!(check(&allowed), "{allowed:?}");
        }
    }

    #[test]
    fn a_command_that_names_something_in_another_workspace_is_refused() {
        let place = place();
        let path = |name: &str| place.path().join(name);
        let command = words(&["python3", &path("w/guard.py").display().to_string()]);
        let program = OwnerProgram::new(command, &path("c"), Vec::new());
        assert!(program.check([&*path("elsewhere")]).is_ok());
        let program = program.with_workspaces(vec![path("w")]);
        let why = program.check([&*path("elsewhere")]).unwrap_err().to_string();
        assert!(why.ends_with("w/guard.py, which an agent can change: move it out of the workspace"), "{why}");
    }

    #[test]
    fn a_command_in_a_protected_folder_of_the_workspace_is_allowed() {
        let place = place();
        let program = |protected| OwnerProgram::new(words(&["python3", "own.py"]), &place.path().join("c"), protected);
        assert!(program(Vec::new()).check([place.path()]).is_err());
        assert!(program(vec![place.path().join("c")]).check([place.path()]).is_ok());
    }
}
