use crate::Home;
use mainpath_store::conformance::{event, events};
use mainpath_store::faulty::{Fault, tear};
use mainpath_store::files::Disk;
use mainpath_store::*;
use mainpath_types::{Event, EventId, TraceId};
use std::sync::Arc;

fn trace() -> TraceId {
    "t".parse().unwrap()
}

async fn lease(store: &dyn Store) -> Opened {
    store.lease(&Scope::local(), &trace(), true).await.unwrap()
}

fn unknown(appended: &Appended) -> bool {
    matches!(appended, Appended::Unknown { .. })
}

#[tokio::test]
async fn each_fault_does_what_it_says() {
    let faults = [
        Fault::Pass,
        Fault::Refuse(Refused::Busy),
        Fault::Delay(std::time::Duration::from_millis(1)),
        Fault::CommitUnknown,
        Fault::DropUnknown,
        Fault::PartUnknown(1),
    ];
    let store = Faulty::listed(MemoryStore::default(), faults);
    let Opened { lease: first, .. } = lease(&store).await;
    assert_eq!(store.append(&first, 0, events(1, 1)).await, Appended::Committed { head: 1 });
    assert_eq!(store.append(&first, 1, events(2, 2)).await, Appended::Refused(Refused::Busy));
    assert_eq!(store.append(&first, 1, events(2, 2)).await, Appended::Committed { head: 2 });
    assert!(unknown(&store.append(&first, 2, events(3, 4)).await));
    assert_eq!(store.append(&first, 4, events(5, 5)).await, Appended::Refused(Refused::Lost));
    drop(first);
    let Opened { lease: second, log } = lease(&store).await;
    assert_eq!(log.events, events(1, 4), "written, though the answer was lost");
    assert!(unknown(&store.append(&second, 4, events(5, 6)).await));
    drop(second);
    let Opened { lease: third, log } = lease(&store).await;
    assert_eq!(log.events, events(1, 4), "not written");
    assert!(unknown(&store.append(&third, 4, events(5, 6)).await));
    drop(third);
    assert_eq!(lease(&store).await.log.events, events(1, 5), "written in part");
}

/// Appends until `to` events are there, opening again and reading after every unknown outcome.
async fn persist(store: &dyn Store, to: EventId) -> (Vec<Event>, u32) {
    let mut opened = lease(store).await;
    let (mut head, mut lost) = (opened.log.head, 0);
    while head < to {
        let next = (head + 3).min(to);
        match store.append(&opened.lease, head, events(head + 1, next)).await {
            Appended::Committed { head: now } => head = now,
            Appended::Unknown { .. } => {
                lost += 1;
                drop(opened);
                opened = lease(store).await;
                head = opened.log.head;
            }
            Appended::Refused(refused) => panic!("{refused}"),
        }
    }
    drop(opened);
    (lease(store).await.log.events, lost)
}

#[tokio::test]
async fn reopening_after_every_unknown_outcome_reaches_the_same_log() {
    for seed in 0..50 {
        let store = Faulty::seeded(MemoryStore::default(), seed, 40);
        let (log, lost) = persist(&store, 100).await;
        assert_eq!(log, events(1, 100), "seed {seed}");
        assert!(lost > 0, "seed {seed} had no fault");
    }
}

#[tokio::test]
async fn the_same_seed_breaks_the_same_appends() {
    let run = || async {
        let store = Faulty::seeded(MemoryStore::default(), 3, 40);
        persist(&store, 100).await.1
    };
    assert_eq!(run().await, run().await);
}

