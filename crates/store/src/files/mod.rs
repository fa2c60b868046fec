//! A store in plain files, for any number of processes on one machine.
//!
//! ```text
//! <data>/traces/<trace>/                locked (flock, shared) by whoever stays with it while it waits
//!                       events.jsonl    the log, see [`mod@crate::line`]
//!                       events.torn     what was cut off its end
//!                       mailbox.jsonl   one JSON object per entry: id, at, from, urgent, body
//!                       signatures.jsonl  signatures of the log's heads, a line each
//!                       scores.jsonl    what runs of it were graded, a line each
//!                       owner.lock      locked (flock) by the owner; its content says who: epoch, pid, placed
//!                       …               views; may all be deleted
//! <data>/blobs/<2 hex>/<hash>           content by its SHA-256
//! <data>/tenants/<tenant>/…             the same for every tenant but `local`
//! <data>/journal/<name>.wal             lines of many traces made durable together; locked by its process
//! <data>/journal/<name>.removed         which of their traces were removed since
//! <data>/doorbell                       which traces got mail; only a hint
//! <data>/changes                        which traces were leased or removed; only a hint
//! ```
//!
//! Folders are for their owner only (0700), files too (0600). Two files need the file system to keep its word: what
//! `fdatasync` reported done is on the disk, and `flock` excludes. Network file systems may keep neither.
//!
//! **Durability.** All appends go through one thread, which takes what is waiting as one group. Up to two traces are
//! synced one by one; more share one sync of the journal, as do new ones while others go on, and their own files are synced later, in the
//! background, before the journal is removed. A journal that its process left behind is played back when the next store opens the folder.

mod begin;
mod beside;
mod blobs;
mod blocking;
mod bytes;
mod changes;
mod commit;
mod disk;
mod doorbell;
mod follow;
mod inner;
mod journal;
mod layout;
mod mailbox;
mod owned;
mod owner;
mod read;
mod record;
mod removal;
mod removed;
mod together;
mod verify;
mod view_files;
mod watch;

pub use changes::{Changed, Mark};
pub use commit::JournalTimes;
pub use disk::Disk;
pub(crate) use doorbell::Doorbell;
pub use follow::Following;
pub use inner::Options;

use crate::line::HeadHash;
use crate::report::Report;
use crate::scheduler::{LocalScheduler, Scheduler};
use crate::store::{
    Appended, Collected, Fut, Lease, Letter, Mail, Opened, Owner, ReadLog, Refused, Scope, Store, StoreError, Sweep,
    TraceEntry,
};
use blocking::blocking;
use commit::Committer;
use inner::{Asked, Inner, Working};
use layout::Layout;
use mainpath_types::{BlobHash, Event, EventId, MailId, TenantId, TraceId};
use owned::{Job, Owned};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::{oneshot, watch as tokio_watch};
use watch::Watchers;

/// A [`Store`] in a data directory. Dropping it finishes what is under way and syncs what is not.
#[derive(Debug)]
pub struct FilesStore {
    inner: Arc<Inner>,
    committer: Option<JoinHandle<()>>,
}

impl FilesStore {
    /// Opens the data directory, making it if it is not there, and restores what a power cut may have taken.
    ///
    /// Raises this process's limit of open files as far as the system lets it: every leased trace needs one.
    /// Errors: the directory cannot be made, read or written.
    pub fn open(data: &Path, options: Options) -> Result<FilesStore, StoreError> {
        let layout = Layout::new(data);
        let opening = |e: std::io::Error| StoreError::io(format!("open the data directory {}", data.display()), e);
        raise_file_limit();
        layout.make_root().map_err(opening)?;
        journal::replay(&layout)?;
        let doorbell = Doorbell::open(&layout.doorbell()).map_err(opening)?;
        let watchers = Arc::new(Watchers::new(layout.clone()));
        let (commits, committer) =
            Committer::start(layout.clone(), Arc::clone(&options.disk), Arc::clone(&watchers), options.journal)
                .map_err(opening)?;
        let scheduler = Arc::new(LocalScheduler::with_doorbell(options.clock, doorbell));
        let inner = Inner::new(layout, options, Working { commits, watchers, scheduler });
        Ok(FilesStore { inner: Arc::new(inner), committer: Some(committer) })
    }

