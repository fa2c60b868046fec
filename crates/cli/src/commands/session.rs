//! `session`: conversations under names, and those that were held elsewhere.

use crate::app::App;
use crate::args::agent::AgentArgs;
use crate::commands::elsewhere;
use crate::commands::elsewhere::{SessionPrepareArgs, SessionShowArgs, print, spec};
use crate::exit::{Exit, Failure, logs};
use crate::runs::held::tell;
use crate::ui::out::out;
use crate::ui::person::person_only;
use crate::ui::text::{count, number, one_line, short, span, were};
use clap::{Args, Subcommand, ValueEnum};
use mainpath::Logs;
use mainpath::agent::with_more;
use mainpath::named_sessions::{Session, SessionError, persist, prepare, summary};
use mainpath::providers::history::{HistoryFormat, Loose, write};
use mainpath::sessions::{Held, fresh};
use mainpath::types::Millis;
use mainpath::values::duration;
use mainpath::values::now;
use serde_json::json;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

/// `mainpath session`
#[derive(Subcommand, Debug)]
pub enum SessionCommand {
    /// Create a session: a conversation with a name
    New(SessionNewArgs),
    /// List the sessions
    List(SessionListArgs),
    /// Show a session: its trace, its window, its expiry
    Show(SessionShowArgs),
    /// Switch a session to another trace
    Switch(SessionSwitchArgs),
    /// Remove a session; its trace stays
    Rm(SessionName),
    /// Print the last messages of a session, for a system that makes its own model calls
    Prepare(SessionPrepareArgs),
    /// Add messages to a session, from a file or standard input
    Persist(Box<SessionPersistArgs>),
    /// Summarise a session by rules: goal, constraints, decisions, open items, tool facts
    Summary(SessionName),
}

/// `mainpath session new`
#[derive(Args, Debug)]
pub struct SessionNewArgs {
    /// Its name: letters, digits, '-', '_', '.' and '@'
    pub name: String,
    /// How many messages `prepare` prints; 0 is all [default: sessions.window of the configuration, else 20]
    #[arg(long, value_name = "N")]
    pub window: Option<u32>,
    /// How long after its last use it expires and starts over, such as 7d [default: sessions.ttl, else never]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub ttl: Option<Duration>,
    /// An existing trace (its id or a unique part of it)
    #[arg(long, value_name = "TRACE")]
    pub trace: Option<String>,
}

/// `mainpath session list`
#[derive(Args, Debug)]
pub struct SessionListArgs {
    /// As JSON lines
    #[arg(long)]
    pub json: bool,
}

/// `mainpath session switch`
#[derive(Args, Debug)]
pub struct SessionSwitchArgs {
    /// The session
    pub name: String,
    /// The trace (its id or a unique part of it)
    #[arg(required_unless_present = "mirror", conflicts_with = "mirror")]
    pub trace: Option<String>,
    /// Continue with the messages of another machine in the mirror, as a new trace
    #[arg(long)]
    pub mirror: bool,
}

/// A command about one session.
#[derive(Args, Debug)]
pub struct SessionName {
    /// The session
    pub name: String,
}

/// `mainpath session persist`
#[derive(Args, Debug)]
pub struct SessionPersistArgs {
    /// The session
    pub name: String,
    /// The file: a list of messages, a request body, or one message per line [default: standard input]
    pub file: Option<PathBuf>,
    /// The format
    #[arg(long, value_enum, default_value_t = FormatArg::Auto)]
    pub format: FormatArg,
    #[command(flatten)]
    pub agent: AgentArgs,
}

/// The form of messages that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// Detected from the fields of each message
    Auto,
    /// Mainpath's own
    Neutral,
    /// OpenAI's Chat Completions
    Openai,
    /// Anthropic's Messages
    Anthropic,
    /// Gemini's contents
    Gemini,
}

impl From<FormatArg> for Option<HistoryFormat> {
    fn from(arg: FormatArg) -> Option<HistoryFormat> {
        match arg {
            FormatArg::Auto => None,
            FormatArg::Neutral => Some(HistoryFormat::Neutral),
            FormatArg::Openai => Some(HistoryFormat::OpenAi),
            FormatArg::Anthropic => Some(HistoryFormat::Anthropic),
            FormatArg::Gemini => Some(HistoryFormat::Gemini),
        }
    }
}

/// The largest history that is read, in bytes.
const LARGEST: u64 = 256 << 20;

/// `mainpath session`
pub async fn session(command: SessionCommand) -> Result<Exit, Failure> {
    match command {
        SessionCommand::List(_) | SessionCommand::Show(_) | SessionCommand::Summary(_) => look(command).await,
        command => change(command).await,
    }
}

