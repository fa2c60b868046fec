//! `mainpath goal`: the plan of a trace, shown or changed, whoever drives it.

use crate::app::App;
use crate::exit::{Exit, Failure, logs};
use crate::ui::out::{out, queued};
use crate::ui::text::{one_line, short};
use clap::{Args, Subcommand, ValueEnum};
use mainpath::trace::Sent;
use mainpath::types::{GoalId, GoalStatus};
use mainpath::types::{GoalOp, Step};
use serde::Deserialize;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;

/// `mainpath goal`
#[derive(Args, Debug)]
#[command(subcommand_precedence_over_arg = true)]
pub struct GoalArgs {
    /// The trace (its id or a unique part of it) [default: the latest]
    pub trace: Option<String>,
    /// As JSON, with what was spent on each goal
    #[arg(long, global = true)]
    pub json: bool,
    #[command(subcommand)]
    pub change: Option<GoalCommand>,
}

/// What is done with the plan.
#[derive(Subcommand, Debug)]
pub enum GoalCommand {
    /// Show the plan (the default)
    List {
        /// Include each goal's reason and result
        #[arg(long)]
        full: bool,
    },
    /// Add a goal
    Add {
        /// The goal
        description: String,
        /// The reason
        #[arg(long, default_value = "", hide_default_value = true)]
        reason: String,
        /// Its parent goal
        #[arg(long, value_name = "ID", value_parser = goal_id, conflicts_with = "after")]
        under: Option<GoalId>,
        /// The goal that it comes after
        #[arg(long, value_name = "ID", value_parser = goal_id)]
        after: Option<GoalId>,
    },
    /// Switch the agent to this goal
    Focus {
        /// The goal
        #[arg(value_parser = goal_id)]
        id: GoalId,
    },
    /// Mark a goal as done
    Done {
        /// The goal [default: the current one]
        #[arg(value_parser = goal_id)]
        id: Option<GoalId>,
        /// The result
        #[arg(long, default_value = "", hide_default_value = true)]
        summary: String,
    },
    /// Abandon a goal
    Abandon {
        /// The goal [default: the current one]
        #[arg(value_parser = goal_id)]
        id: Option<GoalId>,
        /// The reason
        #[arg(long, default_value = "", hide_default_value = true)]
        summary: String,
    },
    /// Change a goal, or the mission, assumptions or constraints of the plan
    Patch(PatchArgs),
    /// Replace the plan
    Set {
        /// A JSON file: {"mission", "steps": [{"id", "title", "status", "under"}], "assumptions": [], "constraints": []}; `-` reads
        /// it from standard input
        file: PathBuf,
    },
}

/// `mainpath goal TRACE patch`
#[derive(Args, Debug)]
pub struct PatchArgs {
    /// The goal to change
    #[arg(value_parser = goal_id)]
    pub id: Option<GoalId>,
    /// Its new text
    #[arg(long, requires = "id")]
    pub description: Option<String>,
    /// The reason
    #[arg(long, requires = "id")]
    pub reason: Option<String>,
    /// Its status
    #[arg(long, value_enum, requires = "id")]
    pub status: Option<StatusArg>,
    /// The mission: what the whole plan is for
    #[arg(long)]
    pub mission: Option<String>,
    /// Replace the assumptions. May be repeated
    #[arg(long, value_name = "TEXT")]
    pub assumption: Vec<String>,
    /// Replace the constraints. May be repeated
    #[arg(long, value_name = "TEXT")]
    pub constraint: Vec<String>,
}

/// `--status`
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
#[value(rename_all = "snake_case")]
pub enum StatusArg {
    /// Not started
    Pending,
    /// In progress
    InProgress,
    /// Done
    Completed,
    /// Abandoned
    Abandoned,
}

impl From<StatusArg> for GoalStatus {
    fn from(arg: StatusArg) -> GoalStatus {
        match arg {
            StatusArg::Pending => GoalStatus::Pending,
            StatusArg::InProgress => GoalStatus::InProgress,
            StatusArg::Completed => GoalStatus::Completed,
            StatusArg::Abandoned => GoalStatus::Abandoned,
        }
    }
}

fn goal_id(text: &str) -> Result<GoalId, String> {
    text.parse().map(GoalId).map_err(|_| "expected the number of a goal, as mainpath goal TRACE shows it".into())
}

/// A larger plan, in bytes, is not read.
const LARGEST: u64 = 1024 * 1024;

