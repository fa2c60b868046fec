//! Carrying on with a trace: what holds for it, its tools, its last word.

use crate::app::App;
use crate::args::agent::{AgentArgs, mode};
use crate::args::output::OutputArgs;
use crate::exit::{Exit, Failure};
use crate::runs::demo::{check_asked, is_demo};
use crate::runs::driven;
use crate::runs::driven::{announce, connect, warn};
use crate::runs::follow::{Follow, is_attended};
use crate::runs::held::settled;
use crate::runs::rules::{check_rules, tell_sandbox};
use crate::traces::asked::{Standing, asked};
use crate::traces::mail::unread;
use crate::ui::person::person_only;
use crate::ui::text::one_line;
use crate::ui::told::child_name;
use mainpath::agent::{self, ModeFor, time_limit};
use mainpath::core::{Continuation, FINISH_ANSWER, State, how_to_continue};
use mainpath::imported::is_folder_unchosen;
use mainpath::policy::{BREAKPOINT, is_asked_by_default};
use mainpath::presets::check_kept;
use mainpath::runtime::{Mail, RuntimeError};
use mainpath::skills::{is_loaded, preloads};
use mainpath::spec_of;
use mainpath::store::{ReadLog, StoreError};
use mainpath::types::{ApprovalMode, ERASED, Event, EventKind, Seq, Spec, TraceId};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How often a process that waits for a trace polls.
const LOOK: Duration = Duration::from_millis(50);

/// Ends a stopped run that no process drives, and returns the trace's log and state.
pub async fn closed(app: &App, trace: &TraceId) -> Result<(ReadLog, State), Failure> {
    if let Ok(of) = app.host.trace(trace).await {
        of.end_stopped().await?;
    }
    let (log, state, _) = app.logs.read(trace).await?;
    Ok((log, state))
}

/// The mail that continues a trace from where it is; nothing if it only has to be driven, or if nothing is left to do.
pub fn to_resume(state: &State) -> Option<Mail> {
    match how_to_continue(state) {
        Continuation::Continue => Some(Mail::Continue),
        Continuation::FinishAnswer => Some(Mail::message(FINISH_ANSWER)),
        Continuation::Drive | Continuation::Answered | Continuation::Empty => None,
    }
}

/// Who goes on with the same task is still allowed what its owner allowed beforehand, for all of it or for a run that is still open;
/// and where calls waited for a person, they wait again.
pub fn keep_mode(agent: &mut AgentArgs, log: &ReadLog, state: &State) {
    let open = state.run.as_ref().map(|_| state.counts.runs);
    let Some(spec) = spec_of(log) else { return };
    keep(agent, spec, open);
}

/// The same for who has an earlier message answered again: what its owner allowed for that run, not for what came after it.
pub fn keep_mode_of(agent: &mut AgentArgs, log: &ReadLog, state: &State, message: Seq) {
    let Some(said) = state.tree.node(message).map(|node| node.event) else { return };
    let finished = |event: &Event| matches!(event.kind, EventKind::RunFinished(_));
    let run = log.events.iter().filter(|event| finished(event) && event.id < said).count() + 1;
    let until = log.events.iter().position(|event| finished(event) && event.id > said).unwrap_or(log.events.len());
    let then = log.events.iter().take(until).rev().find_map(|event| match &event.kind {
        EventKind::SpecChanged(data) => Some(&*data.spec),
        _ => None,
    });
    if let Some(spec) = then {
        keep(agent, spec, u32::try_from(run).ok());
    }
}

fn keep(agent: &mut AgentArgs, spec: &Spec, run: Option<u32>) {
    let holds = spec.mode_for.is_none_or(|only| run == Some(only));
    agent.yes |= !agent.park && holds && spec.mode == ApprovalMode::Yes;
    agent.park |= !agent.yes && spec.mode == ApprovalMode::Ask;
}

/// The mail that is sent when a trace continues.
#[derive(Default)]
pub struct Outgoing {
    /// A skill that is loaded first.
    pub skill: Option<Mail>,
    /// The message or request.
    pub mail: Option<Mail>,
    /// True to wait while another process drives the trace; otherwise that is an error.
    pub waits: bool,
}