/// What only looks works where nothing can be written.
async fn look(command: SessionCommand) -> Result<Exit, Failure> {
    let logs = logs()?;
    let held = Held::new(&logs)?;
    match command {
        SessionCommand::List(args) => {
            let sessions = held.sessions.list()?;
            let mut broken = 0;
            let has_none = sessions.is_empty();
            for session in sessions {
                match session {
                    Ok(session) => out(&if args.json { json!(session).to_string() } else { line(&logs, &session) })?,
                    Err(error) => {
                        broken += 1;
                        eprintln!("! {}", one_line(&error.to_string()));
                    }
                }
            }
            let elsewhere = elsewhere::list(&held, args.json).await?;
            broken += usize::from(elsewhere.is_none());
            if has_none && elsewhere == Some(0) && !args.json {
                eprintln!("no sessions yet; create one with mainpath session new NAME or mainpath run --session NAME");
            }
            Ok(if broken == 0 { Exit::Ok } else { Exit::Error })
        }
        SessionCommand::Show(args) => match held.sessions.get(&args.name) {
            Err(error @ SessionError::Unknown(_)) => elsewhere::show(&held, &args, error).await,
            _ => show(&logs, &held, &args).await,
        },
        SessionCommand::Summary(args) => match held.sessions.get(&args.name) {
            Err(error @ SessionError::Unknown(_)) => elsewhere::summary(&logs, &held, &args.name, error).await,
            session => {
                let vault = logs.home.vault(&logs.registry())?;
                print(summary(&held.around(&logs, &vault), &session?).await?.as_bytes())
            }
        },
        command => change(command).await,
    }
}

async fn change(command: SessionCommand) -> Result<Exit, Failure> {
    let app = App::open()?;
    let held = Held::new(&app.logs)?;
    match command {
        SessionCommand::New(args) => new(&app.logs, &held, args).await,
        SessionCommand::Switch(args) => {
            if args.mirror {
                return elsewhere::take_over(&app, &held, &args.name).await;
            }
            let trace = app.logs.find(args.trace.as_deref()).await?;
            let mut session = held.sessions.get(&args.name)?;
            held.point(&mut session, &trace)?;
            out(&format!("{} points to {trace}", session.name)).map(|()| Exit::Ok)
        }
        SessionCommand::Rm(args) => {
            let trace = match held.sessions.get(&args.name) {
                Err(error @ SessionError::Unknown(_)) => return elsewhere::remove(&held, &args.name, error).await,
                Err(error @ SessionError::BadName(_)) => return Err(error.into()),
                // A pointer that is damaged goes as well.
                Err(_) => None,
                Ok(session) => session.trace.filter(|trace| app.logs.is_there(trace)),
            };
            // As long as the mirror cannot be reached, the session is there to try again.
            held.place.remove(&args.name).await?;
            held.sessions.remove(&args.name)?;
            let kept = trace.map(|trace| format!("; its trace {trace} is kept")).unwrap_or_default();
            out(&format!("{} is removed{kept}", args.name)).map(|()| Exit::Ok)
        }
        SessionCommand::Prepare(args) => {
            let mut session = match held.sessions.get(&args.name) {
                Err(error @ SessionError::Unknown(_)) => return elsewhere::prepare(&app, &held, &args, error).await,
                session => session?,
            };
            session.window = args.window.unwrap_or(session.window);
            let prepared = prepare(&held.around(&app.logs, app.host.vault()), &session).await?;
            if prepared.expired {
                eprintln!("{} has expired and starts over", session.name);
            }
            if let Some(problem) = &prepared.unmirrored {
                eprintln!("! {}", one_line(problem));
            }
            print(&write(args.format.into(), &prepared.messages))
        }
        SessionCommand::Persist(args) => add(&app, &held, *args).await,
        command @ (SessionCommand::List(_) | SessionCommand::Show(_) | SessionCommand::Summary(_)) => {
            Box::pin(look(command)).await
        }
    }
}

fn line(logs: &Logs, session: &Session) -> String {
    let now = now();
    let used = span(now.saturating_sub(session.used));
    let trace = match &session.trace {
        None => "(no trace yet)".into(),
        Some(trace) if logs.has_log(trace) => trace.to_string(),
        Some(trace) => logs.lost(trace).unwrap_or_else(|| format!("{trace} (removed)")),
    };
    let expired = if session.is_expired(now) { "  expired" } else { "" };
    format!("{:<24} {trace:<28} used {used:>8} ago{expired}", session.name)
}

async fn new(logs: &Logs, held: &Held, args: SessionNewArgs) -> Result<Exit, Failure> {
    match held.sessions.get(&args.name) {
        Err(SessionError::Unknown(_)) => {}
        Ok(_) => return Err(SessionError::Exists(args.name).into()),
        Err(error) => return Err(error.into()),
    }
    let ttl = args.ttl.map(|time| Millis::try_from(time.as_millis()).unwrap_or(Millis::MAX));
    let mut session = fresh(logs, &args.name, args.window, ttl);
    if let Some(wanted) = &args.trace {
        session.trace = Some(logs.find(Some(wanted)).await?);
    }
    held.sessions.put(&session)?;
    out(&line(logs, &session)).map(|()| Exit::Ok)
}

