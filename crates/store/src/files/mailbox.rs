//! The mailbox file: one JSON object per line, added under a lock by any process.

use super::layout::{Layout, open_beside};
use super::read::{last_line, tail};
use crate::checks::one_line;
use crate::log::last_read;
use crate::regular::{open_regular, read_regular};
use crate::store::{Damage, Letter, Mail, Once, Scope, StoreError};
use crate::strict::is_strict;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mainpath_types::{MailId, Millis, Principal, TenantId, TraceId};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// An entry as it is written.
#[derive(Serialize, Deserialize)]
struct Line<'a> {
    id: MailId,
    at: Millis,
    from: Cow<'a, Principal>,
    urgent: bool,
    /// The sender's key for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    once: Option<Cow<'a, Once>>,
    /// SHA-256 of the line as it is without this field, in base64url. Entries of before have none.
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    sum: Option<Cow<'a, str>>,
    /// Last, so that it can be taken out in its place: see [`blank`].
    #[serde(borrow)]
    body: &'a RawValue,
}

impl Line<'_> {
    fn own_sum(&self) -> Result<String, serde_json::Error> {
        let Line { id, at, urgent, body, .. } = *self;
        let once = self.once.as_deref().map(Cow::Borrowed);
        let bytes =
            serde_json::to_vec(&Line { id, at, from: Cow::Borrowed(&*self.from), urgent, once, sum: None, body })?;
        Ok(URL_SAFE_NO_PAD.encode(Sha256::digest(bytes)))
    }

    /// Whether it is what was written.
    fn is_sealed(&self) -> bool {
        self.sum.as_deref().is_some_and(|sum| self.own_sum().is_ok_and(|own| own == sum))
    }
}

/// What is left of a body that was erased.
const BLANK: &str = "0";

/// See [`Store::send`](crate::Store::send).
pub(crate) fn post(
    layout: &Layout,
    scope: &Scope,
    trace: &TraceId,
    at: Millis,
    letter: Letter,
) -> Result<MailId, StoreError> {
    let Letter { urgent, body, once } = letter;
    let body = one_line(&body)?;
    layout.existing_log(&scope.tenant, trace)?;
    let path = layout.trace(&scope.tenant, trace).join("mailbox.jsonl");
    let posting = |e: io::Error| StoreError::io(format!("write {}", path.display()), e);
    let mut file = open_beside(&path).map_err(posting)?;
    flock(&file, FlockOperation::LockExclusive).map_err(|e| posting(e.into()))?;
    let (end, last) = last_line(&file).map_err(posting)?;
    // A piece of a line was never acknowledged.
    file.set_len(end).map_err(posting)?;
    if let Some(once) = &once
        && let Some(id) = sent_before(&file, &path, end, once, trace)?
    {
        return Ok(id);
    }
    let last = match last {
        Some(line) => parse(&line).map_err(|problem| damaged(&file, &path, end, &problem))?.id,
        None => 0,
    };
    // Where a mailbox has lost its end, what comes next must not have the number of something that was read long ago.
    let log = File::open(layout.log(&scope.tenant, trace)).map_err(posting)?;
    let id = 1 + last.max(last_read(BufReader::with_capacity(256 << 10, log)).map_err(posting)?);
    let body: &RawValue = serde_json::from_str(&body).map_err(|e| StoreError::BadMail { problem: e.to_string() })?;
    let mut line = Line {
        id,
        at,
        from: Cow::Borrowed(&scope.principal),
        urgent,
        once: once.as_ref().map(Cow::Borrowed),
        sum: None,
        body,
    };
    line.sum = Some(line.own_sum().map_err(|e| posting(e.into()))?.into());
    let mut bytes = serde_json::to_vec(&line).map_err(|e| posting(e.into()))?;
    bytes.push(b'\n');
    let place = || if end == 0 { layout.place(&scope.tenant, trace) } else { Ok(()) };
    let written = file.write_all(&bytes).and_then(|()| file.sync_data()).and_then(|()| place());
    if let Err(e) = written {
        // What is refused must not be read.
        let _ = file.set_len(end);
        return Err(posting(e));
    }
    Ok(id)
}

