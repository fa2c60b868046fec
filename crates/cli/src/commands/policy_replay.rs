//! `mainpath policy replay`: what the rules of today would have said of the calls of a trace.

use crate::args::rules::RuleArgs;
use crate::exit::{Exit, Failure};
use crate::traces::past;
use crate::ui::out::out;
use crate::ui::text::{gist, plain, short, were};
use clap::Args;
use mainpath::agent::REACHING;
use mainpath::policy::{Breach, Budget, CallFacts, Checks, Folders, Policy, Rules, judge};
use mainpath::sandbox::Launcher;
use mainpath::tools::{Planned, Tools, Workspace};
use mainpath::types::{
    ApprovalGranted, CallId, Destination, EffectClass, Event, EventKind, ModelFinished, Price, RecordedCall, Spec,
    Verdict,
};
use mainpath::types::{Micros, Origin};
use mainpath::{Installation, RuleNames};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

/// One call, judged then and now.
struct Judged<'a> {
    call: CallId,
    tool: &'a str,
    arguments: &'a str,
    from: From<'a>,
    then: &'a Verdict,
    /// `None` where the call can no longer be judged: its tool is gone, or its arguments were erased.
    now: Option<Verdict>,
}

/// Where the words of a call came from.
#[derive(Clone, Copy)]
struct From<'a> {
    origins: &'a [Origin],
    destinations: &'a [Destination],
    /// Whether people named its addresses.
    named: bool,
}

