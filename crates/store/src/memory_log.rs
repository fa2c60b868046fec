//! The log of a trace in memory.

use crate::append::Tip;
use crate::log::{self, Scan};
use mainpath_types::{EventId, TenantId, TraceId};

/// The lines of a log, and what is known of them.
#[derive(Debug, Default)]
pub(crate) struct MemoryLog {
    bytes: Vec<u8>,
    /// The batches that were appended here, oldest first: a log need not be read from its beginning each time.
    batches: Vec<Batch>,
}

/// Where a batch begins.
#[derive(Debug)]
struct Batch {
    /// How many bytes come before it,
    at: usize,
    /// and how they end.
    before: Tip,
}

impl From<Vec<u8>> for MemoryLog {
    /// Of these lines nothing is known.
    fn from(bytes: Vec<u8>) -> MemoryLog {
        MemoryLog { bytes, batches: Vec::new() }
    }
}

impl MemoryLog {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds the lines of a batch; `before`: how the log ended until now.
    pub fn append(&mut self, before: Tip, lines: &[u8]) {
        self.batches.push(Batch { at: self.bytes.len(), before });
        self.bytes.extend_from_slice(lines);
    }

    /// Takes off what comes after so many bytes.
    pub fn cut(&mut self, good: usize) -> Vec<u8> {
        self.batches.clear();
        self.bytes.split_off(good.min(self.bytes.len()))
    }

    /// The lines from an event on, and some that come before it.
    pub fn scan_from(&self, from: EventId, tenant: &TenantId, trace: &TraceId) -> Scan {
        let later = self.batches.partition_point(|batch| batch.before.head < from);
        let batch = later.checked_sub(1).and_then(|nth| self.batches.get(nth));
        match batch.and_then(|batch| Some((batch.before, self.bytes.get(batch.at..)?))) {
            Some((Tip { head, hash }, lines)) => log::scan(lines, Some((head, hash))).settled(),
            None => log::whole(&self.bytes, tenant, trace),
        }
    }
}
