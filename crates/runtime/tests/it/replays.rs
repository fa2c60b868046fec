//! Everything that was computed can be computed again.

use crate::support::*;
use mainpath_runtime::*;
use mainpath_types::*;

#[tokio::test(start_paused = true)]
async fn requests_of_runs_with_rewinds_repairs_and_new_specs_are_rebuilt_to_the_byte() {
    // Silent at first: the empty answer is asked for again on a side branch.
    let place = Place::memory(Brain::new(|seen| {
        if seen.said().len() == 1 && seen.results().is_empty() { say("") } else { step(&[&[("look", "x")]], seen) }
    }));
    let (runtime, trace) = (place.runtime(), id("t"));
    run(&runtime, &trace, place.spec(), "look").await;
    let send = async |mail: Mail| {
        runtime.send(&local(), &trace, &mail).await.unwrap();
        runtime.resume(&local(), &trace);
        assert_eq!(settled(&runtime, &trace).await, Phase::Idle);
    };
    send(Mail::message("again")).await;
    send(Mail::Rewind { after: Seq(1), parts: Some(vec![Part::text("another way")]) }).await;
    let spec = Box::new(Spec { instructions: "Be brief.".into(), ..place.spec() });
    send(Mail::SetSpec { spec }).await;
    send(Mail::message("and now")).await;
    let log = place.inspect(&trace).await;
    assert!(log.iter().any(|event| matches!(event.kind, EventKind::ModelMalformed(_))), "{}", names(&log));
    assert!(log.iter().any(|event| matches!(event.kind, EventKind::Rewound(_))), "{}", names(&log));
    let replayed = place.replay(&trace).await;
    assert!(replayed.requests >= 4 && replayed.unanswered == 0, "{replayed:?}");
}

#[tokio::test(start_paused = true)]
async fn a_view_that_was_changed_is_told_and_made_good() {
    let place = Place::memory(Brain::steps(&[&[("look", "x")]]));
    let (runtime, trace) = (place.runtime(), id("t"));
    run(&runtime, &trace, place.spec(), "look").await;
    views::write(&*place.store, &local(), &trace).await.unwrap();
    place.store.put_view(&local(), &trace, "final.md", b"something else".to_vec()).await.unwrap();
    assert_eq!(place.replay(&trace).await.differences, ["the view final.md was not what the log says"]);
    assert_eq!(place.replay(&trace).await.differences, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn views_of_an_earlier_run_are_no_difference() {
    let place = Place::memory(Brain::steps(&[&[("look", "x")]]));
    let (runtime, trace) = (place.runtime(), id("t"));
    run(&runtime, &trace, place.spec(), "look").await;
    views::write(&*place.store, &local(), &trace).await.unwrap();
    runtime.send(&local(), &trace, &Mail::message("again")).await.unwrap();
    runtime.resume(&local(), &trace);
    assert_eq!(settled(&runtime, &trace).await, Phase::Idle);
    assert_eq!(place.replay(&trace).await.differences, Vec::<String>::new());
    let meta = place.store.get_view(&local(), &trace, "meta.json").await.unwrap().unwrap();
    let meta: serde_json::Value = serde_json::from_slice(&meta).unwrap();
    assert_eq!(meta["last_event_id"], place.log(&trace).await.last().unwrap().id, "they are up to date now");
}
