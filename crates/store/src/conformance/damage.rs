//! What a store does with logs that were cut, changed or erased.

use super::made::{event, events, filled, opened, trace};
use crate::store::{Appended, Opened, Refused, Scope, Store, TailCutInfo};
use crate::{Raw, line};
use mainpath_types::{Erased, Event, EventId, Left, Principal, TenantId};

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
