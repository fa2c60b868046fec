//! Whom an entry of the configuration or of a suite calls: a program or an address, with one JSON object.

use mainpath_net::{Client, NotReady, Place, Post, Program, Secret, SecretTexts, WebAddress, went_wrong};
use mainpath_sandbox::{Cage, How, Launcher, OwnerProgram, OwnerProgramError};
use mainpath_tools::Problem;
use serde_json::Value;
use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why an entry cannot be called: words that follow its name.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CalledError {
    #[error("cannot be called: {0}")]
    NotReady(#[from] NotReady),
    #[error("needs a command or a url")]
    NoTarget,
    #[error("has both a command and a url; use one")]
    TwoTargets,
}

/// Why a called program or address gave no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error("the event names no workspace")]
    NoWorkspace,
    /// An agent could have changed the program.
    #[error("it was not started: {0}")]
    NotOwned(#[from] OwnerProgramError),
    #[error("it could not be started: {0}")]
    NotStarted(#[from] io::Error),
    #[error("it answered with more than 4 MiB")]
    TooLong,
    #[error("exit code {code}: {said}")]
    Exit { code: i32, said: String },
    /// It ended in another way. `said` is what a signal cut off, after a colon.
    #[error("{program}: {why}{said}")]
    Ended { program: String, why: String, said: String },
    /// The request failed.
    #[error("{}", .0.text)]
    Request(Problem),
    #[error("it answered with HTTP {0}")]
    Status(u16),
}

/// What an entry says about whom it calls.
pub(crate) struct Called<'a> {
    pub command: &'a [String],
    pub url: Option<&'a WebAddress>,
    pub headers: &'a SecretTexts,
    pub timeout: Duration,
}

/// The parts with which programs and addresses of the configuration are called.
#[derive(Clone, Copy)]
pub(crate) struct CallParts<'a> {
    pub launcher: &'a Launcher,
    pub client: &'a Client,
    pub secret: Secret<'a>,
    /// Makes a program of the owner that starts in the folder of the configuration.
    pub program: &'a dyn Fn(Vec<String>) -> OwnerProgram,
}

impl Called<'_> {
    /// A command starts in the folder of the configuration. Errors: what is wrong with the entry.
    pub fn build(&self, with: CallParts<'_>) -> Result<Runner, CalledError> {
        match (self.url, self.command.is_empty()) {
            (None, false) => {
                let program = (with.program)(self.command.to_vec());
                Ok(Runner::Owned { launcher: with.launcher.clone(), program })
            }
            (Some(url), true) => {
                let post = Post::new(with.client, url, self.headers, with.secret)?;
                Ok(Runner::Address { post, limit: self.timeout })
            }
            (None, true) => Err(CalledError::NoTarget),
            (Some(_), false) => Err(CalledError::TwoTargets),
        }
    }
}

/// Who is called with a JSON object, and answers with some bytes.
pub(crate) enum Runner {
    /// A program that the configuration names, outside the sandbox. It ends when its future is dropped.
    Owned { launcher: Launcher, program: OwnerProgram },
    /// A program of a trusted suite, outside the sandbox, in this folder. It ends when its future is dropped.
    Command { launcher: Launcher, program: Program, folder: PathBuf },
    /// An address of the owner's: the object is posted to it.
    Address { post: Post, limit: Duration },
}

impl Runner {
    /// Calls it. Errors: why it has no answer, in a line.
    pub async fn call(&self, event: &Value, effect_id: &str) -> Result<Vec<u8>, CallError> {
        match self {
            Runner::Owned { launcher, program } => {
                // Without a workspace nothing proves that the program is outside of it.
                let workspace = event["workspace"].as_str().ok_or(CallError::NoWorkspace)?;
                let folders = [Some(workspace), event["copy_of"].as_str()].into_iter().flatten().map(Path::new);
                let variables = program.check(folders, &[])?;
                let text = |text: OsString| text.to_string_lossy().into_owned();
                let env = variables.into_iter().map(|(name, value)| (text(name), text(value))).collect();
                let (words, folder) = (program.words().to_vec(), program.folder().into());
                let command = Runner::Command { launcher: launcher.clone(), program: Program { words, env }, folder };
                Box::pin(command.call(event, effect_id)).await
            }
            Runner::Command { launcher, program, folder } => {
                let place = Place { launcher, cage: &Cage::open(), folder, effect_id };
                let ran = program.run(place, event.to_string().as_bytes(), std::future::pending()).await?;
                let said = last_line([&ran.stderr, &ran.stdout].map(|bytes| String::from_utf8_lossy(bytes)));
                match &ran.ended.how {
                    How::Exit(0) if ran.cut => Err(CallError::TooLong),
                    How::Exit(0) => Ok(ran.stdout.to_vec()),
                    How::Exit(code) => Err(CallError::Exit { code: *code, said }),
                    how => {
                        let why = went_wrong(how).map(|(_, why)| why).unwrap_or_default();
                        // What it said before it was killed may be why.
                        let said = if matches!(how, How::Signal(_)) { format!(": {said}") } else { String::new() };
                        Err(CallError::Ended { program: program.words[0].clone(), why, said })
                    }
                }
            }
            Runner::Address { post, limit } => {
                let answered = post.send(event, *limit).await.map_err(CallError::Request)?;
                match answered.status {
                    200..300 if answered.cut => Err(CallError::TooLong),
                    200..300 => Ok(answered.body.to_vec()),
                    status => Err(CallError::Status(status)),
                }
            }
        }
    }
}

/// The last line that says something, of the first text that has one.
fn last_line(texts: [Cow<'_, str>; 2]) -> String {
    let line = texts.iter().find_map(|text| text.lines().rfind(|line| !line.trim().is_empty()));
    line.unwrap_or("it printed nothing").chars().take(200).collect()
}
