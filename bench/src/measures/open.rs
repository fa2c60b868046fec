//! Opening a long trace.

use super::runtime;
use crate::Fail;
use crate::agent::{spec, task, text};
use crate::process::{cpu, folder, now};
use crate::stats::{median, quantile};
use crate::table::Row;
use mainpath_core::{Input, InputKind, Machine, Reply, estimate_parts};
use mainpath_store::{Appended, FilesStore, Options, Scope, Store};
use mainpath_types::{
    CallId, Decision, Event, MessageQueued, Part, PlannedCall, Principal, ToolOutput, TraceId, Usage, Verdict,
};
use serde_json::Value;
use std::hint::black_box;
use std::path::Path;

/// A life of so many events, as a machine decides them: asked again and again, it takes some looks, then answers.
pub(super) fn life(trace: &TraceId, events: usize) -> Result<Vec<Event>, Fail> {
    let mut machine = Machine::new(trace.clone());
    let mut log: Vec<Event> = Vec::with_capacity(events);
    let mut at = 1_795_315_500_000;
    let mut offer = |machine: &mut Machine, kind: InputKind| -> Result<usize, Fail> {
        at += 317;
        let batch = machine.handle(&Input::new(at, kind))?;
        if let Some(last) = batch.last() {
            machine.commit(last.id);
        }
        log.extend(batch);
        Ok(log.len())
    };
    offer(&mut machine, InputKind::SetSpec { spec: Box::new(spec("scripted".into())), by: None })?;
    let mut length = 0;
    for question in 0.. {
        let parts = vec![Part::text(task(&format!("q-{question}"), 120 + question % 200))];
        let tokens = estimate_parts(&parts);
        let said = MessageQueued::new(parts, tokens, Principal::local_user());
        offer(&mut machine, InputKind::UserMessage(said))?;
        for turn in 0..=12 {
            let request = machine.state().model.ok_or("no request is pending")?.request;
            let last = turn == 12;
            length = offer(&mut machine, answered(request, if last { 0 } else { 1 + turn % 2 }))?;
            let open: Vec<(CallId, u32)> =
                machine.state().turn_calls().iter().map(|call| (call.id, call.attempt)).collect();
            for (call, attempt) in open {
                let output = ToolOutput::text(text(40 + (length * 37) % 120));
                let tokens = estimate_parts(&output.content);
                length = offer(&mut machine, InputKind::ToolFinished { call, attempt, output, tokens })?;
            }
        }
        if length >= events {
            break;
        }
    }
    log.truncate(events);
    Ok(log)
}

/// An answer with so many calls; the final one if none.
fn answered(request: u32, calls: usize) -> InputKind {
    let call = |n: usize| Part::ToolCall {
        name: "look".into(),
        arguments: format!("{{\"bytes\":{}}}", 100 + n),
        signature: None,
    };
    let mut parts = vec![Part::text(if calls == 0 { text(200) } else { text(20) })];
    parts.extend((0..calls).map(call));
    let verdict =
        Verdict { decision: Decision::Allow, rule: "builtin.read-only".into(), reason: "it changes nothing".into() };
    let planned = PlannedCall { tool: Some("look".into()), verdict: Some(verdict), ..PlannedCall::default() };
    InputKind::ModelFinished(Box::new(Reply {
        usage: Some(Usage { input: 1_000 + u64::from(request) * 20, output: 40, ..Usage::default() }),
        sent: Some(format!("{:064x}", u64::from(request) * 0x9e37_79b9)),
        ..Reply::new(request, parts, vec![planned; calls])
    }))
}

/// The floor: every line parsed as JSON, nothing verified.
fn plainly(path: &Path) -> Result<Vec<Value>, Fail> {
    let text = std::fs::read_to_string(path)?;
    Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

/// Read, verify and apply 100,000 events.
pub fn open(quick: bool) -> Result<Vec<Row>, Fail> {
    let (events, tries) = if quick { (100_000, 7) } else { (100_000, 25) };
    let (folder, scope, trace) = (folder()?, Scope::local(), "long".parse::<TraceId>()?);
    runtime()?.block_on(async {
        let store = FilesStore::open(folder.path(), Options::default())?;
        let opened = store.lease(&scope, &trace, true).await?;
        let mut head = 0;
        for batch in life(&trace, events)?.chunks(1_000) {
            match store.append(&opened.lease, head, batch.to_vec()).await {
                Appended::Committed { head: now } => head = now,
                other => return Err(format!("the log was not written: {other:?}").into()),
            }
        }
        drop(opened);
        let path = store.trace_dir(&scope.tenant, &trace).join("events.jsonl");
        let bytes = std::fs::metadata(&path)?.len();
        let (mut whole, mut reading, mut work, mut floor) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..tries {
            let (began, worked) = (now(), cpu());
            let opened = store.lease(&scope, &trace, false).await?;
            let read = now();
            black_box(Machine::fold(trace.clone(), &opened.log.events));
            whole.push((now() - began) as f64);
            work.push((cpu() - worked) as f64);
            reading.push((read - began) as f64);
            if opened.log.events.len() != events {
                return Err(format!("{} events were read of {events}", opened.log.events.len()).into());
            }
        }
        for _ in 0..tries.min(5) {
            let began = now();
            black_box(plainly(&path)?);
            floor.push((now() - began) as f64);
        }
        let rate = |nanos: f64| events as f64 / (nanos / 1e9);
        let (middle, best) = (rate(median(&whole)), rate(quantile(&whole, 0.1)));
        let what = format!("open a trace of 100,000 events ({} B each)", bytes / events as u64);
        let shares = (median(&reading) / 1e6, (median(&whole) - median(&reading)) / 1e6);
        Ok(vec![
            Row::goal(&what, ">= 600,000/s", format!("{middle:.0}/s"), middle >= 600_000.0)
                .ratio(median(&whole) / median(&floor)),
            Row::note(
                "the same: the best tenth; reading and verifying, applying; processor time per event",
                format!(
                    "{best:.0}/s; {:.0} ms, {:.0} ms; {:.2} us",
                    shares.0,
                    shares.1,
                    median(&work) / events as f64 / 1e3
                ),
            ),
        ])
    })
}