async fn show(logs: &Logs, held: &Held, args: &SessionShowArgs) -> Result<Exit, Failure> {
    let session = held.sessions.get(&args.name)?;
    if args.json {
        return out(&json!(session).to_string()).map(|()| Exit::Ok);
    }
    out(&line(logs, &session))?;
    let window = match session.window {
        0 => "all messages".into(),
        1 => "the last message".into(),
        window => format!("the last {window} messages"),
    };
    let ttl = session.ttl_ms.map_or("no expiry".into(), |ttl| format!("expires {} after its last use", span(ttl)));
    out(&format!("  window: {window}; {ttl}"))?;
    if let Some(trace) = session.trace.filter(|trace| logs.is_there(trace)) {
        match held.sessions.waiting(&trace)?.unanswered() {
            0 => {}
            1 => out("  1 call waits for its result")?,
            n => out(&format!("  {n} calls wait for their results"))?,
        }
        let is_driven = logs.store.owner(&logs.scope, &trace)?.is_some();
        let (log, state, bodies) = logs.read(&trace).await?;
        let task = logs.of(&trace, &log, &state, &bodies).task().await.unwrap_or_default();
        let said = count(state.tree.len() as u64, "message");
        let standing = logs.standing(&log, &state, is_driven).await;
        out(&format!("  {standing}, {said}: {}", short(&task, 60)))?;
    }
    Ok(Exit::Ok)
}

/// The text of a file, or of standard input. Errors: it cannot be read, is too large, or is no UTF-8.
fn text(file: Option<&Path>) -> Result<(String, String), Failure> {
    let (name, mut from): (String, Box<dyn Read>) = match file.filter(|file| *file != Path::new("-")) {
        None => ("standard input".into(), Box::new(std::io::stdin())),
        Some(file) => {
            let wrong = |error: std::io::Error| Failure::error(format!("{} cannot be read: {error}", file.display()));
            (file.display().to_string(), Box::new(std::fs::File::open(file).map_err(wrong)?))
        }
    };
    let mut bytes = Vec::new();
    let wrong = |error: std::io::Error| Failure::error(format!("{name} cannot be read: {error}"));
    (&mut from).take(LARGEST + 1).read_to_end(&mut bytes).map_err(wrong)?;
    if bytes.len() as u64 > LARGEST {
        return Err(Failure::error(format!("{name} is larger than {} bytes", number(LARGEST))));
    }
    let text = String::from_utf8(bytes).map_err(|_| Failure::error(format!("{name} is not UTF-8 text")))?;
    Ok((name, text))
}

/// The messages of a file.
pub fn messages_of(file: Option<&Path>, format: Option<HistoryFormat>) -> Result<(String, Loose), Failure> {
    let (name, text) = text(file)?;
    let messages = Loose::read(format, &text).map_err(|error| Failure::error(format!("{name}: {error}")))?;
    if messages.is_empty() {
        return Err(Failure::error(format!("{name} has no messages")));
    }
    Ok((name, messages))
}

async fn add(app: &App, held: &Held, args: SessionPersistArgs) -> Result<Exit, Failure> {
    person_only("add to a session")?;
    elsewhere::adopt_unknown(app, held, &args.name, &args.agent).await?;
    let mut session = held.sessions.get(&args.name)?;
    let (name, messages) = messages_of(args.file.as_deref(), args.format.into())?;
    let spec = spec(app, &args.agent).await?;
    let trace = app.host.new_trace_id()?;
    let begin = || Ok((trace, spec));
    let healed = messages.clone().heal(true).healed;
    let added = persist(&held.around(&app.logs, app.host.vault()), &mut session, messages, &name, begin)
        .await
        .map_err(|error| match error {
            SessionError::Nothing => {
                tell(&healed);
                Failure::error(format!("{name} has no messages to add"))
            }
            error => error.into(),
        })?;
    tell(&added.healed);
    if let Some(problem) = added.unmirrored {
        eprintln!("! the messages are saved, but not mirrored: {}", one_line(&problem));
    }
    let whose = if added.is_new { "the new trace" } else { "trace" };
    out(&format!("{} added to {whose} {}", messages_were(added.messages), added.trace))?;
    if added.kept > 0 {
        let (kept, calls) = (messages_were(added.kept), added.waiting);
        let results =
            if calls == 1 { "the result of 1 call comes" } else { &format!("the results of {calls} calls come") };
        out(&format!("{kept} kept until {results}"))?;
    }
    Ok(Exit::Ok)
}

fn messages_were(count: usize) -> String {
    were(count as u64, "message")
}

/// What a conversation said to the system elsewhere becomes instructions here, after the owner's; that is said.
pub fn with_system(app: &App, mut agent: AgentArgs, system: &[String]) -> AgentArgs {
    if system.is_empty() {
        return agent;
    }
    agent.instructions = Some(with_more(agent.instructions.take(), app.host.home(), system));
    let chars: usize = system.iter().map(|text| text.chars().count()).sum();
    let (messages, chars) = (count(system.len() as u64, "system message"), count(chars as u64, "character"));
    eprintln!("! {messages} ({chars}) kept as instructions of this trace");
    agent
}
