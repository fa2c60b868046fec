//! Checking all that a trace keeps: its log, the blobs that it names, its mailbox.

use crate::error::StoreError;
use crate::line::{Head, HeadHash};
use crate::log::{Scan, Stop, whole, whole_file};
use crate::report::Report;
use mainpath_types::{BlobHash, Event, EventId, MailId, TenantId, TraceId};
use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::path::Path;

/// Checks a log file, and nothing that it names. Errors: the file cannot be read.
pub fn verify_file(path: &Path, tenant: &TenantId, trace: &TraceId) -> Result<Report, StoreError> {
    Ok(report_of(&whole_file(path, tenant, trace)?, &path.display().to_string()))
}

/// Checks a log's bytes; `file` is what to call them in the report.
pub fn verify_bytes(bytes: &[u8], file: &str, tenant: &TenantId, trace: &TraceId) -> Report {
    report_of(&whole(bytes, tenant, trace), file)
}

/// The check of a log alone; `file` is what to call it.
pub(crate) fn report_of(scan: &Scan, file: &str) -> Report {
    let (mut unchecked, mut faults) = (Vec::new(), Vec::new());
    match scan.erased.as_slice() {
        [] => {}
        [one] => unchecked.push(format!("the content of event {}, which was erased", one.what.id)),
        [first, ..] => {
            let (n, first) = (scan.erased.len(), first.what.id);
            unchecked.push(format!("the content of {n} erased events, the first being {first}"));
        }
    }
    let line = scan.last + 1;
    match &scan.stop {
        Some(Stop::Newer { version }) => {
            faults.push(format!(
                "{file}, line {line}: it says log version {version}, which this program cannot read: a newer Mainpath \
                 wrote it, or the line was changed"
            ));
            unchecked.push(format!("line {line} and what follows it"));
        }
        Some(Stop::Damaged { .. }) => unchecked.push(format!("what follows line {line}")),
        None if scan.torn > 0 => unchecked.push(format!("{} bytes of an incomplete last line", scan.torn)),
        None => {}
    }
    let end = "whether whole lines are missing at the end: compare the head with one kept elsewhere";
    unchecked.push(end.into());
    Report {
        events: scan.last,
        head: scan.hash,
        damage: scan.damage(file),
        erased: scan.erased.iter().map(|gone| gone.what.id).collect(),
        left_by: scan.erased.iter().filter_map(|gone| Some((gone.what.id, gone.what.by?))).collect(),
        reworded: scan.erased.iter().filter(|gone| gone.what.reworded).map(|gone| gone.what.id).collect(),
        blobs: 0,
        blob_bytes: 0,
        mail: 0,
        faults,
        unchecked,
    }
}

/// The hashes of the heads of these events. A line counts as far as the chain up to it and the head of the next line hold, the last good
/// one by itself.
pub(crate) fn heads_of(
    mut log: impl BufRead,
    genesis: HeadHash,
    events: &[EventId],
) -> io::Result<Vec<Option<HeadHash>>> {
    let mut found = vec![None; events.len()];
    let newest = events.iter().copied().max().unwrap_or(0);
    let (mut last, mut hash) = (0, genesis);
    let mut line = Vec::new();
    while last < newest {
        line.clear();
        log.read_until(b'\n', &mut line)?;
        let Some(whole) = line.strip_suffix(b"\n") else { break };
        match Head::read(whole) {
            Ok(head) if head.id == last + 1 && head.prev == hash => (last, hash) = (head.id, head.hash(whole)),
            _ => break,
        }
        let wanted = found.iter_mut().zip(events).filter(|(_, event)| **event == last);
        wanted.for_each(|(found, _)| *found = Some(hash));
    }
    Ok(found)
}

/// The blobs that events name, each with the first that does.
pub(crate) fn blobs_of(events: &[Event]) -> BTreeMap<BlobHash, EventId> {
    let mut named = BTreeMap::new();
    for event in events {
        for hash in event.kind.blobs() {
            named.entry(hash).or_insert(event.id);
        }
    }
    named
}

/// The newest mailbox entry that caused an event.
pub(crate) fn last_mail(scan: &Scan) -> MailId {
    let gone = scan.erased.iter().filter_map(|gone| gone.what.mail);
    scan.events.iter().filter_map(|event| event.mail).chain(gone).max().unwrap_or(0)
}
