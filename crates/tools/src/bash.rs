//! `bash`.

use crate::follow::{Sinks, Stop, follow, leftovers, own_end, refused};
use crate::output::Collector;
use crate::show::show;
use crate::words::count;
use crate::{Fut, Problem, Tool, ToolContext, ToolDoc, Touches};
use mainpath_sandbox::{Ended, How, Running};
use mainpath_types::{CommandEnd, EffectClass, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use std::ffi::OsStr;
use std::io;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

/// How long a command may take where the call does not say.
const TIMEOUT_S: u32 = 120;

/// Runs a command of the shell in the workspace, in the cage of its context.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bash;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BashArgs {
    /// The command, as for `bash -c`.
    command: String,
    /// Seconds after which it is ended; 120 by default, in the background no limit.
    timeout_s: Option<NonZeroU32>,
    /// Whether it goes on after the call, which then returns at once with an id; false by default.
    background: Option<bool>,
}

impl Tool for Bash {
    type Args = BashArgs;
    const NAME: &'static str = "bash";

    fn describe(&self) -> ToolDoc {
        let text = "Runs a bash command in the workspace and shows what it writes, what it writes to standard error apart. Each call is a new shell without input or \
                    terminal. Everything that it started is ended with it. What is to go on, such as a server, is started with \
                    background: true and then followed with process_output and process_stop; it lives until it ends, is \
                    stopped, or Mainpath ends.";
        ToolDoc::new(text, EffectClass::ProcessControl)
    }

    fn touches(&self, args: &BashArgs) -> Touches {
        Touches::running(args.command.clone())
    }

    fn check(&self, args: &BashArgs) -> Result<(), Problem> {
        runnable(&args.command)
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: BashArgs) -> Fut<'a, ToolOutput> {
        Box::pin(async move {
            if ctx.cancel.is_cancelled() {
                return ctx.stopped();
            }
            match args.background {
                Some(true) => background(ctx, &args.command, args.timeout_s.map(seconds)),
                _ => to_the_end(ctx, &args.command, args.timeout_s).await,
            }
        })
    }
}

/// Whether a command can be given to a shell.
pub(crate) fn runnable(command: &str) -> Result<(), Problem> {
    match command.contains('\0') {
        true => Err(Problem::new("launch", "The command holds a NUL character, which no command can.")),
        false => Ok(()),
    }
}

fn seconds(seconds: NonZeroU32) -> Duration {
    Duration::from_secs(seconds.get().into())
}

/// Runs a command in the context's cage and reports what came of it.
pub(crate) async fn to_the_end(ctx: &ToolContext, command: &str, timeout_s: Option<NonZeroU32>) -> ToolOutput {
    run_program(ctx, &words(command), command, timeout_s).await
}

/// Runs a program in the context's cage, in the workspace, and reports what came of it: the beginning and the end of what it wrote,
/// the rest in blobs. `command`: what people are told that it is. `timeout_s`: 120 where nothing is said.
pub async fn run_program(
    ctx: &ToolContext,
    words: &[&OsStr],
    command: &str,
    timeout_s: Option<NonZeroU32>,
) -> ToolOutput {
    let running = match ctx.launcher.start_apart(words, ctx.workspace.root(), &ctx.grant.effect_id(), &ctx.cage) {
        Ok(running) => running,
        Err(error) => return not_started(&error, command),
    };
    let limit = timeout_s.map_or(Duration::from_secs(TIMEOUT_S.into()), seconds);
    let (mut output, mut errors) = (Collector::default(), Collector::default());
    let mut tell = |piece: String| (ctx.progress)(&piece);
    let (mut take, mut take_errors) = (|bytes: &[u8]| output.push(bytes), |bytes: &[u8]| errors.push(bytes));
    let sinks = Sinks { output: &mut take, errors: &mut take_errors, piece: &mut tell };
    let (ended, stop) = match follow(running, &ctx.cancel, Some(limit), sinks).await {
        Ok(seen) => seen,
        Err(error) => {
            return ToolOutput::failed("launch", format!("The command's end could not be confirmed: {error}."));
        }
    };
    match &ended.how {
        How::Failed(number) => return not_started(&io::Error::from_raw_os_error(*number), command),
        How::Refused(why) => return ToolOutput::failed("sandbox", refused(why)),
        How::Exit(_) | How::Signal(_) | How::StillRunning | How::Lost => {}
    }
    report(ctx, command, output, errors, ended, stop).await
}

