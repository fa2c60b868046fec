//! A whole log: read and checked line by line, up to the first line that is not right.

use crate::checks::other_than_file;
use crate::error::{Damage, StoreError};
use crate::line::{self, Bad, Head, HeadHash};
use crate::store::{ErasedEvent, ReadLog};
use mainpath_types::{Event, EventId, EventKind, Left, MailId, TenantId, TraceId};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread::Builder;

/// Reads a log file, checked, like [`Store::read`](crate::Store::read) from the first event on. Errors: it cannot be read.
pub fn read_file(path: &Path, tenant: &TenantId, trace: &TraceId) -> Result<ReadLog, StoreError> {
    Ok(whole_file(path, tenant, trace)?.into_read(&path.display().to_string()))
}

/// The scan of a whole log file.
pub(crate) fn whole_file(path: &Path, tenant: &TenantId, trace: &TraceId) -> Result<Scan, StoreError> {
    if let Some(what) = other_than_file(path) {
        let problem = io::Error::other(format!("it is a {what}, no file"));
        return Err(StoreError::io(format!("read {}", path.display()), problem));
    }
    let scan = File::open(path).and_then(|file| scan_file(&file, 0, Some((0, HeadHash::genesis(tenant, trace)))));
    scan.map(Scan::settled).map_err(|e| StoreError::io(format!("read {}", path.display()), e))
}

/// The scan of a whole log's bytes.
pub(crate) fn whole(bytes: &[u8], tenant: &TenantId, trace: &TraceId) -> Scan {
    scan(bytes, Some((0, HeadHash::genesis(tenant, trace)))).settled()
}

/// Why reading ended before the bytes did.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Damaged { problem: String },
    Newer { version: u64 },
}

/// A line that has an erasure mark in the place of its content.
#[derive(Debug)]
pub(crate) struct Gone {
    pub what: ErasedEvent,
    /// The hash of the line before it.
    prev: HeadHash,
    /// Where it begins, from the beginning of the scan.
    at: usize,
}

/// The good lines at the beginning of some bytes.
#[derive(Debug)]
pub(crate) struct Scan {
    pub events: Vec<Event>,
    pub erased: Vec<Gone>,
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
        let mut scan = self.settled();
        scan.put_left();
        ReadLog {
            head: scan.last,
            hash: scan.hash,
            damage: scan.damage(file),
            newer: matches!(scan.stop, Some(Stop::Newer { .. })),
            tail_cut: None,
            torn: scan.torn as u64,
            events: scan.events,
            erased: scan.erased.into_iter().map(|gone| gone.what).collect(),
        }
    }

    /// The same, but ending before the first line that has an erasure mark without a later `erased` event that names it: anybody can
    /// put such a mark in the place of what was said. A log that was not read to its end may still have that event.
    pub(crate) fn settled(mut self) -> Scan {
        if self.erased.is_empty() {
            return self;
        }
        self.note_left();
        let unnamed = self.erased.iter().position(|gone| gone.what.by.is_none());
        let Some(first) = unnamed.filter(|_| self.stop.is_none()) else { return self };
        let rest = self.erased.split_off(first);
        let Some(Gone { what, prev, at }) = rest.first() else { return self };
        let problem = "it has an erasure mark in the place of its content, and no later `erased` event names it: somebody \
                       has removed what it said";
        // What is left of others may be said behind the place where this ends.
        self.put_left();
        self.events.retain(|event| event.id < what.id);
        (self.last, self.hash, self.good, self.torn) = (what.id - 1, *prev, *at, 0);
        self.stop = Some(Stop::Damaged { problem: problem.into() });
        self
    }

    /// Notes of each erased event which `erased` event says what is left of it, and whether that is what an erasure leaves.
    fn note_left(&mut self) {
        let told = left(&self.events);
        for Gone { what, .. } in &mut self.erased {
            if let Some((by, left)) = told.get(&(what.id, what.name.as_str())) {
                (what.by, what.reworded) = (Some(*by), !left.kind.is_wordless());
            }
        }
    }

    /// Puts what is left of erased events in their places, so that a fold gives the state that it gave before.
    fn put_left(&mut self) {
        if self.erased.is_empty() {
            return;
        }
        let told = left(&self.events);
        let is_there = |gone: &&ErasedEvent| self.events.binary_search_by_key(&gone.id, |event| event.id).is_ok();
        let found = self.erased.iter().map(|gone| &gone.what).filter(|gone| !is_there(gone)).filter_map(|gone| {
            // A fact cannot become another one by being erased.
            let (_, left) = told.get(&(gone.id, gone.name.as_str()))?;
            Some(Event { id: gone.id, ts: gone.ts, turn: gone.turn, mail: gone.mail, kind: left.kind.clone() })
        });
        let found: Vec<Event> = found.collect();
        self.events.extend(found);
        self.events.sort_by_key(|event| event.id);
    }
}

