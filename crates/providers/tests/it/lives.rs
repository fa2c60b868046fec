//! Whatever happens to an agent (crashes, stops, rewinds, steers, cuts, summaries, repairs), every request of its life is one
//! that every vendor accepts, in the vendor's own calls and in the text protocol.

use crate::conformance::request_check;
use crate::head;
use mainpath_core::{Log, State, apply, message, pack, render_turn};
use mainpath_testkit::model_server::Format;
use mainpath_testkit::world::{Faults, World};
use mainpath_types::{Dialect, EventKind, Message, ModelRequest, RequestHead};

/// The conversation of every request that an agent with this log made.
fn conversations(world: &World) -> Vec<Vec<Message>> {
    let mut bodies = Log::default();
    bodies.extend(&world.log);
    let mut state = State::new("sim".parse().unwrap());
    let mut all = Vec::new();
    for event in &world.log {
        apply(&mut state, event);
        if matches!(event.kind, EventKind::ModelRequested(_)) {
            let packed = pack(&state).unwrap();
            all.push(packed.items.iter().map(|item| message(&state, &bodies, item).unwrap()).collect());
        }
    }
    all
}

fn every_request_is_accepted(format: Format) {
    let check = request_check(format);
    let mut requests = 0;
    for seed in 0..40 {
        let mut world = World::new(seed, Faults { crashes: 6, nonsense: 15 });
        world.live(60);
        for messages in conversations(&world) {
            requests += 1;
            let in_text = messages.iter().cloned().map(|message| render_turn(message, Dialect::AgentCore)).collect();
            let native = ModelRequest { head: head(true), messages };
            let in_text = ModelRequest { head: RequestHead { tools: Vec::new(), ..head(true) }, messages: in_text };
            for request in [native, in_text] {
                let checked = check(&request);
                assert!(checked.is_ok(), "seed {seed}, {format:?}: {checked:?}\n{:#?}", request.messages);
            }
        }
    }
    assert!(requests > 500, "{requests} requests are too few to show anything");
}

#[test]
fn every_request_of_any_life_is_accepted_by_chat_completions() {
    every_request_is_accepted(Format::Chat);
}

#[test]
fn every_request_of_any_life_is_accepted_by_responses() {
    every_request_is_accepted(Format::Responses);
}

#[test]
fn every_request_of_any_life_is_accepted_by_anthropic() {
    every_request_is_accepted(Format::Anthropic);
}

#[test]
fn every_request_of_any_life_is_accepted_by_gemini() {
    every_request_is_accepted(Format::Gemini);
}
