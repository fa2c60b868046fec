use crate::Place;
use mainpath_index::Refreshed;
use mainpath_store::Store;
use mainpath_types::FinishReason;

fn names(place: &Place) -> Vec<String> {
    let mut names: Vec<String> =
        place.list().iter().map(|row| format!("{} {} {}", row.trace, row.status, row.turns)).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_row_says_what_the_log_says() {
    let place = Place::new();
    place.talk("t", &[("look here", "seen"), ("and there", "seen too")]).await;
    let rows = place.list();
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!((row.trace.as_str(), row.status.as_str(), row.turns), ("t", "completed", 2));
    assert_eq!(row.reason, Some(FinishReason::Final));
    assert_eq!((row.model.as_str(), row.workspace.as_str(), row.task.as_str()), ("some:model", "/work", "look here"));
    assert_eq!(row.created, 1_795_315_500_000);
    let listed = place.store.list(&place.scope).await.unwrap();
    assert_eq!(row.modified, listed[0].modified);
    assert!(row.tokens > 0);
}

#[tokio::test]
async fn what_changes_is_taken_in_and_nothing_else_is_read() {
    let place = Place::new();
    for name in ["a", "b", "c"] {
        place.talk(name, &[("one", "1")]).await;
    }
    let mut index = place.index();
    assert_eq!(index.refresh().unwrap(), Refreshed { read: 3, gone: 0 });
    assert_eq!(index.refresh().unwrap(), Refreshed::default());
    place.talk("b", &[("two", "2")]).await;
    place.talk("d", &[("one", "1")]).await;
    assert_eq!(index.refresh().unwrap(), Refreshed { read: 2, gone: 0 });
    assert_eq!(names(&place), ["a completed 1", "b completed 2", "c completed 1", "d completed 1"]);
    place.store.remove(&place.scope, &"a".parse().unwrap()).await.unwrap();
    assert_eq!(index.refresh().unwrap(), Refreshed { read: 0, gone: 1 });
    // By hand, behind the store's back.
    std::fs::remove_dir_all(place.file("traces/b")).unwrap();
    std::fs::create_dir(place.file("traces/e")).unwrap();
    std::fs::copy(place.file("traces/c/events.jsonl"), place.file("traces/e/events.jsonl")).unwrap();
    assert_eq!(index.refresh().unwrap(), Refreshed { read: 1, gone: 1 });
    // A copy under another name is no whole log: its chain belongs to the other trace.
    assert_eq!(names(&place), ["c completed 1", "d completed 1", "e damaged 0"]);
}

#[tokio::test]
async fn a_trace_that_is_owned_is_looked_at_again() {
    let place = Place::new();
    let lease = place.begin("a", &[("work", "")]).await;
    assert_eq!(names(&place), ["a running 1"]);
    let mut index = place.index();
    assert_eq!(index.refresh().unwrap(), Refreshed::default(), "it has not changed");
    drop(lease);
    assert_eq!(index.refresh().unwrap(), Refreshed::default());
    // Written in the same lease as before, without a new note: that is what the look at owned traces is for.
    let lease = place.begin("b", &[("work", "")]).await;
    index.refresh().unwrap();
    place.store.post(&place.scope, &"b".parse().unwrap(), false, "1".into()).await.unwrap();
    let from = lease.epoch();
    drop(lease);
    assert_eq!(from, 1);
    place.talk("b", &[("more", "done")]).await;
    assert_eq!(index.refresh().unwrap().read, 1);
}

#[tokio::test]
async fn many_traces_are_read_side_by_side() {
    let place = Place::new();
    for n in 0..150 {
        place.talk(&format!("t{n:03}"), &[("task", "done")]).await;
    }
    let mut index = place.index();
    assert_eq!(index.refresh().unwrap(), Refreshed { read: 150, gone: 0 });
    let (newest, all) = index.newest(3).unwrap();
    assert_eq!((newest.len(), all), (3, 150));
    assert!(newest.windows(2).all(|pair| pair[0].modified >= pair[1].modified));
    assert_eq!(index.rebuild().unwrap(), Refreshed { read: 150, gone: 0 });
    assert_eq!(index.newest(3).unwrap(), (newest, 150));
}

#[tokio::test]
async fn a_tenant_sees_only_its_own_traces() {
    let mut place = Place::new();
    place.talk("ours", &[("one", "1")]).await;
    let local = place.scope.clone();
    place.scope.tenant = "other".parse().unwrap();
    place.talk("theirs", &[("two", "2")]).await;
    assert_eq!(names(&place), ["theirs completed 1"]);
    place.scope = local;
    assert_eq!(names(&place), ["ours completed 1"]);
    assert!(place.file("index.sqlite").exists() && place.file("tenants/other/index.sqlite").exists());
}