#[tokio::test]
async fn a_full_disk_gives_unknown_and_loses_nothing_that_was_acknowledged() {
    let disk = Arc::new(Disk::default());
    let home = Home::with(Options { disk: Arc::clone(&disk), ..Options::default() });
    let store = &home.store;
    let line = {
        let first = lease(store).await.lease;
        assert_eq!(store.append(&first, 0, events(1, 1)).await, Appended::Committed { head: 1 });
        store.log_bytes(&Scope::local().tenant, &trace()).len() as u64
    };
    let mut head = 1;
    // Full at once, inside a line, after one whole line of two, and inside the second.
    for left in [0, line / 2, line + 4, line + line / 2] {
        let Opened { lease: owner, log } = lease(store).await;
        assert_eq!((log.events, log.head), (events(1, head), head), "{left} bytes left");
        disk.set_left(left);
        let answer = store.append(&owner, head, events(head + 1, head + 2)).await;
        match &answer {
            Appended::Unknown { problem, cause } => {
                assert_eq!(*cause, std::io::ErrorKind::StorageFull, "{problem}");
                assert!(problem.contains("storage") || problem.contains("space"), "{problem}")
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(store.append(&owner, head, events(head + 1, head + 1)).await, Appended::Refused(Refused::Lost));
        disk.set_left(u64::MAX);
        drop(owner);
        let Opened { lease: owner, log } = lease(store).await;
        // What the disk had room for is taken back: no sync made it durable.
        assert_eq!((log.head, &log.damage, &log.tail_cut), (head, &None, &None), "{left} bytes left: {log:?}");
        head = log.head + 1;
        assert_eq!(store.append(&owner, log.head, events(head, head)).await, Appended::Committed { head });
    }
    assert_eq!(lease(store).await.log.events, events(1, head));
}

#[tokio::test]
async fn a_failed_sync_gives_unknown_and_leaves_nothing_that_a_later_sync_would_pass_over() {
    let disk = Arc::new(Disk::default());
    let home = Home::with(Options { disk: Arc::clone(&disk), ..Options::default() });
    let owner = lease(&home.store).await.lease;
    assert_eq!(home.store.append(&owner, 0, events(1, 1)).await, Appended::Committed { head: 1 });
    assert_eq!(home.store.problem(), None);
    disk.set_syncs_fail(true);
    assert!(unknown(&home.store.append(&owner, 1, events(2, 3)).await));
    assert_eq!(home.store.problem().as_deref(), Some("input/output error"));
    assert_eq!(home.store.append(&owner, 1, events(2, 3)).await, Appended::Refused(Refused::Lost));
    drop(owner);
    let Opened { lease: owner, log } = lease(&home.store).await;
    assert_eq!((log.events, log.tail_cut), (events(1, 1), None));
    assert!(unknown(&home.store.append(&owner, 1, events(2, 3)).await));
    drop(owner);
    disk.set_syncs_fail(false);
    let owner = lease(&home.store).await.lease;
    assert_eq!(home.store.append(&owner, 1, events(2, 3)).await, Appended::Committed { head: 3 });
    assert_eq!(home.store.problem(), None);
}

#[tokio::test]
async fn a_torn_line_is_kept_beside_the_log() {
    let home = Home::new();
    let (scope, store) = (Scope::local(), &home.store);
    let owner = lease(store).await.lease;
    assert_eq!(store.append(&owner, 0, events(1, 2)).await, Appended::Committed { head: 2 });
    drop(owner);
    let whole = store.log_bytes(&scope.tenant, &trace());
    let first_line = whole.iter().position(|b| *b == b'\n').unwrap() + 1;
    tear(store, &scope.tenant, &trace(), 30);
    assert_eq!(lease(store).await.log.events, events(1, 1));
    let kept = std::fs::read(store.trace_dir(&scope.tenant, &trace()).join("events.torn")).unwrap();
    assert_eq!(kept, [&whole[first_line..first_line + 30], b"\n"].concat());
}

#[tokio::test]
async fn an_append_goes_on_when_nobody_waits_for_it() {
    let home = Home::new();
    let store = &home.store;
    let owner = lease(store).await.lease;
    // With one lease or two an append is done where it is asked for; with more it goes to a thread.
    let _other = store.lease(&Scope::local(), &"other".parse().unwrap(), true).await.unwrap();
    let _third = store.lease(&Scope::local(), &"third".parse().unwrap(), true).await.unwrap();
    {
        let mut append = store.append(&owner, 0, events(1, 1));
        // Polled once, so it is sent, then dropped.
        let polled = std::future::poll_fn(|context| std::task::Poll::Ready(append.as_mut().poll(context))).await;
        assert!(polled.is_pending());
    }
    let answer = loop {
        match store.append(&owner, 0, vec![event(1, "again")]).await {
            Appended::Refused(Refused::Busy) => tokio::task::yield_now().await,
            answer => break answer,
        }
    };
    assert_eq!(answer, Appended::Refused(Refused::WrongId { head: 1 }));
    assert_eq!(store.append(&owner, 1, events(2, 2)).await, Appended::Committed { head: 2 });
}
