//! A leased trace, and what its owner asks of the committer.

use super::record::Record;
use crate::append::{Tip, encode_batch};
use crate::line::Salts;
use crate::store::{Appended, Hold, Refused};
use mainpath_types::{Event, EventId, TenantId, TraceId};
use rustix::fs::{FlockOperation, flock};
use std::any::Any;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// The way to the committer.
pub(crate) trait Commit: std::fmt::Debug + Send + Sync {
    /// Hands a job over; false if the store is closed.
    fn submit(&self, job: Job) -> bool;

    /// The lease with this key is gone.
    fn forget(&self, key: u64);
}

/// What the committer is asked to do.
#[derive(Debug)]
pub(crate) enum Job {
    Append(Append),
    /// The lease with this key is gone.
    Forget(u64),
    /// There is a journal now.
    Journal,
    Close,
}

/// Lines of one trace. The lease stays held as long as this lives.
#[derive(Debug)]
pub(crate) struct Append {
    pub owned: Arc<Owned>,
    pub lines: Vec<u8>,
    /// Where the log ends after them.
    pub tip: Tip,
    pub answer: oneshot::Sender<Appended>,
}

/// The store's side of a lease. Small, since there may be tens of thousands.
#[derive(Debug)]
pub(crate) struct Owned {
    /// Unique in its store.
    pub key: u64,
    pub tenant: TenantId,
    pub trace: TraceId,
    /// Whether the trace's folder and log are known to be durable.
    pub placed: Arc<AtomicBool>,
    pub read_only: bool,
    pub commits: Arc<dyn Commit>,
    pub state: Mutex<State>,
}

#[derive(Debug)]
pub(crate) struct State {
    /// Locked as long as it is here.
    pub lock: Option<File>,
    /// What the lock's file says.
    pub record: Record,
    pub tip: Tip,
    /// Whether anything was appended.
    pub is_grown: bool,
    /// An append is under way.
    pub busy: bool,
    /// An append had no known outcome.
    pub lost: bool,
    pub released: bool,
}

impl Owned {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks and encodes a batch, and marks an append as under way. `None` if there is nothing to write.
    pub fn prepare(
        self: &Arc<Self>,
        salts: Salts,
        expected: EventId,
        batch: &[Event],
        answer: oneshot::Sender<Appended>,
    ) -> Result<Option<Job>, Refused> {
        let mut state = self.state();
        if state.released {
            return Err(Refused::StaleEpoch);
        }
        if self.read_only {
            return Err(Refused::ReadOnly);
        }
        if state.lost {
            return Err(Refused::Lost);
        }
        if state.busy {
            return Err(Refused::Busy);
        }
        let encoded = encode_batch(salts, state.tip.head, &state.tip.hash, expected, batch)?;
        let Some((lines, tip)) = encoded else { return Ok(None) };
        state.busy = true;
        Ok(Some(Job::Append(Append { owned: Arc::clone(self), lines, tip, answer })))
    }

    /// Hands the job to the store that gave the lease, which need not be the one that was asked; false if it is closed.
    pub fn submit(&self, job: Job) -> bool {
        self.commits.submit(job)
    }

    /// The append under way is durable.
    pub fn settle(&self, tip: Tip) {
        let mut state = self.state();
        let state = &mut *state;
        state.tip = tip;
        state.is_grown = true;
        // Written when the lock is given up. After a crash before that the next owner only syncs once more than it must.
        state.record.placed |= self.placed.load(Ordering::Relaxed);
        if !state.record.begun {
            state.record.begun = true;
            // Once in the life of a trace. If it fails, the record that is written when the lock is given up has it.
            let _ = state.lock.as_ref().map(|lock| state.record.write(lock));
        }
        state.rest();
    }

    /// The outcome of the append under way is not known.
    pub fn lose(&self, problem: &str, cause: io::ErrorKind) -> Appended {
        let mut state = self.state();
        state.lost = true;
        state.rest();
        Appended::Unknown { problem: problem.into(), cause }
    }
}

impl Owned {
    /// The lock, if nothing is under way and the log ends with this event. Nothing more can be done under the lease.
    pub fn take_lock_at(&self, head: EventId) -> Option<File> {
        let mut state = self.state();
        // Of a log that is damaged or newer the lease knows too little.
        if self.read_only || state.busy || state.tip.head != head {
            return None;
        }
        state.released = true;
        state.lock.take()
    }

    /// Nothing is under way any more, and nothing more can be.
    pub fn use_up(&self) {
        let mut state = self.state();
        state.released = true;
        state.rest();
    }
}

impl State {
    fn rest(&mut self) {
        self.busy = false;
        if self.released {
            self.unlock();
        }
    }

    fn unlock(&mut self) {
        if let Some(file) = self.lock.take() {
            if self.is_grown {
                (self.record.head, self.record.hash) = (self.tip.head, self.tip.hash.to_string());
                // Without it a change of the last line's head is not seen, as before.
                let _ = self.record.write(&file);
            }
            // Closing is not enough while a child process that is just being started still has a copy.
            let _ = flock(&file, FlockOperation::Unlock);
        }
    }
}

impl Hold for Owned {
    fn release(&self) {
        let mut state = self.state();
        state.released = true;
        if !state.busy {
            state.unlock();
        }
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.state().unlock();
        self.commits.forget(self.key);
    }
}
