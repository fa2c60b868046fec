//! Rules for a run.

use clap::Args;
use std::path::PathBuf;

/// Rules for this run only. Deny beats ask, ask beats allow, wherever they come from.
#[derive(Args, Clone, Debug, Default)]
pub struct RuleArgs {
    /// Allow calls like this without asking, such as 'bash(cargo test *)' or 'write(src/**)'. May be repeated
    #[arg(long, value_name = "RULE")]
    pub allow: Vec<String>,
    /// Ask about calls like this. May be repeated
    #[arg(long, value_name = "RULE")]
    pub ask: Vec<String>,
    /// Deny calls like this. May be repeated
    #[arg(long, value_name = "RULE")]
    pub deny: Vec<String>,
    /// A file with more rules. May be repeated
    #[arg(long, value_name = "FILE")]
    pub policy: Vec<PathBuf>,
}
