//! `[[hooks]]` of the configuration: commands that are asked or told at points of a run.

use crate::config::Time;
use mainpath_runtime::{Hook, HookPoint, HookRunner, OnFailure};
use mainpath_sandbox::{Cage, How, Launcher};
use mainpath_tools::Fut;
use serde::Deserialize;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};

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
    pub command: Vec<String>,
    /// How long it may take; ten seconds, without it.
    pub timeout: Option<Time>,
    /// What follows when it fails: `closed` (it counts as a denial, the default) or `open`.
    #[serde(default)]
    pub on_failure: OnFailure,
}

impl HookEntry {
    /// The hook. Errors: what is wrong with the entry.
    pub fn build(&self, launcher: &Launcher) -> Result<Hook, String> {
        let wrong = |why: &str| Err(format!("the hook {:?} {why}", self.name));
        let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        if self.name.is_empty() || !self.name.chars().all(fits) {
            return wrong("needs a name of letters, digits, - and _");
        }
        if self.on.is_empty() {
            return wrong("is called nowhere: give it on = [\"before_tool\"] or the like");
        }
        if self.command.is_empty() {
            return wrong("has no command");
        }
        let runner = Command { launcher: launcher.clone(), words: self.command.clone() };
        Ok(Hook {
            name: self.name.clone(),
            points: self.on.clone(),
            tools: self.tools.clone(),
            timeout: self.timeout.map_or(Duration::from_secs(10), |time| Duration::from_millis(time.0)),
            on_failure: self.on_failure,
            runner: Arc::new(runner),
        })
    }
}

/// A program of the owner's. It is not confined: it is as trusted as Mainpath itself. It ends when nobody waits for it any
/// more.
struct Command {
    launcher: Launcher,
    words: Vec<String>,
}

/// The most that is read of an answer, in bytes.
const MOST: u64 = 1 << 20;

impl HookRunner for Command {
    fn run<'a>(&'a self, event: &'a Value) -> Fut<'a, Result<Value, String>> {
        Box::pin(async move {
            let words: Vec<&OsStr> = self.words.iter().map(OsStr::new).collect();
            let folder = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
            let mut talk = self
                .launcher
                .command(&words, &folder, "hook", &Cage::open(), &[])
                .map_err(|error| format!("it could not be started: {error}"))?;
            let told = event.to_string();
            let mut stdin = talk.stdin;
            let tell = async move {
                // One that does not read is no failure: it may not need to know.
                let _ = stdin.write_all(told.as_bytes()).await;
            };
            let ((), answer, said) = tokio::join!(tell, read(&mut talk.stdout), read(&mut talk.stderr));
            talk.process.launcher_done().await;
            let ended =
                talk.process.ended().await.map_err(|error| format!("its end could not be confirmed: {error}"))?;
            match ended.how {
                How::Exit(0) if answer.trim().is_empty() => Ok(Value::Null),
                How::Exit(0) => {
                    serde_json::from_str(&answer).map_err(|error| format!("its answer is no JSON: {error}"))
                }
                How::Exit(code) => Err(format!("exit code {code}: {}", last_line(&said))),
                How::Failed(number) => {
                    Err(format!("{} cannot be started: {}", self.words[0], std::io::Error::from_raw_os_error(number)))
                }
                other => Err(format!("it was ended: {other:?}")),
            }
        })
    }
}

async fn read(from: &mut (impl AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    let _ = from.take(MOST).read_to_end(&mut bytes).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

fn last_line(text: &str) -> String {
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").chars().take(200).collect()
}
