//! Taking in what changed.

use crate::found::{Found, Stamp};
use crate::names::{self, Names};
use crate::read::{read_or_lost, stamp};
use crate::sum::Sum;
use crate::tables::{self, Writer};
use crate::{Refreshed, Row};
use mainpath_store::files::Mark;
use mainpath_store::{FilesStore, Scope, StoreError};
use mainpath_types::TraceId;
use rusqlite::{Connection, TransactionBehavior};
use std::collections::{BTreeSet, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::Builder;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Why it broke off; nothing was taken in then.
#[derive(Debug)]
pub(crate) enum Failed {
    Sqlite(rusqlite::Error),
    Store(StoreError),
}

impl From<rusqlite::Error> for Failed {
    fn from(error: rusqlite::Error) -> Failed {
        Failed::Sqlite(error)
    }
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Failed {
        Failed::Store(error)
    }
}

/// From so many traces on they are read by two threads.
const MANY: usize = 64;

/// A log of more bytes than this
const LARGE: u64 = 2 << 20;
/// that somebody goes on with is read again only so long after what was last read of it was written: all of it is read each time.
const PAUSE: Duration = Duration::from_secs(5);

/// Whether a log that has grown is left as it is known, for a moment.
fn waits(known: Stamp, is_live: bool) -> bool {
    let Stamp { len, at } = known;
    let at = UNIX_EPOCH + Duration::from_nanos(at.max(0).unsigned_abs());
    is_live && len > LARGE && SystemTime::now().duration_since(at).is_ok_and(|age| age < PAUSE)
}

/// The traces that a refresh reads.
pub(crate) enum Of<'a> {
    /// All that was noted since the last one.
    Noted,
    /// Also these traces.
    Also(&'a [TraceId]),
    /// All traces: nothing is known yet, so there is nothing to compare with.
    All,
}

pub(crate) fn refresh(
    db: &mut Connection,
    store: &FilesStore,
    scope: &Scope,
    of: &Of<'_>,
) -> Result<Refreshed, Failed> {
    let earlier =
        Mark { token: tables::mark(db, "token")?, offset: tables::mark(db, "offset")?.parse().unwrap_or_default() };
    let changed = store.changed_since(scope, &earlier)?;
    let folder = store.folder_time(scope);
    let names_are_known = changed.traces.is_some() && tables::mark(db, "folder")? == folder.to_string();
    // Looked at again, though nobody notes them: what was owned may have been written since, what was begun may be there.
    let mut look: BTreeSet<TraceId> = tables::live(db)?.into_iter().chain(names::awaited(db)?).collect();
    if let Of::Also(traces) = of {
        look.extend(traces.iter().cloned());
    }
    if changed.traces.as_ref().is_some_and(BTreeSet::is_empty) && look.is_empty() && names_are_known {
        return Ok(Refreshed::default());
    }
    let logs = Logs { store, scope };
    std::thread::scope(|threads| {
        // Whoever copies a trace in or away by hand notes nothing; the folder's time tells, and then its names, which take
        // the kernel a while where there are a great many.
        let counted = || Sum::there(store, scope);
        // Where no thread can be started, it is counted here.
        let there = (!names_are_known).then(|| Builder::new().spawn_scoped(threads, counted).map_err(|_| ()));
        let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut refreshed = Refreshed::default();
        let mut known = Names::read(&transaction)?;
        let mut writer = Writer::new(&transaction)?;
        look.extend(match changed.traces {
            Some(traces) => traces,
            None => store.names(scope)?.into_iter().collect(),
        });
        let look = Look { traces: look, empty: matches!(of, Of::All) };
        take_in(&transaction, &mut writer, &mut known, logs, look, &mut refreshed)?;
        if let Some(there) = there {
            let there = match there {
                Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                Err(()) => counted(),
            }?;
            if there != known.all() {
                let differ = compare(&transaction, &mut known, store.names(scope)?)?;
                take_in(
                    &transaction,
                    &mut writer,
                    &mut known,
                    logs,
                    Look { traces: differ, empty: false },
                    &mut refreshed,
                )?;
            }
        }
        drop(writer);
        tables::set_mark(&transaction, "token", &changed.mark.token)?;
        tables::set_mark(&transaction, "offset", &changed.mark.offset.to_string())?;
        tables::set_mark(&transaction, "folder", &folder.to_string())?;
        known.keep(&transaction)?;
        transaction.commit()?;
        // Best now: whoever opens the file next has to read what it has not taken in yet.
        tables::settle_if_long(db)?;
        Ok(refreshed)
    })
}

/// Returns the traces of these rows whose logs are not as they were when they were read, without those that a process owns.
pub(crate) fn changed(db: &Connection, store: &FilesStore, scope: &Scope, rows: &[Row]) -> Vec<TraceId> {
    let is_changed = |row: &&Row| {
        let Ok(Some((known, is_live))) = tables::stamp(db, &row.trace) else { return false };
        let log = store.trace_dir(&scope.tenant, &row.trace).join("events.jsonl");
        let now = std::fs::metadata(log).ok().filter(std::fs::Metadata::is_file).map(|meta| stamp(&meta));
        !is_live && now != Some(known)
    };
    rows.iter().filter(is_changed).map(|row| row.trace.clone()).collect()
}

/// Which names are in the folder and not known, or the other way round. What is known is counted anew.
fn compare(db: &Connection, known: &mut Names, there: Vec<TraceId>) -> Result<BTreeSet<TraceId>, Failed> {
    let listed = tables::all(db)?;
    known.listed = Sum::of(&listed);
    let known: HashSet<TraceId> = listed.into_iter().chain(known.awaited.iter().cloned()).collect();
    let there: HashSet<TraceId> = there.into_iter().collect();
    Ok(known.symmetric_difference(&there).cloned().collect())
}

/// The logs of a tenant.
#[derive(Clone, Copy)]
struct Logs<'a> {
    store: &'a FilesStore,
    scope: &'a Scope,
}