    /// Opens the data directory to look at it. Where nothing can be written there, it is looked at as it lies: lines that a power
    /// cut left in a journal alone are not in their logs then, which [`Store::verify`] says.
    ///
    /// Errors: there is no directory and none can be made, or it cannot be read.
    pub fn look(data: &Path, options: Options) -> Result<FilesStore, StoreError> {
        match FilesStore::open(data, options.clone()) {
            Err(StoreError::Io { source, .. }) if is_unwritable(&source) && data.join("traces").is_dir() => {}
            opened => return opened,
        }
        let layout = Layout::new(data);
        let opening = |e: std::io::Error| StoreError::io(format!("open the data directory {}", data.display()), e);
        let watchers = Arc::new(Watchers::new(layout.clone()));
        let (commits, committer) =
            Committer::start(layout.clone(), Arc::clone(&options.disk), Arc::clone(&watchers), options.journal)
                .map_err(opening)?;
        let scheduler = Arc::new(LocalScheduler::new(options.clock));
        let inner = Inner::new(layout, options, Working { commits, watchers, scheduler });
        Ok(FilesStore { inner: Arc::new(inner), committer: Some(committer) })
    }

    /// The scheduler that mail wakes, of this process and of others.
    pub fn scheduler(&self) -> Arc<LocalScheduler> {
        Arc::clone(&self.inner.scheduler)
    }

    /// Who owns a trace at this moment, if anybody does. Unlike a lease it leaves everything as it is, a torn last line
    /// included. Errors: [`StoreError::NotFound`], [`StoreError::Io`].
    pub fn owner(&self, scope: &Scope, trace: &TraceId) -> Result<Option<Owner>, StoreError> {
        owner::owner(&self.inner, &scope.tenant, trace)
    }

    /// Says that this process stays with a trace, also while the trace waits and nobody owns it: what is sent to it is read.
    /// Errors: [`StoreError::NotFound`], [`StoreError::Io`].
    pub fn follow(&self, scope: &Scope, trace: &TraceId) -> Result<Following, StoreError> {
        follow::follow(&self.inner.layout, &scope.tenant, trace)
    }

    /// Whether some process stays with a trace. Errors: [`StoreError::NotFound`], [`StoreError::Io`].
    pub fn is_followed(&self, scope: &Scope, trace: &TraceId) -> Result<bool, StoreError> {
        follow::is_followed(&self.inner.layout, &scope.tenant, trace)
    }

    /// The traces that may have changed since a mark: leased in the meantime, or removed. One that is still owned may change
    /// on. Errors: [`StoreError::Io`].
    pub fn changed_since(&self, scope: &Scope, mark: &Mark) -> Result<Changed, StoreError> {
        changes::since(&self.inner.layout, &scope.tenant, mark)
    }

    /// When a trace last came to the folder that holds a tenant's traces, or went: another time in nanoseconds for each, as
    /// long as they are a tick apart. Linux's `ctime`, which nobody can set. 0 while there is no folder. Only to be compared.
    pub fn folder_time(&self, scope: &Scope) -> i64 {
        let time =
            |meta: std::fs::Metadata| meta.ctime().saturating_mul(1_000_000_000).saturating_add(meta.ctime_nsec());
        std::fs::metadata(self.inner.layout.traces(&scope.tenant)).map_or(0, time)
    }

    /// A blob, read on this thread: see [`Store::get_blob`]. Errors: as there.
    pub fn read_blob(&self, scope: &Scope, hash: &BlobHash) -> Result<Vec<u8>, StoreError> {
        blobs::get(&self.inner.layout, &scope.tenant, hash)
    }

    /// The log of a trace, read on this thread for a cache: see [`Store::read`]. Errors: as there.
    pub fn read_now(&self, scope: &Scope, trace: &TraceId) -> Result<ReadLog, StoreError> {
        self.inner.marks.read(&self.inner.layout, &scope.tenant, trace, 1)
    }

    /// The names of a tenant's traces, in no order. Errors: [`StoreError::Io`].
    pub fn names(&self, scope: &Scope) -> Result<Vec<TraceId>, StoreError> {
        self.inner.layout.names(&scope.tenant)
    }

    /// What is wrong with a trace that cannot be read at all: [`StoreError::LogMissing`] where its log is missing while its views are there,
    /// [`StoreError::NotAFile`].
    pub fn lost(&self, scope: &Scope, trace: &TraceId) -> Option<StoreError> {
        self.inner.layout.lost(&scope.tenant, trace)
    }

