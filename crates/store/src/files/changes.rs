//! Which traces somebody took to write to: what a cache over many traces has to look at again. A trace is noted when it is
//! leased, before anything can be written, and when it is removed. Where a trace was made, what that did to the time of the
//! folder around it is noted too. Only a hint: what it cannot say is said to be unknown.

use super::layout::open_or_make;
use super::steps::Step;
use super::{Inner, bytes_from};
use crate::store::StoreError;
use mainpath_types::{TenantId, TraceId};
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::SystemTime;

/// It is begun anew when it gets longer than this.
const LONGEST: u64 = 1 << 20;

/// Up to where somebody has read the notes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The first line, which tells one beginning from the next.
    pub token: String,
    /// In bytes.
    pub offset: u64,
}

/// What was noted since a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The traces; `None` if the notes do not reach back to the mark: then any may have changed.
    pub traces: Option<BTreeSet<TraceId>>,
    /// Up to where they were read.
    pub mark: Mark,
    /// From one time of the folder that holds the traces to the next.
    steps: HashMap<i64, i64>,
}

impl Changed {
    /// Whether all that came to the folder of the traces, or went, between two of its
    /// [times](super::FilesStore::folder_time) is among what was noted.
    pub fn explains(&self, from: i64, to: i64) -> bool {
        let mut at = from;
        // Each step is taken once: times that were noted wrong make no circle.
        for _ in 0..self.steps.len() {
            match self.steps.get(&at) {
                Some(next) if at != to => at = *next,
                _ => break,
            }
        }
        at == to
    }
}

/// Notes a trace, and the step that its making was. What goes wrong is let go: a cache can be made anew.
pub(crate) fn note(path: &Path, tenant: &TenantId, trace: &TraceId, step: Option<Step>) {
    let noted = || -> io::Result<()> {
        let mut file = open_or_make(path)?;
        let mut len = file.metadata()?.len();
        if len > LONGEST {
            file.set_len(0)?;
            len = 0;
        }
        let begin = if len == 0 { format!("#{}\n", token()) } else { String::new() };
        // A line of its own: who does not know steps passes it over.
        let step = step.map(|Step { from, to }| format!("={tenant} {from} {to}\n")).unwrap_or_default();
        file.write_all(format!("{begin}{tenant}/{trace}\n{step}").as_bytes())
    };
    let _ = noted();
}

fn token() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}", since.as_nanos(), std::process::id())
}

/// See [`FilesStore::changed_since`](super::FilesStore::changed_since).
pub(crate) fn since(inner: &Inner, tenant: &TenantId, mark: &Mark) -> Result<Changed, StoreError> {
    let path = inner.layout.changes();
    let reading = |e: io::Error| StoreError::io(format!("read {}", path.display()), e);
    let bytes = match File::open(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Vec::new(),
        file => file.and_then(|file| bytes_from(&file, 0)).map_err(reading)?,
    };
    let end = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
    let whole = bytes.get(..end).unwrap_or_default();
    let first = memchr::memchr(b'\n', whole).and_then(|at| whole.get(..at)).unwrap_or_default();
    let token = String::from_utf8_lossy(first).into_owned();
    let reaches = mark.token == token && mark.offset <= end as u64 && !token.is_empty();
    let from = if reaches { usize::try_from(mark.offset).unwrap_or(usize::MAX) } else { 0 };
    let lines = String::from_utf8_lossy(whole.get(from..).unwrap_or_default());
    let traces = lines.lines().filter_map(|line| {
        let (noted, trace) = line.split_once('/')?;
        (noted == tenant.as_str()).then(|| trace.parse().ok())?
    });
    let traces = reaches.then(|| traces.collect());
    let steps = lines.lines().filter_map(|line| {
        let mut words = line.strip_prefix('=')?.split(' ');
        let is_ours = words.next()? == tenant.as_str();
        let (from, to) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        is_ours.then_some((from, to))
    });
    Ok(Changed { traces, mark: Mark { token, offset: end as u64 }, steps: steps.collect() })
}
