use crate::Home;
use mainpath_store::conformance::{event, events};
use mainpath_store::*;
use mainpath_types::TraceId;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn trace() -> TraceId {
    "t".parse().unwrap()
}

#[tokio::test]
async fn everything_is_for_its_owner_only() {
    let home = Home::new();
    let (store, data) = (&home.store, home.dir.path().join("sub"));
    drop(FilesStore::open(&data, Options::default()).unwrap());
    assert_eq!(mode(&data), 0o700);
    for tenant in ["local", "other"] {
        let scope = Scope { tenant: tenant.parse().unwrap(), ..Scope::local() };
        let lease = store.lease(&scope, &trace(), true).await.unwrap().lease;
        assert_eq!(store.append(&lease, 0, events(1, 1)).await, Appended::Committed { head: 1 });
        store.post(&scope, &trace(), false, "1".into()).await.unwrap();
        store.put_blob(&scope, vec![1]).await.unwrap();
        store.put_view(&scope, &trace(), "inputs/a.txt", vec![1]).await.unwrap();
    }
    let mut seen = 0;
    walk(home.dir.path(), &mut |path, is_dir| {
        seen += 1;
        assert_eq!(mode(path), if is_dir { 0o700 } else { 0o600 }, "{}", path.display());
    });
    assert!(seen > 20, "{seen}");
}

#[tokio::test]
async fn whoever_follows_a_trace_is_seen_by_others_until_the_last_has_gone() {
    let home = Home::new();
    let other = FilesStore::open(home.dir.path(), Options::default()).unwrap();
    let (scope, trace) = (Scope::local(), trace());
    assert!(matches!(home.store.is_followed(&scope, &trace), Err(StoreError::NotFound { .. })));
    assert!(matches!(home.store.follow(&scope, &trace), Err(StoreError::NotFound { .. })));
    drop(home.store.lease(&scope, &trace, true).await.unwrap().lease);
    let seen = || [&home.store, &other].map(|store| store.is_followed(&scope, &trace).unwrap());
    assert_eq!(seen(), [false, false]);
    let (one, two) = (home.store.follow(&scope, &trace).unwrap(), other.follow(&scope, &trace).unwrap());
    assert_eq!(seen(), [true, true]);
    // It keeps nobody from owning the trace.
    drop(other.lease(&scope, &trace, false).await.unwrap().lease);
    drop(one);
    assert_eq!(seen(), [true, true]);
    drop(two);
    assert_eq!(seen(), [false, false]);
}

#[tokio::test]
async fn a_link_in_the_place_of_a_folder_of_views_leads_nowhere() {
    let home = Home::new();
    let (store, scope, trace) = (&home.store, Scope::local(), trace());
    drop(store.lease(&scope, &trace, true).await.unwrap().lease);
    let theirs = home.dir.path().join("theirs");
    std::fs::create_dir(&theirs).unwrap();
    std::fs::write(theirs.join("a.txt"), "theirs").unwrap();
    let link = store.trace_dir(&scope.tenant, &trace).join("inputs");
    let again = || std::os::unix::fs::symlink(&theirs, &link).unwrap();
    again();
    assert_eq!(store.get_view(&scope, &trace, "inputs/a.txt").await.unwrap(), None);
    store.delete_view(&scope, &trace, "inputs/a.txt").await.unwrap();
    assert!(!link.is_symlink());
    again();
    store.put_view(&scope, &trace, "inputs/a.txt", b"ours".to_vec()).await.unwrap();
    assert_eq!(store.get_view(&scope, &trace, "inputs/a.txt").await.unwrap(), Some(b"ours".to_vec()));
    assert!(link.is_dir() && !link.is_symlink());
    assert_eq!(std::fs::read_to_string(theirs.join("a.txt")).unwrap(), "theirs");
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn walk(dir: &Path, see: &mut impl FnMut(&Path, bool)) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        see(&path, path.is_dir());
        if path.is_dir() {
            walk(&path, see);
        }
    }
}

