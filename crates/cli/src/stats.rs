//! `stats`: what each tool did.

use crate::args::StatsArgs;
use crate::browse::out;
use crate::exit::{Exit, Failure};
use crate::logs::Logs;
use crate::text::{plain, short, span};
use mainpath_runtime::telemetry::{ToolStats, by_tool};
use mainpath_store::Store;
use serde_json::json;
use std::collections::BTreeMap;

/// `mainpath stats`
pub async fn stats(args: StatsArgs) -> Result<Exit, Failure> {
    let logs = Logs::look()?;
    let traces = match (&args.trace, args.all) {
        (None, true) => logs.store.list(&logs.scope).await?.into_iter().map(|entry| entry.trace).collect(),
        (wanted, _) => vec![logs.find(wanted.as_deref()).await?],
    };
    let mut all: BTreeMap<String, ToolStats> = BTreeMap::new();
    for trace in &traces {
        let (log, ..) = logs.read(trace).await?;
        for (tool, stats) in by_tool(&log.events) {
            all.entry(tool).or_default().add(&stats);
        }
    }
    if args.json {
        for (tool, stats) in &all {
            let line = json!({
                "tool": tool, "stats": stats, "success_rate": stats.success_rate(), "mean_ms": stats.mean_ms(),
            });
            out(&line.to_string())?;
        }
        return Ok(Exit::Ok);
    }
    let many = if traces.len() == 1 { String::new() } else { format!(" in {} traces", traces.len()) };
    if all.is_empty() {
        out(&format!("no tool was called{many}"))?;
        return Ok(Exit::Ok);
    }
    out(&format!(
        "{:<28} {:>6} {:>7} {:>7} {:>8} {:>8}  errors{many}",
        "tool", "calls", "success", "denied", "mean", "longest"
    ))?;
    for (tool, stats) in &all {
        let rate = stats.success_rate().map_or("-".into(), |rate| format!("{:.0} %", rate * 100.0));
        let mean = stats.mean_ms().map_or("-".into(), span);
        let longest = if stats.ran > 0 { span(stats.longest_ms) } else { "-".into() };
        let mut notes: Vec<String> = stats.errors.iter().map(|(code, times)| format!("{code} {times}")).collect();
        for (what, times) in
            [("skipped", stats.skipped), ("interrupted", stats.interrupted), ("made again", stats.retries)]
        {
            notes.extend((times > 0).then(|| format!("{what} {times}")));
        }
        let (tool, denied) = (short(&plain(tool), 28), stats.denied);
        let line = format!("{tool:<28} {:>6} {rate:>7} {denied:>7} {mean:>8} {longest:>8}", stats.calls);
        out(format!("{line}  {}", plain(&notes.join(", "))).trim_end())?;
    }
    Ok(Exit::Ok)
}
