//! What every store has to pass. A broken promise panics and says which.
//!
//! Needs a tokio runtime with time enabled. Each check gets a fresh store.
#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

mod damage;
mod made;

pub use damage::*;
pub use made::{event, events};

use made::{filled, opened, scope_of, trace};

use crate::store::{Appended, Collected, Letter, Once, Opened, Owner, Refused, Scope, Store, StoreError, Sweep};
use crate::{HeadHash, Raw, verify_bytes};
use mainpath_types::{Erased, Event, EventKind, Left, Part, Principal, TenantId, TraceId};
use std::time::Duration;

/// A trace that is made with a log has it as if it had been appended, and is made once.
pub async fn a_trace_begins_with_a_log<S: Store>(store: &S) {
    let (scope, trace) = (Scope::local(), trace());
    assert!(store.begin(&scope, &trace, events(2, 3)).await.is_err(), "ids count from 1");
    store.begin(&scope, &trace, events(1, 3)).await.unwrap();
    let read = store.read(&scope, &trace, 1).await.unwrap();
    assert_eq!((&read.events, read.head, read.damage.as_ref()), (&events(1, 3), 3, None));
    assert_eq!(store.verify(&scope, &trace).await.unwrap().damage, None);
    let again = store.begin(&scope, &trace, events(1, 1)).await;
    assert!(matches!(again, Err(StoreError::Exists { .. })), "{again:?}");
    let Opened { lease, log } = opened(store).await;
    assert_eq!((&log, *store.subscribe(&scope, &trace).unwrap().borrow()), (&read, 3));
    assert!(store.begin(&scope, &trace, events(1, 1)).await.is_err());
    assert_eq!(store.append(&lease, 3, events(4, 4)).await, Appended::Committed { head: 4 });
    assert_eq!(store.read(&scope, &trace, 1).await.unwrap().events, events(1, 4));
}

/// Runs every check, each on a store that `make` makes.
pub async fn run_all<S: Store + Raw>(make: impl Fn() -> S) {
    appended_events_come_back(&make()).await;
    the_chain_verifies(&make()).await;
    a_batch_must_follow_the_head(&make()).await;
    a_trace_has_one_owner(&make()).await;
    a_trace_of_another_machine_is_not_made_here(&make()).await;
    a_released_lease_is_stale(&make()).await;
    a_trace_must_exist(&make()).await;
    a_trace_begins_with_a_log(&make()).await;
    reading_starts_where_asked(&make()).await;
    subscribers_see_the_head(&make()).await;
    mail_is_kept_in_order(&make()).await;
    mail_under_a_key_is_there_once(&make()).await;
    bad_mail_is_refused(&make()).await;
    blobs_are_kept_by_hash(&make()).await;
    traces_are_listed(&make()).await;
    tenants_lie_apart(&make()).await;
    views_come_and_go(&make()).await;
    a_torn_tail_is_cut(&make()).await;
    damage_opens_read_only(&make()).await;
    a_newer_log_opens_read_only(&make()).await;
    a_mark_of_erasure_alone_is_damage(&make()).await;
    mail_never_gets_a_number_that_was_read(&make()).await;
    erased_content_is_gone_and_the_chain_holds(&make()).await;
    a_removed_trace_is_gone(&make()).await;
    a_trace_that_never_began_is_discarded(&make()).await;
    only_blobs_that_nothing_names_are_collected(&make()).await;
    signatures_are_kept_beside_the_log(&make()).await;
    scores_are_kept_beside_the_log(&make()).await;
}

