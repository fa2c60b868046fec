use crate::Home;
use mainpath_store::conformance::{event, events};
use mainpath_store::files::Disk;
use mainpath_store::*;
use mainpath_types::{EventId, TraceId};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bounds a wait. Nothing here takes this long; what does, hangs.
const LONG: Duration = Duration::from_secs(60);

/// A store whose journal stays, however long a test takes.
fn journal_stays() -> Options {
    Options { journal: JournalTimes { idle: 2 * LONG, old: 2 * LONG }, ..Options::default() }
}

fn name(n: usize) -> TraceId {
    format!("trace-{n:04}").parse().unwrap()
}

/// Appends `to - from + 1` events to each of the traces, all at the same time, `rounds` times.
async fn together(store: &Arc<FilesStore>, leases: Vec<Lease>, rounds: u64) -> Vec<Lease> {
    let tasks: Vec<_> = leases
        .into_iter()
        .map(|lease| {
            let store = Arc::clone(store);
            tokio::spawn(async move {
                for head in 0..rounds {
                    let answer = store.append(&lease, head, events(head + 1, head + 1)).await;
                    assert_eq!(answer, Appended::Committed { head: head + 1 });
                }
                lease
            })
        })
        .collect();
    let mut back = Vec::new();
    for task in tasks {
        back.push(task.await.unwrap());
    }
    back
}

async fn lease_many(store: &FilesStore, count: usize) -> Vec<Lease> {
    let mut leases = Vec::new();
    for n in 0..count {
        leases.push(store.lease(&Scope::local(), &name(n), true).await.unwrap().lease);
    }
    leases
}

fn journals(data: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(data.join("journal")).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|end| end == "wal")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_traces_share_syncs_and_all_verify() {
    let Home { store, dir } = Home::with(journal_stays());
    let store = Arc::new(store);
    let leases = lease_many(&store, 100).await;
    let leases = together(&store, leases, 20).await;
    let journal = journals(dir.path());
    assert_eq!(journal.len(), 1, "a group of many goes through the journal");
    assert!(std::fs::metadata(&journal[0]).unwrap().len() > 0);
    drop(leases);
    for n in 0..100 {
        let report = store.verify(&Scope::local(), &name(n)).await.unwrap();
        assert_eq!((report.events, report.damage), (20, None));
    }
    drop(Arc::into_inner(store).unwrap());
    assert_eq!(journals(dir.path()), Vec::<PathBuf>::new(), "closing leaves no journal");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_leased_traces_than_open_logs_work() {
    let Home { store, dir: _dir } = Home::new();
    let store = Arc::new(store);
    let leases = lease_many(&store, 700).await;
    let leases = together(&store, leases, 3).await;
    for n in [0, 255, 256, 699] {
        assert_eq!(store.read(&Scope::local(), &name(n), 1).await.unwrap().events, events(1, 3));
    }
    assert_eq!(leases.len(), 700);
}

/// A folder as a power cut leaves it: the journal holds events 1 to 3 of four traces, whose own files hold less.
async fn after_power_cut() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let journal = {
        let store = Arc::new(FilesStore::open(dir.path(), Options::default()).unwrap());
        let mut wal = String::new();
        for n in 0..4 {
            let lease = store.lease(&Scope::local(), &name(n), true).await.unwrap().lease;
            assert_eq!(store.append(&lease, 0, events(1, 3)).await, Appended::Committed { head: 3 });
            let log = store.log_bytes(&Scope::local().tenant, &name(n));
            for line in String::from_utf8(log).unwrap().lines() {
                wal.push_str(&format!("local/{} {line}\n", name(n)));
            }
        }
        // What follows was never acknowledged.
        wal.push_str("local/trace-0000 {\"v\":1,\"id\":4,\"ts");
        let path = dir.path().join("journal/1-0.wal");
        std::fs::write(&path, wal).unwrap();
        path
    };
    (dir, journal)
}

fn log_path(data: &Path, n: usize) -> PathBuf {
    data.join("traces").join(name(n).as_str()).join("events.jsonl")
}

async fn assert_whole(data: &Path, n: usize, to: EventId) {
    let store = FilesStore::open(data, Options::default()).unwrap();
    let read = store.read(&Scope::local(), &name(n), 1).await.unwrap();
    assert_eq!((read.events, read.damage), (events(1, to), None), "trace {n}");
}

