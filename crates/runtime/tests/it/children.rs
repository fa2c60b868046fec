//! A root that delegates and has three others look, swept through faults and deaths of the process at every append of any of their logs.

use crate::support::*;
use mainpath_runtime::*;
use mainpath_store::Refused;
use mainpath_store::faulty::{Fault, Faulty, Planned};
use mainpath_tools::{AgentTool, Tool};
use mainpath_types::*;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const QUESTIONS: [&str; 3] = ["look at x", "look at y", "look at z"];

fn agents(task: &serde_json::Value) -> Thought {
    let (name, arguments) = (AgentTool::NAME.into(), json!({"task": task}).to_string());
    Thought::Say(vec![Part::ToolCall { name, arguments, signature: None }])
}

/// The root hands on a task, then three questions, and says what came back; the others make a call each.
fn family() -> Arc<Brain> {
    Brain::new(|seen| {
        let (said, results) = (seen.said(), seen.results());
        let asked = said.iter().find_map(|text| QUESTIONS.iter().find(|question| text.contains(**question)));
        match (asked, results.as_slice()) {
            (Some(question), []) => calling(&[("look", &question[8..])]),
            (Some(_), [saw, ..]) => say(format!("I {saw}")),
            (None, []) if said.iter().any(|text| text.contains("count a")) => calling(&[("count", "a")]),
            (None, [counted, ..]) if said.iter().any(|text| text.contains("count a")) => say(format!("I {counted}")),
            (None, []) => agents(&json!("count a")),
            (None, [_]) => agents(&json!(QUESTIONS)),
            (None, [first, second, ..]) => {
                let wanted = ["I counted a", "I saw x", "I saw y", "I saw z"];
                let found = wanted.map(|words| first.contains(words) || second.contains(words));
                say(format!("all of it: {found:?}"))
            }
        }
    })
}

const ALL_OF_IT: &str = "all of it: [true, true, true, true]";

fn spec(place: &Place) -> Spec {
    let mut spec = place.spec();
    spec.tools.extend(tools(place).specs().into_iter().filter(|tool| tool.name == AgentTool::NAME));
    spec
}

fn tools(place: &Place) -> mainpath_tools::Tools {
    place.config().tools.with(AgentTool::default())
}

fn runtime(place: &Place) -> Runtime {
    Runtime::new(Config { tools: tools(place), ..place.config() })
}

/// All logs are whole, each child has ended once, and what was to be done was done once; or nobody knows, since the process died while it
/// was done, and then it is said and not done again.
async fn holds(place: &Place, what: &str) {
    let root = id("t");
    let traces = place.store.list(&local()).await.unwrap();
    assert_eq!(traces.len(), 5, "{what}: {traces:?}");
    let mut unknown = 0;
    for entry in traces {
        let log = place.inspect(&entry.trace).await;
        assert_eq!(reasons(&log), [FinishReason::Final], "{what}: {}", entry.trace);
        unknown += resolutions(&log).iter().filter(|how| **how == Resolution::Unknown).count();
    }
    let answer = place.answer(&root).await;
    match unknown {
        0 => assert_eq!((answer.as_str(), place.hands.count("a")), (ALL_OF_IT, 1), "{what}"),
        _ => {
            let all_but_that = "all of it: [false, true, true, true]";
            assert_eq!((unknown, answer.as_str()), (1, all_but_that), "{what}");
            assert!(place.hands.count("a") <= 1 && what.starts_with("death"), "{what}");
        }
    }
    let log = place.log(&root).await;
    let (mut started, mut ended) = (Vec::new(), Vec::new());
    for event in &log {
        match &event.kind {
            EventKind::SubTraceStarted(data) => started.push((data.call, data.nth)),
            EventKind::SubTraceCompleted(data) => {
                assert_eq!(data.outcome, ChildOutcome::Result, "{what}");
                ended.push((data.call, data.nth));
            }
            _ => {}
        }
    }
    ended.sort_unstable();
    started.sort_unstable();
    assert_eq!((started.len(), &started), (4, &ended), "{what}");
}

/// How many appends all logs together take without a fault.
async fn appends() -> u64 {
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let plan = move |planned: &Planned| {
        counted.store(planned.number + 1, Ordering::SeqCst);
        Fault::Pass
    };
    let (place, _) = Place::faulty(family(), |inner| Faulty::new(inner, plan));
    assert_eq!(run(&runtime(&place), &id("t"), spec(&place), "do it all").await, Phase::Idle);
    holds(&place, "without a fault").await;
    count.load(Ordering::SeqCst)
}

