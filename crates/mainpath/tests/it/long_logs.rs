//! Logs of thousands of events: what is kept of them between two looks is what the log says.

use crate::support::{Place, WRITE};
use mainpath::prelude::*;
use mainpath::trace::MessagePart;
use mainpath_runtime::erase::What;
use mainpath_types::{Event, Principal, Seq, TraceId, TraceNamed};
use serde_json::Value;

/// The log of a trace with a call that waits for an approval, and this many events after it.
async fn log(host: &Host, place: &Place, many: u64) -> Vec<Event> {
    let mut run = host.agent(place.model()).workspace(place.work()).start("Write it, never delete.").await.unwrap();
    while let Some(event) = run.next().await {
        if let RunEvent::ApprovalRequired(_) = event.unwrap() {
            break;
        }
    }
    let mut events = run.trace().events(1).await.unwrap();
    let last = events.last().unwrap().clone();
    let named = |nth| TraceNamed { name: format!("name {nth}"), by: Principal::local_user(), made: None };
    events.extend((1..=many).map(|nth| Event { id: last.id + nth, kind: named(nth).into(), ..last.clone() }));
    events
}

async fn long(host: &Host, place: &Place, id: &TraceId, many: u64) -> Trace {
    let events = log(host, place, many).await;
    host.runtime().config().store.begin(host.whose(), id, events).await.unwrap();
    host.trace(id).await.unwrap()
}

/// The facts of a trace, page by page.
async fn paged(trace: &Trace, most: usize) -> Vec<Value> {
    let (mut facts, mut after) = (Vec::new(), 0);
    loop {
        let page = trace.facts(after, most).await.unwrap();
        let Some(last) = page.facts.last() else { return facts };
        after = last["id"].as_u64().unwrap();
        facts.extend(page.facts);
    }
}

#[tokio::test]
async fn pages_of_a_log_say_what_the_whole_log_says_in_whatever_order_they_are_read() {
    let place = Place::new(WRITE);
    let host = place.host().await;
    let trace = long(&host, &place, &"long".parse().unwrap(), 700).await;
    let whole = trace.facts(0, usize::MAX).await.unwrap().facts;
    assert!(whole.len() > 700);
    assert_eq!(paged(&trace, 97).await, whole);
    for after in [650, 3, 640, 0, 699, 9] {
        let page = trace.facts(after, 5).await.unwrap();
        let within = |fact: &&Value| (after + 1..=after + 5).contains(&fact["id"].as_u64().unwrap());
        let expected: Vec<&Value> = whole.iter().filter(within).collect();
        assert_eq!(page.facts.iter().collect::<Vec<_>>(), expected, "after {after}");
    }
    let end = trace.facts(10_000, 5).await.unwrap();
    assert_eq!((end.facts, end.head), (Vec::new(), trace.state().await.unwrap().log.last));
}

#[tokio::test]
async fn what_waits_in_a_long_log_is_asked_decided_and_followed() {
    let place = Place::new(WRITE);
    let host = place.host().await;
    let trace = long(&host, &place, &"long".parse().unwrap(), 1_200).await;
    let asked = trace.approvals().await.unwrap();
    let [asked] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!((asked.tool.as_str(), &asked.trace_id), ("write_text_file", trace.id()));
    // Followed from its end on: what was asked before that is told all the same.
    let head = trace.state().await.unwrap().log.last;
    let mut run = trace.watch(head + 1);
    let told = run.next().await.unwrap().unwrap();
    let RunEvent::ApprovalRequired(told) = told else { panic!("{told:?}") };
    assert_eq!(told.call, asked.call);
    trace.approve(asked.call).await.unwrap();
    // Who was woken by the approval may have ended the run by now; then nothing is left to go on with.
    if let Ok(run) = trace.resume().await {
        let _ = run.outcome().await;
    }
    assert_eq!(trace.outcome().await.unwrap().answer, "Done.");
    assert!(place.work().join("new.txt").exists());
    assert!(trace.approvals().await.unwrap().is_empty());
    let state = trace.state().await.unwrap();
    assert!(state.log.last > head && state.run.is_none(), "what was kept has grown");
    assert_eq!(trace.stats().await.unwrap().len(), 1);
}

#[tokio::test]
async fn nothing_kept_outlives_an_erasure_or_a_trace_that_is_made_anew() {
    let place = Place::new(WRITE);
    let host = place.host().await;
    let id: TraceId = "long".parse().unwrap();
    let trace = long(&host, &place, &id, 600).await;
    let all = MessagePart { with_all: true, ..MessagePart::default() };
    let says = async |words: &str| {
        let facts = Value::from(trace.facts(0, usize::MAX).await.unwrap().facts).to_string();
        let messages = format!("{:?}", trace.said(all).await.unwrap());
        assert_eq!(facts.contains(words), messages.contains(words));
        messages.contains(words)
    };
    assert!(says("never delete").await);
    trace.erase(What::Messages(vec![Seq(1)]), Some("on request")).await.unwrap();
    assert!(!says("never delete").await);
    let head = trace.state().await.unwrap().log.last;
    // Another trace under the same name, and longer.
    let other = log(&host, &place, 900).await;
    host.runtime().config().store.remove(host.whose(), &id).await.unwrap();
    assert!(trace.state().await.is_err(), "it is gone");
    host.runtime().config().store.begin(host.whose(), &id, other).await.unwrap();
    assert!(says("never delete").await);
    assert!(trace.state().await.unwrap().log.last > head);
}

#[tokio::test]
async fn many_that_look_at_once_see_one_log_that_another_program_lengthens() {
    let place = Place::new(WRITE);
    let (host, other) = (place.host().await, place.host().await);
    let trace = long(&host, &place, &"long".parse().unwrap(), 600).await;
    let [asked] = &trace.approvals().await.unwrap()[..] else { panic!() };
    trace.deny(asked.call, None).await.unwrap();
    if let Ok(run) = trace.resume().await {
        let _ = run.outcome().await;
    }
    let same = other.trace(trace.id()).await.unwrap();
    for nth in 0..5 {
        same.rename(format!("again {nth}")).await.unwrap();
        let looks = (0..20).map(|_| trace.state());
        for state in futures_util::future::join_all(looks).await {
            assert_eq!(state.unwrap().name.as_deref(), Some(&*format!("again {nth}")));
        }
    }
}
