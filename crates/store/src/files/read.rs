//! Reading without a lease, and without checking the whole log again each time.

use super::bytes::bytes_between;
use super::layout::Layout;
use super::record::Record;
use crate::line::{Head, HeadHash};
use crate::log::{self, Scan};
use crate::store::{ReadLog, StoreError};
use mainpath_types::{EventId, TenantId, TraceId};
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// Up to where logs were found good. A cache: it may be emptied at any time.
#[derive(Debug, Default)]
pub(crate) struct Marks(Mutex<HashMap<(TenantId, TraceId), Mark>>);

#[derive(Clone, Copy, Debug)]
struct Mark {
    file: Identity,
    offset: u64,
    last: EventId,
    hash: HeadHash,
}

/// Device, inode and birth: another file in the log's place is read anew.
type Identity = (u64, u64, Option<SystemTime>);

fn identity(meta: &Metadata) -> Identity {
    (meta.dev(), meta.ino(), meta.created().ok())
}

/// How many marks are kept.
const MANY: usize = 4096;

impl Marks {
    fn marks(&self) -> MutexGuard<'_, HashMap<(TenantId, TraceId), Mark>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the file is good up to `offset`, where `scan` ended.
    pub fn set(&self, tenant: &TenantId, trace: &TraceId, file: &File, scan: &Scan, offset: u64) {
        let Ok(meta) = file.metadata() else { return };
        let mut marks = self.marks();
        if scan.stop.is_some() || scan.last == 0 {
            marks.remove(&(tenant.clone(), trace.clone()));
            return;
        }
        if marks.len() >= MANY {
            marks.clear();
        }
        let mark = Mark { file: identity(&meta), offset, last: scan.last, hash: scan.hash };
        marks.insert((tenant.clone(), trace.clone()), mark);
    }

    /// See [`Store::read`](crate::Store::read).
    pub fn read(
        &self,
        layout: &Layout,
        tenant: &TenantId,
        trace: &TraceId,
        from: EventId,
    ) -> Result<ReadLog, StoreError> {
        let path = layout.existing_log(tenant, trace)?;
        let reading = |e: io::Error| StoreError::io(format!("read {}", path.display()), e);
        // Before the log: while somebody writes, that only grows.
        let owner = Record::of(&layout.trace(tenant, trace));
        let file = File::open(&path).map_err(reading)?;
        let mark = self.marks().get(&(tenant.clone(), trace.clone())).copied();
        let scan = match mark {
            Some(mark) if from > 1 => read_after(&file, mark, from).map_err(reading)?,
            Some(_) | None => None,
        };
        let (scan, end) = match scan {
            Some(found) => found,
            None => {
                let scan = log::scan_file(&file, 0, Some((0, HeadHash::genesis(tenant, trace)))).map_err(reading)?;
                let end = scan.good as u64;
                (scan, end)
            }
        };
        let scan = scan.settled();
        self.set(tenant, trace, &file, &scan, end);
        let torn = scan.torn > 0;
        let mut read = scan.into_read(&path.display().to_string());
        owner.check(&mut read, &path, torn);
        read.keep_from(from);
        Ok(read)
    }
}

/// The lines from `from` on, and where the good ones end; `None` if the mark is of no use.
fn read_after(file: &File, mark: Mark, from: EventId) -> io::Result<Option<(Scan, u64)>> {
    let meta = file.metadata()?;
    if mark.file != identity(&meta) || meta.len() < mark.offset {
        return Ok(None);
    }
    let mut earlier = None;
    if from <= mark.last {
        let older = |line: &[u8]| Head::read(line).is_ok_and(|head| head.id < from);
        let scan = log::scan(&tail(file, mark.offset, older)?.1, None);
        if scan.stop.is_some() || (scan.last, scan.hash) != (mark.last, mark.hash) {
            return Ok(None);
        }
        earlier = Some(scan);
    }
    let mut scan = log::scan_file(file, mark.offset, Some((mark.last, mark.hash)))?;
    if let Some(mut earlier) = earlier {
        earlier.events.append(&mut scan.events);
        scan.events = earlier.events;
        earlier.erased.append(&mut scan.erased);
        scan.erased = earlier.erased;
    }
    let end = mark.offset + scan.good as u64;
    Ok(Some((scan, end)))
}

/// The lines of a file before `end` that come after the last `older` one, and where they begin. `end` is where a line
/// begins; the older lines come first.
pub(crate) fn tail(file: &File, end: u64, older: impl Fn(&[u8]) -> bool) -> io::Result<(u64, Vec<u8>)> {
    let mut window = 16 * 1024;
    loop {
        let start = end.saturating_sub(window);
        window = window.saturating_mul(4);
        let mut bytes = bytes_between(file, start, end)?;
        let line = |at: usize| {
            let rest = bytes.get(at..).unwrap_or_default();
            memchr::memchr(b'\n', rest).and_then(|len| rest.get(..len))
        };
        // In the middle of a file the first line is a piece of one.
        let mut at = if start == 0 { 0 } else { line(0).map_or(bytes.len(), |piece| piece.len() + 1) };
        if start > 0 && !line(at).is_some_and(&older) {
            continue;
        }
        while let Some(skipped) = line(at).filter(|line| older(line)) {
            at += skipped.len() + 1;
        }
        return Ok((start + at as u64, bytes.split_off(at.min(bytes.len()))));
    }
}

/// The last complete line of a file, without its newline, and where the file's complete lines end.
pub(crate) fn last_line(file: &File) -> io::Result<(u64, Option<Vec<u8>>)> {
    let len = file.metadata()?.len();
    let mut window = 4 * 1024;
    loop {
        let start = len.saturating_sub(window);
        window = window.saturating_mul(4);
        let bytes = bytes_between(file, start, len)?;
        let end = memchr::memrchr(b'\n', &bytes);
        let before = end.and_then(|end| memchr::memrchr(b'\n', bytes.get(..end).unwrap_or_default()));
        match (end, before) {
            (Some(end), Some(before)) => {
                return Ok((start + end as u64 + 1, bytes.get(before + 1..end).map(<[u8]>::to_vec)));
            }
            (Some(end), None) if start == 0 => return Ok((end as u64 + 1, bytes.get(..end).map(<[u8]>::to_vec))),
            (None, _) if start == 0 => return Ok((0, None)),
            (Some(_), None) | (None, _) => {}
        }
    }
}
