//! `run` and `resume`, and what everything that lets an agent work has in common.

use crate::args::mode;
use crate::args::{AgentArgs, OutputArgs, ResumeArgs, RunArgs};
use crate::asked::{Standing, asked};
use crate::attach::{Attached, attach};
use crate::control::settle;
use crate::conversation;
use crate::demo::{check_asked, is_demo};
use crate::elsewhere;
use crate::exit::{Exit, Failure};
use crate::follow::{Follow, is_attended};
use crate::policy::check_rules;
use crate::session::{mirror, settled};
use crate::term::screen;
use crate::text::{number, plain};
use crate::which::{name, rows};
use mainpath::Error;
use mainpath::Installation;
use mainpath::agent::{self, ModeFor};
use mainpath::agent::{choose_model, sizes};
use mainpath::servers;
use mainpath::sessions::Held;
use mainpath::{Logs, spec_of};
use mainpath_core::{EffectKey, State, pending};
use mainpath_mcp::{Configured, Mcp};
use mainpath_policy::is_asked_by_default;
use mainpath_runtime::{Mail, Runtime, new_trace_id};
use mainpath_sessions::Session;
use mainpath_store::scheduler::system_clock;
use mainpath_store::{ReadLog, Store, StoreError};
use mainpath_types::*;
use rustix::fs::{FileType, fstat};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// `mainpath run`
pub async fn run(mut args: RunArgs) -> Result<Exit, Failure> {
    args.agent.relations.session.clone_from(&args.session);
    if let Some(file) = args.messages.clone() {
        return conversation::run(args, &file).await;
    }
    let task = task(args.task.as_deref())?;
    let app = Installation::open()?.with_waits(&args.agent.options()?.limits).with_rules(args.agent.rules.read()?);
    let Some(name) = &args.session else { return begin(&app, &args, task, None).await };
    let held = Held::new(&app.logs)?;
    elsewhere::adopt_unknown(&app, &held, name, &args.agent).await?;
    let (mut session, known) = held.for_run(&app.logs, name)?;
    let trace = match known {
        Some(trace) => trace,
        None => new_trace_id(system_clock()).map_err(|error| Failure::error(error.to_string()))?,
    };
    let done = begin(&app, &args, task, Some((&held, &mut session, &trace))).await;
    mirror(&held, &app, &session).await;
    done
}

/// A run of a new trace, of one that is named, or of a session's.
pub async fn begin(
    app: &Installation,
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
            let mail = message(task, attach(app.models.registry(), &args.attach, model)?, &args.output);
            return go_on(app, &trace, &args.agent, &args.output, Some(mail)).await;
        }
        if let Some(damage) = &log.damage {
            return Err(Failure::error(format!("the log is damaged: {damage}; nothing before that can be read")));
        }
        // It was killed before anything was said in it: this is its first message.
        known = Some(trace);
    }
    let chosen = choose_model(args.agent.model.as_deref(), &app.logs.home, app.models.registry()).await?;
    app.prepare_model(&chosen.model).await?;
    let attached = attach(app.models.registry(), &args.attach, &chosen.model)?;
    let trace = match known {
        Some(trace) => trace,
        None => new_trace_id(system_clock()).map_err(|error| Failure::error(error.to_string()))?,
    };
    let demo = args.is_demo;
    let workspace = if demo {
        let folder = app.logs.home.demo_workspace(&trace);
        std::fs::create_dir_all(&folder)?;
        folder.canonicalize()?
    } else {
        agent::workspace(args.agent.workspace.as_deref())?
    };
    // In a folder made for it, the script that ships with the program needs nobody's permission. A person who is there is asked
    // once, to see how that is.
    let mode = if demo && !is_attended() { ApprovalMode::Yes } else { mode(&args.agent, is_attended()) };
    let mut given = app.sources.run.clone();
    if demo && is_attended() {
        given.allow.extend(["write_text_file", "bash(*)"].map(String::from));
    }
    if !args.output.json {
        if let Some(note) = &chosen.note {
            eprintln!("mainpath: {note}");
        }
        if demo {
            eprintln!("mainpath: the folder is {}", workspace.display());
        }
    }
    warn(app, &chosen.model, &args.output);
    // The demonstration is complete in itself.
    let mcp = if demo { None } else { connect(app, &workspace, &args.agent).await? };
    let rules = check_rules(app, &workspace.display().to_string(), given.clone(), args.output.json)?;
    let mut spec = agent::spec(&args.agent.options()?, app.basis(), chosen.model, (&workspace, &rules.policy), mode)?;
    spec.rules = given;
    let runtime = app.runtime_under(rules)?;
    let mail = message(task, attached, &args.output);
    runtime.start(&app.logs.scope, &trace, spec, mail).await?;
    announce(&trace, &args.output);
    follow(Follow::new(app, &runtime, &trace, &args.output, 1), mcp).await
}

