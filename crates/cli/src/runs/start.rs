//! A new run.

use crate::app::App;
use crate::args::agent::mode;
use crate::args::output::OutputArgs;
use crate::args::run::RunArgs;
use crate::exit::{Exit, Failure};
use crate::runs::attach::{attach, check_allowed};
use crate::runs::demo::is_demo;
use crate::runs::driven::{announce, connect, follow, warn};
use crate::runs::follow::{Follow, is_attended};
use crate::runs::given::given;
use crate::runs::go_on::{Outgoing, go_on};
use crate::runs::rules::{tell_sandbox, use_rules};
use crate::runs::task::with_attached;
use crate::traces::which::{name, rows};
use crate::ui::text::{one_line, plain};
use mainpath::Next;
use mainpath::agent::{self, Agent, ConfiguredAgent, PreparedAgent, Task, unused_notes};
use mainpath::named_sessions::Session;
use mainpath::sessions::Held;
use mainpath::spec_of;
use mainpath::store::create_private;
use mainpath::types::{ApprovalMode, SkillShown, Spec, TraceId};
use std::path::Path;

/// A run of a new trace, of one that is named, or of a session's.
pub async fn begin(
    app: &App,
    args: &RunArgs,
    task: Task,
    session: Option<(&Held, &mut Session, &TraceId)>,
) -> Result<Exit, Failure> {
    let mut known = session.as_ref().map(|(_, _, trace)| (*trace).clone());
    let goes_on = known.as_ref().filter(|trace| app.logs.is_there(trace)).map(ToString::to_string);
    if let Some((held, session, trace)) = session {
        // A run that never begins leaves a name for nothing: that is seen, and the next run begins anew.
        held.point(session, trace)?;
    }
    if args.r#continue || args.trace.is_some() || goes_on.is_some() {
        let trace = match args.trace.as_deref().or(goes_on.as_deref()) {
            None => last(app, args).await?,
            named => app.logs.find(named).await?,
        };
        let (log, ..) = app.logs.read(&trace).await?;
        if let Some(spec) = spec_of(&log) {
            let model = args.agent.model.as_deref().unwrap_or(&spec.model);
            check_allowed(app, spec, &args.attach)?;
            let task = with_attached(task, attach(app.host.registry(), &args.attach, model)?, &args.output);
            let waits = args.session.is_some() && !args.no_wait;
            let said = Outgoing { waits, ..Outgoing::new(Next::Message(task), &args.agent) };
            return go_on(app, &trace, &args.agent, &args.output, said).await;
        }
        if let Some(damage) = &log.damage {
            return Err(Failure::error(format!("the log is damaged: {damage}; nothing before that can be read")));
        }
        // It was killed before anything was said in it: this is its first message.
        known = Some(trace);
    }
    let ConfiguredAgent { agent, model, note } =
        app.host.configured_agent(given(app, &args.agent, args.output.json)?).await?;
    let task = with_attached(task, attach(app.host.registry(), &args.attach, &model)?, &args.output);
    let trace = match known {
        Some(trace) => trace,
        None => app.host.new_trace_id()?,
    };
    if let Some(note) = note.filter(|_| !args.output.json) {
        eprintln!("mainpath: {note}");
    }
    warn(app, &model, &args.output);
    let agent = agent.trace_id(trace.clone());
    let (agent, mode) = match args.is_demo {
        true => demonstrated(app, agent, &trace, &args.output)?,
        false => {
            let (workspace, mode) =
                (agent::workspace(args.agent.workspace.as_deref())?, mode(&args.agent, is_attended()));
            connect(app, &workspace, &args.agent, agent.time_limit(), &args.output).await?;
            (agent.workspace(workspace), mode)
        }
    };
    let prepared = agent.approvals(mode).prepare(task).await?;
    check_allowed(app, prepared.spec(), &args.attach)?;
    tell_prepared(app, &prepared, args);
    let run = prepared.start().await?;
    announce(&trace, &args.output);
    follow(Follow::new(app, run.trace().clone(), &args.output, 1)).await
}

