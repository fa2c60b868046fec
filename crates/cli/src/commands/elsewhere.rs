//! Sessions that another machine began, found in a mirror that both have.

use crate::app::App;
use crate::args::agent::{AgentArgs, mode};
use crate::exit::{Exit, Failure};
use crate::runs::demo::DEMO;
use crate::runs::follow::is_attended;
use crate::runs::given::given;
use crate::ui::out::out;
use crate::ui::text::{number, one_line, were};
use clap::{Args, ValueEnum};
use mainpath::Logs;
use mainpath::agent::{self, find_model};
use mainpath::named_sessions::{Adopted, Kept, Session, SessionError, adopt};
use mainpath::providers::history::{HistoryFormat, Loose, write};
use mainpath::runtime::import::{summary_of, window};
use mainpath::sessions::{Held, fresh};
use mainpath::types::{Spec, TraceId};
use serde_json::json;

/// `mainpath session prepare`
#[derive(Args, Debug)]
pub struct SessionPrepareArgs {
    /// The session
    pub name: String,
    /// The format
    #[arg(long, value_enum, default_value_t = MessagesArg::Neutral)]
    pub format: MessagesArg,
    /// How many messages; 0 is all [default: the session's window]
    #[arg(long, value_name = "N")]
    pub window: Option<u32>,
}

/// The form of messages that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MessagesArg {
    /// Mainpath's own
    Neutral,
    /// OpenAI's Chat Completions
    Openai,
    /// Anthropic's Messages
    Anthropic,
    /// Gemini's contents
    Gemini,
}

impl From<MessagesArg> for HistoryFormat {
    fn from(arg: MessagesArg) -> HistoryFormat {
        match arg {
            MessagesArg::Neutral => HistoryFormat::Neutral,
            MessagesArg::Openai => HistoryFormat::OpenAi,
            MessagesArg::Anthropic => HistoryFormat::Anthropic,
            MessagesArg::Gemini => HistoryFormat::Gemini,
        }
    }
}

/// `mainpath session show`
#[derive(Args, Debug)]
pub struct SessionShowArgs {
    /// The session
    pub name: String,
    /// As a JSON line
    #[arg(long)]
    pub json: bool,
}

/// Continues a session that is not known here and that the mirror has, as a new trace; that is said, and so is a mirror that cannot be reached. Errors: what the mirror has
/// of it is damaged, or the trace cannot be written.
pub async fn adopt_unknown(app: &App, held: &Held, name: &str, agent: &AgentArgs) -> Result<(), Failure> {
    if !matches!(held.sessions.get(name), Err(SessionError::Unknown(_))) {
        return Ok(());
    }
    match held.place.get(name, 0).await {
        Ok(None) => {}
        // It would begin here with nothing, and the two would part.
        Err(error) if error.is_damage => return Err(error.into()),
        Ok(Some(_)) => drop(take_in(app, held, fresh(&app.logs, name, None, None), agent).await?),
        Err(error) => {
            eprintln!(
                "! cannot check whether another machine has {name}, so it starts here: {}",
                one_line(&error.to_string())
            );
        }
    }
    Ok(())
}

/// `mainpath session switch NAME --mirror`
pub async fn take_over(app: &App, held: &Held, name: &str) -> Result<Exit, Failure> {
    let session = match held.sessions.get(name) {
        Err(SessionError::Unknown(_)) => fresh(&app.logs, name, None, None),
        session => session?,
    };
    match take_in(app, held, session, &AgentArgs::default()).await? {
        true => Ok(Exit::Ok),
        false => Err(Failure::error(format!("the mirror has no messages of {name} from another machine"))),
    }
}

/// Whether there was something.
async fn take_in(app: &App, held: &Held, session: Session, args: &AgentArgs) -> Result<bool, Failure> {
    let name = session.name.clone();
    // What the agent is, should it go on here.
    let spec = spec(app, args).await?;
    let trace = app.host.new_trace_id()?;
    let begin = || Ok((trace.clone(), spec));
    let Some(adopted) = adopt(&held.around(&app.logs, app.host.vault()), session, begin).await? else {
        return Ok(false);
    };
    let Adopted { session, from, messages, lost, left_behind, healed } = adopted;
    if session.trace.is_none() {
        eprintln!("! the session {name} was cleared on another machine (trace {from} there): it starts over here");
        return Ok(true);
    }
    app.logs.write_views(&trace).await?;
    let taken = were(messages as u64, "message");
    eprintln!(
        "! the session {name} was held on another machine (trace {from} there): {taken} imported as trace {trace}"
    );
    tell_lost(&name, &from, lost);
    if left_behind > 0 {
        let lie = were(left_behind as u64, "attachment");
        eprintln!("! {lie} left there; each is replaced by a line of text");
    }
    healed.iter().for_each(|healed| eprintln!("! {healed}"));
    // From here on the mirror is of this trace, so that the other machine sees that somebody has gone on.
    held.mirror(&app.host, &session).await;
    Ok(true)
}

/// Says that the mirror has not all that was said.
fn tell_lost(name: &str, from: &TraceId, lost: u64) {
    if lost > 0 {
        let are = if lost == 1 { "message is" } else { "messages are" };
        let lost = number(lost);
        eprintln!(
            "! {lost} {are} missing or damaged in the mirror of session {name} and left out; trace {from} on the other machine has all"
        );
    }
}

