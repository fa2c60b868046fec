//! `bash`.

use crate::output::{Collector, Lines};
use crate::tool::count;
use crate::{Fut, Tool, ToolContext, ToolDoc, Touches};
use mainpath_sandbox::{Ended, How, Running};
use mainpath_types::{Artifact, EffectClass, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use std::ffi::OsStr;
use std::io;
use std::num::NonZeroU32;
use std::time::Duration;
use tokio::io::AsyncReadExt;

/// How long a command may take where the call does not say.
const TIMEOUT_S: u32 = 120;
/// An unfinished line is handed to watchers when nothing has come for this long.
const QUIET: Duration = Duration::from_millis(100);

/// Runs a command of the shell in the workspace, in the cage of its context.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bash;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BashArgs {
    /// The command, as for `bash -c`.
    command: String,
    /// Seconds after which it is ended; 120 by default.
    timeout_s: Option<NonZeroU32>,
}

impl Tool for Bash {
    type Args = BashArgs;
    const NAME: &'static str = "bash";

    fn describe(&self) -> ToolDoc {
        let text = "Runs a bash command in the workspace and shows what it writes. Each call is a new shell without input or \
                    terminal. Everything that it started is ended with it, background processes too.";
        ToolDoc::new(text, EffectClass::ProcessControl)
    }

    fn touches(&self, args: &BashArgs) -> Touches {
        Touches::running(&args.command)
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: BashArgs) -> Fut<'a, ToolOutput> {
        Box::pin(async move {
            let words = [OsStr::new(shell()), OsStr::new("-c"), OsStr::new(&args.command)];
            let folder = ctx.workspace.root();
            if ctx.cancel.is_cancelled() {
                return ctx.stopped();
            }
            let running = match ctx.launcher.start(&words, folder, &ctx.grant.effect_id(), &ctx.cage) {
                Ok(running) => running,
                Err(error) => return not_started(&error, &args.command),
            };
            let limit = args.timeout_s.map_or(TIMEOUT_S, NonZeroU32::get);
            let (collector, ended, stop) = match watch(ctx, running, Duration::from_secs(limit.into())).await {
                Ok(seen) => seen,
                Err(error) => {
                    return ToolOutput::failed("launch", format!("The command's end could not be confirmed: {error}."));
                }
            };
            match &ended.how {
                How::Failed(number) => return not_started(&io::Error::from_raw_os_error(*number), &args.command),
                How::Refused(why) => return ToolOutput::failed("sandbox", refused(why)),
                How::Exit(_) | How::Signal(_) | How::StillRunning | How::Lost => {}
            }
            report(ctx, &args.command, collector, ended, stop).await
        })
    }
}

/// Why a command was ended before its own end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// Somebody, or the registry's time limit, wanted it.
    Asked,
    /// The call's own time was up, so many seconds.
    Late(u64),
}

