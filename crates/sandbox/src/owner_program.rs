//! Programs of the owner that run outside the sandbox. Nothing that they load may come from a folder that an agent can change.

use crate::error::OwnerProgramError;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Variables of the environment with paths from which programs load code, or which name programs: `PATH`-like lists of folders, and others.
/// From the manuals of ld.so 2.39, bash 5.2, zsh 5.9, Python 3.13, Node 22, Perl 5.40, Ruby 3.4, PHP 8, Lua 5.4, Java 21, .NET 8, R 4, Julia 1.11,
/// Erlang 27, Guile 3, Tcl 8.6, OpenSSL 3 and git 2.47.
const LOADERS: &[&str] = &[
    "PATH",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "GCONV_PATH",
    "DYLD_INSERT_LIBRARIES",
    "DYLD_LIBRARY_PATH",
    "DYLD_FRAMEWORK_PATH",
    "BASH_ENV",
    "ENV",
    "ZDOTDIR",
    "FPATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONUSERBASE",
    "PYTHONSTARTUP",
    "PYTHONPYCACHEPREFIX",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PERL5LIB",
    "PERLLIB",
    "PERL5OPT",
    "PERL5DB",
    "RUBYLIB",
    "RUBYOPT",
    "GEM_HOME",
    "GEM_PATH",
    "BUNDLE_GEMFILE",
    "BUNDLE_PATH",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "LUA_INIT",
    "LUA_PATH",
    "LUA_CPATH",
    "LUA_PATH_5_4",
    "LUA_CPATH_5_4",
    "CLASSPATH",
    "JAVA_HOME",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "DOTNET_ROOT",
    "DOTNET_STARTUP_HOOKS",
    "R_LIBS",
    "R_LIBS_USER",
    "R_PROFILE",
    "R_PROFILE_USER",
    "R_ENVIRON_USER",
    "JULIA_LOAD_PATH",
    "JULIA_DEPOT_PATH",
    "ERL_LIBS",
    "ERL_FLAGS",
    "GUILE_LOAD_PATH",
    "GUILE_LOAD_COMPILED_PATH",
    "TCLLIBPATH",
    "OPENSSL_CONF",
    "OPENSSL_MODULES",
    "OPENSSL_ENGINES",
    "GIT_EXEC_PATH",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_TEMPLATE_DIR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "PIP_CONFIG_FILE",
    "NPM_CONFIG_USERCONFIG",
    "XDG_CONFIG_HOME",
];

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

    /// Checks that an agent that works in these folders, or in the known workspaces, can change nothing that the command or `env` names, the
    /// variables that it is given. Returns further variables to start it with: `PATH`, and those of `LOADERS` that name such a folder in Mainpath's own
    /// environment, without it.
    ///
    /// # Errors
    /// What it names inside, in one line.
    pub fn check<'a>(
        &'a self,
        folders: impl IntoIterator<Item = &'a Path>,
        env: &[(OsString, OsString)],
    ) -> Result<Vec<(OsString, OsString)>, OwnerProgramError> {
        self.check_in(folders, env, &|name| std::env::var_os(name))
    }

    fn check_in<'a>(
        &'a self,
        folders: impl IntoIterator<Item = &'a Path>,
        env: &[(OsString, OsString)],
        inherited: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Vec<(OsString, OsString)>, OwnerProgramError> {
        let mut all: Vec<&Path> = self.workspaces.iter().map(PathBuf::as_path).collect();
        all.extend(folders);
        let is_changeable = |path: &Path| all.iter().any(|folder| is_inside(path, folder, &self.protected));
        if is_changeable(&self.folder) {
            return Err(OwnerProgramError::StartsIn(self.folder.clone()));
        }
        if let Some(named) = named_paths(&self.words, &self.folder).find(|path| is_changeable(path)) {
            return Err(OwnerProgramError::Names(named));
        }
        for (name, value) in env {
            let value = [value.to_string_lossy().into_owned()];
            if let Some(named) = named_paths(&value, &self.folder).find(|path| is_changeable(path)) {
                return Err(OwnerProgramError::Variable(name.clone(), named));
            }
        }
        let is_given = |name: &str| env.iter().any(|(given, _)| given == name);
        let mut variables = Vec::new();
        for name in LOADERS.iter().filter(|name| !is_given(name)) {
            let Some(value) = inherited(name).or_else(|| (*name == "PATH").then(|| USUAL_PATH.into())) else {
                continue;
            };
            let value = match *name {
                "PATH" => Some(without(&value, |folder| !folder.is_absolute() || is_changeable(folder))),
                _ => self.harmless(&value, &is_changeable),
            };
            variables.extend(value.map(|value| (OsString::from(name), value)));
        }
        Ok(variables)
    }

    /// The value of a variable without what an agent can change; `None` if it names nothing of the kind. A value that is more than a list of paths is
    /// left out as a whole.
    fn harmless(&self, value: &OsStr, is_changeable: &dyn Fn(&Path) -> bool) -> Option<OsString> {
        let text = [value.to_string_lossy().into_owned()];
        if !named_paths(&text, &self.folder).any(|path| is_changeable(&path)) {
            return None;
        }
        let rest = without(value, |path| is_changeable(&self.folder.join(path)));
        let text = [rest.to_string_lossy().into_owned()];
        let is_clean = !named_paths(&text, &self.folder).any(|path| is_changeable(&path));
        Some(if is_clean { rest } else { OsString::new() })
    }
}

