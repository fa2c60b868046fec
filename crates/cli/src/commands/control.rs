//! `stop`, `clear`, `interrupt`, `steer`, `next`, `approve` and `deny`: a word to a trace, whoever drives it.

use crate::app::App;
use crate::args::one::OneTrace;
use crate::exit::{Exit, Failure, logs};
use crate::runs::task::read_all;
use crate::traces::allow::{in_a_line, leads};
use crate::traces::asked::{lacks, line, names, what, whole_of};
use crate::traces::which::{surely, waiting, waiting_elsewhere};
use crate::ui::decision_commands::approve_command;
use crate::ui::out::{out, queued};
use crate::ui::person::person_only;
use crate::ui::prompt::{Said, understand};
use crate::ui::text::{GIST, gist, one_line, pins_went};
use clap::{Args, ValueEnum};
use mainpath::core::CallState;
use mainpath::runtime::Mail;
use mainpath::store::ReadLog;
use mainpath::trace::{
    ApprovedFor, CallChoice, CallStanding, DecidableCall, LastingRule, Ruling, RunningCall, SettledCall, Stopping,
};
use mainpath::types::{CallId, MessageMode, TraceId};
use mainpath::{Logs, spec_of};
use mainpath_server::served_at;
use std::io::IsTerminal;

/// `mainpath steer` and `mainpath next`
#[derive(Args, Debug)]
pub struct SayArgs {
    /// The trace (its id or a unique part of it)
    pub trace: String,
    /// The message; `-` reads it from standard input
    pub text: String,
}

/// `mainpath interrupt`
#[derive(Args, Debug)]
pub struct InterruptArgs {
    /// The trace (its id or a unique part of it) [default: the latest]
    pub trace: Option<String>,
    /// The call, such as 4.0 [default: the only running one]
    pub call: Option<CallId>,
}

/// `mainpath approve`
#[derive(Args, Debug)]
pub struct ApproveArgs {
    /// The trace (its id or a unique part of it)
    pub trace: Option<String>,
    /// The call, such as 4.0; approving a denied call runs it after all [default: the only pending call, or the only denied one]
    #[arg(long)]
    pub call: Option<CallId>,
    /// Replace the model's arguments with this JSON object; the rules are checked again
    #[arg(long, value_name = "JSON")]
    pub arguments: Option<String>,
    /// Also approve a call that a person has denied
    #[arg(long)]
    pub reopen: bool,
    /// Do not ask for confirmation (a terminal asks for calls of more than one line)
    #[arg(short, long)]
    pub yes: bool,
    /// How long the approval holds; trace and always add the narrowest rule that allows such calls
    #[arg(long = "for", value_enum, value_name = "REACH", default_value_t, conflicts_with = "arguments")]
    pub reach: Reach,
}

/// How long an approval holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Reach {
    /// This call
    #[default]
    Once,
    /// Calls like this one in this trace
    Trace,
    /// Calls like this one from now on, in every trace
    Always,
}

/// `mainpath deny`
#[derive(Args, Debug)]
pub struct DenyArgs {
    /// The trace (its id or a unique part of it)
    pub trace: Option<String>,
    /// The call, such as 4.0 [default: the only pending one]
    #[arg(long)]
    pub call: Option<CallId>,
    /// The reason; the model sees it
    #[arg(value_name = "REASON")]
    pub why: Option<String>,
    /// The same as an option
    #[arg(long, conflicts_with = "why")]
    pub reason: Option<String>,
}

/// `mainpath stop`
pub async fn stop(args: OneTrace) -> Result<Exit, Failure> {
    let logs = logs()?;
    let trace = logs.find_anywhere(args.trace.as_deref()).await?;
    let on = App::for_sending(&logs)?.host.trace(&trace).await?;
    match on.stop_run().await? {
        Stopping::AtCheckpoint => out(&format!("{trace} stops at the next checkpoint"))?,
        Stopping::EndHooks => out(&format!("the run of {trace} has ended; ending the hooks at its end"))?,
        Stopping::Done => out(&format!("{trace} has stopped"))?,
        Stopping::Queued => queued(&trace)?,
    }
    Ok(Exit::Ok)
}