/// What the mirror has of a session that is not known here; says what is missing of it. Errors: it has nothing, or cannot be read.
async fn kept(held: &Held, name: &str, unknown: SessionError) -> Result<Kept, Failure> {
    let Some(kept) = held.place.get(name, 0).await? else { return Err(unknown.into()) };
    tell_lost(name, &kept.trace, kept.lost);
    Ok(kept)
}

/// Lists what is not known here; gives how many there are, or `None` where that cannot be seen.
pub async fn list(held: &Held, as_json: bool) -> Result<Option<usize>, Failure> {
    let listed = match held.place.list().await {
        Ok(listed) => listed,
        Err(error) => {
            eprintln!("! {}", one_line(&error.to_string()));
            return Ok(None);
        }
    };
    let mut found = 0;
    for one in listed {
        if !matches!(held.sessions.get(&one.name), Err(SessionError::Unknown(_))) {
            continue;
        }
        found += 1;
        out(&match as_json {
            true => json!({"name": one.name, "trace": one.trace, "elsewhere": true}).to_string(),
            false => format!("{:<24} {:<28} on another machine", one_line(&one.name), one.trace.as_str()),
        })?;
    }
    Ok(Some(found))
}

/// `mainpath session show` of one that is not known here. Errors: nor is it in the mirror.
pub async fn show(held: &Held, args: &SessionShowArgs, unknown: SessionError) -> Result<Exit, Failure> {
    let kept = kept(held, &args.name, unknown).await?;
    let (name, trace, messages) = (&args.name, &kept.trace, kept.messages.len());
    if args.json {
        out(&json!({"name": name, "trace": trace, "messages": messages, "elsewhere": true}).to_string())?;
        return Ok(Exit::Ok);
    }
    out(&format!("{name:<24} {:<28} on another machine", trace.as_str()))?;
    if kept.is_empty() {
        out(&format!("  cleared there; mainpath run --session {name} \"TASK\" starts it over here"))?;
        return Ok(Exit::Ok);
    }
    out(&format!(
        "  {messages} messages in the mirror; mainpath run --session {name} \"TASK\" continues with them here"
    ))?;
    Ok(Exit::Ok)
}

/// `mainpath session rm` of one that is not known here: what other machines hold stays, what nobody can continue is removed. Errors: there is
/// nothing of that kind in the mirror.
pub async fn remove(held: &Held, name: &str, unknown: SessionError) -> Result<Exit, Failure> {
    match held.place.get(name, 0).await {
        Err(error) if !error.is_damage => return Err(error.into()),
        Ok(None) => return Err(unknown.into()),
        Ok(Some(kept)) if !kept.is_empty() => {
            let problem =
                format!("the session {name} belongs to another machine (trace {}): remove it there", kept.trace);
            return Err(Failure::error(problem));
        }
        Err(_) | Ok(Some(_)) => {}
    }
    held.place.remove(name).await?;
    out(&format!("{name} is removed from the mirror")).map(|()| Exit::Ok)
}

/// `mainpath session summary` of one that is not known here. Errors: nor is it in the mirror.
pub async fn summary(logs: &Logs, held: &Held, name: &str, unknown: SessionError) -> Result<Exit, Failure> {
    let kept = kept(held, name, unknown).await?;
    let text = String::from_utf8_lossy(&write(HistoryFormat::Neutral, &kept.messages)).into_owned();
    let messages = Loose::read(Some(HistoryFormat::Neutral), &text);
    let messages = messages.map_err(|error| Failure::error(format!("the mirror of session {name}: {error}")))?;
    print(summary_of(logs.at(&kept.trace), messages).await?.as_bytes())
}

/// `mainpath session prepare` of one that is not known here. Errors: nor is it in the mirror.
pub async fn prepare(
    app: &App,
    held: &Held,
    args: &SessionPrepareArgs,
    unknown: SessionError,
) -> Result<Exit, Failure> {
    let kept = kept(held, &args.name, unknown).await?;
    let most = args.window.unwrap_or(fresh(&app.logs, &args.name, None, None).window) as usize;
    let messages = if most == 0 { kept.messages } else { window(&kept.messages, most) };
    print(&write(args.format.into(), &messages))
}

pub fn print(bytes: &[u8]) -> Result<Exit, Failure> {
    out(String::from_utf8_lossy(bytes).trim_end()).map(|()| Exit::Ok)
}

/// What the agent of a conversation from elsewhere is to be, should it go on here.
pub async fn spec(app: &App, args: &AgentArgs) -> Result<Spec, Failure> {
    // It can be taken in without one; whoever goes on with it names it then.
    let given = given(app, args, false)?;
    let chosen = find_model(given.model(), app.host.home(), app.host.registry()).await;
    let model = chosen.map_or_else(|| DEMO.into(), |chosen| chosen.model);
    let workspace = agent::workspace(args.workspace.as_deref())?;
    let agent = app.host.agent(model).given(given).workspace(workspace).approvals(mode(args, is_attended()));
    Ok(agent.spec()?)
}
