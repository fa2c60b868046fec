//! `run` and `resume`, and what everything that lets an agent work has in common.

use crate::args::agent::AgentArgs;
use crate::args::output::OutputArgs;
use crate::args::run::RunArgs;
use crate::commands::{conversation, elsewhere};
use crate::exit::{Exit, Failure};
use crate::runs::go_on::{Outgoing, go_on};
use crate::runs::held::{mirror, turn};
use crate::runs::rules::opened;
use crate::runs::start::begin;
use crate::runs::task::task;
use crate::traces::mail::says_first;
use clap::Args;
use mainpath::Next;
use mainpath::sessions::Held;

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
pub async fn resume(args: ResumeArgs) -> Result<Exit, Failure> {
    let app = opened(&args.agent)?;
    let mut trace = app.logs.find(args.trace.as_deref()).await?;
    let root = trace.root();
    // What was started for another goes on with it: only there is what comes of it heard.
    if root != trace && app.logs.read(&root).await.is_ok_and(|(_, state, _)| state.run.is_some()) {
        eprintln!("mainpath: {trace} was started by {root}, which is resumed");
        trace = root;
    }
    let (log, state, _) = app.logs.read(&trace).await?;
    if let Some(say) = says_first(&app.logs, &log, &state).await? {
        return Err(Failure::error(say));
    }
    let said = Outgoing::same_task(Next::Rest, &args.agent);
    go_on(&app, &trace, &args.agent, &args.output, said).await
}