/// `mainpath goal`
pub async fn goal(args: GoalArgs) -> Result<Exit, Failure> {
    let ops = match args.change {
        None | Some(GoalCommand::List { .. }) => None,
        Some(ref change) => Some(ops(change)?),
    };
    let logs = logs()?;
    let trace = logs.find_anywhere(args.trace.as_deref()).await?;
    let full = matches!(args.change, Some(GoalCommand::List { full: true }));
    if let Some(ops) = ops {
        let on = App::for_sending(&logs)?.host.trace(&trace).await?;
        if on.goal(ops).await? == Sent::Queued {
            return queued(&trace).map(|()| Exit::Ok);
        }
    }
    let (log, state, bodies) = logs.read(&trace).await?;
    let read = logs.of(&trace, &log, &state, &bodies);
    if args.json {
        out(&read.plan_json().await?.to_string())?;
        return Ok(Exit::Ok);
    }
    match read.lone_task().filter(|_| !full && state.run.is_none()) {
        Some(task) => out(&format!("no plan; the task: {}", short(task, 400)))?,
        None => read.plan_text(full).lines().try_for_each(|line| out(&one_line(line)))?,
    }
    Ok(Exit::Ok)
}

/// A plan in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plan {
    #[serde(alias = "goal")]
    mission: Option<String>,
    steps: Vec<Step>,
    #[serde(default)]
    assumptions: Vec<String>,
    #[serde(default)]
    constraints: Vec<String>,
}

fn ops(change: &GoalCommand) -> Result<Vec<GoalOp>, Failure> {
    Ok(match change {
        GoalCommand::List { .. } => Vec::new(),
        GoalCommand::Add { description, reason, under, after } => {
            vec![GoalOp::Add { description: description.clone(), reason: reason.clone(), under: *under, after: *after }]
        }
        GoalCommand::Focus { id } => vec![GoalOp::Focus { id: *id }],
        GoalCommand::Done { id, summary } => vec![GoalOp::Done { id: *id, summary: summary.clone() }],
        GoalCommand::Abandon { id, summary } => vec![GoalOp::Abandon { id: *id, summary: summary.clone() }],
        GoalCommand::Patch(args) => patch(args)?,
        GoalCommand::Set { file } => {
            let Plan { mission, steps, assumptions, constraints } = read(file)?;
            let (assumptions, constraints) = (Some(assumptions), Some(constraints));
            vec![GoalOp::Terms { mission, assumptions, constraints }, GoalOp::Set { steps }]
        }
    })
}

fn patch(args: &PatchArgs) -> Result<Vec<GoalOp>, Failure> {
    let given = |list: &Vec<String>| (!list.is_empty()).then(|| list.clone());
    let (assumptions, constraints) = (given(&args.assumption), given(&args.constraint));
    let said = args.mission.is_some() || assumptions.is_some() || constraints.is_some();
    let terms = said.then(|| GoalOp::Terms { mission: args.mission.clone(), assumptions, constraints });
    let changes = args.description.is_some() || args.reason.is_some() || args.status.is_some();
    let goal = match args.id {
        Some(id) if changes => Some(GoalOp::Patch {
            id,
            description: args.description.clone(),
            reason: args.reason.clone(),
            status: args.status.map(GoalStatus::from),
        }),
        Some(_) => return Err(Failure::usage("nothing to change; give --description, --reason or --status")),
        None => None,
    };
    let ops: Vec<GoalOp> = terms.into_iter().chain(goal).collect();
    match ops.is_empty() {
        true => Err(Failure::usage(
            "nothing to change; give a goal with --description, --reason or --status, or the plan with \
                                    --mission, --assumption or --constraint",
        )),
        false => Ok(ops),
    }
}

/// A plan from a file or standard input. Errors: file, place and what is wrong.
fn read(file: &Path) -> Result<Plan, Failure> {
    let bad = |why: String| Failure::usage(format!("the plan {} cannot be used: {why}", file.display()));
    let mut bytes = Vec::new();
    let opened = match file.as_os_str() == "-" {
        true => std::io::stdin().take(LARGEST + 1).read_to_end(&mut bytes),
        false => std::fs::File::open(file).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes)),
    };
    opened.map_err(|error| bad(error.to_string()))?;
    if bytes.len() as u64 > LARGEST {
        return Err(bad("it is larger than 1 MiB".into()));
    }
    serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))
}
