//! `import`: conversations from other systems, and the sessions that other agents recorded.

use crate::app::App;
use crate::args::agent::AgentArgs;
use crate::commands::elsewhere::spec;
use crate::commands::session::{FormatArg, messages_of, with_system};
use crate::exit::{Exit, Failure};
use crate::runs::held::tell;
use crate::ui::out::out;
use crate::ui::person::person_only;
use crate::ui::text::{count, one_line, short, span, were};
use clap::{Args, ValueEnum};
use mainpath::Logs;
use mainpath::agent::ImportedConversation;
use mainpath::imported::{FoundSession, Places, Program, Reconstructed, RecordedSession, find, reconstruct};
use mainpath::sessions::Held;
use mainpath::types::{Millis, format_time};
use mainpath::values::now;
use serde_json::json;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

/// `mainpath import`
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// The file: a list of messages, a request body, one message per line, or a session file of another agent; `-` is standard input.
    /// Without it: all sessions that codex, Claude Code, opencode and pi recorded here
    pub file: Option<PathBuf>,
    /// List the sessions that those programs recorded here; import nothing
    #[arg(long, conflicts_with_all = ["file", "session", "format"])]
    pub list: bool,
    /// Only the sessions of this program (may be repeated)
    #[arg(long, value_enum, value_name = "PROGRAM", conflicts_with_all = ["file", "session", "format"])]
    pub from: Vec<ProgramArg>,
    /// As JSON lines
    #[arg(long, conflicts_with_all = ["session", "format"])]
    pub json: bool,
    /// The format
    #[arg(long, value_enum, default_value_t = FormatArg::Auto)]
    pub format: FormatArg,
    /// Point this session to the new trace
    #[arg(long, value_name = "NAME", requires = "file")]
    pub session: Option<String>,
    #[command(flatten)]
    pub agent: AgentArgs,
}

/// A program whose sessions are imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProgramArg {
    /// Claude Code: ~/.claude/projects
    ClaudeCode,
    /// OpenAI's codex: ~/.codex/sessions
    Codex,
    /// opencode: ~/.local/share/opencode
    Opencode,
    /// pi: ~/.pi/agent/sessions
    Pi,
}

impl From<ProgramArg> for Program {
    fn from(arg: ProgramArg) -> Program {
        match arg {
            ProgramArg::ClaudeCode => Program::ClaudeCode,
            ProgramArg::Codex => Program::Codex,
            ProgramArg::Opencode => Program::Opencode,
            ProgramArg::Pi => Program::Pi,
        }
    }
}

/// `mainpath import`
pub async fn import(args: ImportArgs) -> Result<Exit, Failure> {
    person_only("import conversations")?;
    let Some(file) = args.file.clone() else { return recorded(&args).await };
    // The words of a person come before what a file looks like.
    if args.format == FormatArg::Auto
        && let Some(session) = FoundSession::named(&file)
    {
        if args.session.is_some() {
            let how = "import it without --session, then: mainpath session switch NAME TRACE";
            return Err(Failure::usage(format!("this is a session that {} recorded; {how}", session.program.name())));
        }
        return bring(&[session], args.json).await;
    }
    conversation(file, args).await
}

/// A conversation from another system.
async fn conversation(file: PathBuf, args: ImportArgs) -> Result<Exit, Failure> {
    let app = App::open()?;
    let held = Held::new(&app.logs)?;
    let mut session = args.session.as_ref().map(|name| held.for_run(&app.logs, name)).transpose()?;
    let (name, mut messages) = messages_of(Some(&file), args.format.into())?;
    let agent = with_system(&app, args.agent, &messages.take_system());
    let history = messages.heal(false);
    tell(&history.healed);
    if history.messages.is_empty() {
        return Err(Failure::error(format!("{name} has no messages to add")));
    }
    let spec = spec(&app, &agent).await?;
    let ImportedConversation { trace, messages } = app.host.import(spec, history.messages, &name).await?;
    app.logs.write_views(&trace).await?;
    if let Some((session, _)) = &mut session {
        held.point(session, &trace)?;
    }
    let (_, state, _) = app.logs.read(&trace).await?;
    let messages = match state.calls.iter().count() {
        0 => were(messages as u64, "message"),
        results => format!("{} and {} were", count(messages as u64, "message"), count(results as u64, "tool result")),
    };
    let open = if state.tree.is_answered() {
        String::new()
    } else {
        format!(", or answer the last one: mainpath resume {trace}")
    };
    eprintln!("{messages} imported; continue with mainpath run --trace {trace} \"TASK\"{open}");
    out(trace.as_str()).map(|()| Exit::Ok)
}