#[tokio::test]
async fn a_large_log_reads_alike_in_parts_and_whole_and_damage_is_found_anywhere() {
    let (store, dir) = (MemoryStore::default(), tempfile::tempdir().unwrap());
    let scope = Scope::local();
    let lease = store.lease(&scope, &trace(), true).await.unwrap().lease;
    let count = 6_000;
    assert_eq!(store.append(&lease, 0, events(1, count)).await, Appended::Committed { head: count });
    drop(lease);
    let bytes = store.log_bytes(&scope.tenant, &trace());
    assert!(bytes.len() > 3 << 19, "{}: too small to be read in parts", bytes.len());
    let read = store.read(&scope, &trace(), 1).await.unwrap();
    assert_eq!((read.head, read.damage), (count, None));
    assert!(read.events == events(1, count));
    let starts: Vec<usize> = std::iter::once(0)
        .chain(bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at + 1))
        .collect();
    let half = (0..starts.len()).min_by_key(|n| starts[*n].abs_diff(bytes.len() / 2)).unwrap();
    for line in [0, 77, half - 1, half, half + 1, count as usize - 1] {
        for (what, with) in [("left out", &b""[..]), ("garbage", b"{\"v\":1,\"id\":5}\n"), ("doubled", b"")] {
            let (start, end) = (starts[line], starts[line + 1]);
            let with =
                if what == "doubled" { [&bytes[start..end], &bytes[start..end]].concat() } else { with.to_vec() };
            let spoilt = [&bytes[..start], &with, &bytes[end..]].concat();
            store.set_log_bytes(&scope.tenant, &trace(), &spoilt);
            let read = store.read(&scope, &trace(), 1).await.unwrap();
            let good = if what == "doubled" { line + 1 } else { line } as u64;
            let last = what == "left out" && line as u64 == count - 1;
            assert_eq!((read.head, read.damage.map(|d| d.line)), (good, (!last).then_some(good + 1)), "{what} {line}");
            assert!(read.events == events(1, good), "{what} {line}");
            let file = dir.path().join("spoilt");
            std::fs::write(&file, &spoilt).unwrap();
            let (local, name) = (scope.tenant.clone(), file.display().to_string());
            let in_parts = verify_file(&file, &local, &trace()).unwrap();
            assert_eq!(in_parts, verify_bytes(&spoilt, &name, &local, &trace()), "{what} {line}");
        }
    }
}

#[tokio::test]
async fn a_reader_beside_the_owner_sees_only_whole_events() {
    let home = Home::new();
    let reader = FilesStore::open(home.dir.path(), Options::default()).unwrap();
    let (store, scope) = (&home.store, Scope::local());
    let lease = store.lease(&scope, &trace(), true).await.unwrap().lease;
    let long = "x".repeat(20_000);
    let (mut head, mut known) = (0, 0);
    while head < 200 {
        let batch = (head + 1..=head + 4).map(|id| event(id, &long)).collect();
        let (appended, read) =
            tokio::join!(store.append(&lease, head, batch), reader.read(&scope, &trace(), known + 1));
        head += 4;
        assert_eq!(appended, Appended::Committed { head });
        let read = read.unwrap();
        assert_eq!(read.damage, None);
        let ids: Vec<_> = read.events.iter().map(|e| e.id).collect();
        assert_eq!(ids, (known + 1..=read.head).collect::<Vec<_>>());
        known = read.head;
    }
    assert_eq!(reader.read(&scope, &trace(), 1).await.unwrap().head, head);
}

#[tokio::test]
async fn a_spoilt_blob_is_reported_and_mended_by_putting_it_again() {
    let home = Home::new();
    let (store, scope) = (&home.store, Scope::local());
    let hash = store.put_blob(&scope, b"content".to_vec()).await.unwrap();
    let path = home.dir.path().join("blobs").join(&hash.as_str()[..2]).join(hash.as_str());
    std::fs::write(&path, b"Content").unwrap();
    match store.get_blob(&scope, &hash).await {
        Err(StoreError::Damaged(damage)) => assert_eq!(damage.file, path.display().to_string()),
        other => panic!("{other:?}"),
    }
    assert_eq!(store.put_blob(&scope, b"content".to_vec()).await.unwrap(), hash);
    assert_eq!(store.get_blob(&scope, &hash).await.unwrap(), b"content");
}

#[tokio::test]
async fn a_torn_mailbox_entry_is_not_there_and_the_next_takes_its_place() {
    let home = Home::new();
    let (store, scope) = (&home.store, Scope::local());
    drop(store.lease(&scope, &trace(), true).await.unwrap());
    for n in 1..=3 {
        assert_eq!(store.post(&scope, &trace(), false, n.to_string()).await.unwrap(), n);
    }
    let path = store.trace_dir(&scope.tenant, &trace()).join("mailbox.jsonl");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 5]).unwrap();
    assert_eq!(store.mail(&scope, &trace(), 0).await.unwrap().len(), 2);
    assert_eq!(store.post(&scope, &trace(), true, "\"three\"".into()).await.unwrap(), 3);
    let mail = store.mail(&scope, &trace(), 2).await.unwrap();
    assert_eq!(mail.iter().map(|m| (m.id, m.body.as_str())).collect::<Vec<_>>(), [(3, "\"three\"")]);
}

#[tokio::test]
async fn a_damaged_mailbox_line_is_reported_and_earlier_ones_do_not_matter() {
    let home = Home::new();
    let (store, scope) = (&home.store, Scope::local());
    drop(store.lease(&scope, &trace(), true).await.unwrap());
    for n in 1..=300 {
        store.post(&scope, &trace(), false, format!("{{\"text\":\"{}\"}}", "m".repeat(n))).await.unwrap();
    }
    let path = store.trace_dir(&scope.tenant, &trace()).join("mailbox.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("{\"id\":7,", "{\"id\":seven,")).unwrap();
    assert_eq!(store.mail(&scope, &trace(), 250).await.unwrap().len(), 50);
    match store.mail(&scope, &trace(), 3).await {
        Err(StoreError::Damaged(damage)) => assert_eq!((damage.line, damage.file), (7, path.display().to_string())),
        other => panic!("{other:?}"),
    }
    assert_eq!(store.post(&scope, &trace(), false, "1".into()).await.unwrap(), 301);
}

