//! git, run so that no repository makes it run anything else: without hooks, monitors, filters of other configurations, transports
//! and questions, and not longer than it may.

use mainpath_sandbox::{Cage, How, Launcher, Talking};
use mainpath_types::{Confinement, FileAccess};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// So long a command of git may take.
const WITHIN: Duration = Duration::from_secs(300);
/// So many bytes of what it says on its error output are read.
const MOST_SAID: u64 = 64 * 1024;

/// Settings that no repository overrides: git runs no program of its own accord with them.
const SETTINGS: [&str; 16] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.splitIndex=false",
    "core.sparseCheckout=false",
    "core.quotePath=false",
    "core.safecrlf=false",
    "core.pager=cat",
    "core.editor=true",
    "core.askPass=true",
    "core.sshCommand=false",
    "credential.helper=",
    "protocol.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "advice.addEmbeddedRepo=false",
];

const VARIABLES: [(&str, &str); 11] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_PAGER", "cat"),
    ("LC_ALL", "C"),
];

/// How git is run.
#[derive(Clone, Debug)]
pub struct Git {
    launcher: Launcher,
    /// Names the work in the environment of what is run.
    name: String,
    env: Vec<(OsString, OsString)>,
    settings: Vec<String>,
    /// Its cage; without one it is held to what the machine can confine, with all files and no network.
    cage: Option<Cage>,
}

/// Why git could not do something, in a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GitProblem {
    /// It could not be run.
    #[error("git cannot be run: {0}")]
    NotRun(String),
    /// It took too long.
    #[error("git {0} took longer than {WITHIN:?}")]
    TooLong(String),
    /// It wrote more than it was to.
    #[error("git {0} wrote more than {1} bytes")]
    TooMuch(String, u64),
    /// It failed: what it was to do, its exit code, and what it said.
    #[error("git {what} failed: {}", last_line(said))]
    Failed {
        /// What it was to do.
        what: String,
        /// Its exit code.
        code: i32,
        /// All that it said.
        said: String,
    },
}

impl Git {
    /// git without these variables of the environment and without all that begin with `GIT_`.
    pub fn new(
        launcher: &Launcher,
        name: impl Into<String>,
        hidden: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Git {
        let own = std::env::vars_os().map(|(name, _)| name);
        let own = own.filter(|name| name.as_encoded_bytes().starts_with(b"GIT_"));
        let launcher = launcher.clone().hide_env(hidden.into_iter().map(Into::into).chain(own));
        let env = VARIABLES.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Git { launcher, name: name.into(), env, settings: Vec::new(), cage: None }
    }

    /// The same, with a variable of its own.
    pub fn with(mut self, name: &str, value: impl Into<OsString>) -> Git {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.into(), value.into()));
        self
    }

    /// The same, without a variable of its own.
    pub fn without(mut self, name: &str) -> Git {
        self.env.retain(|(known, _)| known != name);
        self
    }

    /// The same, with a setting (`name=value`).
    pub fn setting(mut self, setting: String) -> Git {
        self.settings.push(setting);
        self
    }

    /// The same, in this cage.
    pub fn caged(self, cage: Cage) -> Git {
        Git { cage: Some(cage), ..self }
    }

    /// Runs it in a folder; gives what it writes, `most` bytes at most. Errors: it could not be run, failed, took too long or wrote more.
    pub async fn run<S: AsRef<OsStr>>(&self, folder: &Path, args: &[S], most: u64) -> Result<Vec<u8>, GitProblem> {
        self.feed(folder, args, &[], most).await
    }

    /// The same, with something to read.
    pub async fn feed<S: AsRef<OsStr>>(
        &self,
        folder: &Path,
        args: &[S],
        input: &[u8],
        most: u64,
    ) -> Result<Vec<u8>, GitProblem> {
        let what = args.first().map(|arg| arg.as_ref().to_string_lossy().into_owned()).unwrap_or_default();
        let mut words: Vec<&OsStr> = vec![OsStr::new("git"), OsStr::new("--no-pager")];
        let settings = SETTINGS.iter().copied().chain(self.settings.iter().map(String::as_str));
        words.extend(settings.flat_map(|setting| [OsStr::new("-c"), OsStr::new(setting)]));
        words.extend(args.iter().map(AsRef::as_ref));
        let cage = self.cage.clone().unwrap_or_else(|| self.widest(folder));
        let not_run = |error: io::Error| GitProblem::NotRun(error.to_string());
        let running = self.launcher.command(&words, folder, &self.name, &cage, &self.env).map_err(not_run)?;
        match tokio::time::timeout(WITHIN, talk(running, input, most)).await {
            Err(_) => Err(GitProblem::TooLong(what)),
            Ok(Err(error)) => Err(not_run(error)),
            Ok(Ok(Talked { how: How::Exit(0), output, .. })) if output.len() as u64 <= most => Ok(output),
            Ok(Ok(Talked { how, output, said })) => Err(match how {
                _ if output.len() as u64 > most => GitProblem::TooMuch(what, most),
                How::Exit(code) => GitProblem::Failed { what, code, said: String::from_utf8_lossy(&said).into_owned() },
                How::Failed(number) => not_run(io::Error::from_raw_os_error(number)),
                How::Refused(why) => GitProblem::NotRun(why),
                How::Signal(_) | How::Lost | How::StillRunning => GitProblem::NotRun("it was ended".into()),
            }),
        }
    }

    /// All files, as far as the machine can confine, and no network.
    fn widest(&self, folder: &Path) -> Cage {
        let bounds = Confinement { files: FileAccess::Full, network: false };
        if self.launcher.support().can_confine() { Cage::new(bounds, folder, Vec::new()) } else { Cage::open() }
    }
}

/// What a command came to.
struct Talked {
    how: How,
    output: Vec<u8>,
    said: Vec<u8>,
}

async fn talk(running: Talking, input: &[u8], most: u64) -> io::Result<Talked> {
    let Talking { mut stdin, stdout, stderr, mut process } = running;
    let write = async move {
        // One that reads no further says why itself.
        let _ = stdin.write_all(input).await;
        drop(stdin);
    };
    let (mut output, mut said) = (Vec::new(), Vec::new());
    let (mut stdout, mut stderr) = (stdout.take(most.saturating_add(1)), stderr.take(MOST_SAID));
    let ((), read, heard) = tokio::join!(write, stdout.read_to_end(&mut output), stderr.read_to_end(&mut said));
    read?;
    heard?;
    if output.len() as u64 > most {
        process.end().await;
    }
    process.launcher_done().await;
    Ok(Talked { how: process.ended().await?.how, output, said })
}

/// The last thing that it said; what it is stopped by comes last.
fn last_line(said: &str) -> String {
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty()).rev();
    let fatal = said.lines().rev().find_map(|line| line.trim().strip_prefix("fatal: "));
    let line = fatal.or_else(|| lines.next()).unwrap_or("it did not say why");
    line.chars().take(300).collect()
}
