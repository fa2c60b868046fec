//! `stats`: how runs ended, what they took and cost, by tool, by model and by day.

use crate::exit::{Exit, Failure, logs};
use crate::ui::out::out;
use crate::ui::text::{count, money, number, one_line, span};
use clap::Args;
use mainpath::Logs;
use mainpath::listing::refreshed;
use mainpath::runtime::run_stats::{Counts, ModelStats, RunStats, Times, runs};
use mainpath::runtime::telemetry::ToolStats;
use mainpath::store::Store;
use mainpath::types::{FinishReason, Micros, Millis, Spent, format_time};
use mainpath::values::duration;
use mainpath::values::now;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// `mainpath stats`
#[derive(Args, Debug)]
pub struct StatsArgs {
    /// The trace (its id or a unique part of it) [default: the latest]
    pub trace: Option<String>,
    /// All traces together
    #[arg(short, long, conflicts_with = "trace")]
    pub all: bool,
    /// Only runs started in this time, such as 24h or 7d; without a trace: of all traces
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub since: Option<Duration>,
    /// As JSON lines: by tool, model, finish reason and day, then totals
    #[arg(long)]
    pub json: bool,
}

/// What is counted of a number of runs.
#[derive(Default)]
struct Stats {
    traces: usize,
    runs: u64,
    going_on: u64,
    reasons: BTreeMap<FinishReason, u64>,
    counts: Counts,
    days: BTreeMap<String, Day>,
}

/// Of the runs that began on one day, in UTC.
#[derive(Default)]
struct Day {
    runs: u64,
    failed: u64,
    counts: Counts,
}

/// `mainpath stats`
pub async fn stats(args: StatsArgs) -> Result<Exit, Failure> {
    let logs = logs()?;
    let since =
        args.since.map_or(0, |time| now().saturating_sub(Millis::try_from(time.as_millis()).unwrap_or(Millis::MAX)));
    let of_all = args.all || args.since.is_some() && args.trace.is_none();
    let (runs, traces) =
        if of_all { all(&logs, since).await? } else { of_one(&logs, args.trace.as_deref(), since).await? };
    let stats = Stats::of(&runs, traces);
    match args.json {
        true => stats.lines().iter().try_for_each(|line| out(&line.to_string()))?,
        false => stats.table(of_all, since)?,
    }
    Ok(Exit::Ok)
}

async fn of_one(logs: &Logs, wanted: Option<&str>, since: Millis) -> Result<(Vec<RunStats>, usize), Failure> {
    let trace = logs.find_anywhere(wanted).await?;
    let (log, ..) = logs.read(&trace).await?;
    let mut runs = runs(&trace, &log.events);
    runs.retain(|run| run.began >= since);
    Ok((runs, 1))
}

/// From the index. It is only a cache: without it every log is read.
async fn all(logs: &Logs, since: Millis) -> Result<(Vec<RunStats>, usize), Failure> {
    if let Ok(found) = refreshed(logs).and_then(|index| index.runs(since)) {
        return Ok(found);
    }
    let (mut found, mut traces) = (Vec::new(), 0);
    for entry in logs.store.list(&logs.scope).await? {
        let (log, ..) = logs.read(&entry.trace).await?;
        let before = found.len();
        found.extend(runs(&entry.trace, &log.events).into_iter().filter(|run| run.began >= since));
        traces += usize::from(found.len() > before);
    }
    Ok((found, traces))
}

impl Stats {
    fn of(runs: &[RunStats], traces: usize) -> Stats {
        let mut stats = Stats { traces, ..Stats::default() };
        for run in runs {
            let day = stats.days.entry(format_time(run.began).chars().take(10).collect()).or_default();
            stats.runs += 1;
            day.runs += 1;
            match run.reason {
                Some(reason) => *stats.reasons.entry(reason).or_default() += 1,
                None => stats.going_on += 1,
            }
            day.failed += u64::from(run.reason.is_some_and(is_failure));
            day.counts.add(&run.counts);
            stats.counts.add(&run.counts);
        }
        stats
    }

