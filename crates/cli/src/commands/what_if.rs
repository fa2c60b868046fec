//! `fork --what-if`: a run decided again from a message on, with something changed, and what came of it beside the original.

use crate::app::App;
use crate::args::agent::AgentArgs;
use crate::exit::{Exit, Failure};
use crate::runs::rules::use_rules;
use crate::runs::signals::{stop_at_signals, stopped};
use crate::ui::beside::side_by_side;
use crate::ui::out::out;
use crate::ui::text::{count, money, number, one_line, range, short};
use clap::Args;
use mainpath::agent::ModeFor;
use mainpath::intervals::Spread;
use mainpath::skills::preloads;
use mainpath::types::{FinishReason, Micros, Seq, TraceId};
use mainpath::what_if::{LaneFigures, RepeatedOutcome, StopWork, WhatIf, WhatIfOutcome, spec_at};
use serde_json::json;
use std::sync::Arc;

/// The width of the names of figures.
const NAMES: usize = 12;
/// The width of a figure.
const FIGURE: usize = 30;

/// How a run is decided again.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct WhatIfArgs {
    /// Decide the run again from the message on [default: its beginning] with what the other options change: from the log up to the first
    /// difference, then in a copy of the folder as it was; and compare
    #[arg(long, conflicts_with_all = ["no_run", "task", "output", "files", "dry_run"])]
    pub what_if: bool,
    /// With --what-if: calls may reach others (a network, servers, people, other agents)
    #[arg(long, requires = "what_if")]
    pub live: bool,
    /// With --what-if: do it so many times
    #[arg(long, value_name = "N", requires = "what_if", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub times: Option<u32>,
}

/// `mainpath fork --what-if`
pub async fn what_if(
    app: &App,
    from: &TraceId,
    at: Seq,
    how: WhatIfArgs,
    agent: &AgentArgs,
    as_json: bool,
) -> Result<Exit, Failure> {
    let (log, state, bodies) = app.logs.read(from).await?;
    let reached = app.logs.of(from, &log, &state, &bodies).reached(at)?;
    let begun = log.events.iter().take_while(|event| event.id <= reached || at == Seq(0) && event.turn == 0);
    let old = spec_at(&log.events, begun.last().map_or(0, |event| event.id))?;
    if let Some(model) = &agent.model {
        app.host.prepare_model(model).await?;
    }
    let rules = old.rules.clone().with(&app.host.sources().run);
    let policy = Arc::new(app.host.sources().load(&old.workspace, &rules)?);
    use_rules(app, &old.workspace, &rules, &policy, as_json);
    let mode = ModeFor { mode: old.mode, run: old.mode_for };
    let spec = app.host.changed(old, &agent.options()?, &policy, mode)?.unwrap_or_else(|| old.clone());
    let skills = if agent.skill.is_empty() { Vec::new() } else { preloads(&spec, app.host.skills())? };
    let stop = StopWork::default();
    stop_at_signals(&stop)?;
    let what = WhatIf { at, spec, skills, live: how.live, yes: agent.yes, stop };
    let mut outcomes = Vec::new();
    for _ in 0..how.times.unwrap_or(1) {
        let outcome = app.host.what_if(from, &what).await.map_err(|error| stopped(error, &what.stop))?;
        if !as_json && outcomes.is_empty() {
            tell(&outcome)?;
        }
        let is_same = outcome.trace.is_none();
        outcomes.push(outcome);
        if is_same {
            // Offline it comes out the same every time.
            break;
        }
    }
    let is_whole = outcomes.iter().all(|outcome| outcome.problem.is_none());
    match how.times {
        None if as_json => out(&json!(outcomes.first()).to_string())?,
        None => {}
        Some(_) => {
            let repeated = RepeatedOutcome::of(outcomes);
            match as_json {
                true => out(&json!(repeated).to_string())?,
                false if repeated.outcomes.len() > 1 => tell_all(&repeated)?,
                false => {}
            }
        }
    }
    Ok(if is_whole { Exit::Ok } else { Exit::Error })
}