/// Continues a trace: sends the mail, drives the trace and follows it to the end.
pub async fn go_on(
    app: &App,
    trace: &TraceId,
    agent: &AgentArgs,
    output: &OutputArgs,
    mail: Option<Mail>,
) -> Result<Exit, Failure> {
    go_on_with(app, trace, agent, output, Outgoing { mail, ..Outgoing::default() }).await
}

/// A checked continuation of a trace.
struct Continuing {
    log: ReadLog,
    /// The spec that it needs first.
    changed: Option<Spec>,
    /// The skills that it needs first.
    skills: Vec<Mail>,
    says_yes: bool,
}

/// The same with a skill, or for a caller that waits. A caller that is refused has sent nothing.
pub async fn go_on_with(
    app: &App,
    trace: &TraceId,
    agent: &AgentArgs,
    output: &OutputArgs,
    said: Outgoing,
) -> Result<Exit, Failure> {
    let (runtime, mut is_connected, mut has_told) = (app.host.runtime(), false, false);
    let (Continuing { log, changed, skills, says_yes }, taken) = loop {
        settled(app, trace).await?;
        let busy = match app.logs.driver(trace)? {
            // Also if a user is being asked there: that decision counts.
            Some(by) => StoreError::Held { trace: trace.clone(), by }.into(),
            None => {
                let ready = continuing(app, trace, agent, output, &said, &mut is_connected).await?;
                match runtime.take(app.host.whose(), trace, ready.log.head).await {
                    Ok(taken) => break (ready, taken),
                    Err(busy @ (RuntimeError::Store(StoreError::Held { .. }) | RuntimeError::Changed(_))) => busy,
                    Err(error) => return Err(error.into()),
                }
            }
        };
        if !said.waits {
            return Err(busy.into());
        }
        if !std::mem::replace(&mut has_told, true) {
            eprintln!("mainpath: waiting until the current run of trace {trace} ends");
        }
        tokio::time::sleep(LOOK).await;
    };
    announce(trace, output);
    if !log.erased.is_empty() && !output.json {
        let (events, places) = match log.erased.len() {
            1 => ("1 event of this trace was".into(), "its place"),
            n => (format!("{n} events of this trace were"), "their places"),
        };
        eprintln!("! {events} erased; the model sees {ERASED} in {places}");
    }
    if agent.model.is_some()
        && let Some(spec) = &changed
    {
        warn(app, &spec.model, output);
    }
    tell_sandbox(app, if says_yes { ApprovalMode::Yes } else { ApprovalMode::Ask }, output.json);
    let spec = changed.map(|spec| Mail::SetSpec { spec: Arc::new(spec) });
    for mail in spec.iter().chain(&skills).chain(&said.mail) {
        runtime.send(app.host.whose(), trace, mail).await?;
    }
    if says_yes {
        approve_waiting(app, trace, output).await?;
    }
    if agent.no_break && !output.json {
        tell_stopped(app, trace).await?;
    }
    let from = log.head + 1;
    let follow = Follow::new(app, trace, output, from);
    taken.drive();
    driven::follow(follow).await
}