#[tokio::test]
async fn a_left_journal_gives_back_what_the_logs_lost() {
    let (dir, journal) = after_power_cut().await;
    let cut = |n: usize, len: usize| {
        let bytes = std::fs::read(log_path(dir.path(), n)).unwrap();
        std::fs::write(log_path(dir.path(), n), &bytes[..len.min(bytes.len())]).unwrap();
    };
    cut(0, 0);
    cut(1, 700);
    std::fs::remove_dir_all(log_path(dir.path(), 2).parent().unwrap()).unwrap();
    for n in 0..4 {
        assert_whole(dir.path(), n, 3).await;
    }
    assert!(!journal.exists());
    let torn = log_path(dir.path(), 1).with_file_name("events.torn");
    assert!(torn.exists(), "the torn line that was replaced is kept");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trace_that_is_begun_while_another_goes_on_costs_one_sync_and_outlives_a_power_cut() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Arc::new(Disk::default());
    let options = || Options { disk: Arc::clone(&disk), ..journal_stays() };
    let wal = {
        let store = Arc::new(FilesStore::open(dir.path(), options()).unwrap());
        let leases = lease_many(&store, 2).await;
        assert_eq!(store.append(&leases[0], 0, events(1, 1)).await, Appended::Committed { head: 1 });
        let before = disk.syncs();
        for head in 0..3 {
            let answer = store.append(&leases[1], head, events(head + 1, head + 1)).await;
            assert_eq!(answer, Appended::Committed { head: head + 1 });
        }
        assert_eq!(disk.syncs(), before + 3);
        let journals = journals(dir.path());
        assert_eq!(journals.len(), 1);
        std::fs::read(&journals[0]).unwrap()
    };
    assert_eq!(journals(dir.path()), Vec::<PathBuf>::new());
    // Of the second nothing but the journal was durable.
    std::fs::remove_dir_all(log_path(dir.path(), 1).parent().unwrap()).unwrap();
    std::fs::write(dir.path().join("journal/1-0.wal"), wal).unwrap();
    assert_whole(dir.path(), 0, 1).await;
    assert_whole(dir.path(), 1, 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trace_that_was_removed_is_not_played_back_and_one_of_its_name_that_came_after_is() {
    let dir = tempfile::tempdir().unwrap();
    let notes = || {
        let entries = std::fs::read_dir(dir.path().join("journal")).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|end| end == "removed")).count()
    };
    let (path, wal, again) = {
        let store = FilesStore::open(dir.path(), journal_stays()).unwrap();
        let mut leases = lease_many(&store, 2).await;
        for lease in &leases {
            assert_eq!(store.append(lease, 0, events(1, 2)).await, Appended::Committed { head: 2 });
        }
        leases.pop().unwrap().release();
        let journal = journals(dir.path()).pop().unwrap();
        let other = FilesStore::open(dir.path(), Options::default()).unwrap();
        other.remove(&Scope::local(), &name(1)).await.unwrap();
        assert_eq!(notes(), 1);
        let wal = std::fs::read(&journal).unwrap();
        let lease = store.lease(&Scope::local(), &name(1), true).await.unwrap().lease;
        assert_eq!(store.append(&lease, 0, events(1, 3)).await, Appended::Committed { head: 3 });
        (journal.clone(), wal, std::fs::read(&journal).unwrap())
    };
    let lose = |n: usize| std::fs::remove_dir_all(log_path(dir.path(), n).parent().unwrap()).unwrap();
    // The power goes after the other was begun, and takes its folder.
    lose(1);
    std::fs::write(&path, again).unwrap();
    let removed = std::fs::read_dir(dir.path().join("journal")).unwrap().map(|entry| entry.unwrap().path());
    let removed: Vec<PathBuf> = removed.filter(|path| path.extension().is_some_and(|end| end == "removed")).collect();
    let note = std::fs::read(&removed[0]).unwrap();
    assert_whole(dir.path(), 1, 3).await;
    assert_eq!((notes(), journals(dir.path())), (0, Vec::new()));
    // The same before it was begun.
    lose(1);
    std::fs::write(&path, wal).unwrap();
    std::fs::write(&removed[0], note).unwrap();
    let store = FilesStore::open(dir.path(), Options::default()).unwrap();
    let read = store.read(&Scope::local(), &name(1), 1).await;
    assert!(matches!(read, Err(StoreError::NotFound { .. })), "{read:?}");
    assert_eq!((notes(), journals(dir.path())), (0, Vec::new()));
    drop(store);
    assert_whole(dir.path(), 0, 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_journal_that_was_made_for_a_new_trace_goes_once_its_log_is_synced() {
    let Home { store, dir } = Home::new();
    let store = Arc::new(store);
    let leases = lease_many(&store, 2).await;
    for lease in &leases {
        assert_eq!(store.append(lease, 0, events(1, 1)).await, Appended::Committed { head: 1 });
    }
    assert_eq!(journals(dir.path()).len(), 1);
    let until = Instant::now() + LONG;
    while !journals(dir.path()).is_empty() {
        assert!(Instant::now() < until, "it is still there");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(store.append(&leases[1], 1, events(2, 2)).await, Appended::Committed { head: 2 });
    assert_eq!(journals(dir.path()), Vec::<PathBuf>::new(), "its folder is durable by now");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_journal_goes_also_while_traces_are_written_all_the_time() {
    // It goes because it is old, never because nothing happens.
    let journal = JournalTimes { idle: 2 * LONG, old: Duration::from_secs(1) };
    let Home { store, dir } = Home::with(Options { journal, ..Options::default() });
    let store = Arc::new(store);
    let leases = lease_many(&store, 4).await;
    let append = async |lease: &Lease, head: EventId| {
        let answer = store.append(lease, head, events(head + 1, head + 1)).await;
        assert_eq!(answer, Appended::Committed { head: head + 1 });
    };
    append(&leases[0], 0).await;
    // It stays until the next append.
    let first = journals(dir.path()).pop().unwrap();
    for lease in &leases[1..] {
        append(lease, 0).await;
    }
    let until = Instant::now() + LONG;
    for head in 1.. {
        if !first.exists() {
            break;
        }
        assert!(Instant::now() < until, "it is still there");
        for lease in &leases {
            append(lease, head).await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_left_journal_mends_a_last_line_that_the_cut_filled_with_zeros() {
    let (dir, _) = after_power_cut().await;
    let path = log_path(dir.path(), 0);
    let mut bytes = std::fs::read(&path).unwrap();
    let start = bytes.len() - 200;
    let end = bytes.len() - 1;
    bytes[start..end].fill(0);
    std::fs::write(&path, bytes).unwrap();
    assert_whole(dir.path(), 0, 3).await;
}

#[tokio::test]
async fn a_left_journal_does_not_touch_a_log_that_went_on() {
    let (dir, journal) = after_power_cut().await;
    let wal = std::fs::read(&journal).unwrap();
    {
        let store = FilesStore::open(dir.path(), Options::default()).unwrap();
        let lease = store.lease(&Scope::local(), &name(0), false).await.unwrap().lease;
        assert_eq!(store.append(&lease, 3, events(4, 5)).await, Appended::Committed { head: 5 });
    }
    std::fs::write(&journal, wal).unwrap();
    let before = std::fs::read(log_path(dir.path(), 0)).unwrap();
    assert_whole(dir.path(), 0, 5).await;
    assert_eq!(std::fs::read(log_path(dir.path(), 0)).unwrap(), before);
    assert!(!journal.exists());
}

#[tokio::test]
async fn lines_of_two_left_journals_are_put_in_order() {
    let (dir, journal) = after_power_cut().await;
    let wal = std::fs::read_to_string(&journal).unwrap();
    let lines: Vec<_> = wal.lines().filter(|line| line.starts_with("local/trace-0000 ")).collect();
    std::fs::write(&journal, format!("{}\n", lines[2])).unwrap();
    std::fs::write(journal.with_file_name("2-0.wal"), format!("{}\n{}\n", lines[0], lines[1])).unwrap();
    std::fs::write(log_path(dir.path(), 0), b"").unwrap();
    assert_whole(dir.path(), 0, 3).await;
    assert_eq!(journals(dir.path()), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn a_journal_that_does_not_fit_its_damaged_log_is_kept() {
    let (dir, journal) = after_power_cut().await;
    let path = log_path(dir.path(), 0);
    let bytes = std::fs::read(&path).unwrap();
    let wal = std::fs::read_to_string(&journal).unwrap();
    let last: Vec<_> = wal.lines().filter(|line| line.starts_with("local/trace-0000 ")).collect();
    std::fs::write(&journal, format!("{}\n", last[2])).unwrap();
    std::fs::write(&path, [b"garbage\n", &bytes[..]].concat()).unwrap();
    let store = FilesStore::open(dir.path(), Options::default()).unwrap();
    assert_eq!(store.log_bytes(&Scope::local().tenant, &name(0)), [b"garbage\n", &bytes[..]].concat());
    assert!(!journal.exists() && journal.with_extension("kept").exists());
}

#[tokio::test]
async fn a_removed_trace_does_not_come_back() {
    let (dir, journal) = after_power_cut().await;
    let wal = std::fs::read_to_string(&journal).unwrap();
    let last: Vec<_> = wal.lines().filter(|line| line.starts_with("local/trace-0000 ")).collect();
    std::fs::write(&journal, format!("{}\n", last[2])).unwrap();
    std::fs::remove_dir_all(log_path(dir.path(), 0).parent().unwrap()).unwrap();
    let store = FilesStore::open(dir.path(), Options::default()).unwrap();
    assert_eq!(store.list(&Scope::local()).await.unwrap().len(), 3);
    assert!(!journal.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_journal_in_use_is_left_alone_by_others() {
    let Home { store, dir } = Home::with(journal_stays());
    let store = Arc::new(store);
    let leases = lease_many(&store, 20).await;
    let leases = together(&store, leases, 10).await;
    assert_eq!(journals(dir.path()).len(), 1);
    drop(FilesStore::open(dir.path(), Options::default()).unwrap());
    assert_eq!(journals(dir.path()).len(), 1);
    for lease in &leases {
        assert_eq!(store.append(lease, 10, vec![event(11, "more")]).await, Appended::Committed { head: 11 });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_journal_alone_gives_back_what_was_acknowledged_through_it() {
    let Home { store, dir } = Home::with(journal_stays());
    let store = Arc::new(store);
    let leases = lease_many(&store, 30).await;
    let leases = together(&store, leases, 15).await;
    // The disk as it would be if nothing had reached it but what was synced.
    let after = tempfile::tempdir().unwrap();
    std::fs::create_dir(after.path().join("journal")).unwrap();
    let journal = journals(dir.path()).remove(0);
    std::fs::copy(&journal, after.path().join("journal").join(journal.file_name().unwrap())).unwrap();
    let journalled = std::fs::read_to_string(&journal).unwrap();
    let mut lost = 0;
    for n in 0..30 {
        let log = std::fs::read_to_string(log_path(dir.path(), n)).unwrap();
        let in_journal = |line: &str| journalled.contains(&format!("local/{} {line}\n", name(n)));
        // A line that is not in the journal was synced in its file, and with it what stands before it.
        let synced = log.lines().collect::<Vec<_>>().iter().rposition(|line| !in_journal(line)).map_or(0, |at| at + 1);
        lost += 15 - synced;
        let path = log_path(after.path(), n);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, log.split_inclusive('\n').take(synced).collect::<String>()).unwrap();
    }
    assert!(lost > 100, "{lost}: hardly anything went through the journal");
    let restored = FilesStore::open(after.path(), Options::default()).unwrap();
    for n in 0..30 {
        let read = restored.read(&Scope::local(), &name(n), 1).await.unwrap();
        assert_eq!((read.events, read.damage), (events(1, 15), None), "trace {n}");
    }
    drop(leases);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_journalled_is_not_acknowledged_blindly() {
    let disk = Arc::new(Disk::default());
    let Home { store, dir: _dir } = Home::with(Options { disk: Arc::clone(&disk), ..Options::default() });
    let store = Arc::new(store);
    let leases = lease_many(&store, 50).await;
    let leases = together(&store, leases, 2).await;
    disk.set_syncs_fail(true);
    let tasks: Vec<_> = leases
        .into_iter()
        .map(|lease| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.append(&lease, 2, events(3, 3)).await })
        })
        .collect();
    for task in tasks {
        let answer = task.await.unwrap();
        assert!(matches!(answer, Appended::Unknown { .. }), "{answer:?}");
    }
    disk.set_syncs_fail(false);
    let Opened { lease, log } = store.lease(&Scope::local(), &name(0), false).await.unwrap();
    assert_eq!(log.events, events(1, 2), "what no sync made durable is not there");
    assert_eq!(store.append(&lease, 2, events(3, 3)).await, Appended::Committed { head: 3 });
}