/// The number under which the same was sent before. Errors: something else was sent under the key.
fn sent_before(file: &File, path: &Path, end: u64, once: &Once, trace: &TraceId) -> Result<Option<MailId>, StoreError> {
    let (mut at, bytes) =
        tail(file, end, |_| false).map_err(|e| StoreError::io(format!("read {}", path.display()), e))?;
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        at += line.len() as u64;
        let read = parse(line).map_err(|problem| damaged(file, path, at, &problem))?;
        if let Some(known) = read.once.as_deref().filter(|known| known.key == once.key) {
            return known.is_again(once, trace, read.id).map(Some);
        }
    }
    Ok(None)
}

/// See [`Store::mail`](crate::Store::mail).
pub(crate) fn read(
    layout: &Layout,
    tenant: &TenantId,
    trace: &TraceId,
    after: MailId,
) -> Result<Vec<Mail>, StoreError> {
    layout.existing_log(tenant, trace)?;
    let path = layout.trace(tenant, trace).join("mailbox.jsonl");
    let reading = |e: io::Error| StoreError::io(format!("read {}", path.display()), e);
    let file = match open_regular(&path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(reading(e)),
    };
    let (end, _) = last_line(&file).map_err(reading)?;
    let older = |line: &[u8]| parse(line).is_ok_and(|line| line.id <= after);
    let (mut at, bytes) = tail(&file, end, older).map_err(reading)?;
    let mut mail = Vec::new();
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        at += line.len() as u64;
        let read = parse(line).map_err(|problem| damaged(&file, &path, at, &problem))?;
        if read.id > after {
            let body = read.body.get().to_owned();
            let (from, once) = (read.from.into_owned(), read.once.map(Cow::into_owned));
            mail.push(Mail { id: read.id, at: read.at, from, urgent: read.urgent, once, body });
        }
    }
    Ok(mail)
}

/// What is wrong with a line of a mailbox.
#[derive(Debug, thiserror::Error)]
enum BadEntry {
    #[error("no mailbox entry: it has half of a character, or more than 127 levels")]
    NotStrict,
    #[error("no mailbox entry: {0}")]
    Json(#[from] serde_json::Error),
    #[error("entry {0} was changed: its checksum does not match")]
    Changed(MailId),
}

fn parse(line: &[u8]) -> Result<Line<'_>, BadEntry> {
    if !is_strict(line) {
        return Err(BadEntry::NotStrict);
    }
    let line: Line<'_> = serde_json::from_slice(line)?;
    // An erasure may have broken off before it sealed the entry anew.
    match line.sum.is_none() || line.is_sealed() || line.body.get() == BLANK {
        true => Ok(line),
        false => Err(BadEntry::Changed(line.id)),
    }
}

/// A line as it was written, without its line break and, where its body was erased, without the blanks in its place.
fn without_blanks(line: &[u8]) -> Cow<'_, [u8]> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let rest = line.strip_suffix(b"}").unwrap_or(line);
    match rest.ends_with(b" ") {
        true => Cow::Owned([rest.trim_ascii_end(), b"}"].concat()),
        false => Cow::Borrowed(line),
    }
}

/// What a look at a whole mailbox found.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    /// The entries' numbers, in the order of the file; that of a bad line is guessed.
    pub ids: Vec<MailId>,
    /// Those whose bodies were erased.
    pub blank: Vec<MailId>,
    /// The bad lines, a sentence each.
    pub faults: Vec<String>,
    /// What cannot be known, a sentence each.
    pub unchecked: Vec<String>,
}

