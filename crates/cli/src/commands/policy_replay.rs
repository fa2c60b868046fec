//! `mainpath policy replay`: what the rules of today would have said of the calls of a trace.

use crate::app::App;
use crate::args::rules::RuleArgs;
use crate::exit::{Exit, Failure};
use crate::traces::past;
use crate::ui::out::out;
use crate::ui::text::{gist, one_line, short, were};
use clap::Args;
use mainpath::backtest::{JudgedCall, Unjudged};
use mainpath::policy::{Breach, Budget, Checks, Folders};
use mainpath::tools::Workspace;
use mainpath::types::{Event, EventKind, Micros, Price, Spec, Verdict};
use mainpath::{HomeOptions, RuleNames};
use serde_json::json;
use std::path::{Path, PathBuf};

/// `mainpath policy replay`
#[derive(Args, Debug)]
pub struct PolicyReplayArgs {
    /// The trace (its id or a unique part of it) [default: the latest]
    pub trace: Option<String>,
    /// All calls, not only those that would be decided differently
    #[arg(short, long)]
    pub all: bool,
    /// Run the checks of this file (order and number of calls, budgets): exit code 6 if one fails
    #[arg(long, value_name = "FILE")]
    pub checks: Option<PathBuf>,
    /// Check that calls like CALL come only after one like AFTER succeeded. May be repeated
    #[arg(long, num_args = 2, value_names = ["CALL", "AFTER"])]
    pub order: Vec<String>,
    /// Check that a run has at most N calls like this. May be repeated
    #[arg(long, num_args = 2, value_names = ["CALL", "N"])]
    pub most: Vec<String>,
    /// Maximum turns in a run
    #[arg(long, value_name = "N")]
    pub max_turns: Option<u64>,
    /// Maximum calls in a run
    #[arg(long, value_name = "N")]
    pub max_calls: Option<u64>,
    /// Maximum tokens in a run, input and output together
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u64>,
    /// Maximum cost of a run in dollars, such as 0.50
    #[arg(long, value_name = "DOLLARS", value_parser = mainpath::values::dollars)]
    pub max_cost: Option<Micros>,
    #[command(flatten)]
    pub rules: RuleArgs,
    /// As JSON lines
    #[arg(long)]
    pub json: bool,
}

/// `mainpath policy replay`
pub async fn replay(args: PolicyReplayArgs) -> Result<Exit, Failure> {
    let rules = args.rules.read()?;
    let app = App::with(HomeOptions { rules: rules.clone(), read_only: true, ..HomeOptions::default() })?;
    RuleNames::new(app.host.home(), app.host.tools(), Path::new("."), None).check(&rules)?;
    let trace = app.logs.find(args.trace.as_deref()).await?;
    let (log, ..) = app.logs.read(&trace).await?;
    let tools = app.host.tools().clone();
    let spec = log.events.iter().rev().find_map(spec_in);
    if let Some(spec) = spec {
        // What is wrong with a file of rules is told once, and not of each call.
        app.host.sources().load_for(spec)?;
    }
    let judged = app.host.past_judge().calls(&log);
    let differs = |one: &&JudgedCall<'_>| one.now.as_ref().is_ok_and(|now| now.decision != one.then.decision);
    let unknown = |one: &&JudgedCall<'_>| one.now.is_err();
    for one in judged.iter().filter(|one| args.all || differs(one) || unknown(one)) {
        tell(one, args.json)?;
    }
    if !args.json {
        let (changed, unknown) = (judged.iter().filter(differs).count(), judged.iter().filter(unknown).count());
        let checked = were((judged.len() - unknown) as u64, "call");
        let rest = if unknown > 0 { format!("; {unknown} cannot be judged") } else { String::new() };
        out(&format!("{trace}: {checked} checked; {changed} would be decided differently now{rest}"))?;
    }
    let home = std::env::var("HOME").unwrap_or_default();
    let folders =
        Folders { workspace: spec.map(|spec| spec.workspace.clone()).unwrap_or_default(), home, ..Folders::default() };
    let checks = checks(&args, &folders)?;
    if checks.is_empty() {
        return Ok(Exit::Ok);
    }
    if checks.budget.cost.is_some()
        && let Some(model) = unpriced(&app, &log.events)
    {
        return Err(Failure::usage(format!("--max-cost needs the price of {}, which is unknown", one_line(model))));
    }
    let known: Vec<String> = tools
        .specs()
        .into_iter()
        .chain(spec.into_iter().flat_map(|spec| spec.tools.clone()))
        .map(|tool| tool.name)
        .collect();
    checks.check_names(known.iter().map(String::as_str)).map_err(|error| Failure::usage(error.to_string()))?;
    let protected = app.logs.home.protected();
    let workspace = spec.and_then(|spec| Workspace::new(&spec.workspace, protected).ok());
    let calls = past::calls(&log.events, &tools, workspace.as_ref());
    let breaches = checks.breaches(&calls, &past::runs(&trace, &log.events, &calls, &tools), &folders);
    for Breach { run, call, problem } in &breaches {
        let whose = call.map_or_else(|| format!("run {run}"), |call| format!("call {call}"));
        out(&match args.json {
            true => json!({"breach": {"run": run, "call": call, "problem": problem}}).to_string(),
            false => format!("✗ {whose}: {}", one_line(problem)),
        })?;
    }
    if !args.json {
        out(&match breaches.len() {
            0 => "all checks passed".into(),
            n => format!("{} broken", were(n as u64, "check")),
        })?;
    }
    Ok(if breaches.is_empty() { Exit::Ok } else { Exit::Denied })
}