/// Lines about heads are kept in order, are no views, and the heads that they are about can be had.
pub async fn signatures_are_kept_beside_the_log<S: Store>(store: &S) {
    let (scope, trace) = (Scope::local(), trace());
    assert!(matches!(store.signatures(&scope, &trace).await, Err(StoreError::NotFound { .. })));
    filled(store, 4).await;
    assert_eq!(store.signatures(&scope, &trace).await.unwrap(), b"");
    let middle = store.verify(&scope, &trace).await.unwrap().head;
    let lease = opened(store).await.lease;
    assert_eq!(store.append(&lease, 4, events(5, 7)).await, Appended::Committed { head: 7 });
    drop(lease);
    let head = store.verify(&scope, &trace).await.unwrap().head;
    let heads = store.heads(&scope, &trace, vec![7, 4, 8, 0]).await.unwrap();
    assert_eq!(heads, [Some(head), Some(middle), None, None]);
    store.add_signature(&scope, &trace, "{\"one\":1}".into()).await.unwrap();
    assert!(store.add_signature(&scope, &trace, "two\nlines".into()).await.is_err());
    store.add_signature(&scope, &trace, "three".into()).await.unwrap();
    assert_eq!(store.signatures(&scope, &trace).await.unwrap(), b"{\"one\":1}\nthree\n");
    assert_eq!(store.views(&scope, &trace).await.unwrap(), Vec::<String>::new());
    assert!(store.put_view(&scope, &trace, "signatures.jsonl", Vec::new()).await.is_err());
    store.remove(&scope, &trace).await.unwrap();
    filled(store, 1).await;
    assert_eq!(store.signatures(&scope, &trace).await.unwrap(), b"", "another trace of that name");
}

/// Lines of scores are kept in order and are no views; an erasure takes them away, and so does their removal.
pub async fn scores_are_kept_beside_the_log<S: Store>(store: &S) {
    let (scope, trace) = (Scope::local(), trace());
    assert!(matches!(store.scores(&scope, &trace).await, Err(StoreError::NotFound { .. })));
    assert!(matches!(store.add_score(&scope, &trace, "one".into()).await, Err(StoreError::NotFound { .. })));
    filled(store, 4).await;
    store.remove_scores(&scope, &trace).await.unwrap();
    assert_eq!(store.scores(&scope, &trace).await.unwrap(), b"");
    let add = |line: &str| store.add_score(&scope, &trace, line.into());
    add("{\"one\":1}").await.unwrap();
    assert!(add("two\nlines").await.is_err());
    add("three").await.unwrap();
    assert_eq!(store.scores(&scope, &trace).await.unwrap(), b"{\"one\":1}\nthree\n");
    assert_eq!(store.views(&scope, &trace).await.unwrap(), Vec::<String>::new());
    assert!(store.put_view(&scope, &trace, "scores.jsonl", Vec::new()).await.is_err());
    assert_eq!(store.signatures(&scope, &trace).await.unwrap(), b"");
    store.remove_scores(&scope, &trace).await.unwrap();
    assert_eq!(store.scores(&scope, &trace).await.unwrap(), b"");
    add("four").await.unwrap();
    let lease = opened(store).await.lease;
    let left = vec![Left { event: 3, kind: event(3, "").kind.without_words() }];
    let erased = Erased { left, by: Principal::local_user(), why: None };
    let marker = Event { id: 5, ts: 1_795_315_600_000, turn: 0, mail: None, kind: erased.into() };
    assert_eq!(store.erase(&lease, marker).await, Appended::Committed { head: 5 });
    drop(lease);
    assert_eq!(store.scores(&scope, &trace).await.unwrap(), b"", "what was erased may be quoted in them");
    add("five").await.unwrap();
    store.remove(&scope, &trace).await.unwrap();
    filled(store, 1).await;
    assert_eq!(store.scores(&scope, &trace).await.unwrap(), b"", "another trace of that name");
}

