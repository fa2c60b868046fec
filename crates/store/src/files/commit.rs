//! The committer: the one thread that writes logs. It takes every append that waits as one group.

use super::disk::Disk;
use super::journal::{Checkpoint, Dirty, Journal, checkpoint_all};
use super::layout::{Layout, open_to_append};
use super::owned::{Append, Commit, Job, Owned};
use super::watch::Watchers;
use crate::store::{Appended, cause_of};
use mainpath_types::{TenantId, TraceId};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Groups of up to this many traces are synced file by file.
const FEW: usize = 2;
/// At most this many logs are kept open: a sixteenth of what the process may open.
fn open_logs() -> usize {
    let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(most / 16).unwrap_or(usize::MAX).clamp(64, 2048)
}

/// A crowd: so many appends within this time. Its appends wait this long for company, so that few syncs serve many; a
/// lonely append never waits.
const CROWD: u32 = 20;
const CROWD_TIME: Duration = Duration::from_millis(10);
const COMPANY: Duration = Duration::from_millis(1);

/// Whether appends come as a crowd.
struct Pace {
    since: Instant,
    appends: u32,
    crowded: bool,
}

impl Pace {
    fn note(&mut self, appends: usize, now: Instant) {
        self.appends = self.appends.saturating_add(u32::try_from(appends).unwrap_or(u32::MAX));
        if now.duration_since(self.since) >= CROWD_TIME {
            self.crowded = self.appends >= CROWD;
            (self.since, self.appends) = (now, 0);
        }
    }
}
/// The journal is also replaced when it is longer than this.
const JOURNAL_LIMIT: u64 = 16 << 20;

/// When the journal is replaced: what was erased or removed meanwhile is not to stay in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalTimes {
    /// After so long without an append.
    pub idle: Duration,
    /// When it is so old, also while there are appends.
    pub old: Duration,
}

impl Default for JournalTimes {
    fn default() -> Self {
        JournalTimes { idle: Duration::from_secs(2), old: Duration::from_secs(5) }
    }
}

#[derive(Debug)]
pub(crate) struct Committer {
    layout: Layout,
    disk: Arc<Disk>,
    watchers: Arc<Watchers>,
    logs: HashMap<u64, OpenLog>,
    most_logs: usize,
    journal: Option<Journal>,
    dirty: Dirty,
    checkpoints: mpsc::Sender<Checkpoint>,
    leases: Arc<AtomicUsize>,
    undone: Arc<Mutex<Undone>>,
}

/// A log that is open to append.
#[derive(Debug)]
struct OpenLog {
    file: File,
    len: u64,
}

/// An append that is written and not durable yet.
struct Written {
    append: Append,
    /// The length of the log before it.
    before: u64,
}

/// Logs that end in bytes that are not durable and could not be taken back, with the length of what is.
type Undone = HashMap<(TenantId, TraceId), u64>;

/// The way to the committer.
#[derive(Debug)]
pub(crate) struct Commits {
    jobs: mpsc::Sender<Job>,
    /// `None` once it is closed.
    committer: Arc<Mutex<Option<Committer>>>,
    /// How many leases there are.
    pub leases: Arc<AtomicUsize>,
    undone: Arc<Mutex<Undone>>,
}

impl Commits {
    /// Whether there are so few leases that what each waits for is done where it is asked for.
    fn are_few(&self) -> bool {
        self.leases.load(Ordering::Relaxed) <= FEW
    }

    /// Takes back what an append left in a log when it failed, if that could not be done at once. Errors: it still cannot be done.
    pub fn take_back(&self, tenant: &TenantId, trace: &TraceId, log: &File) -> io::Result<()> {
        let mut undone = self.undone.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (tenant.clone(), trace.clone());
        if let Some(durable) = undone.get(&key) {
            log.set_len(*durable)?;
            undone.remove(&key);
        }
        Ok(())
    }

    /// Hands a job over; false if the store is closed. While there are so few leases that no group would share a sync, and nobody
    /// writes, the append is done where it is asked for, which saves four switches between threads: an agent alone, and one that
    /// waits for the agent that it has started.
    pub fn submit(&self, job: Job) -> bool {
        match job {
            Job::Append(append) if self.are_few() => match self.committer.try_lock() {
                Ok(mut committer) => {
                    let Some(open) = committer.as_mut() else { return false };
                    let had_journal = open.journal.is_some();
                    open.commit(vec![append]);
                    // The thread sees to it that it is done with.
                    if !had_journal && open.journal.is_some() {
                        let _ = self.jobs.send(Job::Journal);
                    }
                    true
                }
                Err(_) => self.jobs.send(Job::Append(append)).is_ok(),
            },
            job => self.jobs.send(job).is_ok(),
        }
    }
}

