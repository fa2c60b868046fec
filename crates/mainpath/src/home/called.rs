//! Whom an entry of the configuration or of a suite calls: a program or an address, with one JSON object.

use mainpath_net::{Client, Place, Post, Program, Secret, SecretTexts, WebAddress, went_wrong};
use mainpath_sandbox::{Cage, How, Launcher};
use serde_json::Value;
use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

/// What an entry says about whom it calls.
pub(crate) struct Called<'a> {
    pub command: &'a [String],
    pub url: Option<&'a WebAddress>,
    pub headers: &'a SecretTexts,
    pub timeout: Duration,
}

impl Called<'_> {
    pub fn build(&self, launcher: &Launcher, client: &Client, secret: Secret<'_>) -> Result<Runner, String> {
        match (self.url, self.command.is_empty()) {
            (None, false) => {
                let program = Program { words: self.command.to_vec(), env: Vec::new() };
                Ok(Runner::Command { launcher: launcher.clone(), program, folder: None })
            }
            (Some(url), true) => match Post::new(client, url, self.headers, secret) {
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
    /// A program of the owner's. It is not confined: it is as trusted as Mainpath itself. It ends when nobody waits for it any
    /// more. It begins in the folder, or where Mainpath did.
    Command { launcher: Launcher, program: Program, folder: Option<PathBuf> },
    /// An address of the owner's: the object is posted to it.
    Address { post: Post, limit: Duration },
}

impl Runner {
    /// Calls it. Errors: why it has no answer, in a line.
    pub async fn call(&self, event: &Value, effect_id: &str) -> Result<Vec<u8>, String> {
        match self {
            Runner::Command { launcher, program, folder } => {
                let here = || std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
                let folder = folder.clone().unwrap_or_else(here);
                let place = Place { launcher, cage: &Cage::open(), folder: &folder, effect_id };
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
