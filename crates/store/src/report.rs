//! What a check of a trace found.

use crate::error::Damage;
use crate::line::HeadHash;
use mainpath_types::{BlobHash, EventId, MailId};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

/// What is wrong with a blob.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BlobFault {
    #[error("it is missing")]
    Missing,
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    #[error("{} holds {size} bytes that are not what its name says", path.display())]
    Changed { path: PathBuf, size: u64 },
    #[error("its content is not what its name says")]
    Other,
}

/// What a check of a trace found. All is well if there is neither `damage` nor a fault; `unchecked` says what the check cannot
/// know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// How many good lines the log has.
    pub events: u64,
    /// The hash of the last good line's head. Publish it, and nobody can exchange or shorten the log unnoticed.
    pub head: HeadHash,
    /// The events whose content was erased; their place in the chain was checked, their content is gone.
    pub erased: Vec<EventId>,
    /// Of each erased event the `erased` event that says what is left of it. Its own line does not cover that any more.
    pub left_by: BTreeMap<EventId, EventId>,
    /// The erased events that have words all the same: quotes were taken out of them, or somebody put words there.
    pub reworded: Vec<EventId>,
    /// The first bad line; what follows it was not read.
    pub damage: Option<Damage>,
    /// How many blobs are there and hold what their names say.
    pub blobs: u64,
    /// How many bytes they have.
    pub blob_bytes: u64,
    /// How many entries of the mailbox were checked.
    pub mail: u64,
    /// What is missing or changed beside the log's lines, a sentence each, with where.
    pub faults: Vec<String>,
    /// What this check cannot know, a sentence each.
    pub unchecked: Vec<String>,
}

impl Report {
    /// Whether nothing is damaged, missing or changed, as far as it was checked.
    pub fn holds(&self) -> bool {
        self.damage.is_none() && self.faults.is_empty()
    }

    /// Looks at each of these blobs. `look` gives its size, or what is wrong with it. Several threads look at once.
    pub(crate) fn look_at_blobs(
        &mut self,
        named: &BTreeMap<BlobHash, EventId>,
        look: impl Fn(&BlobHash) -> Result<u64, BlobFault> + Sync,
    ) {
        let named: Vec<(&BlobHash, &EventId)> = named.iter().collect();
        let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || {
            while let Some((hash, event)) = named.get(next.fetch_add(1, Ordering::Relaxed)) {
                let looked = (**event, *hash, look(hash));
                found.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(looked);
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(4).min(named.len());
        std::thread::scope(|scope| {
            // Without further threads, this one does all of it.
            (1..threads).for_each(|_| drop(Builder::new().spawn_scoped(scope, work)));
            work();
        });
        let mut found = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        found.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
        for (event, hash, looked) in found {
            match looked {
                Ok(size) => (self.blobs, self.blob_bytes) = (self.blobs + 1, self.blob_bytes + size),
                Err(problem) => self.faults.push(format!("blob {hash}, which event {event} names: {problem}")),
            }
        }
    }

    /// Looks at the numbers of the mailbox's entries. `read` is the newest entry that the log has read.
    pub(crate) fn look_at_mail(&mut self, ids: impl Iterator<Item = MailId>, read: MailId, file: &str) {
        let mut last = 0;
        for id in ids {
            if id != last + 1 {
                self.faults.push(match id.saturating_sub(last) {
                    0 | 1 => format!("{file}: entry {id} stands where entry {} should", last + 1),
                    2 => format!("{file}: entry {} is missing", last + 1),
                    _ => format!("{file}: entries {} to {} are missing", last + 1, id - 1),
                });
            }
            (last, self.mail) = (id.max(last), self.mail + 1);
        }
        if last < read {
            self.faults.push(format!("{file}: it ends with entry {last}, but the log has read entry {read}"));
        }
    }
}