/// A model of a trace whose price nobody knew, so that it seems to have cost nothing.
fn unpriced<'e>(app: &App, events: &'e [Event]) -> Option<&'e str> {
    let specs = events.iter().filter_map(spec_in);
    let mut free = specs.filter(|spec| spec.price == Price::default()).map(|spec| spec.model.as_str());
    free.find(|model| app.host.registry().facts(model).price.is_none())
}

/// The checks of the file and of the flags. Errors: what is wrong with them.
fn checks(args: &PolicyReplayArgs, folders: &Folders) -> Result<Checks, Failure> {
    let mut checks = match &args.checks {
        None => Checks::default(),
        Some(file) => {
            let bad = |why: String| Failure::usage(format!("the checks {} cannot be used: {why}", file.display()));
            let text = std::fs::read_to_string(file).map_err(|error| bad(error.to_string()))?;
            Checks::parse(&text, folders).map_err(|error| bad(error.to_string()))?
        }
    };
    for pair in args.order.chunks(2) {
        if let [call, after] = pair {
            checks.order(call, after, folders).map_err(|error| Failure::usage(error.to_string()))?;
        }
    }
    for pair in args.most.chunks(2) {
        if let [call, most] = pair {
            let bad = |_| Failure::usage(format!("--most {call}: {most:?} is not a number"));
            checks
                .most(call, most.parse().map_err(bad)?, folders)
                .map_err(|error| Failure::usage(error.to_string()))?;
        }
    }
    let Budget { turns, calls, tokens, cost } = checks.budget;
    checks.budget = Budget {
        turns: args.max_turns.or(turns),
        calls: args.max_calls.or(calls),
        tokens: args.max_tokens.or(tokens),
        cost: args.max_cost.or(cost),
    };
    Ok(checks)
}

/// The spec that an event brings.
fn spec_in(event: &Event) -> Option<&Spec> {
    match &event.kind {
        EventKind::SpecChanged(data) => Some(&data.spec),
        _ => None,
    }
}

fn tell(one: &JudgedCall<'_>, as_json: bool) -> Result<(), Failure> {
    let JudgedCall { call, tool, arguments, then, now, .. } = one;
    if as_json {
        let (now, why) = (now.as_ref().ok(), now.as_ref().err());
        let mut line = json!({"call": call, "tool": tool, "arguments": arguments, "then": then, "now": now});
        if let (Some(why), Some(line)) = (why, line.as_object_mut()) {
            line.insert("why_not".into(), json!(why));
        }
        return out(&line.to_string());
    }
    let said = |verdict: &Verdict| format!("{} by {}", verdict.decision.as_str(), verdict.rule);
    out(&format!("{call} {}: {}", one_line(tool), short(&gist(arguments), 80)))?;
    out(&match now {
        Ok(now) => format!("    then {}, now {}", said(then), said(now)),
        Err(Unjudged::Imported) => format!("    {}", Unjudged::Imported.words()),
        Err(why) => format!("    then {}, now it cannot be judged: {}", said(then), why.words()),
    })
}
