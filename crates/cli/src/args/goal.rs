//! `mainpath goal`.

use clap::{Args, Subcommand, ValueEnum};
use mainpath_types::{GoalId, GoalStatus};
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
