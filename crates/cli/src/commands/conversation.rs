//! `run --messages`: a conversation that was held elsewhere is taken in and answered.

use crate::args::agent::mode;
use crate::args::run::RunArgs;
use crate::commands::session::{messages_of, with_system};
use crate::exit::{Exit, Failure};
use crate::runs::attach::{attach, check_allowed};
use crate::runs::driven::warn;
use crate::runs::follow::is_attended;
use crate::runs::given::given;
use crate::runs::go_on::{Outgoing, go_on};
use crate::runs::held::{mirror, tell, turn};
use crate::runs::rules::opened;
use crate::runs::task::{has_input, read_all, with_attached};
use crate::ui::text::{one_line, were};
use mainpath::Next;
use mainpath::agent::ImportedConversation;
use mainpath::agent::{self, Task};
use mainpath::media::check;
use mainpath::providers::history::Loose;
use mainpath::sessions::Held;
use mainpath::types::{Part, Role, Source};
use std::path::Path;

/// Takes in the messages of a file as a new trace, and has the last one answered, or the task.
pub async fn run(mut args: RunArgs, file: &Path) -> Result<Exit, Failure> {
    let (name, mut messages) = messages_of(Some(file), None)?;
    check_attached(&name, &mut messages)?;
    let task = task(&args, file)?;
    let app = opened(&args.agent)?;
    let held = args.session.as_ref().map(|_| Held::new(&app.logs)).transpose()?;
    let (mut session, mut _turn) = (None, None);
    if let (Some(held), Some(name)) = (&held, &args.session) {
        _turn = Some(turn(held, name, args.no_wait).await?);
        let (known, trace) = held.for_run(&app.logs, name)?;
        if let Some(trace) = trace {
            return Err(Failure::usage(format!(
                "the session {name} has the trace {trace}; add messages to it with mainpath session persist {name}, or \
                 name another session"
            )));
        }
        session = Some(known);
    }
    let agent = with_system(&app, std::mem::take(&mut args.agent), &messages.take_system());
    let history = messages.heal(false);
    tell(&history.healed);
    match (history.messages.last(), &task) {
        (None, _) => return Err(Failure::error(format!("{name} has no messages to answer"))),
        (Some(last), None) if last.role != Role::User => {
            return Err(Failure::usage(format!(
                "{name}: the last message is not from a user, so there is nothing to answer; add a task: mainpath run \
                 --messages {name} \"TASK\""
            )));
        }
        _ => {}
    }
    let configured = app.host.configured_agent(given(&app, &agent, args.output.json)?).await?;
    let attached = attach(app.host.registry(), &args.attach, &configured.model)?;
    if task.is_none() && !attached.parts.is_empty() {
        return Err(Failure::usage("attachments need a task: mainpath run --messages FILE --file … \"TASK\""));
    }
    if let Some(note) = configured.note.filter(|_| !args.output.json) {
        eprintln!("mainpath: {note}");
    }
    warn(&app, &configured.model, &args.output);
    let workspace = agent::workspace(agent.workspace.as_deref())?;
    let mode = mode(&agent, is_attended());
    let spec = configured.agent.workspace(workspace).approvals(mode).spec()?;
    check_allowed(&app, &spec, &args.attach)?;
    let ImportedConversation { trace, messages: taken } = app.host.import(spec, history.messages, &name).await?;
    if !args.output.json {
        eprintln!("· {} imported from {name}", were(taken as u64, "message"));
    }
    if let (Some(held), Some(session)) = (&held, &mut session) {
        held.point(session, &trace)?;
    }
    let next = task.map_or(Next::Rest, |task| Next::Message(with_attached(task, attached, &args.output)));
    let done = go_on(&app, &trace, &agent, &args.output, Outgoing::new(next, &agent)).await;
    if let (Some(held), Some(session)) = (&held, &session) {
        mirror(held, &app, session).await;
    }
    done
}

/// Errors: what is attached to one of the messages is not what it is said to be, which a model's server would say in its own words.
fn check_attached(name: &str, messages: &mut Loose) -> Result<(), Failure> {
    fn sources(part: &Part) -> Vec<&Source> {
        match part {
            Part::Image { source } | Part::Audio { source } | Part::Document { source, .. } => vec![source],
            Part::ToolResult { content, .. } => content.iter().flat_map(sources).collect(),
            Part::Text { .. } | Part::StoredText { .. } | Part::Thinking { .. } | Part::ToolCall { .. } => Vec::new(),
        }
    }
    let (mut number, mut wrong) = (0, None);
    messages.for_each(|parts| {
        for source in parts.iter().flat_map(sources) {
            number += 1;
            if let (Source::Base64 { data, media_type }, None) = (source, &wrong) {
                wrong = check(media_type, data).err().map(|problem| (number, problem));
            }
        }
    });
    match wrong {
        None => Ok(()),
        Some((number, problem)) => {
            Err(Failure::error(one_line(&format!("{name}: attachment {number} cannot be used: {problem}"))))
        }
    }
}

/// The task, if there is one beside the messages. Standard input is context for it, unless it holds the messages.
fn task(args: &RunArgs, file: &Path) -> Result<Option<Task>, Failure> {
    let typed = args.task.as_deref().filter(|task| !task.trim().is_empty());
    if typed == Some("-") {
        return Err(Failure::usage(
            "with --messages, give the task as an argument; standard input may hold the messages",
        ));
    }
    let Some(typed) = typed else { return Ok(None) };
    let piped = if file != Path::new("-") && has_input() { Some(read_all()?) } else { None };
    let task = Task::new(typed);
    Ok(Some(match piped.filter(|text| !text.trim().is_empty()) {
        Some(piped) => task.about(piped),
        None => task,
    }))
}