/// What is appended is read, by this lease, by the next and by readers.
pub async fn appended_events_come_back<S: Store>(store: &S) {
    let Opened { lease, log } = opened(store).await;
    assert_eq!((log.events, log.head, log.tail_cut, log.damage, log.newer), (vec![], 0, None, None, false));
    assert_eq!(log.hash, HeadHash::genesis(&TenantId::local(), &trace()));
    assert_eq!(store.append(&lease, 0, events(1, 3)).await, Appended::Committed { head: 3 });
    assert_eq!(store.append(&lease, 3, events(4, 4)).await, Appended::Committed { head: 4 });
    assert_eq!(store.append(&lease, 4, vec![]).await, Appended::Committed { head: 4 });
    let read = store.read(&Scope::local(), &trace(), 1).await.unwrap();
    assert_eq!((&read.events, read.head), (&events(1, 4), 4));
    drop(lease);
    let again = opened(store).await;
    assert_eq!(again.log, read);
    assert_eq!(store.append(&again.lease, 4, events(5, 5)).await, Appended::Committed { head: 5 });
}

/// The bytes form one chain that starts at tenant and trace.
pub async fn the_chain_verifies<S: Store + Raw>(store: &S) {
    filled(store, 5).await;
    let lease = opened(store).await.lease;
    assert_eq!(store.append(&lease, 5, events(6, 7)).await, Appended::Committed { head: 7 });
    let bytes = store.log_bytes(&TenantId::local(), &trace());
    assert_eq!(bytes.iter().filter(|b| **b == b'\n').count(), 7);
    let report = store.verify(&Scope::local(), &trace()).await.unwrap();
    assert_eq!((report.events, &report.damage, report.erased.len(), report.unchecked.len()), (7, &None, 0, 1));
    assert_eq!(report.head, store.read(&Scope::local(), &trace(), 1).await.unwrap().hash);
    assert!(verify_bytes(&bytes, "log", &"other".parse().unwrap(), &trace()).damage.is_some());
    assert!(verify_bytes(&bytes, "log", &TenantId::local(), &"other".parse().unwrap()).damage.is_some());
    let salts: std::collections::HashSet<_> = bytes
        .split(|b| *b == b'\n')
        .filter_map(|line| String::from_utf8_lossy(line).split("\"salt\":\"").nth(1).map(|s| s[..22].to_owned()))
        .collect();
    assert_eq!(salts.len(), 7, "every line has a salt of its own");
}

/// A batch that does not build on the head is refused, and nothing is written.
pub async fn a_batch_must_follow_the_head<S: Store>(store: &S) {
    let lease = opened(store).await.lease;
    assert_eq!(store.append(&lease, 0, events(1, 2)).await, Appended::Committed { head: 2 });
    let wrong = Appended::Refused(Refused::WrongId { head: 2 });
    let gap = vec![event(3, "a"), event(5, "b")];
    for (expected, batch) in
        [(1, events(2, 2)), (3, events(4, 4)), (2, events(4, 4)), (2, events(2, 3)), (2, gap), (0, vec![])]
    {
        assert_eq!(store.append(&lease, expected, batch).await, wrong);
    }
    let mut late = event(3, "late");
    late.ts = u64::MAX;
    let refused = store.append(&lease, 2, vec![late]).await;
    assert!(matches!(refused, Appended::Refused(Refused::BadEvent { id: 3, .. })), "{refused:?}");
    assert_eq!(store.append(&lease, 2, events(3, 3)).await, Appended::Committed { head: 3 });
    assert_eq!(store.read(&Scope::local(), &trace(), 1).await.unwrap().events, events(1, 3));
}

/// A second lease is refused while the first is there.
pub async fn a_trace_has_one_owner<S: Store>(store: &S) {
    let first = opened(store).await;
    let second = store.lease(&Scope::local(), &trace(), false).await;
    match second {
        Err(StoreError::Held { trace: held, by: Owner::ThisProcess }) => assert_eq!(held, trace()),
        other => panic!("a trace was leased twice: {other:?}"),
    }
    let made = store.begin(&Scope::local(), &trace(), events(1, 1)).await;
    assert!(matches!(made, Err(StoreError::Exists { .. })), "{made:?}");
    assert_eq!(store.driver(&Scope::local(), &trace()).await.unwrap(), Some(Owner::ThisProcess));
    drop(first.lease);
    assert_eq!(store.driver(&Scope::local(), &trace()).await.unwrap(), None);
    assert!(store.lease(&Scope::local(), &trace(), false).await.is_ok());
}

