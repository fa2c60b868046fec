//! What every store has to pass. A broken promise panics and says which.
//!
//! Needs a tokio runtime with time enabled. Each check gets a fresh store.
#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::store::{Appended, Collected, Opened, Owner, Refused, Scope, Store, StoreError, Sweep, TailCutInfo};
use crate::{HeadHash, Raw, line, verify_bytes};
use mainpath_types::{
    Erased, Event, EventId, EventKind, Left, MessageMode, MessageQueued, Part, Principal, TenantId, TraceId,
};
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
    a_released_lease_is_stale(&make()).await;
    a_trace_must_exist(&make()).await;
    a_trace_begins_with_a_log(&make()).await;
    reading_starts_where_asked(&make()).await;
    subscribers_see_the_head(&make()).await;
    mail_is_kept_in_order(&make()).await;
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
    only_blobs_that_nothing_names_are_collected(&make()).await;
}

/// An event for tests: somebody said `text`.
pub fn event(id: EventId, text: &str) -> Event {
    let said = MessageQueued {
        mode: MessageMode::Message,
        parts: vec![Part::text(text)],
        typed: None,
        tokens: 3,
        demands: 0,
        demanded: Vec::new(),
        from: Principal::local_user(),
    };
    Event { id, ts: 1_795_315_500_000 + id, turn: 0, mail: id.is_multiple_of(3).then_some(id), kind: said.into() }
}

/// Events `from..=to`, as [`event`] makes them.
pub fn events(from: EventId, to: EventId) -> Vec<Event> {
    (from..=to).map(|id| event(id, &format!("said \"{id}\"\nund über"))).collect()
}

fn trace() -> TraceId {
    "20260101-first".parse().unwrap()
}

fn scope_of(tenant: &str, principal: &str) -> Scope {
    Scope { tenant: tenant.parse().unwrap(), principal: principal.parse().unwrap() }
}

async fn opened<S: Store>(store: &S) -> Opened {
    store.lease(&Scope::local(), &trace(), true).await.expect("a trace can be leased")
}

