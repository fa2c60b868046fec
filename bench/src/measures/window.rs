//! A run that goes on and on in a small window: cuts and summaries by rules come again and again.

use super::{mb, ms, runtime};
use crate::Fail;
use crate::agent::{Agents, text};
use crate::process::{cpu, folder, memory, now};
use crate::server::{Plan, Server};
use crate::stats::median;
use crate::table::Row;
use mainpath_runtime::{Live, Mail};
use mainpath_store::{FilesStore, Options, Scope, Store};
use mainpath_types::{
    Event, EventKind, Limits, MessageMode, MessageQueued, Part, Principal, Spec, SummaryMode, TraceId,
};
use std::hint::black_box;

/// Processor time of a late turn against an early one, and the peak of memory. Each is the mean of many turns, so that the
/// cuts and summaries that fall on them count.
pub fn window(quick: bool) -> Result<Vec<Row>, Fail> {
    let turns: u32 = if quick { 1_500 } else { 6_000 };
    let (early, late, span) = (turns / 10, turns, turns / 20);
    let (server, folder, tokio) = (Server::start()?, folder()?, runtime()?);
    let (times, log) = tokio.block_on(async {
        let agents = Agents::new(folder.path())?;
        let spec = agents.spec(&server, Plan::turns(turns));
        let limits = Limits { summary: SummaryMode::Rules, ..spec.limits.clone() };
        let spec = Spec { context_window: 16_384, reserved_output: 2_048, limits, ..spec };
        let trace: TraceId = "ours-window".parse()?;
        let mut watcher = agents.runtime.watch(&agents.scope, &trace, 1);
        agents.start(spec, "ours-window", 0).await?;
        // After so many turns, the processor time until then.
        let mut times = vec![cpu()];
        loop {
            let Live::Event(event) = watcher.next().await? else { continue };
            match &event.kind {
                EventKind::TurnFinished(_) => times.push(cpu()),
                EventKind::RunFinished(_) => break,
                _ => {}
            }
        }
        agents.rest(&trace).await?;
        let dir = agents.store.trace_dir(&agents.scope.tenant, &trace);
        Ok::<_, Fail>((times, std::fs::metadata(dir.join("events.jsonl"))?.len()))
    })?;
    let peak = memory("VmHWM:");
    let at = |turn: u32| times.get(turn as usize).copied().ok_or(format!("the run had {} turns", times.len()));
    let mean = |end: u32| Ok::<_, Fail>((at(end)? - at(end - span)?) as f64 / f64::from(span));
    let (early, late) = (mean(early + span / 2)?, mean(late - 1)?);
    let ratio = late / early;
    let what = format!("turn {turns} against turn {} in a 16k window, processor time", turns / 10);
    Ok(vec![
        Row::goal(&what, "<= 1.3 x", format!("{ratio:.2} x ({}, {})", ms(early), ms(late)), ratio <= 1.3),
        Row::goal(
            &format!("the same: peak of resident memory, log {}", mb(log)),
            "< 60 MB",
            mb(peak),
            peak < 60_000_000,
        ),
    ])
}

/// A trace with blobs, verified.
pub fn verify(quick: bool) -> Result<Vec<Row>, Fail> {
    let (blobs, size, tries) = (64, 4 << 20, if quick { 3 } else { 9 });
    let (folder, scope, trace) = (folder()?, Scope::local(), "blobs".parse::<TraceId>()?);
    let (took, bytes) = runtime()?.block_on(async {
        let store = FilesStore::open(folder.path(), Options::default())?;
        let mut parts = Vec::new();
        for n in 0..blobs {
            let content = format!("{n} {}", text(size)).into_bytes();
            let bytes = content.len() as u64;
            parts.push(Part::StoredText { hash: store.put_blob(&scope, content).await?, bytes });
        }
        let said = MessageQueued {
            mode: MessageMode::Message,
            parts,
            typed: None,
            tokens: 1,
            demands: 0,
            demanded: Vec::new(),
            from: Principal::local_user(),
        };
        let event = Event { id: 1, ts: 1_795_315_500_000, turn: 0, mail: None, kind: said.into() };
        store.begin(&scope, &trace, vec![event]).await?;
        let (mut took, mut bytes) = (Vec::new(), 0);
        for _ in 0..tries {
            let began = now();
            let report = black_box(store.verify(&scope, &trace).await?);
            took.push((now() - began) as f64);
            bytes = report.blob_bytes;
            if !report.holds() || report.blobs != blobs {
                return Err(format!("the check found {report:?}").into());
            }
        }
        Ok::<_, Fail>((median(&took), bytes))
    })?;
    let rate = bytes as f64 / 1e6 / (took / 1e9);
    let what = format!("verify a trace with {blobs} blobs, {}", mb(bytes));
    Ok(vec![Row::goal(&what, ">= 500 MB/s", format!("{rate:.0} MB/s"), rate >= 500.0)])
}

/// From the word to the first request of a run, after 100 runs of the same conversation, in a process that has not seen it.
pub fn runs(quick: bool) -> Result<Vec<Row>, Fail> {
    let (earlier, tries) = (100, if quick { 3 } else { 9 });
    let (server, folder, tokio) = (Server::start()?, folder()?, runtime()?);
    let took = tokio.block_on(async {
        let trace: TraceId = "ours-runs".parse()?;
        let mut took = Vec::new();
        for n in 0..earlier + tries {
            // Opened anew each time, as `mainpath run -c` does.
            let began = now();
            let agents = Agents::new(folder.path())?;
            if n == 0 {
                let spec = agents.spec(&server, Plan { say: 2_000, ..Plan::turns(0) });
                agents.start(spec, "ours-runs", 0).await?;
            } else {
                let said = Mail::message(format!("question {n}: {}", text(200)));
                agents.runtime.send(&agents.scope, &trace, &said).await?;
                agents.runtime.resume(&agents.scope, &trace);
            }
            agents.rest(&trace).await?;
            let seen = server.seen("ours-runs")?;
            let seen = seen.get("ours-runs").ok_or("no request came")?;
            if n >= earlier {
                took.push(seen.last.checked_sub(began).ok_or("no request came in this run")? as f64);
            }
        }
        Ok::<_, Fail>(median(&took))
    })?;
    let what = "the first request of a run after 100 earlier runs of its session";
    Ok(vec![Row::goal(what, "< 20 ms", ms(took), took < 20e6)])
}
