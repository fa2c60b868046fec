//! Opening a long trace.

use super::runtime;
use crate::Fail;
use crate::life::Life;
use crate::process::{cpu, folder, now};
use crate::stats::{median, quantile};
use crate::table::Row;
use mainpath_core::Machine;
use mainpath_store::{Appended, FilesStore, Options, Scope, Store};
use mainpath_types::TraceId;
use serde_json::Value;
use std::hint::black_box;
use std::path::Path;

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
        for batch in Life::of(events).log(&trace)?.chunks(1_000) {
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