/// A list of paths without some of them.
fn without(list: &OsStr, is_left_out: impl Fn(&Path) -> bool) -> OsString {
    // An empty path is the current folder, which is that of the configuration.
    let kept = std::env::split_paths(list).filter(|path| !path.as_os_str().is_empty() && !is_left_out(path));
    std::env::join_paths(kept).unwrap_or_default()
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
            OwnerProgram::new(texts.to_vec(), &place.path().join("c"), Vec::new()).check([&*workspace], &[]).is_ok()
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
        assert!(program.check([&*path("elsewhere")], &[]).is_ok());
        let program = program.with_workspaces(vec![path("w")]);
        let why = program.check([&*path("elsewhere")], &[]).unwrap_err().to_string();
        assert!(why.ends_with("w/guard.py, which an agent can change: move it out of the workspace"), "{why}");
    }

    #[test]
    fn a_command_in_a_protected_folder_of_the_workspace_is_allowed() {
        let place = place();
        let program = |protected| OwnerProgram::new(words(&["python3", "own.py"]), &place.path().join("c"), protected);
        assert!(program(Vec::new()).check([place.path()], &[]).is_err());
        assert!(program(vec![place.path().join("c")]).check([place.path()], &[]).is_ok());
    }

    #[test]
    fn a_variable_that_names_something_in_the_workspace_is_refused() {
        let place = place();
        let (root, workspace) = (place.path().display().to_string(), place.path().join("w"));
        let program = OwnerProgram::new(words(&["python3", "-m", "guard"]), &place.path().join("c"), Vec::new());
        let check = |name: &str, value: &str| program.check([&*workspace], &[(name.into(), value.into())]);
        for (name, value) in [
            ("PYTHONPATH", format!("{root}/w")),
            ("PYTHONPATH", format!("/opt/lib:{root}/c/../w/")),
            ("PATH", format!("{root}/w/bin:/usr/bin")),
            ("PATH", "/usr/bin:../w/bin".into()),
            ("BASH_ENV", format!("{root}/w/not-there-yet")),
            ("BASH_ENV", "link.py".into()),
            ("NODE_OPTIONS", format!("--require={root}/w/guard.js --no-warnings")),
            ("ANY", format!("{root}/w")),
        ] {
            let why = check(name, &value).unwrap_err().to_string();
            let end = "which an agent can change: move it out of the workspace";
            assert!(why.starts_with(&format!("its variable {name} names ")) && why.ends_with(end), "{value}: {why}");
        }
        for (name, value) in
            [("PYTHONPATH", format!("{root}/c:/opt/lib")), ("LEVEL", "3".into()), ("URL", "https://h/w".into())]
        {
            assert!(check(name, &value).is_ok(), "{name}={value}");
        }
    }

    #[test]
    fn inherited_variables_lose_what_is_in_the_workspace() {
        let place = place();
        let (root, workspace) = (place.path().display().to_string(), place.path().join("w"));
        let program = OwnerProgram::new(words(&["python3"]), &place.path().join("c"), Vec::new());
        let inherited = |name: &str| {
            let value = match name {
                "PATH" => format!("{root}/w/bin:relative:/usr/bin"),
                "PYTHONPATH" => format!("{root}/w:/opt/lib:"),
                "BASH_ENV" => format!("{root}/w/env.sh"),
                "NODE_OPTIONS" => format!("--require {root}/w/guard.js"),
                "PERL5LIB" => "/opt/perl".into(),
                "HOME" => format!("{root}/w"),
                _ => return None,
            };
            Some(OsString::from(value))
        };
        let given = [("BASH_ENV".into(), "/opt/env.sh".into())];
        let found = program.check_in([&*workspace], &given, &inherited).unwrap();
        let wanted = [("PATH", "/usr/bin"), ("PYTHONPATH", "/opt/lib"), ("NODE_OPTIONS", "")];
        assert_eq!(found, wanted.map(|(name, value)| (name.into(), value.into())));
        assert_eq!(program.check_in([&*workspace], &[], &|_| None).unwrap(), [("PATH".into(), USUAL_PATH.into())]);
    }
}
