//! `[[hooks]]` of the configuration: commands and addresses that are asked or told at points of a run.

use crate::config::Time;
use mainpath_net::{Client, Place, Post, Program, Secret, SecretTexts, WebAddress, went_wrong};
use mainpath_runtime::{Hook, HookPoint, HookRunner, OnFailure};
use mainpath_sandbox::{Cage, How, Launcher};
use mainpath_tools::Fut;
use serde::Deserialize;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// `[[hooks]]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookEntry {
    /// Its name: verdicts cite it as `hook.NAME`.
    pub name: String,
    /// Where it is called.
    pub on: Vec<HookPoint>,
    /// The tools that it is called for; all, without it.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The program and its arguments. It reads a JSON object and writes one.
    #[serde(default)]
    pub command: Vec<String>,
    /// The address, instead of a command. A JSON object is posted to it, and it answers with one.
    pub url: Option<WebAddress>,
    /// Headers for the address; `{{secret:NAME}}` stands for a secret.
    #[serde(default)]
    pub headers: SecretTexts,
    /// How long it may take; ten seconds, without it.
    pub timeout: Option<Time>,
    /// What follows when it fails: `closed` (it counts as a denial, the default) or `open`.
    #[serde(default)]
    pub on_failure: OnFailure,
}

impl HookEntry {
    /// The hook. Errors: what is wrong with the entry.
    pub fn build(&self, launcher: &Launcher, client: &Client, secret: Secret<'_>) -> Result<Hook, String> {
        let wrong = |why: &str| Err(format!("the hook {:?} {why}", self.name));
        let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        if self.name.is_empty() || !self.name.chars().all(fits) {
            return wrong("needs a name of letters, digits, - and _");
        }
        if self.on.is_empty() {
            return wrong("is called nowhere: give it on = [\"before_tool\"] or the like");
        }
        let timeout = self.timeout.map_or(Duration::from_secs(10), |time| Duration::from_millis(time.0));
        let runner: Arc<dyn HookRunner> = match (&self.url, self.command.is_empty()) {
            (None, false) => {
                let program = Program { words: self.command.clone(), env: Vec::new() };
                Arc::new(Command { launcher: launcher.clone(), program })
            }
            (Some(url), true) => match Post::new(client, url, &self.headers, secret) {
                Ok(post) => Arc::new(Address { post, limit: timeout }),
                Err(why) => return wrong(&format!("cannot be called: {why}")),
            },
            (None, true) => return wrong("has no command"),
            (Some(_), false) => return wrong("has a command and a url; one of them is enough"),
        };
        Ok(Hook {
            name: self.name.clone(),
            points: self.on.clone(),
            tools: self.tools.clone(),
            timeout,
            on_failure: self.on_failure,
            runner,
        })
    }
}

/// A program of the owner's. It is not confined: it is as trusted as Mainpath itself. It ends when nobody waits for it any
/// more.
struct Command {
    launcher: Launcher,
    program: Program,
}

impl HookRunner for Command {
    fn run<'a>(&'a self, event: &'a Value) -> Fut<'a, Result<Value, String>> {
        Box::pin(async move {
            let folder = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
            let place = Place { launcher: &self.launcher, cage: &Cage::open(), folder: &folder, effect_id: "hook" };
            let ran = self.program.run(place, event.to_string().as_bytes(), std::future::pending()).await;
            let ran = ran.map_err(|error| format!("it could not be started: {error}"))?;
            let said = last_line(&String::from_utf8_lossy(&ran.stderr));
            match &ran.ended.how {
                How::Exit(0) => answer(&ran.stdout),
                How::Exit(code) => Err(format!("exit code {code}: {said}")),
                how => Err(went_wrong(how).map_or(said, |(_, why)| format!("{}: {why}", self.program.words[0]))),
            }
        })
    }
}

/// An address of the owner's: the event is posted to it.
struct Address {
    post: Post,
    limit: Duration,
}

impl HookRunner for Address {
    fn run<'a>(&'a self, event: &'a Value) -> Fut<'a, Result<Value, String>> {
        Box::pin(async move {
            let answered = self.post.send(event, self.limit).await.map_err(|problem| problem.text)?;
            match answered.status {
                200..300 => answer(&answered.body),
                status => Err(format!("it answered with HTTP {status}")),
            }
        })
    }
}

/// What a hook answers; nothing at all is nothing to say.
fn answer(bytes: &[u8]) -> Result<Value, String> {
    if bytes.trim_ascii().is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(bytes).map_err(|error| format!("its answer is no JSON: {error}"))
}

fn last_line(text: &str) -> String {
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").chars().take(200).collect()
}