    /// The names of a tenant's traces one after the other, without a copy of each. Errors: [`StoreError::Io`].
    pub fn each_name(&self, scope: &Scope, each: impl FnMut(&str)) -> Result<(), StoreError> {
        self.inner.layout.each_name(&scope.tenant, each)
    }

    /// The folder of a tenant: its traces, its blobs, and what others keep beside them.
    pub fn tenant_dir(&self, tenant: &TenantId) -> PathBuf {
        self.inner.layout.tenant(tenant)
    }

    /// The file in which an index of a tenant's traces is kept, by whoever makes one. It can be deleted at any time.
    pub fn index_file(&self, tenant: &TenantId) -> PathBuf {
        self.tenant_dir(tenant).join("index.sqlite")
    }

    /// Deletes that file and what SQLite keeps beside it. Errors: the system's answer.
    pub fn delete_index(&self, tenant: &TenantId) -> std::io::Result<()> {
        for end in ["", "-wal", "-shm", "-journal"] {
            let mut name = self.index_file(tenant).into_os_string();
            name.push(end);
            match std::fs::remove_file(&name) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Where a trace's files are, for people and for [`verify_file`](crate::verify_file). The folder need not exist.
    pub fn trace_dir(&self, tenant: &TenantId, trace: &TraceId) -> PathBuf {
        self.inner.layout.trace(tenant, trace)
    }
}

impl Drop for FilesStore {
    fn drop(&mut self) {
        // Both fail only if the thread has died, which it says itself.
        let _ = self.inner.commits.submit(Job::Close);
        if let Some(thread) = self.committer.take() {
            let _ = thread.join();
        }
    }
}

/// Whether an error says that this place is not to be written.
fn is_unwritable(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem)
}

/// Soft limit up to the hard one. Where that is not allowed, the limit shows later as an error with a name.
fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        limit.current = limit.maximum;
        let _ = setrlimit(Resource::Nofile, limit);
    }
}