/// What `erased` events say is left of earlier ones, by number and type, and which of them says so: the last one counts.
fn left(events: &[Event]) -> BTreeMap<(EventId, &str), (EventId, &Left)> {
    let mut told = BTreeMap::new();
    for event in events {
        let EventKind::Erased(data) = &event.kind else { continue };
        // What is erased comes first, and of an erasure that was itself erased nothing is left that tells of others.
        let is_nested = |left: &Left| matches!(&left.kind, EventKind::Erased(inner) if !inner.left.is_empty());
        for left in data.left.iter().filter(|left| left.event < event.id && !is_nested(left)) {
            told.insert((left.event, left.kind.name()), (event.id, left));
        }
    }
    told
}

/// From how many bytes on a second thread is worth its start.
const LARGE: u64 = 1 << 20;

/// How much of a file is held in memory at a time, in each thread.
const WINDOW: usize = 256 << 10;

/// Reads lines. `before` is the id and hash of the line before the first; `None` trusts what the first line says of it.
pub(crate) fn scan(bytes: &[u8], before: Option<(EventId, HeadHash)>) -> Scan {
    let mut scanner = Scanner::new(before, room(bytes.len() as u64));
    scanner.lines(bytes);
    scanner.end(bytes.len() as u64)
}

/// Reads the lines of a file from `start` on, a window at a time. Errors: the file cannot be read.
pub(crate) fn scan_file(file: &File, start: u64, before: Option<(EventId, HeadHash)>) -> io::Result<Scan> {
    let end = file.metadata()?.len().max(start);
    if end - start < LARGE {
        return scan_part(file, start..end, before, room(end - start));
    }
    // Asked only now: the answer is read from a dozen files of the system each time.
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(4) as u64;
    if threads == 1 {
        return scan_part(file, start..end, before, room(end - start));
    }
    // A line's hashes need no other line, so parts are read side by side and only their seams compared.
    let parts = split(file, start..end, threads)?;
    let Some((first, rest)) = parts.split_first() else { return Ok(scan(&[], before)) };
    let scans: Vec<io::Result<Scan>> = std::thread::scope(|scope| {
        let others: Vec<_> = (rest.iter())
            .map(|part| {
                let scan = move || scan_part(file, part.clone(), None, room(part.end - part.start));
                Builder::new().spawn_scoped(scope, scan)
            })
            .collect();
        let first = scan_part(file, first.clone(), before, room(end - start));
        let others = others.into_iter().zip(rest);
        // A part for which no thread can be started is read here.
        let others = others.map(|(thread, part)| {
            let scanned = thread.ok().and_then(|thread| thread.join().ok());
            scanned.unwrap_or_else(|| scan_part(file, part.clone(), None, 0))
        });
        std::iter::once(first).chain(others).collect()
    });
    let mut scans = scans.into_iter();
    let mut whole = match scans.next() {
        Some(first) => first?,
        None => scan(&[], before),
    };
    for (next, part) in scans.zip(rest) {
        if whole.stop.is_some() {
            break;
        }
        whole = join(whole, next?, file, part.clone())?;
    }
    Ok(whole)
}

/// About how many events so many bytes hold; more is only a larger allocation.
fn room(bytes: u64) -> usize {
    usize::try_from(bytes / 300).unwrap_or(0) + 1
}

