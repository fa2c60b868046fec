//! Checking a trace: its log, the blobs that it names, its mailbox.

use super::blobs;
use super::layout::Layout;
use super::mailbox;
use super::record::Record;
use crate::line::HeadHash;
use crate::log;
use crate::regular::open_regular;
use crate::report::Report;
use crate::store::StoreError;
use crate::verify::{blobs_of, heads_of, last_mail, report_of};
use mainpath_types::{EventId, TenantId, TraceId};
use std::io::BufReader;

/// See [`Store::verify`](crate::Store::verify).
pub(crate) fn verify(layout: &Layout, tenant: &TenantId, trace: &TraceId) -> Result<Report, StoreError> {
    let path = layout.existing_log(tenant, trace)?;
    // Before the log: while somebody writes, it only grows.
    let owner = Record::of(&layout.trace(tenant, trace));
    let scan = log::whole_file(&path, tenant, trace)?;
    let mut report = report_of(&scan, &path.display().to_string());
    report.look_at_blobs(&blobs_of(&scan.events), |hash| blobs::check(layout, tenant, hash));
    if report.damage.is_none() && owner.head == report.events && !owner.hash.is_empty() {
        if owner.hash != report.head.to_string() {
            let line = report.events;
            let problem = "its head is not what its writer noted of it in owner.lock: one of the two was changed";
            report.faults.push(format!("{}, line {line}: {problem}", path.display()));
        }
    } else if report.damage.is_none() && owner.head > report.events {
        let problem = format!("by owner.lock it had {} events: lines are missing at the end", owner.head);
        report.faults.push(format!("{}: {problem}", path.display()));
    }
    let mailbox = layout.trace(tenant, trace).join("mailbox.jsonl");
    let file = mailbox.display().to_string();
    let checked = mailbox::check(&mailbox)?;
    report.look_at_mail(checked.ids.into_iter(), last_mail(&scan), &file);
    // Whoever takes out what was said in the mailbox has to say so in the log.
    let told: Vec<_> = scan.erased.iter().filter_map(|gone| gone.what.mail).collect();
    for id in checked.blank.iter().filter(|id| !told.contains(id)) {
        report.faults.push(format!("{file}: the text of entry {id} was removed, and no `erased` event records it"));
    }
    report.faults.extend(checked.faults);
    report.unchecked.extend(checked.unchecked);
    let left = journals(layout);
    if left > 0 {
        report.unchecked.push(format!(
            "{left} journals in {} that are in no log yet: the folder cannot be written",
            layout.journals().display()
        ));
    }
    Ok(report)
}

/// See [`Store::heads`](crate::Store::heads).
pub(crate) fn heads(
    layout: &Layout,
    tenant: &TenantId,
    trace: &TraceId,
    events: &[EventId],
) -> Result<Vec<Option<HeadHash>>, StoreError> {
    let path = layout.existing_log(tenant, trace)?;
    let read = || heads_of(BufReader::new(open_regular(&path)?), HeadHash::genesis(tenant, trace), events);
    read().map_err(|e| StoreError::io(format!("read {}", path.display()), e))
}

/// How many journals nobody has played back, where this could not be done.
fn journals(layout: &Layout) -> usize {
    let dir = layout.journals();
    let is_writable = rustix::fs::access(&dir, rustix::fs::Access::WRITE_OK).is_ok();
    if is_writable {
        // What lies there is somebody's at this moment.
        return 0;
    }
    let entries = std::fs::read_dir(&dir).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "wal")).count()
}