/// What is looked at again.
struct Look {
    traces: BTreeSet<TraceId>,
    /// Nothing is known yet, so there is nothing to compare with.
    empty: bool,
}

/// Reads those of the traces whose logs are not as they were, and removes those that are gone.
fn take_in(
    db: &Connection,
    writer: &mut Writer<'_>,
    names: &mut Names,
    Logs { store, scope }: Logs<'_>,
    look: Look,
    refreshed: &mut Refreshed,
) -> Result<(), Failed> {
    let mut stale = Vec::new();
    for trace in look.traces {
        if look.empty {
            names.awaited.insert(trace.clone());
            stale.push((trace, true));
            continue;
        }
        let known = tables::stamp(db, &trace)?;
        let folder = store.trace_dir(&scope.tenant, &trace);
        let path = folder.join("events.jsonl");
        names.awaited.remove(&trace);
        // What is no file is read by nobody, and its trace is as one without a log.
        match std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file).ok_or(()) {
            // One of its own files is not a file.
            Ok(_) if known.is_some() && store.lost(scope, &trace).is_some() => tables::set_lost(db, &trace)?,
            Ok(meta) if known.is_some_and(|(known, _)| known == stamp(&meta)) => {
                let is_live = known.is_some_and(|(_, live)| live);
                match store.owner(scope, &trace)? {
                    // Its process has noted that it took the trace, and notes nothing of what it writes.
                    Some(_) if !is_live => tables::set_live(db, &trace, true)?,
                    // Nothing was written since it was read.
                    None if is_live && std::fs::metadata(&path).is_ok_and(|again| again.len() == meta.len()) => {
                        tables::set_live(db, &trace, false)?;
                    }
                    _ => {}
                }
            }
            Ok(_)
                if known.is_some_and(|(stamp, is_live)| waits(stamp, is_live))
                    && store.owner(scope, &trace)?.is_some() => {}
            Ok(_) => {
                // Until it has been read.
                if known.is_none() {
                    names.awaited.insert(trace.clone());
                }
                stale.push((trace, known.is_none()));
            }
            Err(_) if store.lost(scope, &trace).is_some() => match known {
                Some(_) => tables::set_lost(db, &trace)?,
                None => {
                    names.awaited.insert(trace.clone());
                    stale.push((trace, true));
                }
            },
            Err(_) if known.is_some() => {
                writer.remove(&trace)?;
                names.listed.toggle(trace.as_str(), false);
                refreshed.gone += 1;
                if folder.symlink_metadata().is_ok() {
                    names.awaited.insert(trace);
                }
            }
            Err(_) if folder.symlink_metadata().is_ok() => drop(names.awaited.insert(trace)),
            Err(_) => {}
        }
    }
    let logs = Logs { store, scope };
    if stale.len() < MANY {
        return one_by_one(logs, &stale, writer, names, refreshed);
    }
    // Two read while this thread writes. What is being read is bounded, whatever there is.
    let next = AtomicUsize::new(0);
    let failed: Mutex<Option<rusqlite::Error>> = Mutex::default();
    let readers = std::thread::scope(|threads| {
        let (found, came) = sync_channel::<(Found, bool)>(64);
        let mut readers = 0;
        for _ in 0..2 {
            let found = found.clone();
            let reads = || {
                let found = found;
                while let Some((trace, is_new)) = stale.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let Some(read) = read_or_lost(store, scope, trace) else { continue };
                    // Nobody takes it any more: the writing has failed.
                    if found.send((read, *is_new)).is_err() {
                        return;
                    }
                }
            };
            readers += usize::from(Builder::new().spawn_scoped(threads, reads).is_ok());
        }
        drop(found);
        for (found, is_new) in came {
            match writer.put(&found, is_new) {
                Ok(()) => {
                    if is_new {
                        names.add(&found.row.trace);
                    }
                    refreshed.read += 1;
                }
                Err(error) => {
                    failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(error);
                    break;
                }
            }
        }
        readers
    });
    if readers == 0 {
        // No thread could be started.
        return one_by_one(logs, &stale, writer, names, refreshed);
    }
    match failed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}

/// Reads these traces, of which some are new, and writes their rows.
fn one_by_one(
    Logs { store, scope }: Logs<'_>,
    stale: &[(TraceId, bool)],
    writer: &mut Writer<'_>,
    names: &mut Names,
    refreshed: &mut Refreshed,
) -> Result<(), Failed> {
    for (trace, is_new) in stale {
        if let Some(found) = read_or_lost(store, scope, trace) {
            writer.put(&found, *is_new)?;
            if *is_new {
                names.add(trace);
            }
            refreshed.read += 1;
        }
    }
    Ok(())
}