fn words(command: &str) -> [&OsStr; 3] {
    [OsStr::new(shell()), OsStr::new("-c"), OsStr::new(command)]
}

fn start(ctx: &ToolContext, command: &str) -> io::Result<Running> {
    ctx.launcher.start(&words(command), ctx.workspace.root(), &ctx.grant.effect_id(), &ctx.cage)
}

fn background(ctx: &ToolContext, command: &str, limit: Option<Duration>) -> ToolOutput {
    let id = ctx.grant.call();
    match ctx.processes.start(id, command, limit, Arc::clone(&ctx.notice), || start(ctx, command)) {
        Ok(Ok(())) => {
            let text = format!("Started in the background; its id is {id}.");
            ToolOutput { title: Some(title(ctx, command)), ..ToolOutput::text(text) }
        }
        Ok(Err(error)) => not_started(&error, command),
        Err(problem) => problem.into(),
    }
}

async fn report(
    ctx: &ToolContext,
    command: &str,
    output: Collector,
    errors: Collector,
    ended: Ended,
    stop: Option<Stop>,
) -> ToolOutput {
    let exit_code = if let How::Exit(code) = ended.how { Some(code) } else { None };
    let end = CommandEnd { exit_code, stdout_bytes: output.total(), stderr_bytes: errors.total() };
    let mut shown = show(ctx, "output", output).await;
    if !errors.is_empty() {
        shown.add_errors(show(ctx, "errors", errors).await);
        if exit_code == Some(0) {
            shown.notes.push("exit code 0".into());
        }
    }
    // A stop that came after the command's own end has changed nothing.
    let failure = match stop.filter(|_| !ended.by_itself) {
        None => own_end(&ended.how),
        Some(stop) => {
            let (code, words) = match (stop, ctx.timeout) {
                (Stop::Late(seconds), _) => ("timeout", format!("timed out after {}", count(seconds, "second"))),
                (Stop::Asked, Some(limit)) if ctx.stop_code() == "timeout" => {
                    ("timeout", format!("timed out after {limit:?}"))
                }
                (Stop::Asked, _) => (ctx.stop_code(), "interrupted".into()),
            };
            Some((code, format!("{words}; the command and everything that it had started were ended")))
        }
    };
    let error = failure.map(|(code, words)| {
        shown.notes.push(words);
        code.to_string()
    });
    shown.notes.extend(leftovers(&ended));
    let notices = ended.planted.sentences(true).into();
    if shown.text.is_empty() && shown.notes.is_empty() {
        shown.text.push_str("[no output]");
    }
    let (artifacts, title) = (std::mem::take(&mut shown.artifacts), Some(title(ctx, command)));
    ToolOutput { error, title, command: Some(end), artifacts, notices, ..ToolOutput::text(shown.with_notes()) }
}

/// The command's first line, secrets hidden.
fn title(ctx: &ToolContext, command: &str) -> String {
    ctx.secrets.redact(command.lines().next().unwrap_or_default()).chars().take(100).collect()
}

fn not_started(error: &io::Error, command: &str) -> ToolOutput {
    let text = match error.kind() {
        io::ErrorKind::ArgumentListTooLong => format!(
            "The command is too long for the system ({}); write it to a file and run that.",
            count(command.len() as u64, "byte")
        ),
        io::ErrorKind::InvalidInput => "The command holds a NUL character, which no command can.".into(),
        _ => format!("The command could not be started: {error}."),
    };
    ToolOutput::failed("launch", text)
}

/// The shell: bash where there is one, else sh.
fn shell() -> &'static str {
    static SHELL: std::sync::OnceLock<&str> = std::sync::OnceLock::new();
    SHELL.get_or_init(|| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        match std::env::split_paths(&path).any(|folder| folder.join("bash").is_file()) {
            true => "bash",
            false => "sh",
        }
    })
}