/// `mainpath clear`
pub async fn clear(args: OneTrace) -> Result<Exit, Failure> {
    let logs = logs()?;
    let trace = surely(&logs, args.trace.as_deref(), "clear").await?;
    let cleared = App::for_sending(&logs)?.host.trace(&trace).await?.clear().await?;
    cleared.unforgotten.iter().for_each(|left| eprintln!("! {}", one_line(left)));
    out(&match cleared.at_checkpoint {
        true => format!("{trace} stops its run and is then cleared"),
        false => format!("{trace} is cleared; to start over: mainpath run --trace {trace} \"TASK\""),
    })?;
    pins_went(&trace, cleared.pins).iter().try_for_each(|line| out(line))?;
    Ok(Exit::Ok)
}

/// `mainpath steer`
pub async fn steer(args: SayArgs) -> Result<Exit, Failure> {
    say(args, MessageMode::Steer, "reads it when the running tool finishes and skips calls that have not started").await
}

/// `mainpath next`
pub async fn next(args: SayArgs) -> Result<Exit, Failure> {
    say(args, MessageMode::FollowUp, "reads it after the current run").await
}

async fn say(args: SayArgs, mode: MessageMode, when: &str) -> Result<Exit, Failure> {
    let text = if args.text == "-" { read_all()? } else { args.text };
    if text.trim().is_empty() {
        return Err(Failure::usage("the message is empty; give a text, or - to read it from standard input"));
    }
    let logs = logs()?;
    let trace = logs.find_anywhere(Some(&args.trace)).await?;
    let (log, state, _) = logs.read(&trace).await?;
    readable(&log)?;
    if state.coming_spec().is_none() {
        let how = format!("trace {trace} has no task yet; give it one: mainpath run --trace {trace} \"TASK\"");
        return Err(Failure::error(how));
    }
    logs.send(&trace, &Mail::say(mode, text)).await?;
    if driven_elsewhere(&logs, &trace)? {
        let is_asked =
            mode == MessageMode::Steer && state.turn_calls().iter().any(|call| call.state == CallState::Asked);
        out(&format!("{trace} {}", if is_asked { "reads it now and skips the open call" } else { when }))?;
    } else if served_at(&logs.home.data.join("server")).is_some() {
        out(&format!("queued; the server continues {trace} if it has started it; otherwise: mainpath resume {trace}"))?;
    } else {
        out(&format!("queued; {trace} is not running: mainpath resume {trace}"))?;
    }
    Ok(Exit::Ok)
}

/// `mainpath interrupt`
pub async fn interrupt(args: InterruptArgs) -> Result<Exit, Failure> {
    let logs = logs()?;
    let trace = logs.find_anywhere(args.trace.as_deref()).await?;
    let (log, state, bodies) = logs.read(&trace).await?;
    if !driven_elsewhere(&logs, &trace)? {
        return Err(Failure::error(format!("{trace} is not running")));
    }
    let running = logs.of(&trace, &log, &state, &bodies).running_calls();
    let list = || running.iter().map(|one| format!("{} ({})", one.call, one.tool)).collect::<Vec<_>>().join(", ");
    let RunningCall { call, tool } = match (args.call, running.as_slice()) {
        (_, []) => {
            return Err(Failure::error(format!(
                "no call of {trace} is running; to stop the run: mainpath stop {trace}"
            )));
        }
        (Some(wanted), _) => running.iter().find(|one| one.call == wanted).ok_or_else(|| {
            Failure::error(format!("call {wanted} of {trace} is not running; running calls: {}", list()))
        })?,
        (None, [only]) => only,
        (None, _) => {
            return Err(Failure::usage(format!("several calls of {trace} are running: {}; choose one", list())));
        }
    };
    App::for_sending(&logs)?.host.trace(&trace).await?.interrupt(*call).await?;
    out(&format!("stopping call {call} ({tool}) of {trace}; the agent continues"))?;
    Ok(Exit::Ok)
}

