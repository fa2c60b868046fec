//! A seeded world: a store that lies, a process that dies, people who interfere, a model that does as it likes. Whatever
//! happens, the log is right, and in the end the agent comes to rest.

use crate::support::*;
use fastrand::Rng;
use mainpath_core::{Call, CallState, State, apply};
use mainpath_runtime::*;
use mainpath_store::faulty::{Fault, Faulty, Planned, tear};
use mainpath_store::{MemoryStore, Raw, Refused};
use mainpath_types::*;
use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::sync::Notify;

/// A model that calls what it likes; what it likes follows from the request alone. It does not go on for ever.
fn fancy(seed: u64) -> Arc<Brain> {
    Brain::new(move |seen| {
        let results = seen.results().len();
        // The body differs from request to request, and is the same for the same conversation.
        let drawn = seen.body.bytes().fold(seed, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
        let mut random = Rng::with_seed(drawn ^ u64::from(seen.request));
        if random.u8(..) < 20 {
            return Thought::Fail(ModelErrorKind::Overloaded);
        }
        let mut random = Rng::with_seed(drawn);
        if results >= 12 || random.u8(..) < 60 {
            return say(if random.u8(..) < 20 { String::new() } else { format!("final after {results}") });
        }
        let keys: Vec<String> = (0..random.usize(1..4)).map(|index| format!("{results}-{index}-{drawn:x}")).collect();
        let tools = ["count", "look", "put", "count", "slow", "trip", "no_such_tool"];
        let calls: Vec<(&str, &str)> =
            keys.iter().map(|key| (tools[random.usize(..tools.len())], key.as_str())).collect();
        calling(&calls)
    })
}

struct Fate {
    random: Rng,
    /// In a hundred appends.
    percent: u64,
    tear: Arc<Tear>,
}

/// A line that is to be torn before anybody reads the log again.
#[derive(Default)]
struct Tear {
    asked: AtomicBool,
    told: Notify,
}

impl Tear {
    /// Leaves the beginning of the last line, if that was asked for.
    fn now(&self, store: &Faulty<MemoryStore>) {
        if self.asked.swap(false, Ordering::SeqCst) {
            tear(store, &TenantId::local(), &id("t"), 100);
        }
    }
}

impl Fate {
    fn of(&mut self, planned: &Planned) -> Fault {
        if self.random.u64(..100) >= self.percent {
            return Fault::Pass;
        }
        match self.random.u8(..7) {
            0 => Fault::Refuse(Refused::Busy),
            1 => Fault::Refuse(Refused::Lost),
            2 => Fault::Delay(Duration::from_millis(self.random.u64(1..5_000))),
            3 => Fault::CommitUnknown,
            4 => Fault::DropUnknown,
            5 => Fault::PartUnknown(self.random.usize(..=planned.events)),
            _ => {
                self.tear.asked.store(true, Ordering::SeqCst);
                self.tear.told.notify_one();
                Fault::CommitUnknown
            }
        }
    }
}

/// An agent that asks before it changes anything, the same in every life.
fn spec(place: &Place) -> Spec {
    Spec { workspace: env!("CARGO_MANIFEST_DIR").into(), ..place.asking() }
}

fn mail(random: &mut Rng, place: &Place, n: u32) -> Mail {
    let seq = random.u32(1..12);
    let call = CallId { seq: Seq(seq), index: random.u16(..2) };
    let message = |mode| Mail::say(mode, format!("mail {n}"));
    match random.u8(..17) {
        0..4 => Mail::approve(call),
        4 => Mail::Approve { call, arguments: Some(format!(r#"{{"key":"edited {n}"}}"#)), rule: None },
        5 => Mail::Deny { call, reason: Some("no".into()) },
        6 => message(MessageMode::Message),
        7 => message(MessageMode::Steer),
        8 => message(MessageMode::FollowUp),
        9 => Mail::Stop,
        10 => Mail::Interrupt { call },
        11 => Mail::Rewind { after: Seq(seq), parts: None },
        12 => Mail::Rewind { after: Seq(seq), parts: Some(vec![Part::text(format!("rewound {n}"))]) },
        13 => Mail::SetSpec { spec: Arc::new(Spec { instructions: format!("Spec {n}."), ..spec(place) }) },
        14 => Mail::Continue,
        15 => Mail::Clear,
        _ => Mail::Answer { call, text: "yes".into(), via: None },
    }
}

/// A person looks whether a call waits, and lets it run or not.
async fn decide(runtime: &Runtime, trace: &TraceId, random: &mut Rng) {
    let Phase::Parked(waiting) = runtime.phase(&local(), trace).borrow().clone() else { return };
    for waiting in waiting {
        let Waiting::Approval(call) = waiting else { continue };
        let reason = random.bool().then(|| "not today".to_string());
        let mail = if random.bool() { Mail::approve(call) } else { Mail::Deny { call, reason } };
        runtime.send(&local(), trace, &mail).await.unwrap();
    }
}

/// A process in virtual time, which begins where that of the last one ended.
fn process<T>(world: &mut World, work: impl Future<Output = T>) -> T {
    Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(async {
        set_tokio_clock(world.now);
        let done = work.await;
        world.now = tokio_clock();
        done
    })
}

/// A process that goes on until it has made so many steps, then it is gone in mid-air.
fn live(place: &Place, world: &mut World, random: &mut Rng, first: bool, sent: &mut u32) {
    let trace = id("t");
    let World { store, tear, .. } = world.clone();
    process(world, async {
        let runtime = place.runtime();
        tokio::spawn(async move {
            loop {
                tear.told.notified().await;
                tear.now(&store);
            }
        });
        if first {
            let mode = if random.bool() { ApprovalMode::Yes } else { ApprovalMode::Ask };
            let spec = Spec { mode, ..spec(place) };
            let _ = runtime.start(&local(), &trace, spec, Mail::message("do it")).await;
        }
        runtime.resume(&local(), &trace);
        for _ in 0..random.u32(..300) {
            match random.u8(..40) {
                0 => {
                    *sent += 1;
                    let mail = mail(random, place, *sent);
                    // A trace may not be there yet.
                    let _ = runtime.send(&local(), &trace, &mail).await;
                }
                1..3 => decide(&runtime, &trace, random).await,
                3..5 => tokio::time::sleep(Duration::from_millis(random.u64(1..2_000))).await,
                _ => tokio::task::yield_now().await,
            }
        }
    });
}

/// The last process: no more faults, and people who approve everything.
fn settle(place: &Place, world: &mut World, seed: u64) {
    let trace = id("t");
    process(world, async {
        let runtime = place.runtime();
        runtime.resume(&local(), &trace);
        for _ in 0..200 {
            match settled(&runtime, &trace).await {
                Phase::Idle => return,
                Phase::Running => {}
                Phase::Full(problem) | Phase::Failed(problem) | Phase::Elsewhere(problem) => {
                    panic!("seed {seed}: {problem}")
                }
                Phase::Parked(waiting) => {
                    for waiting in waiting {
                        let Waiting::Approval(call) = waiting else { continue };
                        let approve = Mail::approve(call);
                        runtime.send(&local(), &trace, &approve).await.unwrap();
                    }
                }
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("seed {seed} does not come to rest: {}", names(&place.log(&trace).await));
    });
}

#[derive(Clone)]
struct World {
    store: Arc<Faulty<MemoryStore>>,
    tear: Arc<Tear>,
    now: Millis,
}

/// Returns the log.
fn simulate(seed: u64) -> Vec<Event> {
    // The waits before retries are drawn by the runtime.
    fastrand::seed(seed);
    let mut random = Rng::with_seed(seed);
    let tear = Arc::new(Tear::default());
    let percent = random.u64(..30);
    let fate = Arc::new(Mutex::new(Fate { random: random.fork(), percent, tear: Arc::clone(&tear) }));
    let fates = Arc::clone(&fate);
    let (place, store) =
        Place::faulty(fancy(seed), |inner| Faulty::new(inner, move |planned| fates.lock().unwrap().of(planned)));
    let mut world = World { store, tear, now: BEGIN };
    let mut sent = 0;
    for life in 0..random.u32(1..6) {
        live(&place, &mut world, &mut random, life == 0, &mut sent);
        world.tear.now(&world.store);
    }
    fate.lock().unwrap().percent = 0;
    if world.store.log_bytes(&TenantId::local(), &id("t")).is_empty() {
        return Vec::new();
    }
    settle(&place, &mut world, seed);
    process(&mut world, async {
        let log = place.inspect(&id("t")).await;
        let mail = place.store.mail(&local(), &id("t"), 0).await.unwrap();
        let mut read: Vec<MailId> = log.iter().filter_map(|event| event.mail).collect();
        read.sort_unstable();
        let posted: Vec<MailId> = mail.iter().map(|mail| mail.id).collect();
        assert_eq!(read, posted, "seed {seed}: every entry is read once: {}", names(&log));
        let started = log.iter().filter(|event| matches!(event.kind, EventKind::ActionStarted(_))).count();
        let counted = place.hands.counts();
        let done: u32 = counted.values().sum();
        assert!(done as usize <= started, "seed {seed}: {started} starts and {counted:?}");
        log
    })
}

/// How every call of a log ended.
fn ends(log: &[Event]) -> Vec<Resolution> {
    let mut state = State::new(id("t"));
    log.iter().for_each(|event| apply(&mut state, event));
    let end = |call: &Call| match call.state {
        CallState::Done(resolution) => resolution,
        open => panic!("call {} is left {open:?}: {}", call.id, names(log)),
    };
    state.calls.iter().map(end).collect()
}

/// So a seed that failed can be looked into.
#[test]
fn the_same_seed_is_the_same_life_to_the_millisecond() {
    for seed in 0..5 {
        assert_eq!(simulate(seed), simulate(seed), "seed {seed}");
    }
}

#[test]
fn whatever_happens_every_entry_is_read_once_and_the_log_is_right() {
    let seeds = std::env::var("RUNTIME_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(100);
    let logs: Vec<Vec<Event>> = (0..seeds).map(simulate).collect();
    // It is a world in which these do happen.
    let happened: BTreeSet<&str> = logs.iter().flatten().map(|event| event.kind.name()).collect();
    let wanted = "approval_granted call_cancelling continue_requested mail_refused message_joined \
                  model_abandoned model_failed model_malformed rewound spec_changed tail_cut turn_finished";
    let missing: Vec<&str> = wanted.split_whitespace().filter(|name| !happened.contains(name)).collect();
    assert_eq!(missing, Vec::<&str>::new());
    use Resolution::*;
    let mut resolved: HashMap<Resolution, u32> = HashMap::new();
    logs.iter().flat_map(|log| ends(log)).for_each(|end| *resolved.entry(end).or_default() += 1);
    for resolution in [Ok, Error, Denied, Skipped, Interrupted, Unknown] {
        assert!(resolved.contains_key(&resolution), "{resolution:?} is not among {resolved:?}");
    }
}