/// What is elsewhere has no place here.
pub async fn a_trace_of_another_machine_is_not_made_here<S: Store>(store: &S) {
    let elsewhere: TraceId = "agent://build.example.com/first".parse().expect("an id");
    assert!(store.begin(&Scope::local(), &elsewhere, events(1, 1)).await.is_err());
    assert!(store.lease(&Scope::local(), &elsewhere, true).await.is_err());
    let read = store.read(&Scope::local(), &elsewhere, 1).await;
    assert!(matches!(read, Err(StoreError::NotFound { .. })), "{read:?}");
    assert_eq!(store.list(&Scope::local()).await.expect("a list"), []);
}

/// An owner whose time is over cannot write, and each owner has a higher epoch.
pub async fn a_released_lease_is_stale<S: Store>(store: &S) {
    let first = opened(store).await.lease;
    assert_eq!(store.append(&first, 0, events(1, 1)).await, Appended::Committed { head: 1 });
    first.release();
    let stale = Appended::Refused(Refused::StaleEpoch);
    assert_eq!(store.append(&first, 1, events(2, 2)).await, stale);
    let second = opened(store).await.lease;
    assert!(second.epoch() > first.epoch(), "{} after {}", second.epoch(), first.epoch());
    assert_eq!(store.append(&first, 1, events(2, 2)).await, stale);
    drop(first);
    assert!(store.lease(&Scope::local(), &trace(), false).await.is_err(), "the old lease's end must not free the new");
    assert_eq!(store.append(&second, 1, events(2, 2)).await, Appended::Committed { head: 2 });
}

/// What does not exist is not found, and is not made by looking for it.
pub async fn a_trace_must_exist<S: Store>(store: &S) {
    let (scope, trace) = (Scope::local(), trace());
    fn missing<T>(found: Result<T, StoreError>) {
        assert!(matches!(found, Err(StoreError::NotFound { .. })));
    }
    missing(store.lease(&scope, &trace, false).await);
    missing(store.read(&scope, &trace, 1).await);
    missing(store.subscribe(&scope, &trace));
    missing(store.post(&scope, &trace, false, "1".into()).await);
    missing(store.mail(&scope, &trace, 0).await);
    missing(store.verify(&scope, &trace).await);
    missing(store.put_view(&scope, &trace, "a", vec![]).await);
    missing(store.get_view(&scope, &trace, "a").await);
    missing(store.views(&scope, &trace).await);
    missing(store.delete_view(&scope, &trace, "a").await);
    assert_eq!(store.list(&scope).await.unwrap(), vec![]);
}

/// Reading from a number gives that event and what follows, wherever the number lies.
pub async fn reading_starts_where_asked<S: Store>(store: &S) {
    let lease = opened(store).await.lease;
    let mut head = 0;
    for to in [40, 41, 120] {
        let committed = store.append(&lease, head, events(head + 1, to)).await;
        assert_eq!(committed, Appended::Committed { head: to });
        head = to;
        for from in [0, 1, 2, 39, 40, 41, 42, 119, 120, 121, 500] {
            let read = store.read(&Scope::local(), &trace(), from).await.unwrap();
            assert_eq!((read.events, read.head), (events(from.max(1), head), head), "from {from} to {head}");
        }
    }
}

/// A subscriber starts with the head and hears of every later one.
pub async fn subscribers_see_the_head<S: Store>(store: &S) {
    let lease = opened(store).await.lease;
    assert_eq!(store.append(&lease, 0, events(1, 2)).await, Appended::Committed { head: 2 });
    let mut head = store.subscribe(&Scope::local(), &trace()).unwrap();
    assert_eq!(*head.borrow_and_update(), 2);
    assert_eq!(store.append(&lease, 2, events(3, 5)).await, Appended::Committed { head: 5 });
    let seen = tokio::time::timeout(Duration::from_secs(20), head.wait_for(|head| *head == 5)).await;
    assert!(seen.is_ok_and(|seen| seen.is_ok()), "the subscriber did not hear of event 5");
}

