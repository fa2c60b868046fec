//! `apply` is total: a log that nobody could have written folds without a panic, and the same every time.

use mainpath_core::*;
use mainpath_testkit::world::{Faults, World};
use mainpath_types::Event;
use proptest::prelude::*;
use serde_json::Value;

/// What is done to a log before it is folded.
#[derive(Clone, Debug)]
enum Damage {
    Drop(usize),
    Repeat(usize),
    Swap(usize, usize),
    /// The n-th number in an event becomes another one.
    Number(usize, usize, u64),
}

fn damage() -> impl Strategy<Value = Damage> {
    let extreme = prop_oneof![Just(0), Just(1), Just(u64::from(u32::MAX)), Just(u64::from(u16::MAX)), Just(u64::MAX)];
    prop_oneof![
        any::<usize>().prop_map(Damage::Drop),
        any::<usize>().prop_map(Damage::Repeat),
        (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Damage::Swap(a, b)),
        (any::<usize>(), any::<usize>(), extreme).prop_map(|(at, nth, number)| Damage::Number(at, nth, number)),
    ]
}

fn inflict(log: &mut Vec<Event>, damage: &Damage) {
    if log.is_empty() {
        return;
    }
    let len = log.len();
    match *damage {
        Damage::Drop(at) => drop(log.remove(at % len)),
        Damage::Repeat(at) => log.push(log[at % len].clone()),
        Damage::Swap(a, b) => log.swap(a % len, b % len),
        Damage::Number(at, nth, number) => {
            let mut value = serde_json::to_value(&log[at % len]).unwrap();
            let mut numbers = Vec::new();
            collect(&mut value, &mut numbers);
            let count = numbers.len().max(1);
            if let Some(found) = numbers.get_mut(nth % count) {
                **found = number.into();
            }
            // A number that its field cannot hold would not have been read.
            if let Ok(event) = serde_json::from_value(value) {
                log[at % len] = event;
            }
        }
    }
}

fn collect<'a>(value: &'a mut Value, numbers: &mut Vec<&'a mut Value>) {
    match value {
        Value::Number(_) => numbers.push(value),
        Value::Array(items) => items.iter_mut().for_each(|item| collect(item, numbers)),
        Value::Object(fields) => fields.values_mut().for_each(|field| collect(field, numbers)),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn fold(log: &[Event]) -> State {
    let mut state = State::new("sim".parse().unwrap());
    for event in log {
        apply(&mut state, event);
        let _ = (pending(&state), pack(&state));
    }
    state
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_log_folds_and_folds_the_same_again(seed in 0u64..1_000, damages in prop::collection::vec(damage(), 1..12)) {
        let mut world = World::new(seed, Faults { crashes: 5, nonsense: 5 });
        world.live(30);
        let mut log = world.log.clone();
        damages.iter().for_each(|damage| inflict(&mut log, damage));
        let mut bodies = Log::default();
        bodies.extend(&log);
        let state = fold(&log);
        prop_assert_eq!(&state, &fold(&log));
        let _ = ending(&state, &bodies);
        for item in pack(&state).iter().flat_map(|packed| &packed.items) {
            let _ = message(&state, &bodies, item);
        }
    }
}

/// Every number of every event, one at a time, as large as its field holds: what is counted further from there does not overflow.
#[test]
fn any_number_as_large_as_it_goes_folds() {
    for seed in [1, 7, 41, 86] {
        let mut world = World::new(seed, Faults { crashes: 5, nonsense: 5 });
        world.live(30);
        let mut before = State::new("sim".parse().unwrap());
        for (at, event) in world.log.iter().enumerate() {
            let mut value = serde_json::to_value(event).unwrap();
            let mut numbers = Vec::new();
            collect(&mut value, &mut numbers);
            for nth in 0..numbers.len() {
                for most in [u64::MAX, u64::from(u32::MAX), u64::from(u16::MAX)] {
                    let mut log = vec![event.clone()];
                    inflict(&mut log, &Damage::Number(0, nth, most));
                    if log[0] == *event {
                        continue;
                    }
                    let mut state = before.clone();
                    for event in log.iter().chain(&world.log[at + 1..]) {
                        apply(&mut state, event);
                        let _ = (pending(&state), pack(&state));
                    }
                }
            }
            apply(&mut before, event);
        }
    }
}

#[test]
fn a_gap_as_wide_as_numbers_go_is_not_walked_through() {
    let mut world = World::new(1, Faults { crashes: 0, nonsense: 0 });
    world.live(30);
    let mut log = world.log.clone();
    let before = ending(&fold(&log), &log.iter().cloned().collect::<Log>());
    log.last_mut().unwrap().id = u64::MAX;
    let bodies = log.iter().cloned().collect::<Log>();
    assert_eq!(ending(&fold(&log), &bodies), before);
}