/// A trace with events 1 to `to`, given free.
async fn filled<S: Store>(store: &S, to: EventId) {
    let lease = opened(store).await.lease;
    assert_eq!(store.append(&lease, 0, events(1, to)).await, Appended::Committed { head: to });
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
    drop(first.lease);
    assert!(store.lease(&Scope::local(), &trace(), false).await.is_ok());
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

/// An incomplete last line is not there for readers, is cut by the next owner, and the log goes on from there.
pub async fn a_torn_tail_is_cut<S: Store + Raw>(store: &S) {
    let (scope, tenant) = (Scope::local(), TenantId::local());
    filled(store, 3).await;
    let whole = store.log_bytes(&tenant, &trace());
    let two = whole.len() - 1 - whole[..whole.len() - 1].iter().rev().position(|b| *b == b'\n').unwrap();
    let last_line = whole.len() - two;
    for keep in [1, 40, last_line / 2, last_line - 1] {
        store.set_log_bytes(&tenant, &trace(), &whole[..two + keep]);
        let read = store.read(&scope, &trace(), 1).await.unwrap();
        assert_eq!((read.events, read.head, read.damage, read.tail_cut), (events(1, 2), 2, None, None));
        let Opened { lease, log } = opened(store).await;
        let cut = TailCutInfo { bytes: keep as u64, kept: "events.torn".into() };
        assert_eq!((log.events, log.tail_cut), (events(1, 2), Some(cut)));
        assert_eq!(store.append(&lease, 2, vec![event(3, "other")]).await, Appended::Committed { head: 3 });
        drop(lease);
        let again = opened(store).await.log;
        assert_eq!((again.events.last(), again.tail_cut), (Some(&event(3, "other")), None));
    }
}

/// A complete line that is not right ends the log there; nothing is cut, nothing can be appended, much can be read.
pub async fn damage_opens_read_only<S: Store + Raw>(store: &S) {
    let (scope, tenant) = (Scope::local(), TenantId::local());
    filled(store, 4).await;
    let whole = store.log_bytes(&tenant, &trace());
    let lines: Vec<&[u8]> = whole.split_inclusive(|b| *b == b'\n').collect();
    let changed = String::from_utf8_lossy(lines[2]).replace("said", "Said").into_bytes();
    let more = String::from_utf8_lossy(lines[2]).replace("]", "],\"mail\":9999").into_bytes();
    let spoilt: [(&str, Vec<&[u8]>, u64); 7] = [
        ("content changed", vec![lines[0], lines[1], &changed, lines[3]], 2),
        ("field added", vec![lines[0], lines[1], &more, lines[3]], 2),
        ("no JSON", vec![lines[0], lines[1], b"garbage\n", lines[3]], 2),
        ("empty line", vec![lines[0], lines[1], b"\n", lines[2], lines[3]], 2),
        ("line left out", vec![lines[0], lines[2], lines[3]], 1),
        ("lines exchanged", vec![lines[1], lines[0], lines[2], lines[3]], 0),
        ("complete last line is bad", vec![lines[0], lines[1], lines[2], b"{}\n"], 3),
    ];
    for (what, parts, good) in spoilt {
        let bytes = parts.concat();
        store.set_log_bytes(&tenant, &trace(), &bytes);
        let Opened { lease, log } = store.lease(&scope, &trace(), false).await.expect(what);
        assert_eq!((log.events, log.head, log.tail_cut), (events(1, good), good, None), "{what}");
        let damage = log.damage.expect(what);
        assert_eq!(damage.line, good + 1, "{what}");
        assert!(damage.file.ends_with("events.jsonl") && !damage.problem.is_empty(), "{what}: {damage}");
        let refused = store.append(&lease, good, vec![event(good + 1, "more")]).await;
        assert_eq!(refused, Appended::Refused(Refused::ReadOnly), "{what}");
        let read = store.read(&scope, &trace(), 2).await.unwrap();
        assert_eq!((read.events, read.damage), (events(2, good.max(1)), Some(damage.clone())), "{what}");
        let report = store.verify(&scope, &trace()).await.unwrap();
        assert_eq!((report.events, report.damage), (good, Some(damage)), "{what}");
        assert_eq!(store.log_bytes(&tenant, &trace()), bytes, "{what}: the log was touched");
    }
}

/// Lines of a newer version are left alone and close the log for us.
pub async fn a_newer_log_opens_read_only<S: Store + Raw>(store: &S) {
    filled(store, 2).await;
    let mut bytes = store.log_bytes(&TenantId::local(), &trace());
    bytes.extend_from_slice(b"{\"v\":2,\"id\":3,\"news\":true}\n{\"v\":2,\"half");
    store.set_log_bytes(&TenantId::local(), &trace(), &bytes);
    let Opened { lease, log } = opened(store).await;
    assert_eq!((log.events, log.newer, log.damage, log.tail_cut), (events(1, 2), true, None, None));
    assert_eq!(store.append(&lease, 2, events(3, 3)).await, Appended::Refused(Refused::ReadOnly));
    let report = store.verify(&Scope::local(), &trace()).await.unwrap();
    assert_eq!((report.events, report.holds(), report.faults.len(), report.unchecked.len()), (2, false, 1, 2));
    assert_eq!(report.damage, None);
    assert_eq!(store.log_bytes(&TenantId::local(), &trace()), bytes);
}

/// An erasure mark that no `erased` event names is damage: with it anybody could take out what was said. The log opens up to it.
pub async fn a_mark_of_erasure_alone_is_damage<S: Store + Raw>(store: &S) {
    filled(store, 3).await;
    let whole = store.log_bytes(&TenantId::local(), &trace());
    let lines: Vec<&[u8]> = whole.split(|b| *b == b'\n').collect();
    for (line, until) in [(2, 1), (3, 2), (1, 0)] {
        let forged: Vec<Vec<u8>> = (1..=3)
            .map(|at| if at == line { line::erase(lines[at - 1]).unwrap() } else { lines[at - 1].to_vec() })
            .chain([Vec::new()])
            .collect();
        store.set_log_bytes(&TenantId::local(), &trace(), &forged.join(&b'\n'));
        let Opened { lease, log } = opened(store).await;
        assert_eq!((log.events, log.erased, log.head), (events(1, until), Vec::new(), until));
        assert_eq!(log.damage.map(|damage| damage.line), Some(until + 1));
        assert_eq!(
            store.append(&lease, until, events(until + 1, until + 1)).await,
            Appended::Refused(Refused::ReadOnly)
        );
        let read = store.read(&Scope::local(), &trace(), 2).await.unwrap();
        assert_eq!((read.head, read.read_only()), (until, true));
        let report = store.verify(&Scope::local(), &trace()).await.unwrap();
        assert_eq!(
            (report.events, report.holds(), report.damage.map(|damage| damage.line)),
            (until, false, Some(until + 1))
        );
    }
}

/// What was said is nowhere any more, neither in the log nor in the mailbox; what is left stands in its place.
pub async fn erased_content_is_gone_and_the_chain_holds<S: Store + Raw>(store: &S) {
    drop(opened(store).await);
    for n in 1..=4 {
        let id = store.post(&Scope::local(), &trace(), false, format!("\"mail {n}\"")).await.unwrap();
        assert_eq!(id, n);
    }
    filled(store, 4).await;
    let lease = opened(store).await.lease;
    // Event 3 was brought by mail 3.
    let left = |id: EventId| Left { event: id, kind: event(id, "").kind.without_words() };
    let marker = |id: EventId, of: Vec<Left>| {
        let erased = Erased { left: of, by: Principal::local_user(), why: None };
        Event { id, ts: 1_795_315_600_000, turn: 0, mail: None, kind: erased.into() }
    };
    let refused = store.erase(&lease, marker(5, vec![left(5)])).await;
    assert!(matches!(refused, Appended::Refused(Refused::BadEvent { id: 5, .. })), "{refused:?}");
    assert_eq!(store.erase(&lease, marker(6, vec![left(3)])).await, Appended::Refused(Refused::WrongId { head: 4 }));
    assert_eq!(store.erase(&lease, marker(5, vec![left(3)])).await, Appended::Committed { head: 5 });
    assert_eq!(store.append(&lease, 5, events(6, 6)).await, Appended::Refused(Refused::StaleEpoch));
    let Opened { lease, log } = opened(store).await;
    let mut third = event(3, "");
    third.kind = third.kind.without_words();
    assert_eq!(log.events, [event_as_made(1), event_as_made(2), third, event_as_made(4), marker(5, vec![left(3)])]);
    assert_eq!(log.erased.iter().map(|erased| erased.id).collect::<Vec<_>>(), [3]);
    assert_eq!(store.append(&lease, 5, events(6, 6)).await, Appended::Committed { head: 6 });
    let report = store.verify(&Scope::local(), &trace()).await.unwrap();
    assert_eq!((report.events, report.erased, report.damage), (6, vec![3], None));
    let bytes = store.log_bytes(&TenantId::local(), &trace());
    let count = |text: &str| bytes.windows(text.len()).filter(|at| *at == text.as_bytes()).count();
    assert_eq!((count("said \\\"3\\\""), count("said \\\"4\\\"")), (0, 1));
    let mail = store.mail(&Scope::local(), &trace(), 0).await.unwrap();
    let bodies: Vec<&str> = mail.iter().map(|mail| mail.body.trim()).collect();
    assert_eq!(bodies, ["\"mail 1\"", "\"mail 2\"", "0", "\"mail 4\""]);
    // Event 6 has read entry 6.
    assert_eq!(store.post(&Scope::local(), &trace(), false, "5".into()).await.unwrap(), 7);
}

fn event_as_made(id: EventId) -> Event {
    events(id, id).remove(0)
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