/// Checks a mailbox, line by line; none is as good as an empty one. Errors: it cannot be read.
pub(crate) fn check(path: &Path) -> Result<Checked, StoreError> {
    let mut checked = Checked::default();
    let bytes = match read_regular(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(checked),
        bytes => bytes.map_err(|e| StoreError::io(format!("read {}", path.display()), e))?,
    };
    let mut unsealed = 0u64;
    for (line, number) in bytes.split_inclusive(|byte| *byte == b'\n').zip(1u64..) {
        if !line.ends_with(b"\n") {
            checked.unchecked.push(format!("{} bytes of an incomplete last line of the mailbox", line.len()));
            continue;
        }
        let is_blank = line.ends_with(b"0 }\n") || line.ends_with(b"  }\n");
        match parse(line) {
            Ok(read) if read.sum.is_some() && !read.is_sealed() => {
                let problem = "its text was erased but not sealed: an erasure was interrupted, erase again";
                checked.faults.push(format!("{}, line {number}: {problem}", path.display()));
                checked.ids.push(read.id);
            }
            // As the log's lines: valid only as the writer writes them, so that nothing can be slipped in.
            Ok(read) if serde_json::to_vec(&read).ok().as_deref() != Some(&*without_blanks(line)) => {
                let problem = "it is not as Mainpath writes it: it was changed, or a newer one wrote it";
                checked.faults.push(format!("{}, line {number}: {problem}", path.display()));
                checked.ids.push(read.id);
            }
            Ok(line) => {
                unsealed += u64::from(line.sum.is_none());
                checked.ids.push(line.id);
                checked.blank.extend(is_blank.then_some(line.id));
            }
            Err(problem) => {
                checked.faults.push(format!("{}, line {number}: {problem}", path.display()));
                checked.ids.push(checked.ids.last().unwrap_or(&0) + 1);
            }
        }
    }
    if unsealed > 0 {
        let what = "whether they were changed: they were written before entries had a checksum";
        checked.unchecked.push(format!("of {unsealed} mailbox entries, {what}"));
    }
    if !checked.ids.is_empty() {
        let end = "whether unread mail is missing at the end of the mailbox";
        checked.unchecked.push(end.into());
    }
    Ok(checked)
}

/// The line that ends at `end` is bad.
fn damaged(file: &File, path: &Path, end: u64, problem: &BadEntry) -> StoreError {
    let count = |e: io::Error| StoreError::io(format!("read {}", path.display()), e);
    let bytes = match super::bytes::bytes_from(file, 0) {
        Ok(bytes) => bytes,
        Err(e) => return count(e),
    };
    let end = usize::try_from(end).unwrap_or(usize::MAX).min(bytes.len());
    let line = memchr::memchr_iter(b'\n', bytes.get(..end).unwrap_or_default()).count() as u64;
    StoreError::Damaged(Damage { file: path.display().to_string(), line, problem: problem.to_string() })
}

/// Takes the bodies of entries out, in their places: whoever has the file open to add to it may go on.
pub(crate) fn blank(path: &Path, gone: &BTreeSet<MailId>) -> io::Result<()> {
    if gone.is_empty() {
        return Ok(());
    }
    let file = match File::options().read(true).write(true).open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    flock(&file, FlockOperation::LockExclusive)?;
    let bytes = super::bytes::bytes_from(&file, 0)?;
    let mut start = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if let Ok(read) = parse(line)
            && gone.contains(&read.id)
        {
            let body = read.body.get().as_bytes();
            // The body is the last field: it ends where the object does.
            let at = memchr::memmem::rfind(line, body).unwrap_or(line.len());
            let mut blank = vec![b' '; body.len()];
            blank.splice(..BLANK.len().min(body.len()), BLANK.bytes());
            file.write_all_at(&blank, (start + at) as u64)?;
            // Sealed anew, so that nothing of what is left can be changed unseen. All sums have one length.
            if let Some(sum) = &read.sum
                && let Some(at) = memchr::memmem::find(line, sum.as_bytes())
            {
                let left: &RawValue = serde_json::from_str(BLANK)?;
                let Line { id, at: posted, urgent, .. } = read;
                let once = read.once.as_deref().map(Cow::Borrowed);
                let left =
                    Line { id, at: posted, from: Cow::Borrowed(&*read.from), urgent, once, sum: None, body: left };
                file.write_all_at(left.own_sum()?.as_bytes(), (start + at) as u64)?;
            }
        }
        start += line.len();
    }
    file.sync_data()
}
