//! `export`: a trace for people and for other programs.

use crate::exit::{Exit, Failure, logs};
use crate::traces::allow::why;
use crate::traces::asked::{line, whole_of};
use crate::traces::questions;
use crate::ui::out::out;
use crate::ui::say::{foreign, readable};
use clap::{Args, ValueEnum};
use mainpath::Error;
use mainpath::providers::history::HistoryFormat;
use mainpath::runtime::import::Extent;
use mainpath::store::create_private;
use mainpath::text::fenced;
use mainpath::trace::{Export, QuestionStanding, Waits};
use mainpath::types::TraceId;
use rustix::fs::OFlags;
use std::fmt::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// `mainpath export`
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// The trace (its id or a unique part of it) [default: the latest]
    pub trace: Option<String>,
    /// The format
    #[arg(long, value_enum, default_value_t = ExportArg::Markdown)]
    pub format: ExportArg,
    /// The conversation as the next request would show it, with summaries in place of what is left out
    #[arg(long)]
    pub shown: bool,
    /// A file; for agent-run and trace-dir a folder, which gets a folder for each trace [default: standard output; .agent/runs;
    /// .trace]
    #[arg(short, long, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// Replace the file if it is there
    #[arg(long, requires = "out")]
    pub force: bool,
}

/// What an export writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportArg {
    /// The main path, for people
    Markdown,
    /// All of it for people, as one page that opens without a server
    Html,
    /// Everything in one JSON object: metadata, plan, main path, events
    Json,
    /// The conversation as Mainpath's own messages
    Neutral,
    /// The conversation in OpenAI's Chat Completions format
    Openai,
    /// The conversation in Anthropic's Messages format
    Anthropic,
    /// The conversation in Gemini's format
    Gemini,
    /// A folder .agent/runs/ID: events, state, answer, request, artifacts, observations
    AgentRun,
    /// A folder .trace/ID: metadata, goals, events, a file for each message
    TraceDir,
}

/// `mainpath export`
pub async fn export(args: ExportArgs) -> Result<Exit, Failure> {
    let logs = logs()?;
    let trace = logs.find_anywhere(args.trace.as_deref()).await?;
    let (log, state, bodies) = logs.read(&trace).await?;
    if let Some(damage) = &log.damage {
        eprintln!("! the log is damaged: {damage}; what follows is not exported");
    }
    if let Some(torn) = logs.torn(&trace, &log) {
        eprintln!("! {torn}: not exported");
    }
    let extent = if args.shown { Extent::Shown } else { Extent::Said };
    if args.shown && matches!(args.format, ExportArg::AgentRun | ExportArg::TraceDir) {
        return Err(Failure::usage(
            "--shown works with conversation formats; agent-run and trace-dir always export everything",
        ));
    }
    let export = Export::new(logs.of(&trace, &log, &state, &bodies), extent);
    let text = match args.format {
        ExportArg::Markdown => {
            let mut undecided = String::new();
            let Waits { calls, questions, .. } = logs.of(&trace, &log, &state, &bodies).waits().await?;
            for call in calls {
                let (line, whole) = (line(&call, &trace), fenced(&whole_of(&call).join("\n")));
                let _ = writeln!(undecided, "\n## Undecided\n\n{line}\n\n{whole}");
                if let Some(verdict) = &call.verdict {
                    let _ = writeln!(undecided, "\n{}", why(verdict));
                }
            }
            for question in questions.iter().filter(|question| question.standing == QuestionStanding::Open) {
                let (line, whole) = (questions::line(question, &trace), fenced(&questions::lines(question).join("\n")));
                let _ = writeln!(undecided, "\n## Unanswered\n\n{line}\n\n{whole}");
            }
            readable(&export.markdown(&undecided).await?).into_owned()
        }
        ExportArg::Html => export.page().await?,
        ExportArg::Json => format!("{:#}\n", export.whole().await?),
        ExportArg::Neutral => export.neutral().await?,
        ExportArg::Openai => export.conversation(HistoryFormat::OpenAi).await?,
        ExportArg::Anthropic => export.conversation(HistoryFormat::Anthropic).await?,
        ExportArg::Gemini => export.conversation(HistoryFormat::Gemini).await?,
        ExportArg::AgentRun => {
            let below = free(args.out.as_deref(), ".agent/runs", &trace)?;
            return done(export.agent_run(&below).await);
        }
        ExportArg::TraceDir => {
            let below = free(args.out.as_deref(), ".trace", &trace)?;
            return done(export.trace_dir(&below).await);
        }
    };
    match &args.out {
        None => out(&foreign(text.trim_end()))?,
        Some(file) => put(file, text.as_bytes(), args.force)?,
    }
    Ok(Exit::Ok)
}

/// The folder below which a trace gets its own. Errors: it is there already.
fn free(out_dir: Option<&Path>, usual: &str, trace: &TraceId) -> Result<PathBuf, Failure> {
    let below = out_dir.unwrap_or(Path::new(usual));
    let folder = below.join(trace.as_str());
    match folder.exists() {
        true => Err(Failure::usage(format!(
            "{} already exists; remove it, or export elsewhere with --out",
            folder.display()
        ))),
        false => Ok(below.into()),
    }
}

fn done(folder: Result<PathBuf, Error>) -> Result<Exit, Failure> {
    out(&folder?.display().to_string()).map(|()| Exit::Ok)
}

/// Writes the file. What a link leads to is somebody else's, and a file that is there may be the only one of its kind.
fn put(file: &Path, bytes: &[u8], force: bool) -> Result<(), Failure> {
    let name = file.display();
    let found = std::fs::symlink_metadata(file).ok();
    match &found {
        Some(data) if data.is_symlink() => {
            return Err(Failure::usage(format!("{name} is a link; export to a file, or without --out")));
        }
        Some(data) if data.is_file() && !force => {
            return Err(Failure::usage(format!("{name} already exists; --force replaces it")));
        }
        _ => {}
    }
    let write = || -> std::io::Result<()> {
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            create_private(folder)?;
        }
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(found.is_none()).truncate(found.is_some()).mode(0o600);
        options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
        std::io::Write::write_all(&mut options.open(file)?, bytes)
    };
    write().map_err(|error| Failure::error(format!("{name} cannot be written: {error}")))
}