fn join(mut whole: Scan, next: Scan, file: &File, part: Range<u64>) -> io::Result<Scan> {
    if next.first.is_some_and(|first| first != (whole.last, whole.hash)) {
        // The seam does not hold; read the part again with the line before it known, which says what is wrong.
        whole.stop = scan_part(file, part, Some((whole.last, whole.hash)), 0)?.stop;
        return Ok(whole);
    }
    if next.first.is_some() {
        (whole.last, whole.hash) = (next.last, next.hash);
    }
    whole.events.extend(next.events);
    let before = whole.good;
    whole.erased.extend(next.erased.into_iter().map(|gone| Gone { at: before + gone.at, ..gone }));
    whole.good += next.good;
    (whole.torn, whole.stop) = (next.torn, next.stop);
    Ok(whole)
}

/// About equal parts that end after a newline, the last one excepted.
fn split(file: &File, whole: Range<u64>, count: u64) -> io::Result<Vec<Range<u64>>> {
    let Range { start, end } = whole;
    let size = (end - start) / count + 1;
    let (mut parts, mut from) = (Vec::new(), start);
    let mut window = vec![0; 64 << 10];
    while end - from > size {
        let mut at = from + size;
        let newline = loop {
            let read = file.read_at(&mut window, at)?;
            let found = window.get(..read).and_then(|bytes| memchr::memchr(b'\n', bytes));
            match found {
                Some(found) => break Some(at + found as u64 + 1),
                None if read == 0 || at >= end => break None,
                None => at += read as u64,
            }
        };
        let Some(newline) = newline.filter(|newline| *newline < end) else { break };
        parts.push(from..newline);
        from = newline;
    }
    parts.push(from..end);
    Ok(parts)
}

/// `room` is how many events to make room for.
fn scan_part(file: &File, part: Range<u64>, before: Option<(EventId, HeadHash)>, room: usize) -> io::Result<Scan> {
    let Range { start, end } = part;
    let mut scanner = Scanner::new(before, room);
    let mut window = vec![0; WINDOW.min(usize::try_from(end - start).unwrap_or(WINDOW))];
    // The window begins where the good lines end; this many of its bytes are filled.
    let mut filled = 0;
    let mut at = start;
    while at < end && scanner.scan.stop.is_none() {
        if filled == window.len() {
            window.resize(window.len() * 2, 0);
        }
        let room = window.get_mut(filled..).unwrap_or_default();
        let most = usize::try_from(end - at).unwrap_or(usize::MAX).min(room.len());
        let read = match file.read_at(room.get_mut(..most).unwrap_or_default(), at) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if read == 0 {
            break;
        }
        (at, filled) = (at + read as u64, filled + read);
        let taken = scanner.lines(window.get(..filled).unwrap_or_default());
        window.copy_within(taken..filled, 0);
        filled -= taken;
    }
    Ok(scanner.end(at - start))
}

/// Lines on their way into a scan.
struct Scanner {
    scan: Scan,
    before: Option<(EventId, HeadHash)>,
}

impl Scanner {
    fn new(before: Option<(EventId, HeadHash)>, room: usize) -> Scanner {
        // With nothing known before it, `join` does not look at these unless the part holds a good line.
        let (last, hash) = before.unwrap_or((0, HeadHash::NONE));
        let scan = Scan {
            events: Vec::with_capacity(room),
            erased: Vec::new(),
            last,
            hash,
            good: 0,
            torn: 0,
            stop: None,
            first: None,
        };
        Scanner { scan, before }
    }

    /// Takes the complete lines at the beginning of these bytes, up to one that is not good, and says how many bytes they
    /// are.
    fn lines(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        for end in memchr::memchr_iter(b'\n', bytes) {
            let begins = self.scan.good + at;
            match read_line(bytes.get(at..end).unwrap_or_default(), begins, self.before, &mut self.scan) {
                Ok(read) => self.before = Some(read),
                Err(Bad::Newer(version)) => {
                    self.scan.stop = Some(Stop::Newer { version });
                    break;
                }
                Err(Bad::Damaged(problem)) => {
                    self.scan.stop = Some(Stop::Damaged { problem });
                    break;
                }
            }
            at = end + 1;
        }
        self.scan.good += at;
        at
    }

    /// The scan, after so many bytes in all.
    fn end(mut self, bytes: u64) -> Scan {
        if self.scan.stop.is_none() {
            self.scan.torn = usize::try_from(bytes).unwrap_or(usize::MAX) - self.scan.good;
        }
        self.scan
    }
}

