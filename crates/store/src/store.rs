//! The contract: what a store promises, whichever way it keeps its bytes.

pub use crate::error::{Damage, Owner, StoreError, cause_of, is_no_room, is_scarce};
use crate::line::HeadHash;
use crate::report::Report;
use mainpath_types::{BlobHash, Event, EventId, MailId, Millis, Principal, TenantId, TraceId};
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// A future that can be sent and needs no name.
pub type Fut<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Whose data a call is about, and who makes the call. Every call names both.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    /// Whose data; nothing of another tenant can be reached.
    pub tenant: TenantId,
    /// Who calls, as authenticated by the caller. Mail is stamped with it.
    pub principal: Principal,
}

impl Scope {
    /// The person at this machine's terminal, in a single-user installation.
    pub fn local() -> Scope {
        Scope { tenant: TenantId::local(), principal: Principal::local_user() }
    }
}

/// Append, read, subscribe, mailbox, blobs, views and leases. See the crate's page for who owns what.
///
/// Futures need a tokio runtime with time enabled. Dropping one does not undo what it has begun.
pub trait Store: Send + Sync + 'static {
    /// Takes exclusive ownership of a trace and reads its log. Takes the trace's next epoch, which ends every earlier one.
    ///
    /// `create` makes the trace if it is new. An incomplete last line is cut off and kept, see [`ReadLog::tail_cut`]; a
    /// damaged or newer log gives a lease that cannot append.
    ///
    /// Errors: [`StoreError::Held`] while another owner, in this process or another, has it; [`StoreError::NotFound`];
    /// [`StoreError::Io`].
    fn lease(&self, scope: &Scope, trace: &TraceId, create: bool) -> Fut<'_, Result<Opened, StoreError>>;

    /// Makes a trace with this log, whole or not at all; durable when it answers. The ids count from 1 without gaps.
    ///
    /// Errors: [`StoreError::Exists`]; [`StoreError::Held`] while somebody makes it; [`StoreError::Io`], also for events that
    /// cannot be written.
    fn begin(&self, scope: &Scope, trace: &TraceId, log: Vec<Event>) -> Fut<'_, Result<(), StoreError>>;

    /// All other writes to a log: all of the batch, in order, durable when it answers `Committed`.
    ///
    /// `expected` is the head that the batch builds on: the id of the last event, 0 in a new trace. The batch's ids must
    /// follow it without gaps. An empty batch writes nothing and is answered like any other.
    ///
    /// One append at a time per lease. If the future is dropped, the append goes on all the same.
    fn append<'a>(&'a self, lease: &'a Lease, expected: EventId, batch: Vec<Event>) -> Fut<'a, Appended>;

    /// The events from `from` on (1 is the first), checked. Needs no lease and works while another process appends: an
    /// incomplete last line is simply not there yet. Errors: [`StoreError::NotFound`], [`StoreError::Io`].
    fn read(&self, scope: &Scope, trace: &TraceId, from: EventId) -> Fut<'_, Result<ReadLog, StoreError>>;

    /// The head's number now and whenever it grows, whichever process appends. Appends of this process are seen at once,
    /// others within about 0.1 s. Intermediate numbers may be left out. The receiver is closed when the trace is removed.
    /// Errors: [`StoreError::NotFound`], [`StoreError::Io`].
    fn subscribe(&self, scope: &Scope, trace: &TraceId) -> Result<watch::Receiver<EventId>, StoreError>;

    /// Why the last append could not be made durable; `None` if it was. While there is a reason, nothing is acknowledged.
    fn problem(&self) -> Option<String> {
        None
    }

    /// Who drives a trace at this moment, or stays with it while it waits, so that what is sent is read; `None`: nobody. Errors:
    /// [`StoreError::NotFound`], [`StoreError::Io`].
    fn driver(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<Option<Owner>, StoreError>>;

    /// Puts an entry into the trace's mailbox, durable when it answers, and wakes the trace. Any process may do so. The sender is the
    /// scope's principal. One that is sent again under its key ([`Letter::once`]) is not added again: the number of the first is given.
    /// Errors: [`StoreError::NotFound`], [`StoreError::BadMail`], [`StoreError::Reused`], [`StoreError::Damaged`],
    /// [`StoreError::Io`].
    fn send(&self, scope: &Scope, trace: &TraceId, letter: Letter) -> Fut<'_, Result<MailId, StoreError>>;

    /// The same for what is sent under no key.
    fn post(&self, scope: &Scope, trace: &TraceId, urgent: bool, body: String) -> Fut<'_, Result<MailId, StoreError>> {
        self.send(scope, trace, Letter { urgent, body, once: None })
    }

    /// The mailbox entries after `after` (0: all), oldest first. Errors: [`StoreError::NotFound`],
    /// [`StoreError::Damaged`], [`StoreError::Io`].
    fn mail(&self, scope: &Scope, trace: &TraceId, after: MailId) -> Fut<'_, Result<Vec<Mail>, StoreError>>;

    /// Keeps the bytes under their hash, durable when it answers. The same bytes twice are kept once.
    fn put_blob(&self, scope: &Scope, bytes: Vec<u8>) -> Fut<'_, Result<BlobHash, StoreError>>;

    /// The bytes of a blob, which were checked against the hash. Errors: [`StoreError::NoBlob`],
    /// [`StoreError::Damaged`], [`StoreError::Io`].
    fn get_blob(&self, scope: &Scope, hash: &BlobHash) -> Fut<'_, Result<Vec<u8>, StoreError>>;

    /// The tenant's traces, the one that changed last first. Cheap: opens no log.
    fn list(&self, scope: &Scope) -> Fut<'_, Result<Vec<TraceEntry>, StoreError>>;

    /// Checks the whole log, every blob that it names and the mailbox, and says what it could not check. Errors: [`StoreError::NotFound`], [`StoreError::Io`].
    fn verify(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<Report, StoreError>>;

    /// The hashes of the heads of these events, each checked against the line after it; `None` where the log's good lines end before.
    /// Errors: [`StoreError::NotFound`], [`StoreError::Io`].
    fn heads(
        &self,
        scope: &Scope,
        trace: &TraceId,
        events: Vec<EventId>,
    ) -> Fut<'_, Result<Vec<Option<HeadHash>>, StoreError>>;

    /// Adds a line to what is kept of the trace's signatures, durable when it answers. The store does not know what it says. `line`
    /// has no line feed. Errors: [`StoreError::NotFound`], [`StoreError::Io`], also for a line with a line feed in it.
    fn add_signature(&self, scope: &Scope, trace: &TraceId, line: String) -> Fut<'_, Result<(), StoreError>>;

    /// All such lines, oldest first, as bytes: whoever can change the files of the store can change these as well. Errors:
    /// [`StoreError::NotFound`], [`StoreError::Io`].
    fn signatures(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<Vec<u8>, StoreError>>;

    /// Adds a line to what is kept of the trace's scores, durable when it answers. The store does not know what it says; an erasure
    /// removes all of them. `line` has no line feed. Errors: as [`Store::add_signature`].
    fn add_score(&self, scope: &Scope, trace: &TraceId, line: String) -> Fut<'_, Result<(), StoreError>>;

    /// All such lines, oldest first, as bytes. Errors: [`StoreError::NotFound`], [`StoreError::Io`].
    fn scores(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<Vec<u8>, StoreError>>;

    /// Removes all such lines. Errors: [`StoreError::NotFound`], [`StoreError::Io`].
    fn remove_scores(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<(), StoreError>>;

    /// Takes the content of events out of the log for good, with the mail that brought them, what was cut off the log and the scores,
    /// and adds `marker`, an `erased` event that follows the head and says what is left of each. All of it or nothing is
    /// durable when it answers. The chain holds as before. The lease is used up and the trace free. The blobs that the
    /// events named stay until they are collected.
    fn erase<'a>(&'a self, lease: &'a Lease, marker: Event) -> Fut<'a, Appended>;

    /// Removes a trace with all its files. Its blobs stay until they are collected. Errors: [`StoreError::NotFound`],
    /// [`StoreError::Held`] while somebody has it, [`StoreError::Io`].
    fn remove(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<(), StoreError>>;

    /// Removes the trace that a lease holds, if its log ends with this event as far as the lease knows: one whose beginning could not be
    /// written, and of which nobody was told. The lease is used up. Errors: [`StoreError::Io`].
    fn discard<'a>(&'a self, scope: &'a Scope, lease: &'a Lease, head: EventId) -> Fut<'a, Result<(), StoreError>>;

    /// Removes the tenant's blobs that no log and no mailbox names. Safe while traces are written: a blob that was put
    /// within the sweep's grace stays. Errors: [`StoreError::LogMissing`] where a trace has lost its log
    /// and the sweep names no blobs, [`StoreError::Io`].
    fn collect_blobs(&self, scope: &Scope, sweep: Sweep) -> Fut<'_, Result<Collected, StoreError>>;

    /// Writes a view beside the log, whole or not at all, not synced: a view can be computed again. `name` is a relative
    /// path such as `meta.json` or `inputs/request.txt`. Errors: [`StoreError::BadView`], [`StoreError::NotFound`],
    /// [`StoreError::Io`].
    fn put_view(&self, scope: &Scope, trace: &TraceId, name: &str, bytes: Vec<u8>) -> Fut<'_, Result<(), StoreError>>;

    /// A view's bytes; `None` if there is none of this name.
    fn get_view(&self, scope: &Scope, trace: &TraceId, name: &str) -> Fut<'_, Result<Option<Vec<u8>>, StoreError>>;

    /// The names of all views of a trace, sorted.
    fn views(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<Vec<String>, StoreError>>;

    /// Removes a view; one that is not there is removed already. Errors: [`StoreError::BadView`], [`StoreError::NotFound`],
    /// [`StoreError::Io`].
    fn delete_view(&self, scope: &Scope, trace: &TraceId, name: &str) -> Fut<'_, Result<(), StoreError>>;
}

/// A trace that was leased.
#[derive(Debug)]
pub struct Opened {
    /// The right to append. Dropping it gives the trace free.
    pub lease: Lease,
    /// The whole log, as it is under the lease.
    pub log: ReadLog,
}

/// Exclusive ownership of one trace, until it is dropped or released.
pub struct Lease {
    trace: TraceId,
    epoch: u64,
    hold: Arc<dyn Hold>,
}

/// A store's side of a lease. Releasing twice is as once.
pub(crate) trait Hold: Any + Send + Sync {
    fn release(&self);
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl Lease {
    pub(crate) fn new(trace: TraceId, epoch: u64, hold: Arc<dyn Hold>) -> Lease {
        Lease { trace, epoch, hold }
    }

    /// The store's side, if this lease is of a store of that kind.
    pub(crate) fn hold<H: Hold>(&self) -> Option<Arc<H>> {
        Arc::clone(&self.hold).into_any().downcast().ok()
    }

    /// The trace that is owned.
    pub fn trace(&self) -> &TraceId {
        &self.trace
    }

    /// The number of this ownership, higher than that of every earlier owner of the trace.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Gives the trace free now; later appends with this lease are refused as stale. An append under way is finished
    /// first.
    pub fn release(&self) {
        self.hold.release();
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.hold.release();
    }
}

impl std::fmt::Debug for Lease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lease").field("trace", &self.trace).field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

/// What became of an append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Appended {
    /// All of it is durable.
    Committed {
        /// The id of the last event now.
        head: EventId,
    },
    /// None of it was written.
    Refused(Refused),
    /// Nobody can tell whether it, or a beginning of it, was written. The lease is of no use any more: drop it, lease
    /// again, and read what is there.
    Unknown {
        /// What went wrong, in a sentence.
        problem: String,
        /// What the system said; `Other` if it is not at fault.
        cause: io::ErrorKind,
    },
}

/// Why an append was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The lease was released, or is of another kind of store.
    #[error("this owner's time is over: the trace was given free")]
    StaleEpoch,
    /// The batch does not follow the head.
    #[error("the batch does not follow event {head}, the last one")]
    WrongId {
        /// The id of the last event.
        head: EventId,
    },
    /// The log is damaged, or was written by a newer Mainpath.
    #[error("the log can only be read: it is damaged or newer than this program")]
    ReadOnly,
    /// An earlier append on this lease had no known outcome.
    #[error("an earlier append had no known outcome; the trace has to be opened again")]
    Lost,
    /// An earlier append on this lease is still under way.
    #[error("an earlier append is still under way")]
    Busy,
    /// An event of the batch cannot be written.
    #[error("event {id} cannot be written: {problem}")]
    BadEvent {
        /// Which.
        id: EventId,
        /// Why, in a sentence.
        problem: String,
    },
}

/// What was read of a log: its good lines from the first one on, and why that may not be all.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadLog {
    /// The events, in order. In the place of an erased one stands what its `erased` event says is left of it; it is missing
    /// if no event says so.
    pub events: Vec<Event>,
    /// The events whose content was erased, in order.
    pub erased: Vec<ErasedEvent>,
    /// The id of the last good line; 0 in a new trace.
    pub head: EventId,
    /// The hash of the last good line's head: where the chain stands.
    pub hash: HeadHash,
    /// Set by a lease that found an incomplete last line and cut it off.
    pub tail_cut: Option<TailCutInfo>,
    /// How many bytes of an incomplete last line there are. While somebody owns the trace, the rest of it may be on its way.
    pub torn: u64,
    /// The first bad line. What follows was not read, and the trace can only be read.
    pub damage: Option<Damage>,
    /// Lines of a newer Mainpath follow. They were not read, and the trace can only be read.
    pub newer: bool,
}

impl ReadLog {
    /// Whether appends are refused.
    pub fn read_only(&self) -> bool {
        self.damage.is_some() || self.newer
    }

    /// The events in whose place an erasure has left words, or somebody has put some, each with the `erased` event that says them: it
    /// alone answers for them.
    pub fn reworded(&self) -> BTreeMap<EventId, EventId> {
        let reworded = self.erased.iter().filter(|erased| erased.reworded);
        reworded.filter_map(|erased| Some((erased.id, erased.by?))).collect()
    }

    /// Forgets what lies before.
    pub(crate) fn keep_from(&mut self, from: EventId) {
        let earlier = self.events.partition_point(|event| event.id < from);
        self.events.drain(..earlier);
        self.erased.retain(|erased| erased.id >= from);
    }
}

/// What is left of an event whose content was erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasedEvent {
    /// Its number.
    pub id: EventId,
    /// When it was decided.
    pub ts: Millis,
    /// The turn it belongs to.
    pub turn: u32,
    /// The mailbox entry that caused it.
    pub mail: Option<MailId>,
    /// Its type, as the log line names it.
    pub name: String,
    /// The `erased` event that says what is left of it; `None` if none does, in a log that was not read to its end.
    pub by: Option<EventId>,
    /// Whether words are left of it: quotes were taken out of it, or somebody put words there that it never had. Its own salted hash
    /// covers neither.
    pub reworded: bool,
}

/// How blobs are collected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// What was put so short a time ago stays: a log may be about to name it.
    pub grace: Duration,
    /// Only these; `None`: all.
    pub only: Option<Vec<BlobHash>>,
    /// Nothing is removed, only counted.
    pub dry_run: bool,
}