#[tokio::test]
async fn posts_from_many_sides_all_get_their_own_number() {
    let home = Home::new();
    let other = FilesStore::open(home.dir.path(), Options::default()).unwrap();
    let scope = Scope::local();
    drop(home.store.lease(&scope, &trace(), true).await.unwrap());
    let mut posts = Vec::new();
    for n in 0..20 {
        for store in [&home.store, &other] {
            posts.push(store.post(&scope, &trace(), false, n.to_string()));
        }
    }
    let tasks: Vec<_> = posts.into_iter().collect();
    let mut ids = Vec::new();
    for chunk in tasks {
        ids.push(chunk.await.unwrap());
    }
    ids.sort_unstable();
    assert_eq!(ids, (1..=40).collect::<Vec<_>>());
    assert_eq!(other.mail(&scope, &trace(), 0).await.unwrap().len(), 40);
}

#[tokio::test]
async fn a_lease_writes_its_own_trace_whichever_store_is_asked() {
    let (one, two) = (Home::new(), Home::new());
    let scope = Scope::local();
    let lease = one.store.lease(&scope, &trace(), true).await.unwrap().lease;
    let other = two.store.lease(&scope, &"other".parse().unwrap(), true).await.unwrap().lease;
    assert_eq!(two.store.append(&other, 0, events(1, 1)).await, Appended::Committed { head: 1 });
    assert_eq!(two.store.append(&lease, 0, events(1, 2)).await, Appended::Committed { head: 2 });
    assert_eq!(one.store.read(&scope, &trace(), 1).await.unwrap().events, events(1, 2));
    let read = two.store.read(&scope, &"other".parse().unwrap(), 1).await.unwrap();
    assert_eq!((read.events, read.damage), (events(1, 1), None));
    let memory = MemoryStore::default();
    assert_eq!(memory.append(&lease, 2, events(3, 3)).await, Appended::Refused(Refused::StaleEpoch));
}

#[tokio::test]
async fn a_log_that_was_removed_is_missing_and_a_folder_that_never_had_one_is_no_trace() {
    let (home, scope) = (Home::new(), Scope::local());
    let other = FilesStore::open(home.dir.path(), Options::default()).unwrap();
    let [driven, rested, made, empty] = ["driven", "rested", "made", "empty"].map(|id| id.parse::<TraceId>().unwrap());
    let lease = home.store.lease(&scope, &driven, true).await.unwrap().lease;
    assert_eq!(home.store.append(&lease, 0, events(1, 1)).await, Appended::Committed { head: 1 });
    let rests = home.store.lease(&scope, &rested, true).await.unwrap().lease;
    assert_eq!(home.store.append(&rests, 0, events(1, 1)).await, Appended::Committed { head: 1 });
    drop(rests);
    home.store.begin(&scope, &made, events(1, 2)).await.unwrap();
    drop(home.store.lease(&scope, &empty, true).await.unwrap().lease);
    for trace in [&driven, &rested, &made, &empty] {
        std::fs::remove_file(home.store.trace_dir(&scope.tenant, trace).join("events.jsonl")).unwrap();
        let read = other.read(&scope, trace, 1).await;
        if *trace == empty {
            assert!(matches!(read, Err(StoreError::NotFound { .. })), "{read:?}");
            continue;
        }
        assert!(matches!(read, Err(StoreError::LogMissing { .. })), "{trace}: {read:?}");
        assert!(other.lost(&scope, trace).is_some());
        let begun = other.begin(&scope, trace, events(1, 1)).await;
        let refused = matches!(begun, Err(StoreError::LogMissing { .. }));
        assert!(refused, "{trace}: a new log would hide that the old one is missing: {begun:?}");
        if *trace != driven {
            let leased = other.lease(&scope, trace, true).await;
            assert!(matches!(leased, Err(StoreError::LogMissing { .. })), "{trace}");
        }
    }
}

#[tokio::test]
async fn errors_say_what_and_where() {
    let home = Home::new();
    let file = home.dir.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let error = FilesStore::open(&file, Options::default()).unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot open the data directory {}: ", file.display())), "{error}");
    let missing = home.store.lease(&Scope::local(), &trace(), false).await.unwrap_err();
    assert_eq!(missing.to_string(), "there is no trace t");
    let lease = home.store.lease(&Scope::local(), &trace(), true).await.unwrap().lease;
    let held = home.store.lease(&Scope::local(), &trace(), true).await.unwrap_err();
    assert_eq!(held.to_string(), "trace t is being run by this process; stop it there, or wait until it is done");
    drop(lease);
}
