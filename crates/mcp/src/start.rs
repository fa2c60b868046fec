//! How the process of a server comes about.

use mainpath_tools::Fut;
use mainpath_types::Confinement;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use tokio::io::{AsyncRead, AsyncWrite};

/// A process that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// Whose it is: what stands in its environment as `MAINPATH_CALL`.
    pub id: String,
    /// The program and its arguments.
    pub words: Vec<OsString>,
    /// The folder it begins in.
    pub folder: PathBuf,
    /// Its environment beside the usual one.
    pub env: Vec<(OsString, OsString)>,
    /// Its bounds.
    pub confinement: Confinement,
    /// True if a file of the owner names the server, rather than a file of the workspace or the program that embeds this crate.
    pub is_owned: bool,
}

/// A process that runs.
pub struct Started {
    /// Its standard input.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// Its standard output.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    /// Its standard error.
    pub errors: Box<dyn AsyncRead + Send + Unpin>,
    /// Itself.
    pub process: Box<dyn Process>,
}

/// A process and all that it has started. Dropping it ends them.
pub trait Process: Send + Sync {
    /// Why it did not even begin, if it did not; asked for once it has closed its output.
    fn refusal(self: Box<Self>) -> Fut<'static, Option<String>>;
}

/// Starts the processes of servers. The composition root says how they are confined, and keeps secrets, and variables that
/// begin with `MAINPATH_`, from their usual environment.
pub trait Starter: Send + Sync {
    /// Starts a process. Errors: it cannot be started within its bounds.
    fn start(&self, start: &Start) -> io::Result<Started>;
}

/// Starts processes without any bounds: for tests, and for machines that cannot confine where the person has said so.
#[derive(Clone, Debug, Default)]
pub struct Unconfined {
    /// The variables that no process gets unless it is given them.
    pub hidden: Vec<OsString>,
}

impl Starter for Unconfined {
    fn start(&self, start: &Start) -> io::Result<Started> {
        let Some((program, args)) = start.words.split_first() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no program is named"));
        };
        let mut command = tokio::process::Command::new(program);
        command.args(args).current_dir(&start.folder);
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"MAINPATH_") || self.hidden.contains(&name) {
                command.env_remove(name);
            }
        }
        command.envs(start.env.iter().map(|(name, value)| (name, value))).env("MAINPATH_CALL", &start.id);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Its own group: the terminal's Ctrl-C is ours alone.
        let mut child = command.process_group(0).kill_on_drop(true).spawn()?;
        let missing = || io::Error::other("a pipe is missing");
        let input = Box::new(child.stdin.take().ok_or_else(missing)?);
        let output = Box::new(child.stdout.take().ok_or_else(missing)?);
        let errors = Box::new(child.stderr.take().ok_or_else(missing)?);
        Ok(Started { input, output, errors, process: Box::new(child) })
    }
}

impl Process for tokio::process::Child {
    fn refusal(self: Box<Self>) -> Fut<'static, Option<String>> {
        Box::pin(async { None })
    }
}
