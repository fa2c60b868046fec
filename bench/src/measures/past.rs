//! Recorded calls: judged by other rules, and found in a great many traces.

use super::ms;
use super::start::{mainpath, spawn};
use crate::Fail;
use crate::agent::spec;
use crate::life::write_log;
use crate::process::{folder, now};
use crate::stats::{least, median};
use crate::table::Row;
use mainpath_core::{Input, InputKind, Machine, Reply};
use mainpath_index::Index;
use mainpath_policy::Predicate;
use mainpath_types::{
    Decision, Event, MessageQueued, Part, PlannedCall, Principal, Spec, ToolSpec, TraceId, Usage, Verdict,
};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

/// Calls as models make them.
const CALLS: [(&str, &str); 4] = [
    ("bash", r#"{"command":"cargo test -p some-crate -- --nocapture 2>&1 | tail -n 20"}"#),
    ("read_text_file", r#"{"path":"src/some/module.rs"}"#),
    ("edit_text_file", r#"{"path":"src/some/module.rs","old":"a","new":"b"}"#),
    ("bash", r#"{"command":"git status --short && git push origin main"}"#),
];

/// A run of so many calls, all of which were denied, so that nothing of them need be made up.
pub(super) fn denied(trace: &TraceId, workspace: &Path, calls: &[(&str, &str)]) -> Result<Vec<Event>, Fail> {
    let mut machine = Machine::new(trace.clone());
    let (mut log, mut at) = (Vec::new(), 1_795_315_500_000);
    let mut offer = |machine: &mut Machine, kind: InputKind| -> Result<(), Fail> {
        at += 317;
        let batch = machine.handle(&Input::new(at, kind))?;
        machine.commit(batch.last().map_or(0, |last| last.id));
        log.extend(batch);
        Ok(())
    };
    let mut names: Vec<&str> = calls.iter().map(|(tool, _)| *tool).collect();
    names.sort_unstable();
    names.dedup();
    let tools = names.into_iter().map(|name| ToolSpec { name: name.into(), ..ToolSpec::default() }).collect();
    let mut of = Spec { workspace: workspace.display().to_string(), tools, ..spec("scripted".into()) };
    of.limits.repeated_failures = None;
    offer(&mut machine, InputKind::SetSpec { spec: Arc::new(of), by: None })?;
    let said = MessageQueued::new(vec![Part::text("Do it.")], 10, Principal::local_user());
    offer(&mut machine, InputKind::UserMessage(said))?;
    for turn in calls.chunks(4) {
        let request = machine.state().model.ok_or("no request is pending")?.request;
        let made = |(tool, arguments): &(&str, &str)| Part::ToolCall {
            name: (*tool).into(),
            arguments: (*arguments).into(),
            signature: None,
        };
        let planned = |(tool, _): &(&str, &str)| PlannedCall {
            tool: Some((*tool).into()),
            verdict: Some(Verdict {
                decision: Decision::Deny,
                rule: "builtin.headless".into(),
                reason: "This changes files. This run is non-interactive.".into(),
            }),
            ..PlannedCall::default()
        };
        let reply = Reply::new(request, turn.iter().map(made).collect(), turn.iter().map(planned).collect());
        let usage = Some(Usage { input: 2_000, output: 40, ..Usage::default() });
        offer(&mut machine, InputKind::ModelFinished(Box::new(Reply { usage, ..reply })))?;
    }
    Ok(log)
}

/// 100,000 recorded calls of 1,000 traces, judged by 104 rules.
pub fn backtest(quick: bool) -> Result<Vec<Row>, Fail> {
    let (traces, tries) = if quick { (100, 2) } else { (1_000, 5) };
    let (place, mainpath) = (folder()?, mainpath()?);
    let (home, work) = (place.path().join("home"), place.path().join("work"));
    std::fs::create_dir_all(work.join("src/some"))?;
    std::fs::write(work.join("src/some/module.rs"), "a\n")?;
    std::fs::write(place.path().join("new.toml"), super::gate::rules())?;
    let calls: Vec<(&str, &str)> = CALLS.iter().copied().cycle().take(100).collect();
    super::runtime()?.block_on(async {
        for n in 0..traces {
            let trace: TraceId = format!("20260101-{n:06}").parse()?;
            write_log(&home, &trace, denied(&trace, &work.canonicalize()?, &calls)?).await?;
        }
        Ok::<_, Fail>(())
    })?;
    let mut took = Vec::new();
    for _ in 0..tries {
        took.push(spawn(&mainpath, &["policy", "backtest", "new.toml", "--json"], place.path())? as f64);
    }
    let verdicts = traces * 100;
    let scaled = median(&took) * 100_000.0 / verdicts as f64;
    Ok(vec![Row::goal(
        &format!("`mainpath policy backtest`, {verdicts} calls of {traces} traces, 104 rules"),
        "< 5 s for 100,000",
        format!("{:.2} s (least {:.2})", median(&took) / 1e9, least(&took) / 1e9),
        scaled < 5e9,
    )])
}

/// What is looked for among the traces of `ls`; a hundred of them deploy.
const PREDICATES: [(&str, bool); 4] = [
    ("tool=bash and args~deploy and cost>0", true),
    ("verdict=deny and error=denied", true),
    ("tool=bash", true),
    ("args~'^.{40,}$'", false),
];

/// Adds a hundred traces that were to deploy.
pub(super) async fn deploying(home: &Path) -> Result<(), Fail> {
    for n in 0..100 {
        let trace: TraceId = format!("20260103-{n:06}").parse()?;
        let log = denied(&trace, home, &[("bash", r#"{"command":"make deploy --to prod"}"#)])?;
        write_log(home, &trace, log).await?;
    }
    Ok(())
}

/// Looks for calls in all traces of an index.
pub(super) fn queries(index: &Index, traces: usize) -> Result<Vec<Row>, Fail> {
    let began = now();
    black_box(index.query(&Predicate::parse(PREDICATES[0].0)?, 50)?);
    let first =
        Row::note("the first query after that, which takes in what texts are looked up by", ms((now() - began) as f64));
    let mut rows = vec![first];
    for (text, by_index) in PREDICATES {
        let predicate = Predicate::parse(text)?;
        let mut took = Vec::new();
        let mut all = 0;
        for _ in 0..10 {
            let began = now();
            all = black_box(index.query(&predicate, 50)?).all;
            took.push((now() - began) as f64);
        }
        let what = format!("query {traces} traces by `{text}`: {all} found");
        rows.push(match by_index {
            true => Row::goal(&what, "< 100 ms", ms(median(&took)), median(&took) < 100e6),
            false => Row::note(&what, ms(median(&took))),
        });
    }
    Ok(rows)
}