impl Store for FilesStore {
    fn lease(&self, scope: &Scope, trace: &TraceId, create: bool) -> Fut<'_, Result<Opened, StoreError>> {
        // An empty log is read and nothing is synced: another thread would cost more than this takes.
        let is_new = create && !self.inner.layout.may_be_there(&scope.tenant, trace);
        let (inner, tenant, trace) = (Arc::clone(&self.inner), scope.tenant.clone(), trace.clone());
        let lease = move || owner::lease(&inner, &tenant, &trace, create);
        match is_new {
            true => Box::pin(async move { lease() }),
            false => blocking(lease),
        }
    }

    fn begin(&self, scope: &Scope, trace: &TraceId, log: Vec<Event>) -> Fut<'_, Result<(), StoreError>> {
        let (inner, scope, trace) = (Arc::clone(&self.inner), scope.clone(), trace.clone());
        blocking(move || begin::begin(&inner, &scope.tenant, &trace, &log))
    }

    fn append<'a>(&'a self, lease: &'a Lease, expected: EventId, batch: Vec<Event>) -> Fut<'a, Appended> {
        Box::pin(async move {
            let Some(owned) = lease.hold::<Owned>() else { return Appended::Refused(Refused::StaleEpoch) };
            let (answer, answered) = oneshot::channel();
            match owned.prepare(self.inner.options.salts, expected, &batch, answer) {
                Err(refused) => return Appended::Refused(refused),
                Ok(None) => return Appended::Committed { head: expected },
                Ok(Some(job)) => {
                    if !owned.submit(job) {
                        return owned.lose("the store is closed", io::ErrorKind::Other);
                    }
                }
            }
            match answered.await {
                Ok(appended) => appended,
                Err(_) => owned.lose("the store was closed before it answered", io::ErrorKind::Other),
            }
        })
    }

    fn read(&self, scope: &Scope, trace: &TraceId, from: EventId) -> Fut<'_, Result<ReadLog, StoreError>> {
        let asked = Asked { tenant: scope.tenant.clone(), trace: trace.clone(), from };
        Box::pin(async move {
            // Whoever begins a trace looks first whether there is one: that there is none is seen without a thread.
            if !self.inner.layout.may_be_there(&asked.tenant, &asked.trace) {
                return Err(StoreError::NotFound { trace: asked.trace });
            }
            let (inner, what) = (Arc::clone(&self.inner), asked.clone());
            let read = move || inner.read(&what.tenant, &what.trace, from).map(Arc::new);
            self.inner.reads.ask(asked, read).await.map(Arc::unwrap_or_clone)
        })
    }

    fn problem(&self) -> Option<String> {
        self.inner.options.disk.problem()
    }

    fn subscribe(&self, scope: &Scope, trace: &TraceId) -> Result<tokio_watch::Receiver<EventId>, StoreError> {
        self.inner.watchers.subscribe(&scope.tenant, trace)
    }

    fn driver(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<Option<Owner>, StoreError>> {
        let asked = Asked { tenant: scope.tenant.clone(), trace: trace.clone(), from: 0 };
        Box::pin(async move {
            let (inner, Asked { tenant, trace, .. }) = (Arc::clone(&self.inner), asked.clone());
            let look = move || match owner::owner(&inner, &tenant, &trace)? {
                // Where a file system cannot lock folders, nobody can stay with one.
                None => {
                    Ok(follow::is_followed(&inner.layout, &tenant, &trace).is_ok_and(|is| is).then_some(Owner::Unnamed))
                }
                owner => Ok(owner),
            };
            self.inner.drivers.ask(asked, look).await
        })
    }

    fn send(&self, scope: &Scope, trace: &TraceId, letter: Letter) -> Fut<'_, Result<MailId, StoreError>> {
        let (inner, scope, trace) = (Arc::clone(&self.inner), scope.clone(), trace.clone());
        blocking(move || {
            let at = (inner.options.clock)();
            let id = mailbox::post(&inner.layout, &scope, &trace, at, letter)?;
            doorbell::ring(&inner.layout.doorbell(), &scope.tenant, &trace);
            inner.scheduler.wake(&scope.tenant, &trace);
            Ok(id)
        })
    }

    fn mail(&self, scope: &Scope, trace: &TraceId, after: MailId) -> Fut<'_, Result<Vec<Mail>, StoreError>> {
        let (inner, scope, trace) = (Arc::clone(&self.inner), scope.clone(), trace.clone());
        // A trace looks whether there is mail before it comes to rest; mostly there never was any, and that is seen without a thread.
        if inner.layout.has_no_mailbox(&scope.tenant, &trace) {
            return Box::pin(std::future::ready(Ok(Vec::new())));
        }
        blocking(move || mailbox::read(&inner.layout, &scope.tenant, &trace, after))
    }

    fn put_blob(&self, scope: &Scope, bytes: Vec<u8>) -> Fut<'_, Result<BlobHash, StoreError>> {
        let (inner, scope) = (Arc::clone(&self.inner), scope.clone());
        blocking(move || blobs::put(&inner.layout, &scope.tenant, &bytes))
    }

    fn get_blob(&self, scope: &Scope, hash: &BlobHash) -> Fut<'_, Result<Vec<u8>, StoreError>> {
        let (inner, scope, hash) = (Arc::clone(&self.inner), scope.clone(), hash.clone());
        blocking(move || blobs::get(&inner.layout, &scope.tenant, &hash))
    }

    fn list(&self, scope: &Scope) -> Fut<'_, Result<Vec<TraceEntry>, StoreError>> {
        let (inner, scope) = (Arc::clone(&self.inner), scope.clone());
        blocking(move || inner.layout.list(&scope.tenant))
    }

    fn verify(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<Report, StoreError>> {
        let (inner, scope, trace) = (Arc::clone(&self.inner), scope.clone(), trace.clone());
        blocking(move || verify::verify(&inner.layout, &scope.tenant, &trace))
    }

    fn heads(
        &self,
        scope: &Scope,
        trace: &TraceId,
        events: Vec<EventId>,
    ) -> Fut<'_, Result<Vec<Option<HeadHash>>, StoreError>> {
        let (inner, scope, trace) = (Arc::clone(&self.inner), scope.clone(), trace.clone());
        blocking(move || verify::heads(&inner.layout, &scope.tenant, &trace, &events))
    }

    fn add_signature(&self, scope: &Scope, trace: &TraceId, line: String) -> Fut<'_, Result<(), StoreError>> {
        let (inner, scope, trace) = (Arc::clone(&self.inner), scope.clone(), trace.clone());
        blocking(move || inner.beside(&scope, &trace, beside::SIGNATURES).add(&line))
    }

    fn signatures(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<Vec<u8>, StoreError>> {
        let (inner, scope, trace) = (Arc::clone(&self.inner), scope.clone(), trace.clone());
        blocking(move || inner.beside(&scope, &trace, beside::SIGNATURES).read())
    }

    fn add_score(&self, scope: &Scope, trace: &TraceId, line: String) -> Fut<'_, Result<(), StoreError>> {
        let (inner, scope, trace) = (Arc::clone(&self.inner), scope.clone(), trace.clone());
        blocking(move || inner.beside(&scope, &trace, beside::SCORES).add(&line))
    }

    fn scores(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<Vec<u8>, StoreError>> {
        let (inner, scope, trace) = (Arc::clone(&self.inner), scope.clone(), trace.clone());
        blocking(move || inner.beside(&scope, &trace, beside::SCORES).read_scores())
    }

    fn remove_scores(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<(), StoreError>> {
        let (inner, scope, trace) = (Arc::clone(&self.inner), scope.clone(), trace.clone());
        blocking(move || inner.beside(&scope, &trace, beside::SCORES).remove())
    }

    fn erase<'a>(&'a self, lease: &'a Lease, marker: Event) -> Fut<'a, Appended> {
        let (inner, owned) = (Arc::clone(&self.inner), lease.hold::<Owned>());
        let done = blocking(move || {
            let Some(owned) = owned else { return Ok(Appended::Refused(Refused::StaleEpoch)) };
            Ok(removal::erase(&inner, &owned, &marker).unwrap_or_else(Appended::Refused))
        });
        Box::pin(async move {
            done.await.unwrap_or_else(|error| Appended::Unknown { problem: error.to_string(), cause: error.cause() })
        })
    }

    fn remove(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<(), StoreError>> {
        let (inner, scope, trace) = (Arc::clone(&self.inner), scope.clone(), trace.clone());
        blocking(move || removal::remove(&inner.layout, &scope.tenant, &trace))
    }

    fn discard<'a>(&'a self, _scope: &'a Scope, lease: &'a Lease, head: EventId) -> Fut<'a, Result<(), StoreError>> {
        let (inner, owned) = (Arc::clone(&self.inner), lease.hold::<Owned>());
        blocking(move || owned.map_or(Ok(()), |owned| removal::discard(&inner.layout, &owned, head)))
    }

    fn collect_blobs(&self, scope: &Scope, sweep: Sweep) -> Fut<'_, Result<Collected, StoreError>> {
        let (inner, scope) = (Arc::clone(&self.inner), scope.clone());
        blocking(move || removal::collect(&inner.layout, &scope.tenant, &sweep))
    }

    fn put_view(&self, scope: &Scope, trace: &TraceId, name: &str, bytes: Vec<u8>) -> Fut<'_, Result<(), StoreError>> {
        let (inner, scope, trace, name) = (Arc::clone(&self.inner), scope.clone(), trace.clone(), name.to_owned());
        blocking(move || view_files::put(&inner.layout, &scope.tenant, &trace, &name, &bytes))
    }

    fn get_view(&self, scope: &Scope, trace: &TraceId, name: &str) -> Fut<'_, Result<Option<Vec<u8>>, StoreError>> {
        let (inner, scope, trace, name) = (Arc::clone(&self.inner), scope.clone(), trace.clone(), name.to_owned());
        blocking(move || view_files::get(&inner.layout, &scope.tenant, &trace, &name))
    }

    fn views(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<Vec<String>, StoreError>> {
        let (inner, scope, trace) = (Arc::clone(&self.inner), scope.clone(), trace.clone());
        blocking(move || view_files::names(&inner.layout, &scope.tenant, &trace))
    }

    fn delete_view(&self, scope: &Scope, trace: &TraceId, name: &str) -> Fut<'_, Result<(), StoreError>> {
        let (inner, scope, trace, name) = (Arc::clone(&self.inner), scope.clone(), trace.clone(), name.to_owned());
        blocking(move || view_files::delete(&inner.layout, &scope.tenant, &trace, &name))
    }
}

#[cfg(any(feature = "faults", feature = "conformance"))]
impl crate::Raw for FilesStore {
    fn log_bytes(&self, tenant: &TenantId, trace: &TraceId) -> Vec<u8> {
        std::fs::read(self.inner.layout.log(tenant, trace)).unwrap_or_default()
    }

    fn set_log_bytes(&self, tenant: &TenantId, trace: &TraceId, bytes: &[u8]) {
        let path = self.inner.layout.log(tenant, trace);
        if path.exists() {
            // As an editor would: another file in its place.
            let put = crate::write_private(&path, bytes);
            debug_assert!(put.is_ok(), "{put:?}");
        }
    }
}