/// Nothing that is sent to a trace is read where its log cannot be written.
fn readable(log: &ReadLog) -> Result<(), Failure> {
    match (&log.damage, log.newer) {
        (Some(damage), _) => {
            Err(Failure::error(format!("the log is damaged: {damage}; everything before that can be read")))
        }
        (None, true) => Err(Failure::error("the log was written by a newer Mainpath; use that one")),
        (None, false) => Ok(()),
    }
}

/// `mainpath approve`
pub async fn approve(args: ApproveArgs) -> Result<Exit, Failure> {
    person_only("approve calls")?;
    if let Some(arguments) = &args.arguments {
        serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(arguments)
            .map_err(|error| Failure::usage(format!("--arguments is not a JSON object: {error}")))?;
    }
    let logs = logs()?;
    let (trace, shown) = chosen(&logs, args.trace.as_deref(), args.call, Ruling::Approve).await?;
    let call = shown.call;
    let app = App::for_sending(&logs)?;
    if let Some(arguments) = &args.arguments {
        fits(&app, &trace, call, arguments).await?;
    }
    let on = app.host.trace(&trace).await?;
    // Only `--reopen` undoes what a person denied.
    if !args.reopen && shown.standing == (CallStanding::Over { by_person: true }) {
        let (what, how) = (what(&shown), approve_command(&trace, call, true));
        return Err(Failure::error(format!("call {call} ({what}) was denied by a person; to run it after all: {how}")));
    }
    let edited = args.arguments.as_deref().map(|arguments| format!(" with {}", gist(arguments)));
    let what = what(&shown) + &edited.unwrap_or_default();
    let is_over = shown.is_over();
    // What new arguments lead to is found when the rules are checked again.
    let leads = leads(&shown.places).filter(|_| args.arguments.is_none());
    let shown = match &args.arguments {
        None => shown,
        Some(arguments) => {
            let (log, state, bodies) = logs.read(&trace).await?;
            logs.of(&trace, &log, &state, &bodies).with_arguments(shown, arguments).await
        }
    };
    if !args.yes && !is_wanted(&whole_of(&shown), leads.as_deref())? {
        out(&format!("call {call} of {trace} is not approved"))?;
        return Ok(Exit::ApprovalNeeded);
    }
    let made = match (args.arguments, args.reach) {
        (arguments, Reach::Once) if is_over => on.approve_denied(call, arguments).await.map(|()| None)?,
        (Some(arguments), _) => on.approve_with(call, arguments).await.map(|()| None)?,
        (None, Reach::Once) => on.approve(call).await.map(|()| None)?,
        (None, Reach::Trace) => Some(on.approve_for(call, ApprovedFor::Trace).await?),
        (None, Reach::Always) => Some(on.approve_for(call, ApprovedFor::Always).await?),
    };
    if let Some(LastingRule { rule, file }) = made {
        rule.lines().try_for_each(|line| out(&format!("rule: {}", one_line(line))))?;
        let rule = in_a_line(&rule);
        out(&match file {
            Some(file) => {
                format!("{rule} is allowed in every trace from now on; the rule is in {}", file.display())
            }
            None => format!("{rule} is allowed in {trace}"),
        })?;
    }
    decided(&logs, &trace, &format!("approved call {call} of {trace} ({what})"))
}

/// Shows all of a call, and what it runs or where it leads. At a terminal a person who has not seen it yet is asked, unless it is a short
/// line.
fn is_wanted(whole: &[String], leads: Option<&str>) -> Result<bool, Failure> {
    whole.iter().for_each(|line| eprintln!("│ {line}"));
    leads.iter().for_each(|line| eprintln!("  {line}"));
    let is_short =
        leads.is_none() && matches!(whole, [] | [_]) && whole.iter().all(|line| line.chars().count() <= GIST);
    if is_short || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(true);
    }
    eprint!("approve this? [y]es, [n]o: ");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    Ok(matches!(understand(&line), Said::Yes))
}