/// The demonstration is complete in itself: it works in a folder made for it, without servers. Its script needs nobody's permission there; a
/// person who is there is asked once, to see how that is.
fn demonstrated(
    app: &App,
    agent: Agent,
    trace: &TraceId,
    output: &OutputArgs,
) -> Result<(Agent, ApprovalMode), Failure> {
    let folder = app.logs.home.demo_workspace(trace);
    create_private(&folder)?;
    let folder = folder.canonicalize()?;
    if !output.json {
        eprintln!("mainpath: the folder is {0}; to remove it later: rm -r {0}", folder.display());
    }
    let agent = agent.workspace(folder).unnamed();
    Ok(match is_attended() {
        true => (agent.allow("write_text_file").allow("bash(*)"), ApprovalMode::Ask),
        false => (agent, ApprovalMode::Yes),
    })
}

/// Says what is to be known of an agent before it starts.
fn tell_prepared(app: &App, prepared: &PreparedAgent, args: &RunArgs) {
    let (spec, output) = (prepared.spec(), &args.output);
    use_rules(app, &spec.workspace, &spec.rules, prepared.policy(), output.json);
    untrusted_skills(spec, output);
    if !output.json {
        unused_notes(spec, app.host.home()).iter().for_each(|line| eprintln!("! {}", plain(line)));
    }
    if !args.is_demo {
        tell_sandbox(app, spec.mode, output.json);
    }
    tell_experiences(prepared, output);
}

/// Prints the experiences that the first message shows, and why a lookup failed.
fn tell_experiences(prepared: &PreparedAgent, output: &OutputArgs) {
    if let Some(problem) = prepared.experience_problem() {
        eprintln!("! experiences: {}", plain(problem.message()));
    }
    if !prepared.experiences().is_empty() && !output.json {
        eprintln!("· experience: {}", prepared.experiences().join(", "));
    }
}

/// Says which skills of the project cannot be used.
fn untrusted_skills(spec: &Spec, output: &OutputArgs) {
    let untrusted = || spec.skills.listed.iter().filter(|one| one.shown == SkillShown::Untrusted);
    let names: Vec<String> = untrusted().map(|one| one_line(&one.skill)).collect();
    if names.is_empty() || output.json {
        return;
    }
    let shown = names.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
    let more = if names.len() > 5 { format!(" and {} more", names.len() - 5) } else { String::new() };
    eprintln!(
        "mainpath: skills of this project that you have not trusted as they are now are not shown to agents: {shown}{more}; mainpath skills list"
    );
    for other in spec.told_skills().filter(|one| one.shown != SkillShown::Untrusted) {
        if untrusted().any(|one| one.skill == other.skill) {
            let (name, from) = (one_line(&other.skill), one_line(&other.source));
            eprintln!("mainpath: in the place of {name} another skill of this name is used, from: {from}");
        }
    }
}

/// The trace that `-c` goes on with: the last one in this folder, or in the one that `-C` names. Errors: there is none.
async fn last(app: &App, args: &RunArgs) -> Result<TraceId, Failure> {
    let here = agent::workspace(args.agent.workspace.as_deref())?;
    let rows = rows(&app.logs).await?;
    if rows.is_empty() {
        return Err(Failure::error("there are no traces yet; start one with `mainpath run \"TASK\"`"));
    }
    if let Some(row) = rows.iter().find(|row| Path::new(&row.workspace) == here) {
        return Ok(row.trace.clone());
    }
    let place = plain(&here.display().to_string());
    let elsewhere = match rows.iter().find(|row| !is_demo(app, &row.trace, &row.workspace)) {
        Some(row) => format!(
            "the last one, {}, is in {}: mainpath run --trace {} \"TASK\"",
            name(row),
            plain(&row.workspace),
            row.trace
        ),
        None => "start one with mainpath run \"TASK\"".into(),
    };
    Err(Failure::error(format!("no trace in {place} yet; {elsewhere}")))
}
