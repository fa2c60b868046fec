//! A great many traces in a list, and a session of a great many turns.

use super::past::{deploying, queries};
use super::start::{mainpath, spawn};
use super::{ms, runtime};
use crate::Fail;
use crate::agent::{spec, text};
use crate::life::{Life, write_log};
use crate::process::{folder, now};
use crate::stats::{least, median};
use crate::table::Row;
use mainpath_index::Index;
use mainpath_providers::history::Loose;
use mainpath_runtime::Vault;
use mainpath_sessions::{Around, FilePlace, Session, Sessions, persist, prepare};
use mainpath_store::scheduler::system_clock;
use mainpath_store::{FilesStore, Options, Scope, Store};
use mainpath_types::TraceId;
use serde_json::{Value, json};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

/// Writes the logs of so many small traces, each of one question, two looks and an answer or so.
pub(super) async fn many(home: &Path, traces: usize) -> Result<(), Fail> {
    let one = Life::of(24).log(&"t".parse()?)?;
    for n in 0..traces {
        let trace: TraceId = format!("20260101-{n:06}").parse()?;
        write_log(home, &trace, one.clone()).await?;
    }
    Ok(())
}

/// `ls` with 100,000 traces, and the index behind it.
pub fn list(quick: bool) -> Result<Vec<Row>, Fail> {
    let (traces, tries) = if quick { (10_000, 10) } else { (100_000, 20) };
    let (place, mainpath) = (folder()?, mainpath()?);
    let home = place.path().join("home");
    let (rate, size, unchanged, changed, found) = runtime()?.block_on(async {
        let store = Arc::new(FilesStore::open(&home, Options::default())?);
        let scope = Scope::local();
        many(&home, traces).await?;
        let began = now();
        let mut index = Index::open(&store, &scope)?;
        let read = index.rebuild()?.read;
        let rate = read as f64 / ((now() - began) as f64 / 1e9);
        if read != traces {
            return Err(format!("{read} traces were read of {traces}").into());
        }
        deploying(&home).await?;
        index.refresh()?;
        let found = queries(&index, traces)?;
        drop(index);
        let size = std::fs::metadata(home.join("index.sqlite"))?.len() / traces as u64;
        let ls = || spawn(&mainpath, &["ls"], place.path()).map(|took| took as f64);
        ls()?;
        let (mut unchanged, mut changed) = (Vec::new(), Vec::new());
        for n in 0..tries {
            unchanged.push(ls()?);
            // Somebody works in another trace meanwhile.
            let trace: TraceId = format!("20260102-{n:06}").parse()?;
            let opened = store.lease(&scope, &trace, true).await?;
            let appended = store.append(&opened.lease, 0, Life::of(24).log(&trace)?).await;
            black_box(&appended);
            drop(opened);
            changed.push(ls()?);
        }
        Ok::<_, Fail>((rate, size, unchanged, changed, found))
    })?;
    let both = |values: &[f64]| format!("{} (least {})", ms(median(values)), ms(least(values)));
    let rows = vec![
        Row::goal(
            &format!("`mainpath ls` with {traces} traces, one of them new"),
            "< 50 ms",
            both(&changed),
            median(&changed) < 50e6,
        ),
        Row::note("the same when nothing changed", both(&unchanged)),
        Row::goal(
            &format!("`mainpath index rebuild`, {traces} traces of 24 events"),
            ">= 5,000/s",
            format!("{rate:.0}/s"),
            rate >= 5_000.0,
        ),
        Row::note("the index, each trace", format!("{size} B")),
    ];
    Ok(rows.into_iter().chain(found).collect())
}

/// A session of 10,000 turns, prepared for another system.
pub fn session(quick: bool) -> Result<Vec<Row>, Fail> {
    let (turns, tries) = (10_000, if quick { 5 } else { 30 });
    let place = folder()?;
    let (window, all, anew) = runtime()?.block_on(async {
        let store = FilesStore::open(place.path(), Options::default())?;
        let (scope, vault) = (Scope::local(), Vault::new([]));
        let folder = place.path().join("sessions");
        let (sessions, files) = (Sessions::new(folder.clone()), FilePlace::new(folder.clone()));
        let around = Around {
            store: &store,
            scope: &scope,
            vault: &vault,
            sessions: &sessions,
            place: &files,
            now: system_clock(),
        };
        let said = |role: &str, n: usize| json!({"role": role, "content": format!("{n}: {}", text(100 + n % 300))});
        let messages: Value = (0..turns).flat_map(|n| [said("user", n), said("assistant", n)]).collect();
        let mut session = Session::new("long", 20, None, around.now);
        let begin = || {
            Ok((
                "long".parse().map_err(|_| mainpath_sessions::SessionError::BadName("long".into()))?,
                spec("scripted".into()),
            ))
        };
        let messages = Loose::read(None, &messages.to_string())?;
        persist(&around, &mut session, messages, "a measure", begin).await?;
        let (mut window, mut all, mut anew) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..tries {
            let began = now();
            let prepared = black_box(prepare(&around, &session).await?);
            window.push((now() - began) as f64);
            if prepared.messages.len() != 20 || !prepared.mirrored {
                return Err(format!("{} messages were prepared", prepared.messages.len()).into());
            }
            let whole = Session { window: 0, ..session.clone() };
            let began = now();
            let prepared = black_box(prepare(&around, &whole).await?);
            all.push((now() - began) as f64);
            if prepared.messages.len() != 2 * turns {
                return Err(format!("{} messages were prepared", prepared.messages.len()).into());
            }
            std::fs::remove_file(folder.join("long.messages.jsonl"))?;
            let began = now();
            black_box(prepare(&around, &session).await?);
            anew.push((now() - began) as f64);
        }
        Ok::<_, Fail>((window, all, anew))
    })?;
    let what = "prepare a session of 10,000 turns: its last 20 messages";
    Ok(vec![
        Row::goal(what, "< 20 ms", ms(median(&window)), median(&window) < 20e6),
        Row::note(
            "the same: all 20,000 messages; the mirror gone",
            format!("{}; {}", ms(median(&all)), ms(median(&anew))),
        ),
    ])
}