/// `mainpath deny`
pub async fn deny(args: DenyArgs) -> Result<Exit, Failure> {
    person_only("deny calls")?;
    let logs = logs()?;
    let (trace, shown) = chosen(&logs, args.trace.as_deref(), args.call, Ruling::Deny).await?;
    let (call, what) = (shown.call, what(&shown));
    let on = App::for_sending(&logs)?.host.trace(&trace).await?;
    on.deny(call, args.why.or(args.reason)).await?;
    decided(&logs, &trace, &format!("denied call {call} of {trace} ({what})"))
}

/// Tells what was decided, and how the run continues.
fn decided(logs: &Logs, trace: &TraceId, done: &str) -> Result<Exit, Failure> {
    if driven_elsewhere(logs, trace)? {
        out(done)?;
    } else {
        out(&format!("{done}; if it is not running, continue with: mainpath resume {}", trace.root()))?;
    }
    Ok(Exit::Ok)
}

/// Returns the call that is decided on, and its trace. Errors: there is none, or several could be meant.
async fn chosen(
    logs: &Logs,
    trace: Option<&str>,
    call: Option<CallId>,
    ruling: Ruling,
) -> Result<(TraceId, DecidableCall), Failure> {
    let trace = waiting(logs, trace).await?;
    let (log, state, bodies) = logs.read(&trace).await?;
    let read = logs.of(&trace, &log, &state, &bodies);
    let why = match read.choose_call(call, ruling).await? {
        CallChoice::One(one) => return Ok((trace, *one)),
        CallChoice::Several(calls) => {
            let how = if calls.iter().any(DecidableCall::is_over) { "were denied" } else { "wait" };
            let is_by_person = |call: &DecidableCall| call.standing == CallStanding::Over { by_person: true };
            let reopen = if calls.iter().any(is_by_person) { ", and with --reopen if a person denied it" } else { "" };
            let (names, choose) = (names(&calls), format!("choose one with --call{reopen}"));
            return Err(Failure::usage(format!("several calls of {trace} {how}: {names}; {choose}")));
        }
        CallChoice::Nothing => {
            return Err(Failure::error(format!(
                "nothing to approve in {trace}{}",
                waiting_elsewhere(logs, &trace).await?
            )));
        }
        CallChoice::Refused(mut one) => {
            let reopened = CallStanding::Settled(SettledCall::Reopened { as_call: None });
            if call.is_none() && one.standing == reopened {
                one.standing = CallStanding::Approved;
            }
            match one.standing {
                CallStanding::Settled(SettledCall::ToolMissing) => lacks(&one, &trace, spec_of(&log)),
                CallStanding::Settled(_) => line(&one, &trace),
                _ => return Err(Failure::error(line(&one, &trace))),
            }
        }
        CallChoice::Unknown(call) => format!("there is no call {call} in {trace}"),
    };
    let mut others = read.decidable_calls().await?;
    others.retain(|one| one.takes(ruling));
    let others = if others.is_empty() { String::new() } else { format!("; waiting: {}", names(&others)) };
    Err(Failure::error(format!("{why}{others}")))
}

/// Checks arguments that a person wrote for a call. Errors: its tool does not take them, or a rule denies them.
pub async fn fits(app: &App, trace: &TraceId, call: CallId, arguments: &str) -> Result<(), Failure> {
    let checked = app.host.trace(trace).await?.check_arguments(call, arguments).await;
    checked.map_err(|error| Failure::error(error.message()))
}

/// Whether another process has the trace. It may park a moment later; its mail is then read when it wakes.
pub fn driven_elsewhere(logs: &Logs, trace: &TraceId) -> Result<bool, Failure> {
    Ok(logs.is_driven(trace)?)
}
