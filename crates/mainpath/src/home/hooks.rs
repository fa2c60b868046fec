//! `[[hooks]]` and `[[context_hooks]]` of the configuration: commands and addresses that are asked or told at points of a run,
//! and those that have a word in reminders.

use super::units::{Time, ToolNamesText};
use mainpath_net::{Client, Place, Post, Program, Secret, SecretTexts, WebAddress, went_wrong};
use mainpath_runtime::{ContextHook, Hook, HookPoint, HookRunner, NamedContextHook, OnFailure};
use mainpath_sandbox::{Cage, How, Launcher};
use mainpath_tools::{Fut, unique_json};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use toml::Spanned;

/// `[[hooks]]`
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookEntry {
    /// Its name: verdicts cite it as `hook.NAME`.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// Where it is called.
    pub on: Vec<HookPoint>,
    /// The tools that it is called for, by names, aliases and patterns; all, without it.
    #[serde(default)]
    #[schemars(with = "Vec<ToolNamesText>")]
    pub tools: Vec<Spanned<ToolNamesText>>,
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
    pub(crate) fn build(&self, launcher: &Launcher, client: &Client, secret: Secret<'_>) -> Result<Hook, String> {
        let wrong = |why: &str| Err(format!("the hook {:?} {why}", self.name.get_ref()));
        if !is_name(self.name.get_ref()) {
            return wrong("needs a name of letters, digits, - and _");
        }
        if self.on.is_empty() {
            return wrong("is never called: set on, such as on = [\"before_tool\"]");
        }
        let timeout = self.timeout.map_or(Duration::from_secs(10), |time| Duration::from_millis(time.0));
        let called = Called { command: &self.command, url: self.url.as_ref(), headers: &self.headers, timeout };
        let runner = match called.build(launcher, client, secret) {
            Ok(runner) => Arc::new(runner),
            Err(why) => return wrong(&why),
        };
        Ok(Hook {
            name: self.name.get_ref().clone(),
            points: self.on.clone(),
            tools: self.tools.iter().map(|names| names.get_ref().0.clone()).collect(),
            timeout,
            on_failure: self.on_failure,
            runner,
        })
    }
}

/// `[[context_hooks]]`
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextHookEntry {
    /// Its name, under which the model is told what it says.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// The program and its arguments. It reads a JSON object and writes a text, or `{"text": "…"}`.
    #[serde(default)]
    pub command: Vec<String>,
    /// The address, instead of a command. A JSON object is posted to it, and it answers likewise.
    pub url: Option<WebAddress>,
    /// Headers for the address; `{{secret:NAME}}` stands for a secret.
    #[serde(default)]
    pub headers: SecretTexts,
    /// How long it may take; five seconds, without it.
    pub timeout: Option<Time>,
}

impl ContextHookEntry {
    /// The hook. Errors: what is wrong with the entry.
    pub(crate) fn build(
        &self,
        launcher: &Launcher,
        client: &Client,
        secret: Secret<'_>,
    ) -> Result<NamedContextHook, String> {
        let wrong = |why: &str| Err(format!("the context hook {:?} {why}", self.name.get_ref()));
        if !is_name(self.name.get_ref()) {
            return wrong("needs a name of letters, digits, - and _");
        }
        let timeout = self.timeout.map_or(Duration::from_secs(5), |time| Duration::from_millis(time.0));
        let called = Called { command: &self.command, url: self.url.as_ref(), headers: &self.headers, timeout };
        match called.build(launcher, client, secret) {
            Ok(runner) => Ok(NamedContextHook { name: self.name.get_ref().clone(), timeout, hook: Arc::new(runner) }),
            Err(why) => wrong(&why),
        }
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_'))
}

/// What an entry says about whom it calls.
struct Called<'a> {
    command: &'a [String],
    url: Option<&'a WebAddress>,
    headers: &'a SecretTexts,
    timeout: Duration,
}

impl Called<'_> {
    fn build(&self, launcher: &Launcher, client: &Client, secret: Secret<'_>) -> Result<Runner, String> {
        match (self.url, self.command.is_empty()) {
            (None, false) => {
                let program = Program { words: self.command.to_vec(), env: Vec::new() };
                Ok(Runner::Command { launcher: launcher.clone(), program })
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

/// Who is called with an event, and answers with some bytes.
enum Runner {
    /// A program of the owner's. It is not confined: it is as trusted as Mainpath itself. It ends when nobody waits for it any
    /// more.
    Command { launcher: Launcher, program: Program },
    /// An address of the owner's: the event is posted to it.
    Address { post: Post, limit: Duration },
}

impl Runner {
    async fn call(&self, event: &Value) -> Result<Vec<u8>, String> {
        match self {
            Runner::Command { launcher, program } => {
                let folder = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
                let place = Place { launcher, cage: &Cage::open(), folder: &folder, effect_id: "hook" };
                let ran = program.run(place, event.to_string().as_bytes(), std::future::pending()).await;
                let ran = ran.map_err(|error| format!("it could not be started: {error}"))?;
                let said = last_line([&ran.stderr, &ran.stdout].map(|bytes| String::from_utf8_lossy(bytes)));
                match &ran.ended.how {
                    How::Exit(0) => Ok(ran.stdout.to_vec()),
                    How::Exit(code) => Err(format!("exit code {code}: {said}")),
                    how => Err(went_wrong(how).map_or(said, |(_, why)| format!("{}: {why}", program.words[0]))),
                }
            }
            Runner::Address { post, limit } => {
                let answered = post.send(event, *limit).await.map_err(|problem| problem.text)?;
                match answered.status {
                    200..300 => Ok(answered.body.to_vec()),
                    status => Err(format!("it answered with HTTP {status}")),
                }
            }
        }
    }
}

impl HookRunner for Runner {
    /// What a hook answers; nothing at all is nothing to say.
    fn run<'a>(&'a self, event: &'a Value) -> Fut<'a, Result<Value, String>> {
        Box::pin(async move {
            let bytes = self.call(event).await?;
            if bytes.trim_ascii().is_empty() {
                return Ok(Value::Null);
            }
            let text = str::from_utf8(&bytes).map_err(|_| "its answer is not UTF-8 text".to_string())?;
            unique_json(text).map_err(|error| format!("its answer is not JSON: {error}"))
        })
    }
}

impl ContextHook for Runner {
    /// A JSON object with a `text`, else the answer as it is.
    fn text<'a>(&'a self, trace: &'a Value) -> Fut<'a, Result<String, String>> {
        Box::pin(async move {
            let bytes = self.call(trace).await?;
            let Ok(Value::Object(object)) = serde_json::from_slice::<Value>(&bytes) else {
                return Ok(String::from_utf8_lossy(&bytes).into_owned());
            };
            match object.get("text") {
                None | Some(Value::Null) => Ok(String::new()),
                Some(Value::String(text)) => Ok(text.clone()),
                Some(_) => Err("the \"text\" of its answer is not a string".into()),
            }
        })
    }
}

/// The last line that says something, of the first text that has one.
fn last_line(texts: [Cow<'_, str>; 2]) -> String {
    let line = texts.iter().find_map(|text| text.lines().rfind(|line| !line.trim().is_empty()));
    line.unwrap_or("it printed nothing").chars().take(200).collect()
}
