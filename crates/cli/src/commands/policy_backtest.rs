//! `mainpath policy backtest`: what other rules would have decided otherwise on recorded calls.

use crate::app::App;
use crate::args::past::PastArgs;
use crate::exit::{Exit, Failure};
use crate::runs::rules::read_named;
use crate::ui::junit::{JunitCase, write_junit};
use crate::ui::out::out;
use crate::ui::text::{count, gist, number, one_line, short};
use clap::{Args, ValueEnum};
use mainpath::RuleNames;
use mainpath::backtest::{Backtest, NewRules, RuleChange};
use mainpath::policy::Layer;
use mainpath::rules::GivenRules;
use mainpath::types::{Decision, RunRules};
use serde_json::json;
use std::path::{Path, PathBuf};

/// `mainpath policy backtest`
#[derive(Args, Debug)]
pub struct PolicyBacktestArgs {
    /// The file with the other rules
    pub file: PathBuf,
    /// In the place of which file: your own policy.toml, the project's, the organisation's; or beside all, as with --policy
    #[arg(long = "as", value_enum, default_value_t = LayerArg::User)]
    pub layer: LayerArg,
    #[command(flatten)]
    pub past: PastArgs,
    /// Exit with 6 if there is such a change
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT")]
    pub fail_on: Vec<FailOn>,
    /// Also write the result for a CI system, as JUnit XML: a case for each rule
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// `--as`
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerArg {
    /// Your own policy.toml, beside the configuration
    User,
    /// The .mainpath/policy.toml of each folder, as if you trusted it
    Project,
    /// The organisation's
    Organisation,
    /// None: beside all of them
    Run,
}

/// `--fail-on`
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailOn {
    /// A call was allowed and would not be
    Stricter,
    /// A call was asked about or denied and would pass
    Looser,
    /// A call that a person denied would pass
    AgainstPeople,
    /// A call cannot be judged, or a log cannot be read
    Unjudged,
    /// Any call would be decided otherwise
    Any,
}

/// `mainpath policy backtest`
pub async fn backtest(args: PolicyBacktestArgs) -> Result<Exit, Failure> {
    let Some(text) = read_named(std::slice::from_ref(&args.file))?.pop() else { return Ok(Exit::Ok) };
    let layer = match args.layer {
        LayerArg::User => Some(Layer::User),
        LayerArg::Project => Some(Layer::Project),
        LayerArg::Organisation => Some(Layer::Organisation),
        LayerArg::Run => None,
    };
    let new = match layer {
        Some(layer) => NewRules { file: Some(GivenRules { layer, text }), ..NewRules::default() },
        None => NewRules { run: RunRules { files: vec![text], ..RunRules::default() }, ..NewRules::default() },
    };
    let app = App::look()?;
    warn(&app, &new)?;
    let scope = args.past.scope(&app.logs).await?;
    let logs = app.logs.clone();
    let judging = tokio::task::spawn_blocking(move || app.host.past_judge().backtest(&logs, &new, &scope));
    let found = judging.await.map_err(|error| Failure::error(error.to_string()))??;
    match args.json {
        true => out(&json!(found).to_string())?,
        false => tell(&found)?,
    }
    if let Some(file) = &args.junit {
        write_junit(file, "mainpath policy backtest", &cases(&found, &args.fail_on))?;
    }
    Ok(if args.fail_on.iter().any(|what| what.fails(&found)) { Exit::Denied } else { Exit::Ok })
}

/// Says which of the rules name no tool. Errors: they cannot be read.
fn warn(app: &App, new: &NewRules) -> Result<(), Failure> {
    let sources = match &new.file {
        Some(file) => app.host.sources().clone().with_given(file.clone())?,
        None => app.host.sources().clone(),
    };
    let policy = sources.load(".", &new.run)?;
    let names = RuleNames::new(app.host.home(), app.host.tools(), Path::new("."), None);
    names.warnings(&policy).iter().for_each(|line| eprintln!("! {}", one_line(line)));
    Ok(())
}

impl FailOn {
    fn fails(self, found: &Backtest) -> bool {
        let Backtest { stricter, looser, other, unjudged, unread, .. } = found;
        match self {
            FailOn::Stricter => !stricter.is_empty(),
            FailOn::Looser => !looser.is_empty(),
            FailOn::AgainstPeople => looser.iter().any(|change| change.denied > 0),
            FailOn::Unjudged => !unjudged.is_empty() || !unread.is_empty(),
            FailOn::Any => !(stricter.is_empty() && looser.is_empty() && other.is_empty()),
        }
    }

