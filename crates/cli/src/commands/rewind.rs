//! `rewind`, `regenerate` and `fork`: going on from an earlier message, in the trace or in another one.

use crate::app::App;
use crate::args::agent::AgentArgs;
use crate::args::output::OutputArgs;
use crate::args::point::{PointArgs, seq};
use crate::commands::restore::{FilesArgs, before_going_on, held};
use crate::commands::what_if::{WhatIfArgs, what_if};
use crate::exit::{Exit, Failure};
use crate::runs::go_on::{Outgoing, go_on};
use crate::runs::rules::opened;
use crate::ui::out::out;
use clap::Args;
use mainpath::Next;
use mainpath::agent::Task;
use mainpath::spec_of;
use mainpath::store::ReadLog;
use mainpath::types::{Seq, TraceId};

/// `mainpath rewind`
#[derive(Args, Debug)]
pub struct RewindArgs {
    /// The trace (its id or a unique part of it)
    pub trace: String,
    /// The message to go back to (unless an option names it), then a new task [default: the model answers again at once]
    #[arg(value_name = "[N] [TASK]", num_args = 0..=2)]
    pub words: Vec<String>,
    #[command(flatten)]
    pub point: PointArgs,
    #[command(flatten)]
    pub files: FilesArgs,
    #[command(flatten)]
    pub agent: AgentArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

impl RewindArgs {
    /// Where to, and what to say there. Errors: a line that says what is missing.
    pub fn read(&mut self) -> Result<Option<String>, Failure> {
        let PointArgs { to, turn, goal } = self.point;
        let mut words = std::mem::take(&mut self.words).into_iter();
        if to.is_none() && turn.is_none() && goal.is_none() {
            let none = || {
                Failure::usage(
                    "give a message, a turn or a goal: mainpath rewind TRACE --to MESSAGE, --turn N or --goal N",
                )
            };
            self.point.to = Some(seq(&words.next().ok_or_else(none)?).map_err(Failure::usage)?);
        }
        let task = words.next();
        match words.next() {
            Some(extra) => Err(Failure::usage(format!("unexpected argument {extra:?}; put the task in quotes"))),
            None => Ok(task),
        }
    }
}

/// `mainpath regenerate`
#[derive(Args, Debug)]
pub struct RegenerateArgs {
    /// The trace (its id or a unique part of it) [default: the latest]
    pub trace: Option<String>,
    #[command(flatten)]
    pub agent: AgentArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `mainpath fork`
#[derive(Args, Debug)]
pub struct ForkArgs {
    /// The trace (its id or a unique part of it)
    pub trace: String,
    /// A new task [default: the model answers again at once; --no-run only copies]
    pub task: Option<String>,
    #[command(flatten)]
    pub point: PointArgs,
    #[command(flatten)]
    pub files: FilesArgs,
    /// Only create the trace and print its id
    #[arg(long, conflicts_with_all = ["task", "json", "output"])]
    pub no_run: bool,
    #[command(flatten)]
    pub again: WhatIfArgs,
    #[command(flatten)]
    pub agent: AgentArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `mainpath rewind`
pub async fn rewind(mut args: RewindArgs) -> Result<Exit, Failure> {
    let task = args.read()?;
    let app = opened(&args.agent)?;
    let trace = app.logs.find(Some(&args.trace)).await?;
    let (log, state, bodies) = app.logs.read(&trace).await?;
    let of = app.logs.of(&trace, &log, &state, &bodies);
    let after = of.point(args.point.point())?;
    if after != Seq(0) && !state.tree.is_on_path(state.tree.head, after) {
        // A message of a side branch has no fork either.
        of.reached(after)?;
        let task = task.map(|task| format!(" {}", quoted(&task))).unwrap_or_default();
        return Err(Failure::usage(format!(
            "message {after} of {trace} is not on the main path; continue from it in a fork: mainpath fork {trace} --at {after}{task}"
        )));
    }
    if after == Seq(0) && task.is_none() {
        return Err(Failure::usage("a rewind to before the first message needs a new task"));
    }
    check_named(&app, &log, task.as_deref())?;
    if before_going_on(&app, &trace, of, after, args.files, args.output.json).await? {
        return Ok(Exit::Ok);
    }
    held(&app.logs, &trace)?;
    if task.is_none() && !args.output.json {
        eprintln!("· no task given, so the model answers message {after} of {trace} again");
    }
    let said = match task {
        Some(task) => Outgoing::new(Next::Instead { after, task: Task::new(task) }, &args.agent),
        None => Outgoing::same_task(Next::Again(after), &args.agent),
    };
    go_on(&app, &trace, &args.agent, &args.output, said).await
}

/// `mainpath regenerate`
pub async fn regenerate(args: RegenerateArgs) -> Result<Exit, Failure> {
    let app = opened(&args.agent)?;
    let trace = app.logs.find(args.trace.as_deref()).await?;
    let (_, state, _) = app.logs.read(&trace).await?;
    let after = state.tree.head.ok_or_else(|| Failure::error(format!("{trace} has no messages yet")))?;
    let said = Outgoing::same_task(Next::Again(after), &args.agent);
    go_on(&app, &trace, &args.agent, &args.output, said).await
}

/// `mainpath fork`
pub async fn fork(args: ForkArgs) -> Result<Exit, Failure> {
    let app = opened(&args.agent)?;
    let from = app.logs.find(Some(&args.trace)).await?;
    let (log, state, bodies) = app.logs.read(&from).await?;
    let of = app.logs.of(&from, &log, &state, &bodies);
    if args.again.what_if {
        let at = of.point(args.point.point())?;
        return what_if(&app, &from, at, args.again, &args.agent, args.output.json).await;
    }
    let PointArgs { to, turn, goal } = args.point;
    let at = match state.tree.head {
        Some(head) if to.is_none() && turn.is_none() && goal.is_none() => head,
        _ => of.point(args.point.point())?,
    };
    of.reached(at)?;
    if at == Seq(0) && args.task.is_none() && !args.no_run {
        return Err(Failure::usage("a fork before the first message needs a task"));
    }
    if let Some(model) = &args.agent.model {
        app.host.prepare_model(model).await?;
    }
    if args.files.dry_run {
        before_going_on(&app, &from, of, at, args.files, true).await?;
        return Ok(Exit::Ok);
    }
    if args.files.files {
        held(&app.logs, &from)?;
    }
    check_named(&app, &log, args.task.as_deref())?;
    let (task, whole) = (args.task, app.host.trace(&from).await?);
    let new = whole.fork(at).await?.id().clone();
    let (created, state, _) = app.logs.read(&new).await?;
    let done = async {
        before_going_on(&app, &new, of, at, args.files, args.output.json).await?;
        // Past the results of its calls, if it made any.
        let head = state.tree.head.unwrap_or(Seq(0));
        let why = match head == at {
            true => String::new(),
            false => format!(", because #{at} made calls and their results belong to it"),
        };
        if args.no_run {
            eprintln!("forked {from} at #{head}{why}; {}", continue_fork(&new));
            out(new.as_str())?;
            return Ok(Exit::Ok);
        }
        let again = match task {
            None => "; no task given, so the model answers again (--no-run only copies)",
            Some(_) => "",
        };
        // Also with --json: a signal can end the process before the first event.
        eprintln!("mainpath: forked {from} at #{head} as {new}{why}{again}");
        let said = match task {
            Some(task) => Outgoing::new(Next::Message(Task::new(task)), &args.agent),
            // Past the results of its calls, if it made any. Calls are approved as in the run that is forked.
            None => {
                let mut said = Outgoing::same_task(Next::Again(at), &args.agent);
                said.approvals = said.approvals.or(whole.approvals_of(at).await?);
                said
            }
        };
        go_on(&app, &new, &args.agent, &args.output, said).await
    };
    let failure = match done.await {
        Ok(exit) => return Ok(exit),
        Err(failure) => failure,
    };
    if app.logs.read(&new).await?.0.head > created.head {
        return Err(failure);
    }
    let message = format!("{}; the fork {new} was created: {}", failure.message, continue_fork(&new));
    Err(Failure { message, ..failure })
}

/// What continues a fork that nothing was run in.
fn continue_fork(new: &TraceId) -> String {
    format!("continue with mainpath run --trace {new} \"TASK\", or mainpath regenerate {new}")
}

/// Checks a new task for a trace. Errors: it begins with the `/NAME` of a skill or command that does not exist.
fn check_named(app: &App, log: &ReadLog, task: Option<&str>) -> Result<(), Failure> {
    if let (Some(task), Some(spec)) = (task, spec_of(log)) {
        app.host.read_task(Task::new(task), spec)?;
    }
    Ok(())
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}
