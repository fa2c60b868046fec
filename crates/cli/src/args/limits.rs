//! The limits of a run on the command line, and what of a run can be chosen besides.

use clap::{Args, ValueEnum};
use mainpath::Remedy;
use mainpath::types::{BudgetMode, RateLimit, Recovery};
use mainpath::values::{duration, rate};
use std::time::Duration;

/// Limits of the run. 0 means no limit; `[limits]` in `config.toml` has the same names with `_`.
#[derive(Args, Clone, Debug, Default)]
pub struct LimitArgs {
    /// Maximum tool calls in one turn; further calls are skipped, and the model is told [0: no limit]
    #[arg(long, value_name = "N")]
    pub max_calls_per_turn: Option<u32>,
    /// Maximum runs of scripts of skills [0: no limit]
    #[arg(long, value_name = "N")]
    pub max_script_runs: Option<u32>,
    /// How many turns in a row a tool may fail or be denied; also scales the limits on other kinds of loops [default: the
    /// profile's, 2 to 5; 0: no limit]
    #[arg(long, value_name = "N")]
    pub repeated_failure_limit: Option<u32>,
    /// Maximum characters of a tool result that the model sees [default: the profile's; 0: no limit]
    #[arg(long, value_name = "N")]
    pub observation_max_len: Option<u32>,
    /// What happens at a token or money budget
    #[arg(long, value_enum, value_name = "HOW")]
    pub budget: Option<BudgetArg>,
    /// What happens after a crash to interrupted calls that are safe to repeat
    #[arg(long, value_enum, value_name = "HOW")]
    pub recovery: Option<RecoveryArg>,
    /// Rate limit of a tool (name, alias or pattern), such as bash=10/1m; further calls wait. May be repeated
    #[arg(long, value_name = "TOOL=CALLS/TIME", value_parser = tool_rate)]
    pub rate: Vec<(String, RateLimit)>,
    /// How often to retry a failed model request [default: 10; 0: never]
    #[arg(long, value_name = "N")]
    pub model_retries: Option<u32>,
    /// How long to wait for the start of an answer, such as 30m for a slow local server [default: 5m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub first_byte_timeout: Option<Duration>,
    /// How long the model's server may pause within an answer [default: 2m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub idle_timeout: Option<Duration>,
}

/// `--budget`
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetArg {
    /// Never send a request that might exceed it
    Hard,
    /// Finish the turn, then ask for one last answer
    Soft,
}

impl From<BudgetArg> for BudgetMode {
    fn from(arg: BudgetArg) -> BudgetMode {
        match arg {
            BudgetArg::Hard => BudgetMode::Hard,
            BudgetArg::Soft => BudgetMode::Soft,
        }
    }
}

/// `--recovery`
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryArg {
    /// Run them again
    Rerun,
    /// End them as interrupted, and tell the model
    Notify,
}

impl From<RecoveryArg> for Recovery {
    fn from(arg: RecoveryArg) -> Recovery {
        match arg {
            RecoveryArg::Rerun => Recovery::Rerun,
            RecoveryArg::Notify => Recovery::Notify,
        }
    }
}

fn tool_rate(text: &str) -> Result<(String, RateLimit), String> {
    let (tool, limit) = text.split_once('=').ok_or("write a tool and its rate, such as bash=10/1m")?;
    let limit = rate(limit).map_err(|error| match error.remedy() == Some(&Remedy::DenyTool) {
        true => format!("{error}, such as --deny \"bash(*)\""),
        false => error.to_string(),
    });
    Ok((tool.trim().into(), limit?))
}