/// `mainpath policy replay`
pub async fn replay(args: PolicyReplayArgs) -> Result<Exit, Failure> {
    let rules = args.rules.read()?;
    let app = Installation::look()?;
    RuleNames::new(&app.logs.home, &app.tools, Path::new("."), None).check(&rules)?;
    let app = app.with_rules(rules);
    let trace = app.logs.find(args.trace.as_deref()).await?;
    let (log, ..) = app.logs.read(&trace).await?;
    let tools = app.tools.clone();
    let (mut spec, mut place): (Option<&Spec>, Option<(Workspace, Arc<Policy>)>) = (None, None);
    let mut judged = Vec::new();
    for event in &log.events {
        let today = spec.zip(place.as_ref());
        let today = today.map(|(spec, (workspace, policy))| Judge { tools: &tools, workspace, policy, spec });
        match &event.kind {
            EventKind::SpecChanged(data) => {
                if spec.is_none_or(|spec| (&spec.workspace, &spec.rules) != (&data.spec.workspace, &data.spec.rules)) {
                    let bad = |error: std::io::Error| Failure::error(format!("{}: {error}", data.spec.workspace));
                    let workspace = Workspace::new(&data.spec.workspace, app.logs.home.protected()).map_err(bad)?;
                    place = Some((
                        workspace,
                        Arc::new(
                            app.sources.load(&data.spec.workspace, &data.spec.rules.clone().with(&app.sources.run))?,
                        ),
                    ));
                }
                spec = Some(&data.spec);
            }
            EventKind::ModelFinished(data) => {
                judged.extend(today.into_iter().flat_map(|judge| judge.answer(data)));
            }
            EventKind::ApprovalGranted(data) => {
                let more = today.and_then(|judge| judge.approval(data, &judged));
                judged.extend(more);
            }
            _ => {}
        }
    }
    let differs = |one: &&Judged<'_>| one.now.as_ref().is_none_or(|now| now.decision != one.then.decision);
    let (all, changed) = (judged.len(), judged.iter().filter(differs).count());
    for one in judged.iter().filter(|one| args.all || differs(one)) {
        tell(one, args.json)?;
    }
    if !args.json {
        out(&format!("{trace}: {} checked; {changed} would be decided differently now", were(all as u64, "call")))?;
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
        return Err(Failure::usage(format!("--max-cost needs the price of {}, which is unknown", plain(model))));
    }
    let known: Vec<String> = tools
        .specs()
        .into_iter()
        .chain(spec.into_iter().flat_map(|spec| spec.tools.clone()))
        .map(|tool| tool.name)
        .collect();
    checks.check_names(known.iter().map(String::as_str)).map_err(Failure::usage)?;
    let calls = past::calls(&log.events, &tools, place.as_ref().map(|(workspace, _)| workspace));
    let breaches = checks.breaches(&calls, &past::runs(&trace, &log.events, &calls, &tools), &folders);
    for Breach { run, call, problem } in &breaches {
        let whose = call.map_or_else(|| format!("run {run}"), |call| format!("call {call}"));
        out(&match args.json {
            true => json!({"breach": {"run": run, "call": call, "problem": problem}}).to_string(),
            false => format!("✗ {whose}: {}", plain(problem)),
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
fn unpriced<'e>(app: &Installation, events: &'e [Event]) -> Option<&'e str> {
    let specs = events.iter().filter_map(|event| match &event.kind {
        EventKind::SpecChanged(data) => Some(&*data.spec),
        _ => None,
    });
    let mut free = specs.filter(|spec| spec.price == Price::default()).map(|spec| spec.model.as_str());
    free.find(|model| app.models.registry().facts(model).price.is_none())
}

/// The checks of the file and of the flags. Errors: what is wrong with them.
fn checks(args: &PolicyReplayArgs, folders: &Folders) -> Result<Checks, Failure> {
    let mut checks = match &args.checks {
        None => Checks::default(),
        Some(file) => {
            let bad = |why: String| Failure::usage(format!("the checks {} cannot be used: {why}", file.display()));
            let text = std::fs::read_to_string(file).map_err(|error| bad(error.to_string()))?;
            Checks::parse(&text, folders).map_err(bad)?
        }
    };
    for pair in args.order.chunks(2) {
        if let [call, after] = pair {
            checks.order(call, after, folders).map_err(Failure::usage)?;
        }
    }
    for pair in args.most.chunks(2) {
        if let [call, most] = pair {
            let bad = |_| Failure::usage(format!("--most {call}: {most:?} is not a number"));
            checks.most(call, most.parse().map_err(bad)?, folders).map_err(Failure::usage)?;
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

/// What the rules of today are asked with.
struct Judge<'a> {
    tools: &'a Tools,
    workspace: &'a Workspace,
    policy: &'a Arc<Policy>,
    spec: &'a Spec,
}

impl Judge<'_> {
    /// What they say of a call; `None` where it can no longer be judged.
    fn say(&self, tool: &str, arguments: &str, from: From<'_>) -> Option<Verdict> {
        let mut facts = match self.tools.plan(tool, arguments, self.workspace) {
            Ok(Planned { facts, .. }) => facts,
            Err(_) => self.of_server(tool, arguments)?,
        };
        let mut allowed_tools: Vec<String> = self.spec.tools.iter().map(|tool| tool.name.clone()).collect();
        if REACHING.contains(&tool) && allowed_tools.iter().any(|allowed| allowed == tool) {
            allowed_tools.push(facts.tool.clone());
        }
        let (mode, access, policy) = (self.spec.mode, self.spec.access, Arc::clone(self.policy));
        let rules = Rules { mode, access, allowed_tools, policy };
        facts.origins = from.origins.iter().copied().chain([Origin::Model]).collect();
        facts.destinations = from.destinations.to_vec();
        facts.named |= from.named;
        facts.confined = Launcher::current_exe().support().can_confine();
        Some(judge(&rules, &facts))
    }

    /// What is known of a call of an MCP server's tool, while the server does not run: its name, its arguments, and the effect that the trace has
    /// on record. `None` for another tool.
    fn of_server(&self, tool: &str, arguments: &str) -> Option<CallFacts> {
        let mut arguments: Value = serde_json::from_str(arguments).ok()?;
        let mut tool = tool.to_string();
        if REACHING.contains(&tool.as_str()) {
            tool = arguments.get("name")?.as_str()?.into();
            arguments = arguments.get("arguments").cloned().unwrap_or_else(|| json!({}));
        }
        if self.tools.resolve(&tool).is_some() || !tool.starts_with("mcp__") {
            return None;
        }
        let known = self.spec.tools.iter().find(|known| known.name == tool);
        let effect = known.map_or(EffectClass::SideEffecting, |known| known.effect);
        Some(CallFacts { tool, effect, arguments, results: Origin::Mcp, ..CallFacts::default() })
    }

    /// The calls of an answer that a rule judged.
    fn answer<'a>(&self, data: &'a ModelFinished) -> Vec<Judged<'a>> {
        let again = |RecordedCall { id: call, written, arguments, planned }: RecordedCall<'a>| {
            let (tool, then) = (written.name, planned.verdict.as_ref()?);
            let named = then.rule == "builtin.named-address";
            let from = From { origins: &planned.origins, destinations: &planned.destinations, named };
            let now = self.say(tool, arguments, from);
            Some(Judged { call, tool, arguments, from, then, now })
        };
        data.calls().filter_map(again).collect()
    }

    /// A call that somebody approved with other arguments than it was judged with.
    fn approval<'a>(&self, data: &'a ApprovalGranted, judged: &[Judged<'a>]) -> Option<Judged<'a>> {
        let (arguments, then) = (data.arguments.as_deref()?, data.verdict.as_ref()?);
        let before = judged.iter().rev().find(|one| one.call == data.call && one.arguments != arguments)?;
        // Whoever wrote the arguments has named what stands in them.
        let now = self.say(before.tool, arguments, From { destinations: &[], named: true, ..before.from });
        Some(Judged { arguments, then, now, ..*before })
    }
}

fn tell(one: &Judged<'_>, as_json: bool) -> Result<(), Failure> {
    let Judged { call, tool, arguments, then, now, .. } = one;
    if as_json {
        let line = json!({"call": call, "tool": tool, "arguments": arguments, "then": then, "now": now});
        return out(&line.to_string());
    }
    let said = |verdict: &Verdict| format!("{} by {}", verdict.decision.as_str(), verdict.rule);
    let now = now.as_ref().map_or("cannot be checked any more".into(), said);
    out(&format!("{call} {}: {}", plain(tool), short(&gist(arguments), 80)))?;
    out(&format!("    then {}, now {now}", said(then)))
}