/// What became of the blobs that nothing names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// How many were removed, or would be.
    pub removed: u64,
    /// How many bytes they had.
    pub bytes: u64,
    /// How many stay because they are too young.
    pub young: u64,
}

/// An incomplete last line was cut off a log. Nothing of it had been acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TailCutInfo {
    /// How many bytes.
    pub bytes: u64,
    /// The file beside the log that they were added to.
    pub kept: String,
}

/// What is put into a mailbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// Whether it may overtake what is waiting.
    pub urgent: bool,
    /// What it says: JSON text. Line breaks between its tokens become spaces.
    pub body: String,
    /// By what it is known when it is sent again.
    pub once: Option<Once>,
}

/// A sender's own key for what it sends, so that it can be sent again without being done twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Once {
    /// The key. Keys of different senders must differ.
    pub key: String,
    /// A digest of what was asked for under it.
    pub asked: String,
}

impl Once {
    /// The number of what was sent under this key, where the same is sent again. Errors: it is something else.
    pub(crate) fn is_again(&self, other: &Once, trace: &TraceId, id: MailId) -> Result<MailId, StoreError> {
        match self.asked == other.asked {
            true => Ok(id),
            false => Err(StoreError::Reused { trace: trace.clone(), key: self.key.clone() }),
        }
    }
}

/// A mailbox entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// Its number in the trace, from 1, without gaps.
    pub id: MailId,
    /// When it was posted.
    pub at: Millis,
    /// Who posted it.
    pub from: Principal,
    /// Whether it may overtake what is waiting.
    pub urgent: bool,
    /// The sender's key for it.
    pub once: Option<Once>,
    /// What it says: JSON text on one line.
    pub body: String,
}

/// A trace in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEntry {
    /// Which.
    pub trace: TraceId,
    /// When its log last changed.
    pub modified: Millis,
}
