//! `mainpath query`: calls in many traces, found by what is true of them.

use crate::args::past::unread;
use crate::exit::{Exit, Failure, logs};
use crate::ui::out::out;
use crate::ui::text::{count, gist, money, number, one_line, short, span};
use clap::Args;
use mainpath::index::{FoundStep, FoundSteps};
use mainpath::policy::Predicate;
use mainpath::query::{ListedStep, QueryAnswer, query as find};
use mainpath::values::now;
use serde_json::json;

/// How many calls are shown where nothing is said.
const SHOWN: usize = 50;

/// `mainpath query`
#[derive(Args, Debug)]
pub struct QueryArgs {
    /// What is true of the calls, such as 'tool=bash and args~deploy and cost>0.10'. Fields: tool, args, args.NAME, verdict, rule,
    /// outcome, error, origin, text, cost, model, agent, folder, trace; = != ~ !~ (a regular expression) > < >= <=; and, or, not, ( )
    pub predicate: String,
    /// Show at most so many, the newest traces' first
    #[arg(long, value_name = "N", default_value_t = SHOWN)]
    pub most: usize,
    /// Show all
    #[arg(short, long, conflicts_with = "most")]
    pub all: bool,
    /// Show each trace once
    #[arg(long)]
    pub traces: bool,
    /// As JSON lines
    #[arg(long)]
    pub json: bool,
}

/// `mainpath query`
pub async fn query(args: QueryArgs) -> Result<Exit, Failure> {
    let predicate = Predicate::parse(&args.predicate).map_err(|wrong| unread("the predicate", wrong))?;
    let logs = logs()?;
    let most = if args.all { usize::MAX } else { args.most };
    // Of each trace one is shown, and nobody knows how many that takes.
    let asked = if args.traces { usize::MAX } else { most };
    let looking = tokio::task::spawn_blocking(move || find(&logs, &predicate, asked));
    let QueryAnswer { found, unread: lost } = looking.await.map_err(|error| Failure::error(error.to_string()))??;
    if let Some(first) = lost.first() {
        let logs = count(lost.len() as u64, "log");
        eprintln!(
            "! {logs} could not be read whole, such as that of {first}: what is missing there is not found (mainpath verify {first})"
        );
    }
    let FoundSteps { mut steps, mut all } = found;
    if args.traces {
        steps.dedup_by(|one, before| one.row.trace == before.row.trace);
        all = steps.len();
        steps.truncate(most);
    }
    for step in &steps {
        out(&match args.json {
            true => json!(ListedStep::from(step)).to_string(),
            false => line(step),
        })?;
    }
    let more = all - steps.len();
    if more > 0 && !args.json {
        eprintln!("{} more: the same with --all", number(more as u64));
    }
    if all == 0 {
        if !args.json {
            eprintln!("nothing found of which {} is true", one_line(&args.predicate));
        }
        return Ok(Exit::Error);
    }
    if !args.json {
        eprintln!("{}", count(all as u64, if args.traces { "trace" } else { "step" }));
    }
    Ok(Exit::Ok)
}

fn line(step: &FoundStep) -> String {
    let FoundStep { row, seq, call, tool, arguments, verdict, rule, outcome, error, cost, said, .. } = step;
    let place = call.map_or_else(|| format!("#{seq}"), |call| call.to_string());
    let did = match call {
        Some(_) => format!("{tool}: {}", gist(arguments)),
        None if said.is_empty() => format!("model: {}", step.failure),
        None => format!("answer: {said}"),
    };
    let ended = if error.is_empty() { outcome } else { error };
    let by = if verdict.is_empty() { String::new() } else { format!(" [{verdict} by {rule}]") };
    let ended = if ended.is_empty() { String::new() } else { format!(" {ended}") };
    let age = span(now().saturating_sub(row.modified));
    one_line(&format!("{} {place} {}{by}{ended} {} {age} ago", row.trace, short(&did, 80), money(*cost)))
}
