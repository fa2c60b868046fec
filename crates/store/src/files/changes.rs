//! Which traces somebody took to write to: what a cache over many traces has to look at again. A trace is noted when it is
//! leased, before anything can be written, when it is removed, and when its log is found to be damaged or missing. Only a hint: what it
//! cannot say is said to be unknown.

use super::bytes::bytes_from;
use super::layout::Layout;
use crate::private::open_or_make;
use crate::store::StoreError;
use mainpath_types::{TenantId, TraceId};
use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
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
}

/// The traces whose logs this process found damaged or missing.
#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<HashSet<(TenantId, TraceId)>>);

impl Faults {
    /// Records whether a log is faulty. Returns true if that is new.
    pub fn set(&self, tenant: &TenantId, trace: &TraceId, is_faulty: bool) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match is_faulty {
            true => known.insert((tenant.clone(), trace.clone())),
            false => !known.is_empty() && known.remove(&(tenant.clone(), trace.clone())),
        }
    }
}

/// Notes a trace. What goes wrong is let go: the cache is checked against the logs it shows.
pub(crate) fn note(path: &Path, tenant: &TenantId, trace: &TraceId) {
    let noted = || -> io::Result<()> {
        let mut file = open_or_make(path)?;
        let mut len = file.metadata()?.len();
        if len > LONGEST {
            file.set_len(0)?;
            len = 0;
        }
        let begin = if len == 0 { format!("#{}\n", token()) } else { String::new() };
        file.write_all(format!("{begin}{tenant}/{trace}\n").as_bytes())
    };
    let _ = noted();
}

/// Begins the notes where there are none.
fn begin(path: &Path) -> io::Result<()> {
    open_or_make(path)?.write_all(format!("#{}\n", token()).as_bytes())
}

fn token() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}", since.as_nanos(), std::process::id())
}

/// See [`FilesStore::changed_since`](super::FilesStore::changed_since).
pub(crate) fn since(layout: &Layout, tenant: &TenantId, mark: &Mark) -> Result<Changed, StoreError> {
    let path = layout.changes();
    let reading = |e: io::Error| StoreError::io(format!("read {}", path.display()), e);
    let read = || match File::open(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        file => file.and_then(|file| bytes_from(&file, 0)),
    };
    let mut bytes = read().map_err(reading)?;
    // A home that was copied without notes: from now on there is something to reach back to.
    if bytes.is_empty() && begin(&path).is_ok() {
        bytes = read().map_err(reading)?;
    }
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
    Ok(Changed { traces, mark: Mark { token, offset: end as u64 } })
}
