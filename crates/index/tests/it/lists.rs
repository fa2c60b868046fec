use crate::Place;
use mainpath_index::{Refreshed, Wanted};
use mainpath_store::Store;
use mainpath_store::files::Mark;
use mainpath_types::FinishReason;
use std::collections::BTreeSet;

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
async fn a_list_between_the_lease_and_its_first_write_does_not_hide_what_is_written() {
    let place = Place::new();
    place.talk("a", &[("one", "1")]).await;
    assert_eq!(names(&place), ["a completed 1"]);
    let looked = || assert_eq!(names(&place), ["a completed 1"]);
    drop(place.begin_after("a", &[("two", "2")], looked).await);
    assert_eq!(names(&place), ["a completed 2"]);
}

#[tokio::test]
async fn traces_that_mainpath_makes_and_those_that_come_and_go_by_hand_in_between_are_all_seen() {
    let place = Place::new();
    place.talk("a", &[("one", "1")]).await;
    let mut index = place.index();
    index.refresh().unwrap();
    let (inside, aside) = (place.file("traces"), place.file("aside"));
    std::fs::create_dir(&aside).unwrap();
    let mut expected = vec!["a completed 1".to_string()];
    // By hand before, after and between two that are noted, coming and going: the folder's time is the same story each time.
    for round in 0..4 {
        let hand = |step: usize| {
            let name = format!("hand{round}-{step}");
            if step != round {
                std::fs::create_dir(inside.join(&name)).unwrap();
                std::fs::copy(inside.join("a/events.jsonl"), inside.join(&name).join("events.jsonl")).unwrap();
                std::fs::rename(inside.join(&name), aside.join(&name)).unwrap();
                return None;
            }
            std::fs::create_dir(inside.join(&name)).unwrap();
            std::fs::copy(inside.join("a/events.jsonl"), inside.join(&name).join("events.jsonl")).unwrap();
            Some(format!("{name} damaged 0"))
        };
        expected.extend(hand(0));
        place.talk(&format!("x{round}"), &[("one", "1")]).await;
        expected.extend(hand(1));
        place.talk(&format!("y{round}"), &[("one", "1")]).await;
        expected.extend(hand(2));
        expected.extend([format!("x{round} completed 1"), format!("y{round} completed 1")]);
        expected.sort();
        assert_eq!(names(&place), expected, "{round}");
    }
    // Only what is noted, one by one and many at once; one of them is gone again.
    for round in 0..3 {
        place.talk(&format!("z{round}"), &[("one", "1")]).await;
        expected.push(format!("z{round} completed 1"));
        assert_eq!(names(&place), expected, "{round}");
    }
    for name in ["u", "v", "w"] {
        place.talk(name, &[("one", "1")]).await;
    }
    std::fs::remove_dir_all(inside.join("v")).unwrap();
    expected.extend(["u completed 1".to_string(), "w completed 1".to_string()]);
    expected.sort();
    assert_eq!(names(&place), expected);
    assert_eq!(place.index().newest(1).unwrap().1, expected.len());
}

