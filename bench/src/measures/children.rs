//! Agents that an agent starts: what one costs, and many at once. Model and runtime are one process here: a script answers.

use super::{mb, ms, runtime};
use crate::Fail;
use crate::agent::{Agents, spec};
use crate::process::{folder, memory, now, open_files};
use crate::stats::median;
use crate::table::Row;
use mainpath_tools::{AgentTool, Tools};
use mainpath_types::{ApprovalMode, ChildLimits, EventKind, Limits, Spec};
use std::fmt::Write;
use std::path::Path;

/// Tasks of one call.
const TASKS: usize = 50;

/// A script whose parent makes so many turns with a call of `look`, or hands on a task in each.
fn one_by_one(turns: usize, hands_on: bool) -> String {
    let call = match hands_on {
        true => r#"{ tool = "agent", args = { task = "Say it." } }"#,
        false => r#"{ tool = "look", args = { bytes = 100 } }"#,
    };
    let mut script = String::from("[[turn]]\nwhen = \"Say it.\"\nfinal = \"Said.\"\n");
    for _ in 0..turns {
        let _ = write!(script, "[[turn]]\ncalls = [{call}]\n");
    }
    script + "[[turn]]\nfinal = \"Done.\"\n"
}

/// A script whose parent has so many agents look at once.
fn at_once(agents: usize) -> String {
    let tasks = vec!["\"Say it.\""; TASKS].join(", ");
    let call = format!(r#"{{ tool = "agent", args = {{ task = [{tasks}] }} }}"#);
    let calls = vec![call; agents / TASKS].join(", ");
    format!(
        "[[turn]]\nwhen = \"Say it.\"\nfinal = \"Said.\"\n[[turn]]\ncalls = [{calls}]\n[[turn]]\nfinal = \"Done.\"\n"
    )
}

async fn run(folder: &Path, script: &str, name: &str) -> Result<u64, Fail> {
    let file = folder.join(format!("{name}.toml"));
    std::fs::write(&file, script)?;
    let agents = Agents::new(folder)?;
    let tools = Tools::new().with(AgentTool::default());
    let children = ChildLimits { depth: 1, at_once: u16::MAX, in_all: u16::MAX };
    let basis = spec(format!("scripted:{}", file.display()));
    let spec = Spec {
        workspace: folder.join("work").display().to_string(),
        tools: basis.tools.iter().cloned().chain(tools.specs()).collect(),
        limits: Limits { children, ..Limits::default() },
        mode: ApprovalMode::Yes,
        ..basis
    };
    let began = now();
    let trace = agents.run(spec, name).await?;
    let took = now() - began;
    let log = mainpath_store::Store::read(&*agents.store, &agents.scope, &trace, 1).await?;
    let ended = log.events.iter().any(|event| matches!(&event.kind, EventKind::RunFinished(end) if end.turns > 1));
    if ended { Ok(took) } else { Err(format!("{name} did not end as it should").into()) }
}

/// A delegate with a child of one turn against a turn of its own; the peak with many children at once.
pub fn children(quick: bool) -> Result<Vec<Row>, Fail> {
    open_files();
    let (turns, tries, many) = if quick { (20, 3, 100) } else { (100, 15, 500) };
    let (place, tokio) = (folder()?, runtime()?);
    let (mut own, mut handed) = (Vec::new(), Vec::new());
    // By turns: a disk is not as fast at one time as at another.
    for n in 0..tries {
        let (alone, delegating) = (one_by_one(turns, false), one_by_one(turns, true));
        own.push(tokio.block_on(run(place.path(), &alone, &format!("own-{n}")))? as f64);
        handed.push(tokio.block_on(run(place.path(), &delegating, &format!("handed-{n}")))? as f64);
    }
    let (own, handed) = (median(&own), median(&handed));
    let all = tokio.block_on(run(place.path(), &at_once(many), "many"))?;
    let peak = memory("VmHWM:");
    let (turn, delegate) = (own / turns as f64, handed / turns as f64);
    // Of a delegate, one turn is its parent's, and one its child's.
    let start = (delegate - 2.0 * turn).max(0.0);
    let ratio = delegate / turn;
    let what = format!("{many} children of one root at once");
    Ok(vec![
        Row::note("a turn with a call, scripted model: wall", ms(turn)),
        Row::goal("a delegate with a child of one turn", "< 3 turns", format!("{ratio:.2} turns"), ratio < 3.0),
        Row::goal("a child's start beyond the two turns", "< 2 ms", ms(start), start < 2e6),
        Row::note(&format!("{what}: wall"), format!("{:.2} s", all as f64 / 1e9)),
        Row::goal(&format!("{what}: peak of resident memory"), "< 400 MB", mb(peak), peak < 400_000_000),
    ])
}