impl Commit for Commits {
    fn submit(&self, job: Job) -> bool {
        Commits::submit(self, job)
    }

    fn forget(&self, key: u64) {
        // Fails only when the store is gone, and with it the file that this would close.
        let _ = Commits::submit(self, Job::Forget(key));
        self.leases.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Committer {
    pub fn start(
        layout: Layout,
        disk: Arc<Disk>,
        watchers: Arc<Watchers>,
        times: JournalTimes,
    ) -> io::Result<(Arc<Commits>, JoinHandle<()>)> {
        let (jobs, waiting) = mpsc::channel();
        let (checkpoints, queue) = mpsc::channel();
        let (to_sync, sync_disk) = (layout.clone(), Arc::clone(&disk));
        let checkpointer = std::thread::Builder::new()
            .name("log-checkpoint".into())
            .spawn(move || checkpoint_all(&to_sync, &sync_disk, &queue))?;
        let (leases, undone) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Undone::new())));
        let committer = Committer {
            layout,
            disk,
            watchers,
            logs: HashMap::new(),
            most_logs: open_logs(),
            journal: None,
            dirty: Dirty::new(),
            checkpoints,
            leases: Arc::clone(&leases),
            undone: Arc::clone(&undone),
        };
        let committer = Arc::new(Mutex::new(Some(committer)));
        let commits = Commits { jobs, committer: Arc::clone(&committer), leases, undone };
        let thread = std::thread::Builder::new().name("log-commit".into()).spawn(move || {
            Committer::run(&committer, &waiting, times);
            let _ = checkpointer.join();
        })?;
        Ok((Arc::new(commits), thread))
    }

    fn run(committer: &Mutex<Option<Committer>>, jobs: &Receiver<Job>, times: JournalTimes) {
        let locked = || committer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut open = true;
        let mut pace = Pace { since: Instant::now(), appends: 0, crowded: false };
        while open {
            let has_journal = locked().as_ref().is_some_and(|committer| committer.journal.is_some());
            let first = match has_journal {
                false => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
                true => jobs.recv_timeout(times.idle),
            };
            let first = match first {
                Ok(job) => job,
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(committer) = &mut *locked() {
                        committer.hand_over_journal();
                    }
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => Job::Close,
            };
            if pace.crowded && matches!(first, Job::Append(_)) {
                std::thread::sleep(COMPANY);
            }
            let mut group = Vec::new();
            for job in std::iter::once(first).chain(std::iter::from_fn(|| jobs.try_recv().ok())) {
                match job {
                    Job::Append(append) => group.push(append),
                    Job::Forget(key) => {
                        if let Some(committer) = &mut *locked() {
                            committer.logs.remove(&key);
                        }
                    }
                    Job::Journal => {}
                    Job::Close => open = false,
                }
            }
            pace.note(group.len(), Instant::now());
            if let Some(committer) = &mut *locked() {
                committer.commit(group);
                if committer.journal.as_ref().is_some_and(|journal| journal.made.elapsed() >= times.old) {
                    committer.hand_over_journal();
                }
            }
        }
        if let Some(mut committer) = locked().take() {
            committer.hand_over_journal();
        }
    }

    /// A lease has one append under way at most, so every append of a group is of another trace.
    fn commit(&mut self, group: Vec<Append>) {
        let written: Vec<Written> = group.into_iter().filter_map(|append| self.write(append)).collect();
        if (written.len() > FEW || self.is_begun_in_company(&written)) && self.journal(&written).is_ok() {
            for Written { append, .. } in written {
                self.settle(append);
            }
            return;
        }
        for written in written {
            match self.sync(&written.append) {
                Ok(()) => self.settle(written.append),
                Err(e) => self.give_up(written, "sync", &e),
            }
        }
    }

    /// Takes back what was written and is not durable. After a failed sync the system forgets that the bytes are still to be written: a later
    /// sync would succeed without them, and a reader would find them in memory. So they must not be there when the log is read again.
    fn give_up(&mut self, written: Written, what: &str, e: &io::Error) {
        let Written { append: Append { owned, answer, .. }, before } = written;
        let cut = self.log(&owned).and_then(|log| log.file.set_len(before));
        self.logs.remove(&owned.key);
        self.disk.note(Some(e));
        let problem = match cut {
            Ok(()) => format!("{what}: {e}"),
            Err(cut) => {
                let mut undone = self.undone.lock().unwrap_or_else(PoisonError::into_inner);
                undone.insert((owned.tenant.clone(), owned.trace.clone()), before);
                format!("{what}: {e}; what was written cannot be taken back: {cut}")
            }
        };
        let unknown = owned.lose(&problem, cause_of(e));
        drop(owned);
        let _ = answer.send(unknown);
    }

    /// Whether a trace is new while others go on: an agent that another waits for, say. One sync of the journal is enough then, where its log
    /// would need three, of its folder and the one around it too.
    fn is_begun_in_company(&self, written: &[Written]) -> bool {
        self.leases.load(Ordering::Relaxed) > 1
            && written.iter().any(|written| !written.append.owned.placed.load(Ordering::Relaxed))
    }

    /// The trace's log, opened if need be.
    fn log(&mut self, owned: &Owned) -> io::Result<&mut OpenLog> {
        if self.logs.len() >= self.most_logs && !self.logs.contains_key(&owned.key) {
            self.logs.clear();
        }
        match self.logs.entry(owned.key) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let file = open_to_append(&self.layout.log(&owned.tenant, &owned.trace))?;
                let len = file.metadata()?.len();
                Ok(entry.insert(OpenLog { file, len }))
            }
        }
    }

    /// Writes an append; `None` if it cannot be written, and then it is answered.
    fn write(&mut self, append: Append) -> Option<Written> {
        let disk = Arc::clone(&self.disk);
        let (before, done) = match self.log(&append.owned) {
            Ok(log) => (log.len, disk.write(&log.file, &append.lines)),
            // Nothing was written: the log stays as long as it is.
            Err(e) => {
                self.disk.note(Some(&e));
                let unknown = append.owned.lose(&format!("open: {e}"), cause_of(&e));
                let Append { owned, answer, .. } = append;
                drop(owned);
                let _ = answer.send(unknown);
                return None;
            }
        };
        match done {
            Ok(()) => {
                if let Some(log) = self.logs.get_mut(&append.owned.key) {
                    log.len = before + append.lines.len() as u64;
                }
                Some(Written { append, before })
            }
            Err(e) => {
                self.give_up(Written { append, before }, "write", &e);
                None
            }
        }
    }

    fn sync(&mut self, append: &Append) -> io::Result<()> {
        let disk = Arc::clone(&self.disk);
        let owned = &append.owned;
        disk.sync(&self.log(owned)?.file)?;
        if !owned.placed.load(Ordering::Relaxed) {
            self.layout.place(&owned.tenant, &owned.trace)?;
            owned.placed.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Makes the group durable by one sync. Where that fails, the logs are synced one by one instead.
    fn journal(&mut self, group: &[Written]) -> io::Result<()> {
        let journal = match &mut self.journal {
            Some(journal) => journal,
            none => none.insert(Journal::create(&self.layout)?),
        };
        for Written { append: Append { owned, .. }, .. } in group {
            self.dirty.insert((owned.tenant.clone(), owned.trace.clone()), Arc::clone(&owned.placed));
        }
        let appends = group.iter().map(|written| &written.append);
        let lines = appends.map(|append| (&append.owned.tenant, &append.owned.trace, append.lines.as_slice()));
        let written = journal.write(&self.disk, lines);
        if written.is_err() || journal.len() > JOURNAL_LIMIT {
            self.hand_over_journal();
        }
        written
    }

    fn settle(&self, append: Append) {
        let Append { owned, tip, answer, .. } = append;
        owned.settle(tip);
        self.disk.note(None);
        self.watchers.tell(&owned.tenant, &owned.trace, tip.head);
        // Whoever hears the answer may lease the trace again at once. Nobody may be listening any more; the events are
        // there all the same.
        drop(owned);
        let _ = answer.send(Appended::Committed { head: tip.head });
    }

    fn hand_over_journal(&mut self) {
        if let Some(journal) = self.journal.take() {
            let dirty = std::mem::take(&mut self.dirty);
            // If the thread is gone, the journal stays and is played back when the folder is next opened.
            let _ = self.checkpoints.send(Checkpoint { journal, dirty });
        }
    }
}