#[tokio::test]
async fn a_trace_whose_log_comes_after_a_look_is_seen_at_the_next() {
    let place = Place::new();
    place.talk("a", &[("one", "1")]).await;
    let mut index = place.index();
    assert_eq!(index.refresh().unwrap(), Refreshed { read: 1, gone: 0 });
    // A folder alone, as a process leaves it that is killed, or is not done yet.
    std::fs::create_dir(place.file("traces/b")).unwrap();
    assert_eq!(index.refresh().unwrap(), Refreshed::default());
    assert_eq!(index.refresh().unwrap(), Refreshed::default());
    std::fs::copy(place.file("traces/a/events.jsonl"), place.file("traces/b/events.jsonl")).unwrap();
    assert_eq!(index.refresh().unwrap(), Refreshed { read: 1, gone: 0 });
    std::fs::remove_file(place.file("traces/b/events.jsonl")).unwrap();
    std::fs::remove_dir_all(place.file("traces/a")).unwrap();
    assert_eq!(index.refresh().unwrap(), Refreshed { read: 0, gone: 1 });
    assert_eq!(index.newest(9).unwrap().1, 1, "nobody said that the log of b went");
    std::fs::remove_dir(place.file("traces/b")).unwrap();
    assert_eq!(index.refresh().unwrap(), Refreshed { read: 0, gone: 1 });
    assert_eq!(index.newest(9).unwrap(), (Vec::new(), 0));
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

#[tokio::test]
async fn what_was_counted_of_runs_comes_from_the_logs_and_goes_with_them() {
    let place = Place::new();
    place.talk("20260101-a", &[("one", "1"), ("two", "2")]).await;
    place.talk("20260101-b", &[("three", "3")]).await;
    let read = |since| {
        let mut index = place.index();
        index.refresh().unwrap();
        index.runs(since).unwrap()
    };
    let (runs, traces) = read(0);
    assert_eq!((runs.len(), traces), (3, 2));
    let log = place.store.read(&place.scope, &"20260101-a".parse().unwrap(), 1).await.unwrap();
    let counted = mainpath_runtime::run_stats::runs(&"20260101-a".parse().unwrap(), &log.events);
    assert_eq!(counted.len(), 2);
    assert!(counted.iter().all(|run| runs.contains(run)), "{runs:#?}");
    assert_eq!(read(1_795_315_500_001), (Vec::new(), 0), "none began later");
    place.talk("20260101-b", &[("four", "4")]).await;
    assert_eq!(read(0).0.len(), 4, "what changed is counted anew, once");
    place.store.remove(&place.scope, &"20260101-a".parse().unwrap()).await.unwrap();
    assert_eq!((read(0).0.len(), read(0).1), (2, 1));
}

#[tokio::test]
async fn what_changed_does_not_pile_up_beside_the_file_however_often_it_is_opened() {
    let place = Place::new();
    let log = || std::fs::metadata(place.file("index.sqlite-wal")).map_or(0, |meta| meta.len());
    let mut longest = 0;
    for n in 0..60 {
        let words: String = (0..2_000).map(|word| format!("word{} ", n * 2_000 + word)).collect();
        place.talk(&format!("t{n}"), &[(&words, "yes")]).await;
        // Each time by another opening, as by a command that lists and ends.
        assert_eq!(place.list().len(), n + 1);
        longest = longest.max(log());
    }
    assert!(longest < 3 << 20, "it was {longest} bytes long");
}

#[tokio::test]
async fn a_home_that_was_copied_without_its_notes_is_looked_through_once() {
    let place = Place::new();
    place.talk("a", &[("hi", "yes")]).await;
    std::fs::remove_file(place.file("changes")).unwrap();
    let first = place.store.changed_since(&place.scope, &Mark::default()).unwrap();
    assert_eq!(first.traces, None);
    let then = place.store.changed_since(&place.scope, &first.mark).unwrap();
    assert_eq!(then.traces, Some(BTreeSet::new()));
    place.talk("b", &[("hi", "yes")]).await;
    let last = place.store.changed_since(&place.scope, &then.mark).unwrap();
    assert_eq!(last.traces, Some(BTreeSet::from(["b".parse().unwrap()])));
}

/// Where a trace stands, which of its agents run, and the traces of the lists of what runs, what waits and what may ask.
fn stands(place: &Place, trace: &str) -> (String, Vec<String>, [Vec<String>; 3]) {
    let rows = place.list();
    let row = rows.iter().find(|row| row.trace.as_str() == trace).unwrap();
    let running = row.below.iter().flat_map(|below| &below.running).map(ToString::to_string).collect();
    let index = place.index();
    let page = |status: Option<&str>, may_ask| {
        let wanted = Wanted { most: 10, status: status.map(Into::into), may_ask, ..Wanted::default() };
        index.page(&wanted).unwrap().iter().map(|row| row.trace.to_string()).collect()
    };
    (row.status.clone(), running, [page(Some("running"), false), page(Some("waiting"), false), page(None, true)])
}

#[tokio::test]
async fn what_waits_runs_while_an_agent_of_it_does_and_is_asked_about_all_the_same() {
    let place = Place::new();
    let p = || vec!["p".to_string()];
    place.ask("p").await;
    assert_eq!(stands(&place, "p"), ("waiting".into(), vec![], [vec![], p(), p()]));
    // Who looks back on it or grades it does not work for it; nor does another whose name begins as its does.
    for other in ["p@reflect-5-001", "p@grade-5-001", "p-2@delegate-5-001"] {
        place.talk(other, &[("Look.", "")]).await;
    }
    assert_eq!(stands(&place, "p").0, "waiting");
    let (agent, below) = ("p@delegate-5-001", "p@delegate-5-001@explore-001-6-001");
    place.talk(agent, &[("Do it.", "Done.")]).await;
    assert_eq!(stands(&place, "p"), ("waiting".into(), vec![], [vec![], p(), p()]));
    place.talk(below, &[("Find it.", "")]).await;
    assert_eq!(stands(&place, "p"), ("running".into(), vec![below.into()], [p(), vec![], p()]));
    // One that works itself is asked about for the sake of its agents.
    place.talk("q", &[("Do it.", "")]).await;
    assert_eq!(stands(&place, "q").2[2], p());
    place.ask("q@delegate-5-001").await;
    assert_eq!(stands(&place, "q").2[2], ["q", "p"]);
}
