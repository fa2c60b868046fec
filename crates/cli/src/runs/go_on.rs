//! Continuing a trace: arguments in, a followed run out.

use crate::app::App;
use crate::args::agent::{AgentArgs, mode, named_mode};
use crate::args::output::OutputArgs;
use crate::exit::{Exit, Failure};
use crate::runs::demo::{check_asked, is_demo};
use crate::runs::driven;
use crate::runs::driven::{announce, connect, warn};
use crate::runs::follow::{Follow, is_attended};
use crate::runs::held::settled;
use crate::runs::rules::{tell_sandbox, use_rules};
use crate::ui::person::person_only;
use crate::ui::text::{gist, one_line};
use crate::ui::told::child_name;
use mainpath::policy::BREAKPOINT;
use mainpath::types::{ApprovalMode, ERASED, TraceId};
use mainpath::{ErrorKind, Next, PendingCall, PreparedRun, Stamped};
use std::time::Duration;

/// How often a process that waits for a trace polls.
const LOOK: Duration = Duration::from_millis(50);

/// What a trace continues with.
pub struct Outgoing {
    /// What is sent.
    pub next: Next,
    /// What happens to calls that need a person. `None`: as in the run that continues.
    pub approvals: Option<ApprovalMode>,
    /// True to wait while another process drives the trace; otherwise that is an error.
    pub waits: bool,
}

impl Outgoing {
    /// Continues with the approvals of the command line.
    pub fn new(next: Next, agent: &AgentArgs) -> Outgoing {
        Outgoing { next, approvals: Some(mode(agent, is_attended())), waits: false }
    }

    /// Continues the same task: calls are approved as before, unless the command line says something else.
    pub fn same_task(next: Next, agent: &AgentArgs) -> Outgoing {
        Outgoing { next, approvals: named_mode(agent), waits: false }
    }
}

/// Continues a trace and follows it to the end. A caller that is refused has sent nothing.
pub async fn go_on(
    app: &App,
    trace: &TraceId,
    agent: &AgentArgs,
    output: &OutputArgs,
    said: Outgoing,
) -> Result<Exit, Failure> {
    let prepared = prepared(app, trace, agent, output, said).await?;
    announce(trace, output);
    tell_erased(&prepared, output);
    if let Some(spec) = prepared.changed().filter(|_| agent.model.is_some()) {
        warn(app, &spec.model, output);
    }
    tell_sandbox(app, prepared.approvals(), output.json);
    for call in prepared.covered() {
        person_only("approve calls")?;
        if !output.json {
            let of = &call.trace_id;
            let whose = if of == trace { String::new() } else { format!(" of agent {}", child_name(trace, of)) };
            eprintln!("· call {}{whose} ({}) is approved by --yes", call.call, what(call));
        }
    }
    if agent.no_break && !output.json {
        tell_stopped(&prepared, trace);
    }
    let from = prepared.head() + 1;
    let run = prepared.start().await?;
    driven::follow(Follow::new(app, run.trace().clone(), output, from)).await
}

/// Checks everything, connects the servers, and takes the trace. Waits for another process that drives it, if the caller wants that.
async fn prepared(
    app: &App,
    trace: &TraceId,
    agent: &AgentArgs,
    output: &OutputArgs,
    said: Outgoing,
) -> Result<PreparedRun, Failure> {
    let (of, options) = (app.host.trace(trace).await?, agent.options()?);
    let spec = of.spec().await?;
    let is_demo = spec.as_ref().is_some_and(|spec| is_demo(app, trace, &spec.workspace));
    let approvals = if is_demo { Some(ApprovalMode::Yes) } else { said.approvals };
    let (mut is_connected, mut has_told) = (is_demo, false);
    loop {
        settled(app, trace).await?;
        let continuing = of.continuing(said.next.clone()).given(options.clone()).preset(agent.agent.clone());
        let prepared = match continuing.approvals(approvals).or_else(mode(agent, is_attended())).check().await {
            Ok(checked) => {
                // The script goes on with its own task, and answers nobody.
                let is_own = is_demo && said.next == Next::Rest;
                if checked.sends() && agent.model.is_none() && !is_own {
                    check_asked(trace, checked.spec(), is_demo)?;
                }
                use_rules(app, &checked.folder().display().to_string(), checked.rules(), checked.policy(), output.json);
                if !std::mem::replace(&mut is_connected, true) {
                    connect(app, checked.folder(), agent, checked.time_limit(), output).await?;
                }
                checked.prepare().await
            }
            Err(error) => Err(error),
        };
        match prepared {
            Err(busy) if busy.kind() == ErrorKind::Busy && said.waits => {}
            done => return Ok(done?),
        }
        if !std::mem::replace(&mut has_told, true) {
            eprintln!("mainpath: waiting until the current run of trace {trace} ends");
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Says that the content of some events was erased.
fn tell_erased(prepared: &PreparedRun, output: &OutputArgs) {
    let (events, places) = match prepared.erased() {
        0 => return,
        1 => ("1 event of this trace was".into(), "its place"),
        n => (format!("{n} events of this trace were"), "their places"),
    };
    if !output.json {
        eprintln!("! {events} erased; the model sees {ERASED} in {places}");
    }
}

/// Says which calls a breakpoint has stopped: it is removed for those to come, and these wait.
fn tell_stopped(prepared: &PreparedRun, trace: &TraceId) {
    let is_stopped = |call: &&Stamped<PendingCall>| {
        call.trace_id == *trace && call.verdict.as_ref().is_some_and(|verdict| verdict.rule == BREAKPOINT)
    };
    for call in prepared.undecided().iter().filter(is_stopped) {
        let (id, what) = (call.call, what(call));
        eprintln!(
            "· call {id} ({what}) was stopped by a breakpoint before and waits for you: --no-break holds for the calls to come"
        );
    }
}

/// A call in a few words.
fn what(call: &PendingCall) -> String {
    format!("{}: {}", one_line(&call.tool), gist(&call.arguments))
}
