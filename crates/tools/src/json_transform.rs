//! `json_transform`.

use crate::filter::{DONE, FULL, MEMORY, PANICKED, RESULT_BYTES, WRONG};
use crate::output::SHOWN;
use crate::words::count;
use crate::work::blocking;
use crate::workspace::Place;
use crate::{Fut, Problem, Tool, ToolContext, ToolDoc, Touches, Workspace};
use mainpath_types::{EffectClass, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

/// Larger inputs, in bytes, are not taken.
const INPUT: u64 = 16 * 1024 * 1024;
/// Bytes of an error that are read at most.
const ERROR: u64 = 64 * 1024;
/// Characters of it that are shown at most.
const ERROR_CHARS: usize = 1_000;
const TIMEOUT: Duration = Duration::from_secs(10);

/// Applies a jq filter to JSON, in a process of its own with bounds on time and memory.
#[derive(Clone, Debug)]
pub struct JsonTransform {
    /// Nothing where the program that this is part of is none that applies filters.
    program: Option<PathBuf>,
    args: Vec<OsString>,
}

impl JsonTransform {
    /// With filters applied by `program`, which runs [`filter_exit`](crate::filter_exit) when it is called with `args`.
    pub fn new(program: impl Into<PathBuf>, args: Vec<OsString>) -> JsonTransform {
        JsonTransform { program: Some(program.into()), args }
    }

    /// Applies none: each call is refused with the line that its embedder has to add.
    pub fn none() -> JsonTransform {
        JsonTransform { program: None, args: Vec::new() }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransformArgs {
    /// The filter, in the language of jq.
    filter: String,
    /// What it is applied to: a JSON value, or a string with JSON texts.
    input: Option<Value>,
    /// A file with JSON texts instead, relative to the workspace.
    path: Option<String>,
}

impl Tool for JsonTransform {
    type Args = TransformArgs;
    const NAME: &'static str = "json_transform";

    fn describe(&self) -> ToolDoc {
        let text = "Applies a jq filter to JSON, given as `input` or as the file `path`; without either to null. Shows the \
                    results as JSON, one a line. The filter is run by jaq: without input, env, modules and the local time zone.";
        ToolDoc { timeout: Some(TIMEOUT), ..ToolDoc::new(text, EffectClass::ReadOnly) }
    }

    fn touches(&self, args: &TransformArgs) -> Touches {
        args.path.as_ref().map(Touches::reading).unwrap_or_default()
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: TransformArgs) -> Fut<'a, ToolOutput> {
        Box::pin(async move {
            let (workspace, filter) = (ctx.workspace.clone(), args.filter.clone());
            let place = args.path.as_deref().map(|path| ctx.place(path));
            let load = move || input(&workspace, args.input, place.transpose()?);
            let input = match blocking(load).await.unwrap_or_else(Err) {
                Ok(input) => input,
                Err(problem) => return problem.into(),
            };
            let mut child = match self.start() {
                Ok(child) => child,
                Err(error) => {
                    return ToolOutput::failed("launch", format!("The filter program could not be started: {error}."));
                }
            };
            let worked = ctx.until_stopped(work(&mut child, &filter, &input)).await;
            if worked.is_none() {
                // Killed and waited for: it starts nothing itself.
                let _ = child.kill().await;
            }
            match worked {
                None => ctx.stopped(),
                Some(Ok(answer)) => report(ctx, &filter, answer),
                Some(Err(error)) => ToolOutput::failed("launch", format!("The filter program was lost: {error}.")),
            }
        })
    }
}

impl JsonTransform {
    fn start(&self) -> io::Result<Child> {
        let none = "call mainpath::launcher_main() first in main, so that copies of this program may apply filters";
        let program = self.program.as_ref().ok_or_else(|| io::Error::other(none))?;
        let mut command = Command::new(program);
        command.args(&self.args).env_clear().current_dir("/").kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    }
}

/// The JSON texts that the filter is applied to.
fn input(workspace: &Workspace, input: Option<Value>, place: Option<Place>) -> Result<Vec<u8>, Problem> {
    match (input, place) {
        (Some(_), Some(_)) => {
            let text = "Wrong arguments for json_transform: give `input` or `path`, not both.";
            Err(Problem::new("invalid_arguments", text))
        }
        (Some(Value::String(text)), None) => Ok(text.into_bytes()),
        (Some(value), None) => Ok(value.to_string().into_bytes()),
        (None, None) => Ok(Vec::new()),
        (None, Some(place)) => {
            let (file, _) = workspace.open(&place)?;
            let path = &place.path;
            let mut bytes = Vec::new();
            file.take(INPUT + 1)
                .read_to_end(&mut bytes)
                .map_err(|error| Problem::new("io", format!("{path:?} cannot be read: {error}.")))?;
            if bytes.len() as u64 > INPUT {
                return Err(Problem::new("too_large", format!("{path:?} is larger than {}.", count(INPUT, "byte"))));
            }
            Ok(bytes)
        }
    }
}

struct Answer {
    status: ExitStatus,
    results: Vec<u8>,
    error: Vec<u8>,
}

async fn work(child: &mut Child, filter: &str, input: &[u8]) -> io::Result<Answer> {
    let (Some(mut stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(io::Error::other("it has no pipes"));
    };
    let head = format!("{} {}\n", filter.len(), input.len());
    let request = [head.as_bytes(), filter.as_bytes(), input].concat();
    // It writes nothing before it has read everything, and one that has ended says why elsewhere.
    let _ = stdin.write_all(&request).await;
    let (mut results, mut error) = (Vec::new(), Vec::new());
    let mut stdout = stdout.take(RESULT_BYTES as u64);
    let mut stderr = stderr.take(ERROR);
    let (read, told) = tokio::join!(stdout.read_to_end(&mut results), stderr.read_to_end(&mut error));
    read.and(told)?;
    // The pipe stays open until here: it says that somebody still waits.
    let status = child.wait().await?;
    drop(stdin);
    Ok(Answer { status, results, error })
}

fn report(ctx: &ToolContext, filter: &str, answer: Answer) -> ToolOutput {
    let error = String::from_utf8_lossy(&answer.error);
    let text = ctx.secrets.redact(&String::from_utf8_lossy(&answer.results));
    let mut shown: String = text.chars().take(SHOWN).collect();
    let is_cut = shown.len() < text.len();
    let (code, note) = match (answer.status.code(), answer.status.signal()) {
        (Some(DONE), _) if is_cut => (None, Some("… and more; narrow the filter".into())),
        (Some(FULL), _) => (None, Some("… and more; narrow the filter".into())),
        (Some(DONE), _) if text.is_empty() => (None, Some("no results".into())),
        (Some(DONE), _) => (None, None),
        (Some(WRONG), _) => (Some("filter"), Some(ctx.secrets.redact(&error).chars().take(ERROR_CHARS).collect())),
        (Some(PANICKED), _) => (Some("filter"), Some("The filter failed by a defect of its interpreter.".into())),
        _ if error.contains("overflowed its stack") => {
            (Some("filter"), Some("The filter, or the input, is nested too deeply.".into()))
        }
        _ if error.contains("memory allocation") => {
            let most = MEMORY / 1024 / 1024;
            (Some("filter"), Some(format!("The filter needs more memory than it may have, {most} MiB.")))
        }
        (None, Some(24 | 9)) => (Some("filter"), Some("The filter takes too long.".into())),
        (status, signal) => {
            (Some("filter"), Some(format!("The filter program ended unexpectedly ({status:?}, {signal:?}).")))
        }
    };
    if let Some(note) = note {
        if !shown.is_empty() && !shown.ends_with('\n') {
            shown.push('\n');
        }
        match code {
            Some(_) => shown.push_str(&note),
            None => shown.push_str(&format!("[{note}]")),
        }
    }
    let title = Some(ctx.secrets.redact(filter).chars().take(100).collect());
    ToolOutput { error: code.map(Into::into), title, ..ToolOutput::text(shown.trim_end_matches('\n')) }
}