fn tell(outcome: &WhatIfOutcome) -> Result<(), Failure> {
    let WhatIfOutcome { difference, served, common, trace, folder, not_restored, refused, original, again, .. } =
        outcome;
    let steps = count(u64::from(*served), "step");
    let Some(trace) = trace else {
        let rest = outcome.until.map_or(String::new(), |until| {
            format!("; from message {until} on another agent went on: --at {until} decides that again")
        });
        out(&format!("no difference: {steps} from the log, hash {common}; nothing was asked and nothing ran{rest}"))?;
        return Ok(());
    };
    out(&format!("{steps} in common, from the log, hash {common}"))?;
    match difference {
        Some(difference) => {
            out(&format!("first difference: step {}: {}", difference.step, one_line(&difference.what)))?;
            side_by_side(["original", "again"], &difference.recorded, &difference.played)?;
        }
        None => out("it was asked again, and came out the same")?,
    }
    let none = || "-".to_owned();
    let words = |lane: &LaneFigures| lane.reason.map_or_else(none, |reason| reason.words().to_string());
    let verdicts = |lane: &LaneFigures| {
        let words: Vec<String> = lane.verdicts.iter().map(|(verdict, count)| format!("{verdict} {count}")).collect();
        if words.is_empty() { none() } else { words.join(", ") }
    };
    let files = |lane: &LaneFigures| match lane.files.len() {
        0 => none(),
        _ => lane.files.iter().cloned().collect::<Vec<_>>().join(", "),
    };
    let cost = |lane: &LaneFigures| if lane.cost == 0 { none() } else { money(lane.cost) };
    out(&format!("\n{:NAMES$}{:FIGURE$}  {}", "", "original", "again"))?;
    let row = |name: &str, of: &dyn Fn(&LaneFigures) -> String| {
        let figure = |lane: &LaneFigures| short(&one_line(&of(lane)), FIGURE);
        out(format!("{name:NAMES$}{:FIGURE$}  {}", figure(original), figure(again)).trim_end())
    };
    row("finish", &words)?;
    row("turns", &|lane| number(lane.turns.into()))?;
    row("calls", &|lane| number(lane.calls.into()))?;
    row("tokens", &|lane| number(lane.tokens))?;
    row("cost", &cost)?;
    row("verdicts", &verdicts)?;
    row("files", &files)?;
    row("answer", &|lane| lane.answer.clone())?;
    if let Some(until) = outcome.until {
        out(&format!("\nfrom message {until} on another agent went on: --at {until} decides that again"))?;
    }
    if *refused > 0 {
        out(&format!("\n{} refused, as they reach out of the copy", count(u64::from(*refused), "call")))?;
    }
    if let Some(problem) = &outcome.problem {
        eprintln!("! it came to no end of its own: {}", one_line(problem));
    }
    for line in not_restored {
        eprintln!("! not as it was in the copy: {}", one_line(line));
    }
    let folder = folder.as_ref().map(|folder| folder.display().to_string()).unwrap_or_default();
    eprintln!("trace {trace}; it worked in {folder}");
    Ok(())
}

/// How often each end came, and the figures from the least to the most, each with its interval.
fn tell_all(repeated: &RepeatedOutcome) -> Result<(), Failure> {
    let word = |end: &str| {
        let reason: Option<FinishReason> = serde_json::from_value(json!(end)).ok();
        reason.map_or_else(|| "not ended".to_owned(), |reason| reason.words().to_string())
    };
    let ends = repeated
        .ends
        .iter()
        .map(|(end, share)| format!("{} {} ({})", word(end), share.share.passed, range(share.interval)));
    out(&format!("\n{} times: {}", repeated.outcomes.len(), ends.collect::<Vec<_>>().join(", ")))?;
    let row = |name: &str, of: &Spread, word: &dyn Fn(f64) -> String| {
        let sure = of.interval.map(|is| format!(" (95 %: {} to {})", word(is.low.max(0.0)), word(is.high)));
        let (least, most, mean) = (word(of.least), word(of.most), word(of.mean));
        out(&format!("{name:NAMES$}{least} to {most}, {mean} on average{}", sure.unwrap_or_default()))
    };
    let plain = |value: f64| if value.fract() == 0.0 { number(value as u64) } else { format!("{value:.1}") };
    let whole = |value: f64| number(value.round() as u64);
    row("turns", &repeated.turns, &plain)?;
    row("calls", &repeated.calls, &plain)?;
    row("tokens", &repeated.tokens, &whole)?;
    // Where no price is known it is not known to be nothing.
    match repeated.cost.most > 0.0 {
        true => row("cost", &repeated.cost, &|value| money(value.round() as Micros)),
        false => out(&format!("{:NAMES$}-", "cost")),
    }
}
