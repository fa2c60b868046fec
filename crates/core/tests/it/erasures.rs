//! What is left of a log when its words are taken out.

use mainpath_core::*;
use mainpath_testkit::world::{Faults, World};
use mainpath_types::*;

fn fold(log: &[Event]) -> State {
    let mut state = State::new("sim".parse().unwrap());
    log.iter().for_each(|event| apply(&mut state, event));
    state
}

/// Everything but words, and the sizes that are estimated from words.
fn shape(state: &State) -> String {
    let nodes: Vec<_> =
        state.tree.iter().map(|(seq, node)| (seq, node.parent, node.event, node.kind, node.goal)).collect();
    let calls: Vec<_> = state.calls.iter().map(|call| (call.id, call.tool.clone(), call.state, call.result)).collect();
    let goals: Vec<_> = state.goals.list().iter().map(|goal| (goal.id, goal.parent, goal.status)).collect();
    let rest = (
        state.counts.runs,
        state.ended.reason,
        state.counts.requests,
        state.spent.usage,
        state.spent.cost,
        &state.queues,
        state.goals.focus,
    );
    format!("{:?} {:?} {nodes:?} {calls:?} {goals:?} {rest:?}", state.tree.head, pack(state).map(|packed| packed.items))
}

#[test]
fn a_life_without_its_words_comes_to_the_same_state() {
    for seed in 0..150 {
        let mut world = World::new(seed, Faults { crashes: 6, nonsense: 15 });
        world.live(60);
        let mut names = StandIns::after(&world.log);
        let wiped = |event: &Event| Event { kind: event.kind.without_words_by(&mut names), ..event.clone() };
        let left: Vec<Event> = world.log.iter().map(wiped).collect();
        assert_eq!(shape(&fold(&left)), shape(&fold(&world.log)), "seed {seed}");
        let places = |event: &Event| match &event.kind {
            EventKind::ModelFinished(data) => data.calls.iter().flat_map(|call| call.places.clone()).collect(),
            EventKind::ApprovalGranted(data) => data.places.clone(),
            _ => Vec::new(),
        };
        assert_eq!(left.iter().flat_map(places).collect::<Vec<_>>(), [""; 0], "seed {seed}");
        let mut bodies = Log::default();
        bodies.extend(&left);
        let state = fold(&left);
        for item in pack(&state).into_iter().flat_map(|packed| packed.items) {
            let message = message(&state, &bodies, &item);
            assert!(message.is_some_and(|message| !message.parts.is_empty()), "seed {seed}: {item:?}");
        }
        assert!(
            left.iter().all(|event| event.kind.without_words() == event.kind),
            "seed {seed}: nothing is left to erase"
        );
    }
}