/// Adds the line that begins at `at` to the scan if it is good, and gives its id and hash.
fn read_line(
    line: &[u8],
    at: usize,
    before: Option<(EventId, HeadHash)>,
    scan: &mut Scan,
) -> Result<(EventId, HeadHash), Bad> {
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
        None => {
            let (name, by, reworded) = (head.name.into(), None, false);
            scan.erased.push(Gone { what: ErasedEvent { id, ts, turn, mail, name, by, reworded }, prev, at });
        }
    }
    scan.first.get_or_insert((id.saturating_sub(1), prev));
    (scan.last, scan.hash) = (id, head.hash(line));
    Ok((scan.last, scan.hash))
}

/// The log with the content of these events taken out, `None` where a line cannot be read, and the mail that brought them.
pub(crate) fn erase_lines(bytes: &[u8], gone: &BTreeSet<EventId>) -> Option<(Vec<u8>, BTreeSet<MailId>)> {
    let (mut out, mut mail) = (Vec::with_capacity(bytes.len()), BTreeSet::new());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let text = line.strip_suffix(b"\n")?;
        let head = Head::read(text).ok()?;
        if !gone.contains(&head.id) {
            out.extend_from_slice(line);
            continue;
        }
        mail.extend(head.mail);
        out.extend_from_slice(&line::erase(text)?);
        out.push(b'\n');
    }
    Some((out, mail))
}

/// The newest mailbox entry that a log has read; lines that cannot be read count for nothing. Errors: those of reading.
pub(crate) fn last_read(mut log: impl BufRead) -> io::Result<MailId> {
    let (mut line, mut last) = (Vec::new(), 0);
    while log.read_until(b'\n', &mut line)? > 0 {
        last = Head::read(&line).ok().and_then(|head| head.mail).unwrap_or(0).max(last);
        line.clear();
    }
    Ok(last)
}

/// The id of the last complete line that has a readable head, searched from the end.
pub(crate) fn last_id(bytes: &[u8]) -> Option<EventId> {
    let end = memchr::memrchr(b'\n', bytes)?;
    let start = bytes.get(..end).and_then(|b| memchr::memrchr(b'\n', b)).map_or(0, |at| at + 1);
    Head::read(bytes.get(start..end)?).ok().map(|head| head.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainpath_types::MailRefused;
    use std::io::Write;

    /// The log of `t` with lines of very different lengths.
    fn log(lengths: &[usize]) -> (Vec<u8>, HeadHash) {
        let genesis = HeadHash::genesis(&TenantId::local(), &"t".parse().unwrap());
        let (mut bytes, mut prev) = (Vec::new(), genesis);
        for (length, id) in lengths.iter().zip(1..) {
            let kind = MailRefused { problem: "x".repeat(*length) }.into();
            let event = Event { id, ts: 1_795_315_500_000, turn: 0, mail: None, kind };
            prev = line::write(&mut bytes, &event, &prev, &[7; 16]).unwrap();
        }
        (bytes, genesis)
    }

    #[test]
    fn a_file_read_in_windows_and_parts_gives_what_its_bytes_give() {
        let lengths: Vec<usize> = (0..4_000).map(|n| if n % 1_000 == 500 { 600_000 } else { n * 7 % 900 }).collect();
        let (bytes, genesis) = log(&lengths);
        let hurt = |at: usize| [&bytes[..at], b"#", &bytes[at + 1..]].concat();
        let cases = [
            bytes.clone(),
            bytes[..bytes.len() - 5].to_vec(),
            hurt(40),
            hurt(bytes.len() / 2),
            hurt(bytes.len() / 2 + 300_000),
            hurt(bytes.len() - 100),
            [&bytes[..], &bytes[..]].concat(),
            Vec::new(),
        ];
        for (bytes, n) in cases.iter().zip(0..) {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(bytes).unwrap();
            let (mut from_file, mut whole) =
                (scan_file(&file, 0, Some((0, genesis))).unwrap(), scan(bytes, Some((0, genesis))));
            assert!(from_file.events == whole.events, "case {n}");
            (from_file.events, whole.events) = (Vec::new(), Vec::new());
            assert_eq!(format!("{from_file:?}"), format!("{whole:?}"), "case {n}");
        }
    }
}