/// The trace that `-c` goes on with: the last one in this folder, or in the one that `-C` names. Errors: there is none.
async fn last(app: &Installation, args: &RunArgs) -> Result<TraceId, Failure> {
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

/// What a model is told whose answer was cut off.
const GO_ON: &str = "Your answer was cut off at the output limit. Go on exactly where it broke off.";

/// `mainpath resume`
pub async fn resume(mut args: ResumeArgs) -> Result<Exit, Failure> {
    let app = Installation::open()?.with_waits(&args.agent.options()?.limits).with_rules(args.agent.rules.read()?);
    let trace = app.logs.find(args.trace.as_deref()).await?;
    let (log, state) = closed(&app, &trace).await?;
    if let Some(say) = says_first(&app.logs, &log, &state).await? {
        return Err(Failure::error(say));
    }
    keep_mode(&mut args.agent, &log, &state);
    let mail = match (&state.run, state.ended.reason, state.tree.head) {
        // A conversation from elsewhere in which a person has the last word.
        (None, None, Some(_)) if state.queues.is_empty() && !state.tree.is_answered() => Some(Mail::Continue),
        (Some(_), ..) | (None, None, _) => None,
        (None, Some(FinishReason::Final), _)
            if state.queues.is_empty() && unread(&app.logs, &trace, &state).await?.is_empty() =>
        {
            let how = format!(
                "trace {trace} ended with its final answer; continue with mainpath run --trace {trace} \"TASK\""
            );
            return Err(Failure::error(how));
        }
        (None, Some(FinishReason::Final), _) => None,
        // What it said is said: it is told to go on with it.
        (None, Some(FinishReason::MaxOutput), Some(_)) => Some(Mail::message(GO_ON)),
        // After a limit, a stop or a failure: the model goes on from where it was.
        (None, Some(_), Some(_)) => Some(Mail::Continue),
        (None, Some(_), None) => None,
    };
    go_on(&app, &trace, &args.agent, &args.output, mail).await
}

/// A trace's log and state. A run that somebody stopped, but whose process was gone before it had ended, is closed first: that stop
/// was for it, and not for what goes on now.
async fn closed(app: &Installation, trace: &TraceId) -> Result<(ReadLog, State), Failure> {
    let (log, state, _) = app.logs.read(trace).await?;
    let Some(run) = &state.run else { return Ok((log, state)) };
    if log.read_only() || app.logs.driver(trace)?.is_some() {
        return Ok((log, state));
    }
    // No mail has the number 0: then what the log has already said is carried out, and nothing is read.
    let stop = match run.closing {
        Some(FinishReason::Stopped) => Some(0),
        _ => unread_stop(app, trace, &state).await?,
    };
    let Some(stop) = stop else { return Ok((log, state)) };
    settle(app, trace, stop).await?;
    let (log, state, _) = app.logs.read(trace).await?;
    Ok((log, state))
}

/// The stop of a trace that nobody has read.
async fn unread_stop(app: &Installation, trace: &TraceId, state: &State) -> Result<Option<MailId>, Failure> {
    let mail = app.logs.store.mail(&app.logs.scope, trace, state.log.mail.upto).await?;
    let is_stop = |body: &str| serde_json::from_str::<Mail>(body).is_ok_and(|mail| mail == Mail::Stop);
    Ok(mail.into_iter().find(|entry| !state.log.mail.has(entry.id) && is_stop(&entry.body)).map(|entry| entry.id))
}

/// Who goes on with the same task is still allowed what its owner allowed beforehand, for all of it or for a run that is still open;
/// and where calls waited for a person, they wait again.
pub fn keep_mode(agent: &mut AgentArgs, log: &ReadLog, state: &State) {
    let open = state.run.as_ref().map(|_| state.counts.runs);
    let Some(spec) = spec_of(log) else { return };
    let holds = spec.mode_for.is_none_or(|run| open == Some(run));
    agent.yes |= !agent.park && holds && spec.mode == ApprovalMode::Yes;
    agent.park |= !agent.yes && spec.mode == ApprovalMode::Ask;
}

/// What to do about a trace in which nothing was said yet, so that there is nothing to carry on with.
pub async fn says_first(logs: &Logs, log: &ReadLog, state: &State) -> Result<Option<String>, Failure> {
    let is_new = state.counts.runs == 0 && state.run.is_none() && state.tree.head.is_none() && state.queues.is_empty();
    if !is_new || log.read_only() || !unread(logs, &state.trace, state).await?.is_empty() {
        return Ok(None);
    }
    let trace = &state.trace;
    let how = "has no message yet; give it one: mainpath run --trace";
    Ok(Some(format!("trace {trace} {how} {trace} \"TASK\"")))
}

/// The mail that has not been read, and when each was sent.
pub async fn unread(logs: &Logs, trace: &TraceId, state: &State) -> Result<Vec<(Millis, Mail)>, Failure> {
    let mail = logs.store.mail(&logs.scope, trace, state.log.mail.upto).await?;
    let unread = mail.iter().filter(|entry| !state.log.mail.has(entry.id));
    Ok(unread.filter_map(|entry| Some((entry.at, serde_json::from_str(&entry.body).ok()?))).collect())
}

/// Carries on with a trace: sends what there is to say, drives it, stays until the end.
pub async fn go_on(
    app: &Installation,
    trace: &TraceId,
    agent: &AgentArgs,
    output: &OutputArgs,
    mail: Option<Mail>,
) -> Result<Exit, Failure> {
    settled(app, trace).await?;
    let (log, state) = closed(app, trace).await?;
    // What cannot work is said before anything is sent: it would change a run behind its driver's back.
    // Also where somebody sits at its question: what is decided there holds.
    if let Some(by) = app.logs.driver(trace)? {
        return Err(StoreError::Held { trace: trace.clone(), by }.into());
    }
    if let Some(damage) = &log.damage {
        return Err(Failure::error(format!(
            "the log is damaged: {damage}; everything before that can be read; to continue from there in a copy: mainpath fork {trace}"
        )));
    }
    let spec = spec_of(&log).ok_or_else(|| Failure::error(format!("trace {trace} has no task; start a new one")))?;
    let demo = is_demo(app, trace, &spec.workspace);
    if agent.model.is_none() {
        check_asked(trace, spec, demo, mail.as_ref())?;
    }
    app.prepare_model(agent.model.as_deref().unwrap_or(&spec.model)).await?;
    let folder = agent::workspace(Some(agent.workspace.as_deref().unwrap_or(Path::new(&spec.workspace))))?;
    let rules = spec.rules.clone().with(&app.sources.run);
    let rules = check_rules(app, &folder.display().to_string(), rules, output.json)?;
    let policy = Arc::clone(&rules.policy);
    let runtime = app.runtime_under(rules)?;
    let mode = if demo { ApprovalMode::Yes } else { mode(agent, is_attended()) };
    let open = state.run.as_ref().map(|_| state.counts.runs);
    let run = spec.mode_for.filter(|run| mode == ApprovalMode::Yes && open == Some(*run));
    let says_yes = mode == ApprovalMode::Yes;
    let mode = ModeFor { mode, run };
    let mcp = if demo { None } else { connect(app, &folder, agent).await? };
    announce(trace, output);
    if !log.erased.is_empty() && !output.json {
        let (events, places) = match log.erased.len() {
            1 => ("1 event of this trace was".into(), "its place"),
            n => (format!("{n} events of this trace were"), "their places"),
        };
        eprintln!("! {events} erased; the model sees {ERASED} in {places}");
    }
    if let Some(spec) = agent::changed(spec, &agent.options()?, app.basis(), &policy, mode)? {
        if agent.model.is_some() {
            warn(app, &spec.model, output);
        }
        runtime.send(&app.logs.scope, trace, &Mail::SetSpec { spec: Box::new(spec) }).await?;
    }
    if let Some(mail) = &mail {
        runtime.send(&app.logs.scope, trace, mail).await?;
    } else if nothing_left(&state) && unread(&app.logs, trace, &state).await?.is_empty() {
        return Err(Failure::error(format!("trace {trace} has nothing to continue")));
    }
    if says_yes {
        approve_waiting(app, &runtime, trace, output).await?;
    }
    let from = log.head + 1;
    let follow = Follow::new(app, &runtime, trace, output, from);
    runtime.resume(&app.logs.scope, trace);
    self::follow(follow, mcp).await
}

/// Approves the calls that wait and that `--yes` would have covered when they were judged.
async fn approve_waiting(
    app: &Installation,
    runtime: &Runtime,
    trace: &TraceId,
    output: &OutputArgs,
) -> Result<(), Failure> {
    let (_, state, bodies) = app.logs.read(trace).await?;
    for waiting in asked(&app.logs, &state, &bodies).await? {
        let is_covered = waiting.verdict.as_ref().is_some_and(is_asked_by_default);
        if waiting.standing != Standing::Open || !is_covered {
            continue;
        }
        if !output.json {
            eprintln!("· call {} ({}) is approved by --yes", waiting.call, waiting.what);
        }
        runtime.send(&app.logs.scope, trace, &Mail::approve(waiting.call)).await?;
    }
    Ok(())
}

/// Connects to the MCP servers of a workspace.
async fn connect(app: &Installation, workspace: &Path, args: &AgentArgs) -> Result<Option<Mcp>, Failure> {
    let tell = |line: &str| eprintln!("! {}", plain(line));
    let approves = is_attended().then_some(approves as servers::Approves);
    Ok(servers::connect(app, workspace, args.mcp_config.as_deref(), approves, tell).await?)
}

/// Asks at the terminal about an MCP server that waits for an approval.
fn approves(server: &Configured) -> Result<bool, Error> {
    let _alone = screen::pause();
    eprintln!("? {} lists an MCP server that agents would start: {}", server.file.display(), plain(&server.name));
    server.described().lines().for_each(|line| eprintln!("  │ {}", plain(line)));
    eprint!("  approve it? [y]es, [n]o: ");
    let _ = std::io::stderr().flush();
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    Ok(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Stays with a run, and tells it when the tools of its servers change.
async fn follow(follow: Follow<'_>, mcp: Option<Mcp>) -> Result<Exit, Failure> {
    let passing_on = servers::pass_on(follow.app, follow.runtime, &follow.trace, mcp.as_ref());
    let done = follow.stay().await;
    drop(passing_on);
    if let Some(mcp) = &mcp {
        mcp.close().await;
    }
    done
}

fn nothing_left(state: &State) -> bool {
    let only_timers = pending(state).keys().all(|key| matches!(key, EffectKey::Timer(_)));
    state.run.is_none() && only_timers && state.queues.is_empty()
}

/// The task with what was piped in before it and what is attached after it, which is named for people.
pub fn message(Task { typed, piped }: Task, attached: Attached, output: &OutputArgs) -> Mail {
    if !output.json {
        attached.lines.iter().for_each(|line| eprintln!("· {line}"));
    }
    let is_alone = piped.is_none() && attached.parts.is_empty();
    let which = if is_alone { None } else { Some(u16::from(piped.is_some())) };
    // An empty line parts it from the task: between two texts stands a line break.
    let piped = piped.map(|text| Part::text(format!("{text}\n")));
    let parts = piped.into_iter().chain([Part::text(typed)]).chain(attached.parts).collect();
    Mail::Message { mode: MessageMode::Message, parts, typed: which }
}

fn announce(trace: &TraceId, output: &OutputArgs) {
    if !output.json && !output.is_named {
        eprintln!("trace {trace}");
    }
}

/// Says it if nothing is known of a model, once for each.
pub fn warn(app: &Installation, model: &str, output: &OutputArgs) {
    let Some(line) = unknown(model, app).filter(|_| !output.json) else { return };
    let file = app.logs.home.data.join("unknown-models");
    let said = std::fs::read_to_string(&file).unwrap_or_default();
    if said.lines().any(|said| said == model) {
        return;
    }
    eprintln!("! {}", plain(&line));
    // Where it cannot be noted it is said again.
    let note = std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(&file);
    let _ = note.and_then(|mut file| writeln!(file, "{}", plain(model)));
}

/// What a run is to do.
pub struct Task {
    /// In a person's words.
    pub typed: String,
    /// What it is about, from standard input.
    pub piped: Option<String>,
}

/// The task: the argument, standard input, or both, where what comes on standard input is context for the argument.
fn task(argument: Option<&str>) -> Result<Task, Failure> {
    let piped = match argument {
        Some("-") => Some(read_all()?),
        _ if has_input() => Some(read_all()?),
        _ => None,
    };
    let piped = piped.filter(|text| !text.trim().is_empty());
    match (argument.filter(|text| *text != "-" && !text.trim().is_empty()), piped) {
        (Some(task), piped) => Ok(Task { typed: task.into(), piped }),
        (None, Some(task)) => Ok(Task { typed: task, piped: None }),
        (None, None) => Err(Failure::usage("no task given: mainpath run \"TASK\", or give it on standard input")),
    }
}

/// Whether standard input is a pipe or a file. A terminal is for approvals, and a device such as /dev/null has nothing.
pub fn has_input() -> bool {
    let kind = fstat(std::io::stdin()).map(|stat| FileType::from_raw_mode(stat.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::RegularFile))
}

pub fn read_all() -> Result<String, Failure> {
    let done = Arc::new(AtomicBool::new(false));
    let waiting = Arc::clone(&done);
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(2));
        if !waiting.load(Ordering::Acquire) {
            eprintln!("mainpath: waiting for standard input to end (add </dev/null if there is none)");
        }
    });
    let mut bytes = Vec::new();
    let read = std::io::stdin().read_to_end(&mut bytes);
    done.store(true, Ordering::Release);
    read.map_err(|error| Failure::error(format!("standard input: {error}")))?;
    String::from_utf8(bytes).map_err(|_| Failure::usage("standard input is not UTF-8 text"))
}

/// What to say about a model that no table knows; `None` for the others.
pub fn unknown(model: &str, app: &Installation) -> Option<String> {
    let facts = app.models.registry().facts(model);
    if facts.known {
        return None;
    }
    let (window, output) = sizes(&facts, &app.logs.home.config);
    let (window, output) = (number(window.into()), number(output.into()));
    let price = if facts.price.is_none() { ", no price" } else { "" };
    Some(format!(
        "unknown model {model}: assuming a window of {window} tokens, answers up to {output}{price}; to set the right values: \
         mainpath models add {model} --context-window 65536"
    ))
}
