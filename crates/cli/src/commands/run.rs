//! `run` and `resume`, and what everything that lets an agent work has in common.

use crate::args::agent::AgentArgs;
use crate::args::output::OutputArgs;
use crate::args::run::RunArgs;
use crate::commands::{conversation, elsewhere};
use crate::exit::{Exit, Failure};
use crate::runs::go_on::{closed, go_on, keep_mode, to_resume};
use crate::runs::held::{mirror, turn};
use crate::runs::rules::opened;
use crate::runs::start::begin;
use crate::runs::task::task;
use crate::traces::mail::{says_first, unread};
use clap::Args;
use mainpath::core::{Continuation, how_to_continue};
use mainpath::sessions::Held;
use mainpath::types::FinishReason;

/// `mainpath resume`
#[derive(Args, Debug)]
pub struct ResumeArgs {
    /// The trace (its id or a unique part of it) [default: the latest]
    pub trace: Option<String>,
    #[command(flatten)]
    pub agent: AgentArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `mainpath run`
pub async fn run(mut args: RunArgs) -> Result<Exit, Failure> {
    args.agent.relations.session.clone_from(&args.session);
    if let Some(file) = args.messages.clone() {
        return conversation::run(args, &file).await;
    }
    let task = task(args.task.as_deref())?;
    let app = opened(&args.agent)?;
    let Some(name) = &args.session else { return begin(&app, &args, task, None).await };
    let held = Held::new(&app.logs)?;
    let _turn = turn(&held, name, args.no_wait).await?;
    elsewhere::adopt_unknown(&app, &held, name, &args.agent).await?;
    let (mut session, known) = held.for_run(&app.logs, name)?;
    let trace = match known {
        Some(trace) => trace,
        None => app.host.new_trace_id()?,
    };
    let done = begin(&app, &args, task, Some((&held, &mut session, &trace))).await;
    mirror(&held, &app, &session).await;
    done
}

/// `mainpath resume`
pub async fn resume(mut args: ResumeArgs) -> Result<Exit, Failure> {
    let app = opened(&args.agent)?;
    let mut trace = app.logs.find(args.trace.as_deref()).await?;
    let root = trace.root();
    // What was started for another goes on with it: only there is what comes of it heard.
    if root != trace && app.logs.read(&root).await.is_ok_and(|(_, state, _)| state.run.is_some()) {
        eprintln!("mainpath: {trace} was started by {root}, which is resumed");
        trace = root;
    }
    let (log, state) = closed(&app, &trace).await?;
    if let Some(say) = says_first(&app.logs, &log, &state).await? {
        return Err(Failure::error(say));
    }
    keep_mode(&mut args.agent, &log, &state);
    let continuation = how_to_continue(&state);
    let is_over = matches!(continuation, Continuation::Answered | Continuation::Empty);
    if is_over && unread(&app.logs, &trace, &state).await?.is_empty() {
        let how = match (continuation, state.ended.reason) {
            (Continuation::Empty, _) => "has no messages",
            (_, Some(FinishReason::Final)) => "ended with its final answer",
            _ => "has answered its last message",
        };
        let how = format!("trace {trace} {how}; continue with mainpath run --trace {trace} \"TASK\"");
        return Err(Failure::error(how));
    }
    let mail = to_resume(&state);
    go_on(&app, &trace, &args.agent, &args.output, mail).await
}
