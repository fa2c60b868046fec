//! A whole log: read and checked line by line, up to the first line that is not right.

use crate::line::{Bad, Head, HeadHash};
use crate::store::{Damage, Erased, ReadLog, StoreError};
use mainpath_types::{Event, EventId, TenantId, TraceId};
use std::path::Path;

/// What a check of a log found. A log is good if there is no `damage`; `unchecked` says what the check cannot know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// How many good lines there are.
    pub events: u64,
    /// The hash of the last good line's head. Publish it, and nobody can exchange or shorten the log unnoticed.
    pub head: HeadHash,
    /// The events whose content was erased; their place in the chain was checked, their content is gone.
    pub erased: Vec<EventId>,
    /// The first bad line; what follows it was not read.
    pub damage: Option<Damage>,
    /// What this check cannot know, a sentence each.
    pub unchecked: Vec<String>,
}

/// Checks a log file. Errors: the file cannot be read.
pub fn verify_file(path: &Path, tenant: &TenantId, trace: &TraceId) -> Result<Report, StoreError> {
    let bytes = std::fs::read(path).map_err(|e| StoreError::io(format!("read {}", path.display()), e))?;
    Ok(verify_bytes(&bytes, &path.display().to_string(), tenant, trace))
}

/// Checks a log's bytes; `file` is what to call them in the report.
pub fn verify_bytes(bytes: &[u8], file: &str, tenant: &TenantId, trace: &TraceId) -> Report {
    let scan = scan(bytes, Some((0, HeadHash::genesis(tenant, trace))));
    let mut unchecked = Vec::new();
    if let Some(first) = scan.erased.first() {
        unchecked.push(format!("the content of {} erased events, the first being {}", scan.erased.len(), first.id));
    }
    if let Some(Stop::Newer { version }) = &scan.stop {
        let line = scan.last + 1;
        unchecked.push(format!("line {line} and what follows: written by a newer Mainpath (log version {version})"));
    }
    if let Some(Stop::Damaged { .. }) = &scan.stop {
        unchecked.push(format!("what follows line {}", scan.last + 1));
    } else if scan.torn > 0 {
        unchecked.push(format!("{} bytes of an incomplete last line", scan.torn));
    }
    unchecked.push("whether whole lines are missing at the end: compare the head with one kept elsewhere".into());
    Report {
        events: scan.last,
        head: scan.hash,
        damage: scan.damage(file),
        erased: scan.erased.iter().map(|e| e.id).collect(),
        unchecked,
    }
}

/// Why reading ended before the bytes did.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Damaged { problem: String },
    Newer { version: u64 },
}

/// The good lines at the beginning of some bytes.
#[derive(Debug)]
pub(crate) struct Scan {
    pub events: Vec<Event>,
    pub erased: Vec<Erased>,
    /// The id of the last good line; with none, of the line before the first.
    pub last: EventId,
    /// The hash of the last good line's head.
    pub hash: HeadHash,
    /// How many bytes the good lines take.
    pub good: usize,
    /// How many bytes after the last newline there are.
    pub torn: usize,
    pub stop: Option<Stop>,
    /// What the first line says of the line before it.
    first: Option<(EventId, HeadHash)>,
}

impl Scan {
    /// A good log's line number is its event's id, so the first bad line comes after the last good id.
    pub(crate) fn damage(&self, file: &str) -> Option<Damage> {
        match &self.stop {
            Some(Stop::Damaged { problem }) => {
                Some(Damage { file: file.into(), line: self.last + 1, problem: problem.clone() })
            }
            Some(Stop::Newer { .. }) | None => None,
        }
    }

    pub(crate) fn into_read(self, file: &str) -> ReadLog {
        ReadLog {
            head: self.last,
            hash: self.hash,
            damage: self.damage(file),
            newer: matches!(self.stop, Some(Stop::Newer { .. })),
            tail_cut: None,
            events: self.events,
            erased: self.erased,
        }
    }
}

/// From how many bytes on a second thread is worth its start.
const LARGE: usize = 1 << 20;

/// Reads lines. `before` is the id and hash of the line before the first; `None` trusts what the first line says of it.
pub(crate) fn scan(bytes: &[u8], before: Option<(EventId, HeadHash)>) -> Scan {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(4);
    if bytes.len() < LARGE || threads == 1 {
        return scan_part(bytes, before, room(bytes));
    }
    // A line's hashes need no other line, so parts are read side by side and only their seams compared.
    let parts = split(bytes, threads);
    let mut scans: Vec<Scan> = std::thread::scope(|scope| {
        let rest: Vec<_> =
            parts.iter().skip(1).map(|part| scope.spawn(move || scan_part(part, None, room(part)))).collect();
        let first = scan_part(parts.first().copied().unwrap_or_default(), before, room(bytes));
        let rest = rest.into_iter().zip(parts.iter().skip(1));
        std::iter::once(first)
            .chain(rest.map(|(t, part)| t.join().unwrap_or_else(|_| scan_part(part, None, 0))))
            .collect()
    });
    let mut whole = scans.remove(0);
    for (scan, part) in scans.into_iter().zip(parts.iter().skip(1)) {
        if whole.stop.is_some() {
            break;
        }
        whole = join(whole, scan, part);
    }
    whole
}