    /// How many runs ended, and how many of them without an answer, though nobody stopped them.
    fn ended(&self) -> (u64, u64) {
        let failed = self.days.values().map(|day| day.failed).sum();
        (self.runs - self.going_on, failed)
    }

    fn lines(&self) -> Vec<Value> {
        let Stats { traces, runs, going_on, reasons, counts, days } = self;
        let tool = |(tool, stats): (&String, &ToolStats)| json!({"tool": tool, "stats": stats, "success_rate": stats.success_rate(), "mean_ms": stats.mean_ms()});
        let model = |(model, stats): (&String, &ModelStats)| {
            json!({
                "model": model, "stats": stats, "failure_rate": rate(stats.failures(), stats.requests),
                "mean_ms": stats.answers.mean_ms(), "cost": decimal(stats.cost),
            })
        };
        let day = |(day, Day { runs, failed, counts }): (&String, &Day)| {
            let Spent { usage, cost, about } = counts.spent();
            json!({
                "day": day, "runs": runs, "failed": failed, "turns": counts.turns, "ms": counts.ms, "usage": usage,
                "cost_micros": cost, "cost": decimal(cost), "about": about,
            })
        };
        let ((ended, failed), Spent { usage, cost, about }) = (self.ended(), counts.spent());
        let total = json!({"total": {
            "traces": traces, "runs": runs, "going_on": going_on, "ended": ended, "failed": failed,
            "failure_rate": rate(failed, ended), "finish_reasons": reasons, "turns": counts.turns,
            "mean_turn_ms": counts.turns.mean_ms(), "ms": counts.ms, "usage": usage, "cost_micros": cost,
            "cost": decimal(cost), "about": about,
        }});
        let reasons = reasons.iter().map(|(reason, runs)| json!({"finish_reason": reason, "runs": runs}));
        let mut lines: Vec<Value> = counts.tools.iter().map(tool).collect();
        lines.extend(counts.models.iter().map(model).chain(reasons).chain(days.iter().map(day)));
        lines.push(total);
        lines
    }

    fn table(&self, of_all: bool, since: Millis) -> Result<(), Failure> {
        let many = if of_all { format!(" in {}", count(self.traces as u64, "trace")) } else { String::new() };
        match self.counts.tools.is_empty() {
            true => out(&format!("no tool calls{many}"))?,
            false => {
                let (success, denied) = ("success", "denied");
                out(&format!(
                    "{:<28} {:>6} {success:>7} {denied:>7} {:>8} {:>8}  errors{many}",
                    "tool", "calls", "mean", "longest"
                ))?;
            }
        }
        self.counts.tools.iter().try_for_each(|(tool, stats)| out(&of_tool(tool, stats)))?;
        if self.runs == 0 {
            let after = if since > 0 { format!(" since {}", format_time(since)) } else { String::new() };
            return out(&format!("\nno runs{after}"));
        }
        if !self.counts.models.is_empty() {
            let head = ["requests", "failed", "mean", "longest", "tokens in", "out", "cost"];
            out(&format!("\n{:<28} {}", "model", columns(head.map(String::from))))?;
        }
        for (model, stats) in &self.counts.models {
            let failed = percent(stats.failures(), stats.requests);
            let (mean, longest) = times(&stats.answers);
            let [input, output, cost] = used(stats.spent());
            let cells = columns([number(stats.requests), failed, mean, longest, input, output, cost]);
            out(&format!("{} {cells}", named(model)))?;
        }
        if self.days.len() > 1 {
            let head = ["runs", "failed", "a turn", "worked", "tokens in", "out", "cost"];
            out(&format!("\n{:<28} {}", "day (UTC)", columns(head.map(String::from))))?;
            for (day, Day { runs, failed, counts }) in &self.days {
                let ([input, output, cost], (mean, _)) = (used(counts.spent()), times(&counts.turns));
                let cells = [number(*runs), percent(*failed, *runs), mean, span(counts.ms), input, output, cost];
                out(&format!("{day:<28} {}", columns(cells)))?;
            }
        }
        let (ended, failed) = self.ended();
        let mut reasons: Vec<String> =
            self.reasons.iter().map(|(reason, runs)| format!("{} {}", reason.words(), number(*runs))).collect();
        reasons.extend((self.going_on > 0).then(|| format!("not ended {}", number(self.going_on))));
        out(&format!("\n{}: {}; {} failed", count(self.runs, "run"), reasons.join(", "), percent(failed, ended)))?;
        let (mean, longest) = times(&self.counts.turns);
        let turns = count(self.counts.turns.count, "turn");
        out(&format!("{turns}, {mean} each, the longest {longest}; {} of work", span(self.counts.ms)))?;
        let estimated = if self.counts.spent().about { "; ~ marks estimates" } else { "" };
        out(&format!("tokens {}{estimated}", crate::ui::text::spent(self.counts.spent())))
    }
}

