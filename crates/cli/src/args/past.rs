//! Which recorded calls are looked at.

use crate::exit::Failure;
use clap::Args;
use mainpath::Logs;
use mainpath::backtest::BacktestScope;
use mainpath::policy::{Predicate, PredicateError};
use mainpath::types::Millis;
use mainpath::values::duration;
use mainpath::values::now;
use std::time::Duration;

/// Which recorded calls are looked at.
#[derive(Args, Clone, Debug, Default)]
pub struct PastArgs {
    /// Only these traces (ids or unique parts of them, separated by commas) [default: all]
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub traces: Vec<String>,
    /// Only traces that changed in this time, such as 24h or 7d
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub since: Option<Duration>,
    /// Only calls like this, such as 'tool=bash and args~deploy' (see mainpath query)
    #[arg(long, value_name = "PREDICATE")]
    pub calls: Option<String>,
}

impl PastArgs {
    /// What they say. Errors: there is no such trace, or the predicate cannot be read.
    pub async fn scope(&self, logs: &Logs) -> Result<BacktestScope, Failure> {
        let mut traces = Vec::new();
        for wanted in &self.traces {
            traces.push(logs.find(Some(wanted.as_str())).await?);
        }
        let ago =
            |time: Duration| now().saturating_sub(Millis::try_from(time.as_millis()).unwrap_or(Millis::MAX)).max(1);
        let calls =
            self.calls.as_deref().map(|text| Predicate::breakpoint(text).map_err(|wrong| unread("--calls", wrong)));
        Ok(BacktestScope {
            traces: (!traces.is_empty()).then_some(traces),
            since: self.since.map_or(0, ago),
            calls: calls.transpose()?,
        })
    }
}

/// What is wrong with a predicate, and where.
pub fn unread(flag: &str, PredicateError { at, problem }: PredicateError) -> Failure {
    Failure::usage(format!("{flag}, character {at}: {problem}"))
}
