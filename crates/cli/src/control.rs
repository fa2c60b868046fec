//! `stop`, `approve` and `deny`: a word to a trace, whoever drives it.

use crate::allow::{in_a_line, keep, offer};
use crate::app::App;
use crate::args::{ApproveArgs, DenyArgs, OneTrace, Reach};
use crate::exit::{Exit, Failure};
use mainpath_core::{CallState, State};
use mainpath_runtime::{Mail, Phase};
use mainpath_types::{CallId, TraceId};

/// `mainpath stop`
pub async fn stop(args: OneTrace) -> Result<Exit, Failure> {
    let app = App::open()?;
    let trace = app.find(args.trace.as_deref()).await?;
    let (_, state, _) = app.read(&trace).await?;
    if state.run.is_none() {
        return Err(Failure::error(format!("trace {trace} is not running")));
    }
    let runtime = app.runtime()?;
    runtime.send(&app.scope, &trace, &Mail::Stop).await?;
    if driven_elsewhere(&app, &trace)? {
        println!("{trace} stops at its next checkpoint");
        return Ok(Exit::Ok);
    }
    // Nobody drives it: what is open is closed here, so that it can be resumed or rewound at once.
    let mut phases = runtime.watch(&app.scope, &trace, u64::MAX).phase();
    runtime.resume(&app.scope, &trace);
    loop {
        match phases.borrow_and_update().clone() {
            Phase::Running => {}
            Phase::Idle | Phase::Parked(_) => break,
            Phase::Failed(problem) => return Err(Failure::error(problem)),
        }
        phases.changed().await.map_err(|_| Failure::error("the runtime is gone"))?;
    }
    println!("{trace} is stopped");
    Ok(Exit::Ok)
}

/// `mainpath approve`
pub async fn approve(args: ApproveArgs) -> Result<Exit, Failure> {
    if let Some(arguments) = &args.arguments {
        serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(arguments)
            .map_err(|error| Failure::usage(format!("--arguments is not a JSON object: {error}")))?;
    }
    let app = App::open()?;
    let (trace, call) = waiting(&app, args.trace.as_deref(), args.call).await?;
    let mut rule = None;
    if args.reach != Reach::Once {
        let (log, ..) = app.read(&trace).await?;
        let narrow = offer(&log.events, call).ok_or_else(|| {
            Failure::error(format!("no rule is narrow enough for call {call} of {trace}; approve it once"))
        })?;
        if args.reach == Reach::Always {
            let file = keep(&app.home, &narrow, (&trace, call))?;
            println!("{} is allowed from now on: see {}", in_a_line(&narrow), file.display());
        } else {
            println!("{} is allowed in {trace}", in_a_line(&narrow));
        }
        rule = Some(narrow);
    }
    tell(&app, &trace, &Mail::Approve { call, arguments: args.arguments, rule }, "approved", call).await
}

/// `mainpath deny`
pub async fn deny(args: DenyArgs) -> Result<Exit, Failure> {
    let app = App::open()?;
    let (trace, call) = waiting(&app, args.trace.as_deref(), args.call).await?;
    tell(&app, &trace, &Mail::Deny { call, reason: args.reason }, "denied", call).await
}

async fn tell(app: &App, trace: &TraceId, mail: &Mail, done: &str, call: CallId) -> Result<Exit, Failure> {
    app.runtime()?.send(&app.scope, trace, mail).await?;
    if driven_elsewhere(app, trace)? {
        println!("{done} call {call} of {trace}");
    } else {
        println!("{done} call {call} of {trace}; if nobody is running it, go on with: mainpath resume {trace}");
    }
    Ok(Exit::Ok)
}

/// The call that is meant, among those that wait.
async fn waiting(app: &App, trace: Option<&str>, call: Option<CallId>) -> Result<(TraceId, CallId), Failure> {
    let trace = app.find(trace).await?;
    let (_, state, _) = app.read(&trace).await?;
    let asked = asked(&state);
    let list = || asked.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match (call, asked.as_slice()) {
        (_, []) => Err(Failure::error(format!("no call of {trace} waits for an approval"))),
        (Some(call), _) if asked.contains(&call) => Ok((trace, call)),
        (Some(call), _) => {
            Err(Failure::error(format!("call {call} of {trace} does not wait for an approval; these do: {}", list())))
        }
        (None, [only]) => Ok((trace, *only)),
        (None, _) => Err(Failure::usage(format!("several calls of {trace} wait: {}; name one with --call", list()))),
    }
}

fn asked(state: &State) -> Vec<CallId> {
    state.turn_calls().iter().filter(|call| call.state == CallState::Asked).map(|call| call.id).collect()
}

/// Whether another process has the trace. It may park a moment later; its mail is then read when it wakes.
fn driven_elsewhere(app: &App, trace: &TraceId) -> Result<bool, Failure> {
    Ok(app.store.owner(&app.scope, trace)?.is_some())
}
