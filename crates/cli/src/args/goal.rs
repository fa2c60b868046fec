//! `mainpath goal`.

use clap::{Args, Subcommand, ValueEnum};
use mainpath_types::{GoalId, GoalStatus};
use std::path::PathBuf;

/// `mainpath goal`
#[derive(Args, Debug)]
#[command(subcommand_precedence_over_arg = true)]
pub struct GoalArgs {
    /// The trace (its id, or a part that no other id has) [default: the one that changed last]
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
        /// With the reason for each goal and what came of it
        #[arg(long)]
        full: bool,
    },
    /// Add a goal
    Add {
        /// What is to be reached
        description: String,
        /// Why
        #[arg(long, default_value = "", hide_default_value = true)]
        reason: String,
        /// The goal that it serves
        #[arg(long, value_name = "ID", value_parser = goal_id, conflicts_with = "after")]
        under: Option<GoalId>,
        /// The goal that it follows
        #[arg(long, value_name = "ID", value_parser = goal_id)]
        after: Option<GoalId>,
    },
    /// Have the agent work on a goal from here on
    Focus {
        /// Which
        #[arg(value_parser = goal_id)]
        id: GoalId,
    },
    /// A goal is reached
    Done {
        /// Which [default: the one in focus]
        #[arg(value_parser = goal_id)]
        id: Option<GoalId>,
        /// What came of it
        #[arg(long, default_value = "", hide_default_value = true)]
        summary: String,
    },
    /// A goal is given up
    Abandon {
        /// Which [default: the one in focus]
        #[arg(value_parser = goal_id)]
        id: Option<GoalId>,
        /// Why
        #[arg(long, default_value = "", hide_default_value = true)]
        summary: String,
    },
    /// Change a goal, or what the whole plan is for and held to
    Patch(PatchArgs),
    /// Put another plan in the place of this one
    Set {
        /// A JSON file: {"mission", "steps": [{"id", "title", "status", "under"}], "assumptions": [], "constraints": []}; `-` reads
        /// it from standard input
        file: PathBuf,
    },
}

/// `mainpath goal TRACE patch`
#[derive(Args, Debug)]
pub struct PatchArgs {
    /// The goal that is changed
    #[arg(value_parser = goal_id)]
    pub id: Option<GoalId>,
    /// What is to be reached
    #[arg(long, requires = "id")]
    pub description: Option<String>,
    /// Why
    #[arg(long, requires = "id")]
    pub reason: Option<String>,
    /// Where it stands
    #[arg(long, value_enum, requires = "id")]
    pub status: Option<StatusArg>,
    /// What the whole plan is for
    #[arg(long)]
    pub mission: Option<String>,
    /// What is taken to be so, instead of what was; may be given several times
    #[arg(long, value_name = "TEXT")]
    pub assumption: Vec<String>,
    /// What must be kept to, instead of what was; may be given several times
    #[arg(long, value_name = "TEXT")]
    pub constraint: Vec<String>,
}

/// `--status`
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
#[value(rename_all = "snake_case")]
pub enum StatusArg {
    /// Not begun
    Pending,
    /// Being worked on
    InProgress,
    /// Done
    Completed,
    /// Given up
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
    text.parse().map(GoalId).map_err(|_| "the number of a goal is wanted, as mainpath goal TRACE shows it".into())
}