/// Whether a run came to no answer by itself: neither the model's answer nor somebody who stopped it.
fn is_failure(reason: FinishReason) -> bool {
    !matches!(reason, FinishReason::Final | FinishReason::Stopped)
}

fn of_tool(tool: &str, stats: &ToolStats) -> String {
    let rate = stats.success_rate().map_or("-".into(), |rate| format!("{:.0} %", rate * 100.0));
    let mean = stats.mean_ms().map_or("-".into(), span);
    let longest = if stats.ran > 0 { span(stats.longest_ms) } else { "-".into() };
    let mut notes: Vec<String> = stats.errors.iter().map(|(code, times)| format!("{code} {times}")).collect();
    for (what, times) in [("skipped", stats.skipped), ("interrupted", stats.interrupted), ("made again", stats.retries)]
    {
        notes.extend((times > 0).then(|| format!("{what} {times}")));
    }
    let (tool, denied) = (named(tool), stats.denied);
    let line = format!("{tool} {:>6} {rate:>7} {denied:>7} {mean:>8} {longest:>8}", stats.calls);
    format!("{line}  {}", one_line(&notes.join(", "))).trim_end().into()
}

/// A name in its column. One that is longer has a line to itself: cut, two could look the same.
fn named(name: &str) -> String {
    let name = one_line(name);
    match name.chars().count() {
        ..=28 => format!("{name:<28}"),
        _ => format!("{name}\n{:<28}", ""),
    }
}

/// Tokens in, tokens out and cost, each with a `~` where nobody has counted some of it; no cost where no price is known.
fn used(Spent { usage, cost, about }: Spent) -> [String; 3] {
    let mark = if about { "~" } else { "" };
    let [input, output, price] =
        [number(usage.input), number(usage.output), money(cost)].map(|cell| format!("{mark}{cell}"));
    [input, output, if cost == 0 { "-".into() } else { price }]
}

fn columns(cells: [String; 7]) -> String {
    let [a, b, c, d, e, f, g] = cells;
    format!("{a:>8} {b:>7} {c:>8} {d:>8} {e:>12} {f:>10} {g:>10}")
}

fn times(times: &Times) -> (String, String) {
    match times.mean_ms() {
        None => ("-".into(), "-".into()),
        Some(mean) => (span(mean), span(times.longest_ms)),
    }
}

fn percent(some: u64, all: u64) -> String {
    rate(some, all).map_or("-".into(), |rate| format!("{:.0} %", rate * 100.0))
}

/// From 0 to 1; `None` of nothing.
fn rate(some: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| some as f64 / all as f64)
}

/// Micro-units as an exact decimal number, as text.
fn decimal(cost: Micros) -> String {
    format!("{}.{:06}", cost / 1_000_000, cost % 1_000_000)
}