/// Mail has ids in order, keeps who sent it and how, and can be read from an id on.
pub async fn mail_is_kept_in_order<S: Store>(store: &S) {
    drop(opened(store).await);
    let (anna, bot) = (scope_of("local", "anna"), scope_of("local", "bot"));
    assert_eq!(store.mail(&anna, &trace(), 0).await.unwrap(), vec![]);
    assert_eq!(store.post(&anna, &trace(), false, r#"{"say":"hi"}"#.into()).await.unwrap(), 1);
    assert_eq!(store.post(&bot, &trace(), true, "\"stop\"".into()).await.unwrap(), 2);
    assert_eq!(store.post(&anna, &trace(), false, "{\n\"a\": [1,\r\n2]}".into()).await.unwrap(), 3);
    let mail = store.mail(&anna, &trace(), 0).await.unwrap();
    let seen: Vec<_> = mail.iter().map(|m| (m.id, m.from.as_str(), m.urgent, m.body.as_str())).collect();
    let sent =
        [(1, "anna", false, r#"{"say":"hi"}"#), (2, "bot", true, "\"stop\""), (3, "anna", false, "{ \"a\": [1,  2]}")];
    assert_eq!(seen, sent);
    assert!(mail.iter().all(|m| m.at > 0) && mail.is_sorted_by_key(|m| m.at));
    assert_eq!(store.mail(&bot, &trace(), 1).await.unwrap(), mail[1..]);
    assert_eq!(store.mail(&bot, &trace(), 3).await.unwrap(), vec![]);
    assert_eq!(store.mail(&bot, &trace(), 99).await.unwrap(), vec![]);
    assert_eq!(opened(store).await.log.events, vec![], "mail is not an event");
}

/// What is sent again under its key is there once, whoever has the mailbox; something else under the same key is refused.
pub async fn mail_under_a_key_is_there_once<S: Store>(store: &S) {
    drop(opened(store).await);
    let scope = Scope::local();
    let letter = |key: &str, asked: &str, body: &str| Letter {
        urgent: false,
        body: body.into(),
        once: Some(Once { key: key.into(), asked: asked.into() }),
    };
    assert_eq!(store.send(&scope, &trace(), letter("k1", "a", "1")).await.unwrap(), 1);
    assert_eq!(store.post(&scope, &trace(), false, "2".into()).await.unwrap(), 2);
    assert_eq!(store.send(&scope, &trace(), letter("k2", "a", "3")).await.unwrap(), 3);
    assert_eq!(store.send(&scope, &trace(), letter("k1", "a", "1")).await.unwrap(), 1);
    assert_eq!(store.send(&scope, &trace(), letter("k2", "a", "\"written anew\"")).await.unwrap(), 3);
    let refused = store.send(&scope, &trace(), letter("k1", "b", "4")).await;
    assert!(matches!(&refused, Err(StoreError::Reused { key, .. }) if key == "k1"), "{refused:?}");
    let mail = store.mail(&scope, &trace(), 0).await.unwrap();
    assert_eq!(
        mail.iter().map(|mail| (mail.id, mail.body.as_str())).collect::<Vec<_>>(),
        [(1, "1"), (2, "2"), (3, "3")]
    );
    let keys: Vec<Option<&str>> = mail.iter().map(|mail| mail.once.as_ref().map(|once| once.key.as_str())).collect();
    assert_eq!(keys, [Some("k1"), None, Some("k2")]);
    assert_eq!(store.post(&scope, &trace(), false, "5".into()).await.unwrap(), 4);
}

/// Where a mailbox has lost its end, or all of it, what comes next has no number that the log has read.
pub async fn mail_never_gets_a_number_that_was_read<S: Store>(store: &S) {
    filled(store, 3).await;
    let report = store.verify(&Scope::local(), &trace()).await.unwrap();
    assert!(report.faults.len() == 1 && report.faults[0].contains("the log has read entry 3"), "{report:?}");
    assert_eq!(store.post(&Scope::local(), &trace(), false, "1".into()).await.unwrap(), 4);
    assert_eq!(store.post(&Scope::local(), &trace(), false, "2".into()).await.unwrap(), 5);
    let mail = store.mail(&Scope::local(), &trace(), 3).await.unwrap();
    assert_eq!(mail.iter().map(|mail| mail.id).collect::<Vec<_>>(), [4, 5]);
    let report = store.verify(&Scope::local(), &trace()).await.unwrap();
    assert!(report.faults.len() == 1 && report.faults[0].contains("entries 1 to 3 are missing"), "{report:?}");
}

/// A body that is not JSON is refused and leaves nothing behind.
pub async fn bad_mail_is_refused<S: Store>(store: &S) {
    drop(opened(store).await);
    for body in ["", "hi", "{", "{} {}", "1,\"urgent\":true"] {
        let refused = store.post(&Scope::local(), &trace(), false, body.into()).await;
        assert!(matches!(refused, Err(StoreError::BadMail { .. })), "{body:?}: {refused:?}");
    }
    assert_eq!(store.post(&Scope::local(), &trace(), false, "1".into()).await.unwrap(), 1);
}

/// A blob is found by its hash, and only what was put is.
pub async fn blobs_are_kept_by_hash<S: Store>(store: &S) {
    let scope = Scope::local();
    let hash = store.put_blob(&scope, b"abc".to_vec()).await.unwrap();
    // FIPS 180-2, the example for SHA-256.
    assert_eq!(hash.as_str(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!(store.put_blob(&scope, b"abc".to_vec()).await.unwrap(), hash);
    assert_eq!(store.get_blob(&scope, &hash).await.unwrap(), b"abc");
    let empty = store.put_blob(&scope, vec![]).await.unwrap();
    assert_eq!(store.get_blob(&scope, &empty).await.unwrap(), b"");
    let other = "0".repeat(64).try_into().unwrap();
    assert!(matches!(store.get_blob(&scope, &other).await, Err(StoreError::NoBlob { .. })));
}

/// Every trace is listed once.
pub async fn traces_are_listed<S: Store>(store: &S) {
    let scope = Scope::local();
    let mut names: Vec<TraceId> = ["c", "a", "b"].iter().map(|name| name.parse().unwrap()).collect();
    for name in &names {
        let lease = store.lease(&scope, name, true).await.unwrap().lease;
        assert_eq!(store.append(&lease, 0, events(1, 1)).await, Appended::Committed { head: 1 });
    }
    store.put_blob(&scope, vec![1]).await.unwrap();
    let list = store.list(&scope).await.unwrap();
    assert!(list.is_sorted_by(|a, b| a.modified >= b.modified), "newest first: {list:?}");
    let mut listed: Vec<_> = list.into_iter().map(|entry| entry.trace).collect();
    listed.sort();
    names.sort();
    assert_eq!(listed, names);
}

/// The same names in two tenants are two things.
pub async fn tenants_lie_apart<S: Store>(store: &S) {
    let (ours, theirs) = (Scope::local(), scope_of("other", "user"));
    filled(store, 3).await;
    assert!(matches!(store.read(&theirs, &trace(), 1).await, Err(StoreError::NotFound { .. })));
    assert_eq!(store.list(&theirs).await.unwrap(), vec![]);
    let Opened { lease, log } = store.lease(&theirs, &trace(), true).await.unwrap();
    assert_eq!(log.head, 0);
    let lease_of_ours =
        store.lease(&ours, &trace(), false).await.expect("another tenant's lease holds nothing of ours");
    assert_eq!(store.append(&lease, 0, vec![event(1, "theirs")]).await, Appended::Committed { head: 1 });
    store.post(&theirs, &trace(), false, "1".into()).await.unwrap();
    store.put_view(&theirs, &trace(), "final.md", b"x".to_vec()).await.unwrap();
    let hash = store.put_blob(&theirs, b"secret".to_vec()).await.unwrap();
    assert_eq!(store.read(&ours, &trace(), 1).await.unwrap().events, events(1, 3));
    assert_eq!(store.read(&theirs, &trace(), 1).await.unwrap().events, vec![event(1, "theirs")]);
    assert_eq!(store.mail(&ours, &trace(), 0).await.unwrap(), vec![]);
    assert_eq!(store.get_view(&ours, &trace(), "final.md").await.unwrap(), None);
    assert!(matches!(store.get_blob(&ours, &hash).await, Err(StoreError::NoBlob { .. })));
    assert_eq!(store.list(&theirs).await.unwrap().len(), 1);
    drop(lease_of_ours);
}

/// Views are written, read, listed and removed; log and mail are not touched by it.
pub async fn views_come_and_go<S: Store>(store: &S) {
    let (scope, trace) = (Scope::local(), trace());
    filled(store, 2).await;
    store.post(&scope, &trace, false, "1".into()).await.unwrap();
    for (name, bytes) in [("meta.json", "{}"), ("inputs/request.txt", "do it"), ("meta.json", "{\"a\":1}")] {
        store.put_view(&scope, &trace, name, bytes.into()).await.unwrap();
    }
    assert_eq!(store.views(&scope, &trace).await.unwrap(), ["inputs/request.txt", "meta.json"]);
    assert_eq!(store.get_view(&scope, &trace, "meta.json").await.unwrap(), Some(b"{\"a\":1}".to_vec()));
    assert_eq!(store.get_view(&scope, &trace, "none.json").await.unwrap(), None);
    for bad in ["events.jsonl", "../x", "/x", "a//b", ""] {
        let refused = store.put_view(&scope, &trace, bad, vec![]).await;
        assert!(matches!(refused, Err(StoreError::BadView { .. })), "{bad:?}: {refused:?}");
        assert!(store.get_view(&scope, &trace, bad).await.is_err(), "{bad:?}");
    }
    for (name, left) in [("meta.json", vec!["inputs/request.txt"]), ("none.json", vec!["inputs/request.txt"])] {
        store.delete_view(&scope, &trace, name).await.unwrap();
        assert_eq!(store.views(&scope, &trace).await.unwrap(), left);
    }
    store.delete_view(&scope, &trace, "inputs/request.txt").await.unwrap();
    assert_eq!(store.views(&scope, &trace).await.unwrap(), Vec::<String>::new());
    assert!(store.delete_view(&scope, &trace, "events.jsonl").await.is_err());
    assert_eq!(store.read(&scope, &trace, 1).await.unwrap().events, events(1, 2));
    assert_eq!(store.mail(&scope, &trace, 0).await.unwrap().len(), 1);
}

/// A trace is removed whole, and never while somebody has it.
pub async fn a_removed_trace_is_gone<S: Store>(store: &S) {
    let lease = opened(store).await.lease;
    assert_eq!(store.append(&lease, 0, events(1, 2)).await, Appended::Committed { head: 2 });
    store.put_view(&Scope::local(), &trace(), "inputs/a.txt", vec![1]).await.unwrap();
    let held = store.remove(&Scope::local(), &trace()).await;
    assert!(matches!(held, Err(StoreError::Held { .. })), "{held:?}");
    drop(lease);
    store.remove(&Scope::local(), &trace()).await.unwrap();
    assert!(store.list(&Scope::local()).await.unwrap().is_empty());
    let gone = store.read(&Scope::local(), &trace(), 1).await;
    assert!(matches!(gone, Err(StoreError::NotFound { .. })), "{gone:?}");
    let gone = store.remove(&Scope::local(), &trace()).await;
    assert!(matches!(gone, Err(StoreError::NotFound { .. })), "{gone:?}");
    let again = opened(store).await;
    assert_eq!((again.log.head, again.lease.epoch()), (0, 1));
}

/// A trace whose beginning could not be written is taken back by whoever holds it, and no other.
pub async fn a_trace_that_never_began_is_discarded<S: Store>(store: &S) {
    let scope = Scope::local();
    let lease = opened(store).await.lease;
    store.discard(&scope, &lease, 1).await.unwrap();
    assert_eq!(store.list(&scope).await.unwrap().len(), 1, "its log does not end there");
    drop(lease);
    let again = opened(store).await.lease;
    assert_eq!(store.append(&again, 0, events(1, 2)).await, Appended::Committed { head: 2 });
    store.discard(&scope, &again, 0).await.unwrap();
    assert_eq!(store.list(&scope).await.unwrap().len(), 1, "it has begun");
    drop(again);
    store.remove(&scope, &trace()).await.unwrap();
    let lease = opened(store).await.lease;
    store.discard(&scope, &lease, 0).await.unwrap();
    assert!(store.list(&scope).await.unwrap().is_empty());
    let refused = store.append(&lease, 0, events(1, 1)).await;
    assert_eq!(refused, Appended::Refused(Refused::StaleEpoch), "the lease is used up");
    let next = opened(store).await;
    assert_eq!(store.append(&next.lease, 0, events(1, 1)).await, Appended::Committed { head: 1 });
}

/// A blob stays while a log or a mailbox of its tenant names it, and while it is young.
pub async fn only_blobs_that_nothing_names_are_collected<S: Store>(store: &S) {
    let (scope, other) = (Scope::local(), scope_of("other", "user"));
    let mut hashes = Vec::new();
    for bytes in [&b"in the log"[..], b"in the mail", b"nowhere", b"nowhere either"] {
        hashes.push(store.put_blob(&scope, bytes.to_vec()).await.unwrap());
    }
    let theirs = store.put_blob(&other, b"nowhere".to_vec()).await.unwrap();
    let lease = opened(store).await.lease;
    assert_eq!(store.append(&lease, 0, vec![event(1, "\"said\"")]).await, Appended::Committed { head: 1 });
    let mut named = event(2, "");
    if let EventKind::MessageQueued(data) = &mut named.kind {
        data.parts = vec![Part::StoredText { hash: hashes[0].clone(), bytes: 10 }];
    }
    assert_eq!(store.append(&lease, 1, vec![named]).await, Appended::Committed { head: 2 });
    store.post(&scope, &trace(), false, format!("{{\"hash\":\"{}\"}}", hashes[1])).await.unwrap();
    let all = Sweep { grace: Duration::ZERO, only: None, dry_run: false };
    let hour = Sweep { grace: Duration::from_secs(3600), ..all.clone() };
    let (two, young) = (Collected { removed: 2, bytes: 21, young: 0 }, Collected { young: 2, ..Collected::default() });
    assert_eq!(store.collect_blobs(&scope, hour).await.unwrap(), young);
    assert_eq!(store.collect_blobs(&scope, Sweep { dry_run: true, ..all.clone() }).await.unwrap(), two);
    let one = Sweep { only: Some(vec![hashes[2].clone(), hashes[0].clone()]), ..all.clone() };
    assert_eq!(store.collect_blobs(&scope, one).await.unwrap(), Collected { removed: 1, bytes: 7, young: 0 });
    assert_eq!(store.collect_blobs(&scope, all).await.unwrap(), Collected { removed: 1, bytes: 14, young: 0 });
    for (hash, there) in hashes.iter().zip([true, true, false, false]) {
        assert_eq!(store.get_blob(&scope, hash).await.is_ok(), there, "{hash}");
    }
    assert!(store.get_blob(&other, &theirs).await.is_ok(), "another tenant's blobs are not looked at");
}