/// Checks all that can be wrong before anything is sent, and connects the servers.
async fn continuing(
    app: &App,
    trace: &TraceId,
    agent: &AgentArgs,
    output: &OutputArgs,
    said: &Outgoing,
    is_connected: &mut bool,
) -> Result<Continuing, Failure> {
    let (log, state) = closed(app, trace).await?;
    if let Some(damage) = &log.damage {
        return Err(Failure::error(format!(
            "the log is damaged: {damage}; everything before that can be read; to continue from there in a copy: mainpath fork {trace}"
        )));
    }
    let spec = spec_of(&log).ok_or_else(|| Failure::error(format!("trace {trace} has no task; start a new one")))?;
    if let Some(named) = &agent.agent {
        check_kept(spec, named)?;
    }
    let demo = is_demo(app, trace, &spec.workspace);
    if agent.model.is_none() {
        check_asked(trace, spec, demo, said.mail.as_ref())?;
    }
    app.host.prepare_model(agent.model.as_deref().unwrap_or(&spec.model)).await?;
    // What another program recorded names a folder that nobody here has chosen: whoever goes on works where they are.
    let own = (!is_folder_unchosen(spec)).then(|| Path::new(&spec.workspace));
    let folder = agent::workspace(agent.workspace.as_deref().or(own))?;
    let rules = spec.rules.clone().with(&app.host.sources().run);
    let policy = check_rules(app, &folder.display().to_string(), rules, output.json)?;
    app.host.check_usable()?;
    let mode = if demo { ApprovalMode::Yes } else { mode(agent, is_attended()) };
    let open = state.run.as_ref().map(|_| state.counts.runs);
    let run = spec.mode_for.filter(|run| mode == ApprovalMode::Yes && open == Some(*run));
    let says_yes = mode == ApprovalMode::Yes;
    let is_over = matches!(how_to_continue(&state), Continuation::Answered | Continuation::Empty);
    if said.mail.is_none() && is_over && unread(&app.logs, trace, &state).await?.is_empty() {
        return Err(Failure::error(format!("trace {trace} has nothing to continue")));
    }
    if !demo && !std::mem::replace(is_connected, true) {
        let limit = time_limit(&agent.options()?, Some(&spec.limits), app.host.home());
        connect(app, &folder, agent, limit, output).await?;
    }
    let changed = app.host.changed(spec, &agent.options()?, &policy, ModeFor { mode, run })?;
    // Those that this call names, and that are not loaded yet.
    let named = if agent.skill.is_empty() {
        Vec::new()
    } else {
        preloads(changed.as_ref().unwrap_or(spec), app.host.skills())?
    };
    let skills = named.into_iter().chain(said.skill.clone()).filter(|mail| !is_loaded(&state, mail)).collect();
    Ok(Continuing { log, changed, skills, says_yes })
}

/// Approves the calls that wait and that `--yes` would have covered when they were judged.
pub async fn approve_waiting(app: &App, trace: &TraceId, output: &OutputArgs) -> Result<(), Failure> {
    // Those of agents that it has started are covered as in the run that started them; another machine has owners of its own.
    let mut traces = vec![trace.clone()];
    while let Some(of) = traces.pop() {
        let Ok((_, state, bodies)) = app.logs.read(&of).await else { continue };
        for waiting in asked(&app.logs, &state, &bodies).await? {
            let is_covered = waiting.verdict.as_ref().is_some_and(is_asked_by_default);
            if waiting.standing != Standing::Open || !is_covered {
                continue;
            }
            person_only("approve calls")?;
            if !output.json {
                let whose = if of == *trace { String::new() } else { format!(" of agent {}", child_name(trace, &of)) };
                eprintln!("· call {}{whose} ({}) is approved by --yes", waiting.call, waiting.what);
            }
            app.host.runtime().send(app.host.whose(), &of, &Mail::approve(waiting.call)).await?;
        }
        let children = state.children.open().filter_map(|child| child.trace.clone());
        traces.extend(children.filter(|child| child.elsewhere().is_none()));
    }
    Ok(())
}

/// Says which calls a breakpoint has stopped: it is removed for those to come, and these wait.
async fn tell_stopped(app: &App, trace: &TraceId) -> Result<(), Failure> {
    let (_, state, bodies) = app.logs.read(trace).await?;
    for waiting in asked(&app.logs, &state, &bodies).await? {
        let is_stopped = waiting.verdict.as_ref().is_some_and(|verdict| verdict.rule == BREAKPOINT);
        if waiting.standing == Standing::Open && is_stopped {
            let (call, what) = (waiting.call, one_line(&waiting.what));
            eprintln!(
                "· call {call} ({what}) was stopped by a breakpoint before and waits for you: --no-break holds for the calls to come"
            );
        }
    }
    Ok(())
}