/// Reads the command's output until nothing of it runs any more.
async fn watch(
    ctx: &ToolContext,
    mut running: Running,
    limit: Duration,
) -> io::Result<(Collector, Ended, Option<Stop>)> {
    let mut collector = Collector::default();
    let mut lines = Lines::default();
    let mut tell = |piece: String| (ctx.progress)(&ctx.secrets.redact(&piece));
    let mut buffer = vec![0; 64 * 1024];
    let mut stop = None;
    let mut open = true;
    let late = tokio::time::sleep(limit);
    tokio::pin!(late);
    loop {
        let quiet = tokio::time::sleep(QUIET);
        tokio::select! {
            biased;
            () = ctx.cancel.cancelled(), if stop.is_none() => {
                stop = Some(Stop::Asked);
                running.process.end().await;
            }
            () = &mut late, if stop.is_none() => {
                stop = Some(Stop::Late(limit.as_secs()));
                running.process.end().await;
            }
            () = running.process.launcher_done() => break,
            got = running.output.read(&mut buffer), if open => match got {
                Ok(0) => open = false,
                Ok(got) => {
                    collector.push(&buffer[..got]);
                    lines.push(&buffer[..got], &mut tell);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => open = false,
            },
            () = quiet, if lines.waits() => lines.flush(false, &mut tell),
        }
    }
    // What was written before the end is still in the pipe. Its end of file may never come if a process that is none of
    // ours holds it open, so silence ends it too, and so does more than a pipe can hold.
    let mut reads = 0;
    while open && reads < 64 {
        match tokio::time::timeout(Duration::from_secs(1), running.output.read(&mut buffer)).await {
            Ok(Ok(got)) if got > 0 => {
                collector.push(&buffer[..got]);
                lines.push(&buffer[..got], &mut tell);
                reads += 1;
            }
            Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => open = false,
        }
    }
    lines.flush(true, &mut tell);
    Ok((collector, running.process.ended().await?, stop))
}

async fn report(
    ctx: &ToolContext,
    command: &str,
    collector: Collector,
    ended: Ended,
    stop: Option<Stop>,
) -> ToolOutput {
    let (mut text, shortened) = collector.shown(&|text| ctx.secrets.redact(text));
    let mut notes = Vec::new();
    let mut artifacts = Vec::new();
    if shortened {
        let secrets = ctx.secrets.clone();
        let whole = crate::tool::blocking(move || collector.into_text(&|text| secrets.redact(text))).await;
        match whole.unwrap_or_else(|problem| Err(io::Error::other(problem))) {
            Ok((bytes, note)) => {
                notes.extend(note);
                let size = bytes.len() as u64;
                match ctx.blobs.put(bytes).await {
                    Ok(hash) => {
                        let media_type = "text/plain; charset=utf-8".into();
                        artifacts.push(Artifact { name: "output".into(), hash, bytes: size, media_type });
                    }
                    Err(error) => notes.push(format!("the whole output could not be kept: {error}")),
                }
            }
            Err(error) => notes.push(format!("the whole output could not be kept: {error}")),
        }
    }
    let mut error = None;
    // A stop that came after the command's own end has changed nothing.
    let stop = stop.filter(|_| !ended.by_itself);
    match (&ended.how, stop) {
        (_, Some(stop)) => {
            let (code, words) = match (stop, ctx.timeout) {
                (Stop::Late(seconds), _) => ("timeout", format!("timed out after {}", count(seconds, "second"))),
                (Stop::Asked, Some(limit)) if ctx.stop_code() == "timeout" => {
                    ("timeout", format!("timed out after {limit:?}"))
                }
                (Stop::Asked, _) => (ctx.stop_code(), "interrupted".into()),
            };
            error = Some(code);
            notes.push(format!("{words}; the command and everything that it had started were ended"));
        }
        (How::Exit(0), None) => {}
        (How::Exit(code), None) => {
            error = Some("exit_code");
            notes.push(format!("exit code {code}"));
        }
        (How::Signal(signal), None) => {
            error = Some("signal");
            notes.push(format!("killed by {}", signal_name(*signal)));
        }
        (How::Lost | How::StillRunning | How::Failed(_) | How::Refused(_), None) => {
            error = Some("launch");
            notes.push("the process that watches over the command was killed, so everything was ended".into());
        }
    }
    if ended.cleared > 0 {
        let what = count(ended.cleared as u64, "background process");
        notes.push(format!("ended {what} that still ran after the command"));
    }
    if ended.left > 0 {
        notes.push(format!("{} of another user could not be ended", count(ended.left as u64, "process")));
    }
    if !ended.planted.is_empty() {
        let names = ended.planted.join(", ");
        notes.push(format!("new in the workspace, and run by shells, editors or git without being asked: {names}"));
    }
    if text.is_empty() && notes.is_empty() {
        text.push_str("[no output]");
    }
    for note in notes {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("[{note}]"));
    }
    let title = ctx.secrets.redact(command.lines().next().unwrap_or_default());
    let title: String = title.chars().take(100).collect();
    ToolOutput { error: error.map(Into::into), title: Some(title), artifacts, ..ToolOutput::text(text) }
}

fn refused(why: &str) -> String {
    format!(
        "The command was not started, since the sandbox could not be made: {why}. `mainpath doctor` says what is missing."
    )
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

fn signal_name(number: i32) -> String {
    const NAMES: [(i32, &str); 15] = [
        (1, "SIGHUP"),
        (2, "SIGINT"),
        (3, "SIGQUIT"),
        (4, "SIGILL"),
        (5, "SIGTRAP"),
        (6, "SIGABRT"),
        (7, "SIGBUS"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (13, "SIGPIPE"),
        (14, "SIGALRM"),
        (15, "SIGTERM"),
        (24, "SIGXCPU"),
        (25, "SIGXFSZ"),
    ];
    match NAMES.iter().find(|(known, _)| *known == number) {
        Some((_, name)) => format!("signal {number} ({name})"),
        None => format!("signal {number}"),
    }
}
