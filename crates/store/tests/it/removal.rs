//! What is taken away, while others write.

use crate::Home;
use mainpath_store::conformance::events;
use mainpath_store::*;
use mainpath_types::*;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

/// Makes every blob look as if it had been put an hour ago.
fn age(blobs: &Path) {
    let Ok(folders) = std::fs::read_dir(blobs) else { return };
    for folder in folders.flatten().map(|folder| folder.path()).filter(|path| path.is_dir()) {
        for blob in std::fs::read_dir(folder).unwrap().flatten() {
            // It may be removed at this moment.
            if let Ok(file) = std::fs::File::options().write(true).open(blob.path()) {
                file.set_modified(SystemTime::now() - Duration::from_secs(3_600)).unwrap();
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_blob_that_was_put_a_moment_ago_is_never_collected() {
    let home = Home::new();
    let scope = Scope::local();
    let (store, done) = (&home.store, AtomicBool::new(false));
    let sweep = Sweep { grace: Duration::from_secs(60), only: None, dry_run: false };
    let collecting = async {
        let mut removed = 0;
        while !done.load(Ordering::Relaxed) {
            removed += store.collect_blobs(&scope, sweep.clone()).await.unwrap().removed;
        }
        removed
    };
    let putting = async {
        for round in 0..150u32 {
            // The same few blobs again and again, old ones among them.
            let bytes = vec![u8::try_from(round % 3).unwrap(); 30_000];
            let hash = store.put_blob(&scope, bytes.clone()).await.unwrap();
            assert_eq!(store.get_blob(&scope, &hash).await.unwrap(), bytes, "round {round}");
            age(&home.dir.path().join("blobs"));
        }
        done.store(true, Ordering::Relaxed);
    };
    let (removed, ()) = tokio::join!(collecting, putting);
    assert!(removed > 0, "nothing was ever collected: this shows nothing");
}

#[tokio::test]
async fn what_a_crash_left_of_a_removal_is_swept_up_and_never_listed() {
    let home = Home::new();
    let (scope, trace): (Scope, TraceId) = (Scope::local(), "t".parse().unwrap());
    let lease = home.store.lease(&scope, &trace, true).await.unwrap().lease;
    assert_eq!(home.store.append(&lease, 0, events(1, 2)).await, Appended::Committed { head: 2 });
    drop(lease);
    let traces = home.dir.path().join("traces");
    std::fs::create_dir(traces.join(".leaving-u")).unwrap();
    std::fs::write(traces.join(".leaving-u/events.jsonl"), "half of it").unwrap();
    assert_eq!(home.store.names(&scope).unwrap(), std::slice::from_ref(&trace));
    let sweep = Sweep { grace: Duration::ZERO, only: None, dry_run: true };
    home.store.collect_blobs(&scope, sweep.clone()).await.unwrap();
    assert!(traces.join(".leaving-u").exists(), "a dry run changes nothing");
    home.store.collect_blobs(&scope, Sweep { dry_run: false, ..sweep }).await.unwrap();
    assert!(!traces.join(".leaving-u").exists());
    home.store.remove(&scope, &trace).await.unwrap();
    assert_eq!(std::fs::read_dir(&traces).unwrap().count(), 0);
}

#[tokio::test]
async fn subscribers_of_a_trace_that_is_removed_are_released_whoever_removes_it() {
    let home = Home::new();
    let (scope, other) = (Scope::local(), FilesStore::open(home.dir.path(), Options::default()).unwrap());
    for (name, remover) in [("here", &home.store), ("there", &other)] {
        let trace: TraceId = name.parse().unwrap();
        let lease = home.store.lease(&scope, &trace, true).await.unwrap().lease;
        assert_eq!(home.store.append(&lease, 0, events(1, 2)).await, Appended::Committed { head: 2 });
        drop(lease);
        let mut head = home.store.subscribe(&scope, &trace).unwrap();
        assert_eq!(*head.borrow_and_update(), 2);
        remover.remove(&scope, &trace).await.unwrap();
        let told = tokio::time::timeout(Duration::from_secs(60), head.changed()).await;
        assert!(matches!(told, Ok(Err(_))), "{name}: {told:?}");
        assert!(matches!(home.store.subscribe(&scope, &trace), Err(StoreError::NotFound { .. })), "{name}");
    }
}

#[tokio::test]
async fn an_erasure_that_broke_off_half_way_is_done_again() {
    let home = Home::new();
    let (scope, trace): (Scope, TraceId) = (Scope::local(), "t".parse().unwrap());
    let lease = home.store.lease(&scope, &trace, true).await.unwrap().lease;
    for n in 1..=3 {
        home.store.post(&scope, &trace, false, format!("\"{n}\"")).await.unwrap();
    }
    assert_eq!(home.store.append(&lease, 0, events(1, 3)).await, Appended::Committed { head: 3 });
    // The mailbox is blanked and the new log is not in its place yet.
    let file = home.dir.path().join("traces/t/mailbox.jsonl");
    let mailbox = std::fs::read_to_string(&file).unwrap().replace("\"3\"}", "0  }");
    std::fs::write(&file, mailbox).unwrap();
    std::fs::write(home.dir.path().join("traces/t/.tmp-1-1"), "the log that was being written").unwrap();
    let report = home.store.verify(&scope, &trace).await.unwrap();
    assert!(report.faults.len() == 1 && report.faults[0].contains("line 3: "), "{report:?}");
    let left = Left { event: 3, kind: events(3, 3)[0].kind.without_words() };
    let erased = mainpath_types::Erased { left: vec![left], by: Principal::local_user(), why: None };
    let marker = Event { id: 4, ts: 1_795_315_600_000, turn: 0, mail: None, kind: erased.into() };
    assert_eq!(home.store.erase(&lease, marker).await, Appended::Committed { head: 4 });
    drop(lease);
    let report = home.store.verify(&scope, &trace).await.unwrap();
    assert!(report.holds(), "{report:?}");
    assert_eq!((report.events, report.erased, report.damage), (4, vec![3], None));
    let mail = home.store.mail(&scope, &trace, 0).await.unwrap();
    assert_eq!(mail.iter().map(|mail| mail.body.trim()).collect::<Vec<_>>(), ["\"1\"", "\"2\"", "0"]);
}

#[test]
fn an_index_is_deleted_with_what_lies_beside_it_and_nothing_else_is() {
    let (home, tenant) = (Home::new(), Scope::local().tenant);
    let index = home.store.index_file(&tenant);
    let beside = |end: &str| index.with_file_name(format!("index.sqlite{end}"));
    std::fs::create_dir_all(index.parent().unwrap()).unwrap();
    home.store.delete_index(&tenant).unwrap();
    for end in ["", "-wal", "-shm", "-journal", ".kept"] {
        std::fs::write(beside(end), "words").unwrap();
    }
    home.store.delete_index(&tenant).unwrap();
    let left = ["", "-wal", "-shm", "-journal", ".kept"].map(|end| beside(end).exists());
    assert_eq!(left, [false, false, false, false, true]);
    std::fs::create_dir(&index).unwrap();
    home.store.delete_index(&tenant).unwrap_err();
}