/// A batch of which only a part comes to be written: an answer, its call, the child that it asks for; a child's end, what is handed back,
/// the next request.
fn torn() -> impl Iterator<Item = Fault> {
    (1..=4).map(Fault::PartUnknown)
}

#[tokio::test(start_paused = true)]
async fn every_fault_at_every_append_of_a_root_and_its_children_comes_to_the_same_end() {
    let whole = [Fault::Refuse(Refused::Busy), Fault::CommitUnknown, Fault::DropUnknown];
    let faults: Vec<Fault> = whole.into_iter().chain(torn()).collect();
    let appends = appends().await;
    assert!(appends > 20, "{appends}");
    for number in 0..appends {
        for fault in &faults {
            let what = format!("{fault:?} at append {number}");
            let mut fault_left = Some(fault.clone());
            let plan = move |planned: &Planned| {
                if planned.number == number { fault_left.take().unwrap_or(Fault::Pass) } else { Fault::Pass }
            };
            let (place, _) = Place::faulty(family(), |inner| Faulty::new(inner, plan));
            assert_eq!(run(&runtime(&place), &id("t"), spec(&place), "do it all").await, Phase::Idle, "{what}");
            holds(&place, &what).await;
        }
    }
}

/// The process dies with the append: nothing that comes after it is written, until another process resumes the root.
#[test]
fn a_death_at_every_append_of_a_root_and_its_children_is_resumed_to_the_same_end() {
    let process = || {
        let mut process = tokio::runtime::Builder::new_current_thread();
        process.enable_all().start_paused(true).build().unwrap()
    };
    let appends = process().block_on(appends());
    // What was said is on record with the first.
    for number in 1..appends {
        for last in [Fault::CommitUnknown, Fault::DropUnknown].into_iter().chain(torn()) {
            let what = format!("death at append {number}, {last:?}");
            let dead = Arc::new(AtomicBool::new(false));
            let (dies, fault) = (Arc::clone(&dead), last.clone());
            let plan = move |planned: &Planned| match planned.number == number {
                true => {
                    dies.store(true, Ordering::SeqCst);
                    fault.clone()
                }
                false if dies.load(Ordering::SeqCst) => Fault::DropUnknown,
                false => Fault::Pass,
            };
            let (place, _) = Place::faulty(family(), |inner| Faulty::new(inner, plan));
            let first = process();
            let runtime_of_first = first.block_on(async {
                let runtime = runtime(&place);
                runtime.start(&local(), &id("t"), spec(&place), Mail::message("do it all")).await.unwrap();
                while !dead.load(Ordering::SeqCst) {
                    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                }
                runtime
            });
            // It and all its tasks are dropped in mid-air.
            drop(first);
            drop(runtime_of_first);
            dead.store(false, Ordering::SeqCst);
            process().block_on(async {
                let runtime = runtime(&place);
                runtime.resume(&local(), &id("t"));
                assert_eq!(settled(&runtime, &id("t")).await, Phase::Idle, "{what}");
                holds(&place, &what).await;
            });
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_a_run_whose_child_cannot_be_driven() {
    let broken = Arc::new(AtomicBool::new(false));
    let is_broken = Arc::clone(&broken);
    let plan = move |planned: &Planned| match is_broken.load(Ordering::SeqCst) && planned.trace != id("t") {
        true => Fault::DropUnknown,
        false => Fault::Pass,
    };
    let brain = Brain::new(|seen| match seen.said().iter().any(|text| text.contains("as a child")) {
        true => Thought::Hang,
        false => agents(&json!("Do it as a child.")),
    });
    let (place, _) = Place::faulty(brain, |inner| Faulty::new(inner, plan));
    let runtime = runtime(&place);
    runtime.start(&local(), &id("t"), spec(&place), Mail::message("go")).await.unwrap();
    let child_waits = async {
        while place.brain.requests().len() < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    soon("the child's request", child_waits).await;
    broken.store(true, Ordering::SeqCst);
    runtime.send(&local(), &id("t"), &Mail::Stop).await.unwrap();
    assert_eq!(settled(&runtime, &id("t")).await, Phase::Idle);
    let log = place.inspect(&id("t")).await;
    let outcome = log.iter().find_map(|event| match &event.kind {
        EventKind::SubTraceCompleted(data) => Some((data.outcome, data.handed.problem.is_some())),
        _ => None,
    });
    assert_eq!((reasons(&log), outcome), (vec![FinishReason::Stopped], Some((ChildOutcome::Stopped, true))));
}