/// About how many events these bytes hold; more is only a larger allocation.
fn room(bytes: &[u8]) -> usize {
    bytes.len() / 300 + 1
}

fn join(mut whole: Scan, next: Scan, part: &[u8]) -> Scan {
    if next.first.is_some_and(|first| first != (whole.last, whole.hash)) {
        // The seam does not hold; read the part again with the line before it known, which says what is wrong.
        let bad = scan_part(part, Some((whole.last, whole.hash)), 0);
        whole.stop = bad.stop;
        return whole;
    }
    if next.first.is_some() {
        (whole.last, whole.hash) = (next.last, next.hash);
    }
    whole.events.extend(next.events);
    whole.erased.extend(next.erased);
    whole.good += next.good;
    (whole.torn, whole.stop) = (next.torn, next.stop);
    whole
}

/// About equal parts that end after a newline, the last one excepted.
fn split(bytes: &[u8], count: usize) -> Vec<&[u8]> {
    let size = bytes.len() / count + 1;
    let (mut parts, mut rest) = (Vec::new(), bytes);
    while rest.len() > size {
        let Some(end) = rest.get(size..).and_then(|tail| memchr::memchr(b'\n', tail)) else { break };
        let (part, after) = rest.split_at(size + end + 1);
        parts.push(part);
        rest = after;
    }
    parts.push(rest);
    parts
}

/// `room` is how many events to make room for.
fn scan_part(bytes: &[u8], before: Option<(EventId, HeadHash)>, room: usize) -> Scan {
    // With nothing known before it, `join` does not look at these unless the part holds a good line.
    let (last, hash) = before.unwrap_or((0, HeadHash::NONE));
    let mut scan = Scan {
        events: Vec::with_capacity(room),
        erased: Vec::new(),
        last,
        hash,
        good: 0,
        torn: 0,
        stop: None,
        first: None,
    };
    let mut expected = before;
    let mut at = 0;
    for end in memchr::memchr_iter(b'\n', bytes) {
        let line = bytes.get(at..end).unwrap_or_default();
        match read_line(line, expected, &mut scan) {
            Ok(read) => expected = Some(read),
            Err(Bad::Newer(version)) => {
                scan.stop = Some(Stop::Newer { version });
                return scan;
            }
            Err(Bad::Damaged(problem)) => {
                scan.stop = Some(Stop::Damaged { problem });
                return scan;
            }
        }
        at = end + 1;
        scan.good = at;
    }
    scan.torn = bytes.len() - at;
    scan
}

/// Adds the line to the scan if it is good, and gives its id and hash.
fn read_line(line: &[u8], before: Option<(EventId, HeadHash)>, scan: &mut Scan) -> Result<(EventId, HeadHash), Bad> {
    let head = Head::read(line)?;
    if let Some((last, hash)) = before {
        if Some(head.id) != last.checked_add(1) {
            return Err(Bad::Damaged(format!(
                "event {} stands where event {} should",
                head.id,
                last.saturating_add(1)
            )));
        }
        if head.prev != hash {
            let before = if last == 0 { "this tenant and trace".into() } else { format!("event {last}") };
            return Err(Bad::Damaged(format!("the chain is broken: \"prev\" does not match {before}")));
        }
    }
    let Head { id, ts, turn, mail, prev, .. } = head;
    match head.body(line)? {
        Some(kind) => scan.events.push(Event { id, ts, turn, mail, kind }),
        None => scan.erased.push(Erased { id, ts, turn, mail, name: head.name.into() }),
    }
    scan.first.get_or_insert((id.saturating_sub(1), prev));
    (scan.last, scan.hash) = (id, head.hash(line));
    Ok((scan.last, scan.hash))
}

/// The id of the last complete line that has a readable head, searched from the end.
pub(crate) fn last_id(bytes: &[u8]) -> Option<EventId> {
    let end = memchr::memrchr(b'\n', bytes)?;
    let start = bytes.get(..end).and_then(|b| memchr::memrchr(b'\n', b)).map_or(0, |at| at + 1);
    Head::read(bytes.get(start..end)?).ok().map(|head| head.id)
}