/// The sessions that other programs recorded here.
async fn recorded(args: &ImportArgs) -> Result<Exit, Failure> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let places = Places::usual(variable).ok_or_else(|| Failure::error("HOME is not set; set it, or name a file"))?;
    let wanted: Vec<Program> = match args.from.is_empty() {
        true => Program::ALL.to_vec(),
        false => args.from.iter().map(|program| (*program).into()).collect(),
    };
    let (mut found, mut failed) = (Vec::new(), 0);
    for program in wanted {
        let (sessions, wrong) = find(program, &places);
        failed += wrong.len();
        wrong.iter().for_each(|error| eprintln!("! {}", one_line(&error.to_string())));
        found.extend(sessions);
    }
    if found.is_empty() && failed == 0 {
        eprintln!("no sessions found of codex, Claude Code, opencode or pi; name a file to import that");
    }
    let done = if args.list { list(&found, args.json)? } else { bring(&found, args.json).await? };
    Ok(if failed == 0 { done } else { Exit::Error })
}

/// Shows what there is, a line each.
fn list(found: &[FoundSession], as_json: bool) -> Result<Exit, Failure> {
    let mut failed = 0;
    for session in found {
        match session.read() {
            Ok(read) => out(&if as_json { told(session, &read).to_string() } else { line(session, &read) })?,
            Err(error) => {
                failed += 1;
                eprintln!("! {}", one_line(&error.to_string()));
            }
        }
    }
    Ok(if failed == 0 { Exit::Ok } else { Exit::Error })
}

fn told(session: &FoundSession, read: &RecordedSession) -> serde_json::Value {
    json!({
        "program": read.program.name(),
        "session": read.id,
        "title": read.title,
        "folder": read.cwd,
        "version": read.version,
        "begun": read.begun.map(format_time),
        "messages": read.branches.iter().map(|branch| branch.messages.len()).collect::<Vec<_>>(),
        "file": session.file.display().to_string(),
        "left_out": read.left_out,
    })
}

fn line(session: &FoundSession, read: &RecordedSession) -> String {
    let changed = session.changed.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let changed = changed.and_then(|at| Millis::try_from(at.as_millis()).ok());
    let ago = changed.map_or_else(String::new, |at| format!("{} ago", span(now().saturating_sub(at))));
    let messages = read.branches.first().map_or(0, |branch| branch.messages.len());
    let more = match read.branches.len() {
        0 | 1 => String::new(),
        n => format!(", {n} branches"),
    };
    let title = read.title.clone().unwrap_or_default();
    let folder = read.cwd.clone().unwrap_or_default();
    one_line(&format!(
        "{:<12} {:<38} {ago:>10}  {}{more}  {}  {}",
        read.program.name(),
        read.id,
        count(messages as u64, "message"),
        folder,
        short(&title, 60)
    ))
}

/// Makes traces of sessions. One that cannot be read or written is told, and the others are imported all the same.
async fn bring(found: &[FoundSession], as_json: bool) -> Result<Exit, Failure> {
    let logs = Logs::open()?;
    let vault = logs.home.vault(&logs.registry())?;
    let (mut made, mut known, mut failed) = (0, 0, 0);
    for session in found {
        let done = match session.read() {
            Ok(read) => reconstruct(&logs, &vault, &read, &session.file, now())
                .await
                .map_err(|error| format!("{}: {}", session.file.display(), error.message())),
            Err(error) => Err(error.to_string()),
        };
        match done {
            Ok(done) => {
                made += done.made.len();
                known += done.known.len();
                say(session, &done, as_json)?;
                if let Some(why) = &done.taken {
                    failed += 1;
                    eprintln!("! {}", one_line(&format!("{}: {why}", session.file.display())));
                }
            }
            Err(problem) => {
                failed += 1;
                eprintln!("! {}", one_line(&problem));
            }
        }
    }
    if !found.is_empty() {
        let (made, known) = (count(made as u64, "trace"), known);
        let known = if known == 0 { String::new() } else { format!(", {known} there already") };
        let failed = if failed == 0 { String::new() } else { format!(", {failed} not imported") };
        eprintln!("{made} made{known}{failed}; mainpath ls lists them");
    }
    match failed {
        0 => Ok(Exit::Ok),
        1 => Err(Failure::error("1 session was not imported")),
        n => Err(Failure::error(format!("{n} sessions were not imported"))),
    }
}

fn say(session: &FoundSession, done: &Reconstructed, as_json: bool) -> Result<(), Failure> {
    if as_json {
        return out(&json!({
            "program": session.program.name(),
            "file": session.file.display().to_string(),
            "made": done.made,
            "known": done.known,
            "messages": done.messages,
            "taken": done.taken,
            "notes": done.notes,
        })
        .to_string());
    }
    for trace in &done.made {
        out(trace.as_str())?;
    }
    if !done.made.is_empty() && !done.notes.is_empty() {
        let names: Vec<&str> = done.made.iter().map(|trace| trace.as_str()).collect();
        eprintln!("· {}: {}", names.join(", "), one_line(&done.notes.join("; ")));
    }
    Ok(())
}