    /// Whether a change is of this kind.
    fn is_about(self, change: &RuleChange) -> bool {
        match self {
            FailOn::Stricter => change.then == Decision::Allow,
            FailOn::Looser => change.now == Decision::Allow,
            FailOn::AgainstPeople => change.now == Decision::Allow && change.denied > 0,
            FailOn::Unjudged => false,
            FailOn::Any => true,
        }
    }
}

fn tell(found: &Backtest) -> Result<(), Failure> {
    let Backtest { traces, calls, judged, stricter, looser, other, unjudged, unread } = found;
    let lists = [
        ("was allowed and would not be", stricter),
        ("was asked about or denied and would pass", looser),
        ("would be asked about instead of denied, or the other way round", other),
    ];
    for (title, changes) in lists {
        if changes.is_empty() {
            continue;
        }
        let all: usize = changes.iter().map(|change| change.calls).sum();
        out(&format!("{title}: {}", count(all as u64, "call")))?;
        changes.iter().try_for_each(change)?;
    }
    if !unjudged.is_empty() {
        let all: usize = unjudged.iter().map(|calls| calls.calls).sum();
        out(&format!("cannot be judged: {}", count(all as u64, "call")))?;
        for calls in unjudged {
            let (tool, why) = (one_line(&calls.tool), calls.why.words());
            out(&format!("  {tool}: {}, {why} (such as in {})", count(calls.calls as u64, "call"), calls.trace))?;
        }
    }
    for one in unread {
        out(&format!("! {}: {}", one.trace, one_line(&one.problem)))?;
    }
    let same = *judged - [stricter, looser, other].into_iter().flatten().map(|change| change.calls).sum::<usize>();
    let (traces, calls) = (count(*traces as u64, "trace"), count(*calls as u64, "call"));
    out(&format!("{calls} in {traces}; {} judged, {} the same", number(*judged as u64), number(same as u64)))
}

fn change(change: &RuleChange) -> Result<(), Failure> {
    let RuleChange { then, then_rule, now, now_rule, calls, traces, today, approved, denied, examples } = change;
    let people = match (approved, denied) {
        (0, 0) => String::new(),
        (approved, 0) => format!("; people approved {}", number(*approved as u64)),
        (0, denied) => format!("; people denied {}", number(*denied as u64)),
        (approved, denied) => format!("; people approved {approved} and denied {denied}"),
    };
    let today = match today {
        0 => String::new(),
        n if n == calls => "; today's rules already say so".into(),
        n => format!("; today's rules already say so of {}", number(*n as u64)),
    };
    let (then, now) = (then.as_str(), now.as_str());
    let (calls, traces) = (count(*calls as u64, "call"), count(*traces as u64, "trace"));
    out(&one_line(&format!("  {then} by {then_rule} → {now} by {now_rule}: {calls} in {traces}{people}{today}")))?;
    for example in examples {
        let call = short(&gist(&example.arguments), 80);
        out(&one_line(&format!("    {} {} {}: {call}", example.trace, example.call, example.tool)))?;
    }
    Ok(())
}

fn cases(found: &Backtest, fail_on: &[FailOn]) -> Vec<JunitCase> {
    let Backtest { stricter, looser, other, unjudged, unread, .. } = found;
    let changes = [stricter, looser, other].into_iter().flatten().map(|change| {
        let RuleChange { then, then_rule, now, now_rule, calls, .. } = change;
        let (then, now) = (then.as_str(), now.as_str());
        let name = format!("{then} by {then_rule}, {now} by {now_rule}");
        let fails = fail_on.iter().any(|what| what.is_about(change));
        let example = change.examples.first().map(|example| format!("; such as {} {}", example.trace, example.call));
        let problem = || format!("{}{}", count(*calls as u64, "call"), example.unwrap_or_default());
        JunitCase { class: "rules".into(), name, elapsed_ms: None, problem: fails.then(problem) }
    });
    let fails = fail_on.contains(&FailOn::Unjudged);
    let unjudged = unjudged.iter().map(|calls| JunitCase {
        class: "unjudged".into(),
        name: format!("{}: {}", calls.tool, calls.why.words()),
        elapsed_ms: None,
        problem: fails.then(|| count(calls.calls as u64, "call")),
    });
    let unread = unread.iter().map(|one| JunitCase {
        class: "unread".into(),
        name: one.trace.to_string(),
        elapsed_ms: None,
        problem: fails.then(|| one.problem.clone()),
    });
    changes.chain(unjudged).chain(unread).collect()
}
