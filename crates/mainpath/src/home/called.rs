//! Whom an entry of the configuration or of a suite calls: a program or an address, with one JSON object.

use mainpath_net::{Client, Place, Post, Program, Secret, SecretTexts, WebAddress, went_wrong};
use mainpath_sandbox::{Cage, How, Launcher, OwnerProgram};
use serde_json::Value;
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    pub fn build(&self, with: CallParts<'_>) -> Result<Runner, String> {
        match (self.url, self.command.is_empty()) {
            (None, false) => {
                let program = (with.program)(self.command.to_vec());
                Ok(Runner::Owned { launcher: with.launcher.clone(), program })
            }
            (Some(url), true) => match Post::new(with.client, url, self.headers, with.secret) {
                Ok(post) => Ok(Runner::Address { post, limit: self.timeout }),
                Err(why) => Err(format!("cannot be called: {why}")),
            },
            (None, true) => Err("needs a command or a url".into()),
            (Some(_), false) => Err("has both a command and a url; use one".into()),
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
    pub async fn call(&self, event: &Value, effect_id: &str) -> Result<Vec<u8>, String> {
        match self {
            Runner::Owned { launcher, program } => {
                // Without a workspace nothing proves that the program is outside of it.
                let workspace = event["workspace"].as_str().ok_or("the event names no workspace")?;
                let folders = [Some(workspace), event["copy_of"].as_str()].into_iter().flatten().map(Path::new);
                let variables = program.check(folders, &[]).map_err(|why| format!("it was not started: {why}"))?;
                let text = |text: OsString| text.to_string_lossy().into_owned();
                let env = variables.into_iter().map(|(name, value)| (text(name), text(value))).collect();
                let (words, folder) = (program.words().to_vec(), program.folder().into());
                let command = Runner::Command { launcher: launcher.clone(), program: Program { words, env }, folder };
                Box::pin(command.call(event, effect_id)).await
            }
            Runner::Command { launcher, program, folder } => {
                let place = Place { launcher, cage: &Cage::open(), folder, effect_id };
                let ran = program.run(place, event.to_string().as_bytes(), std::future::pending()).await;
                let ran = ran.map_err(|error| format!("it could not be started: {error}"))?;
                let said = last_line([&ran.stderr, &ran.stdout].map(|bytes| String::from_utf8_lossy(bytes)));
                match &ran.ended.how {
                    How::Exit(0) if ran.cut => Err("it answered with more than 4 MiB".into()),
                    How::Exit(0) => Ok(ran.stdout.to_vec()),
                    How::Exit(code) => Err(format!("exit code {code}: {said}")),
                    how => {
                        let why = went_wrong(how).map(|(_, why)| why).unwrap_or_default();
                        // What it said before it was killed may be why.
                        let said = if matches!(how, How::Signal(_)) { format!(": {said}") } else { String::new() };
                        Err(format!("{}: {why}{said}", program.words[0]))
                    }
                }
            }
            Runner::Address { post, limit } => {
                let answered = post.send(event, *limit).await.map_err(|problem| problem.text)?;
                match answered.status {
                    200..300 if answered.cut => Err("it answered with more than 4 MiB".into()),
                    200..300 => Ok(answered.body.to_vec()),
                    status => Err(format!("it answered with HTTP {status}")),
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
