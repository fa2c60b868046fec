//! The core alone: an agent as a state machine, without I/O. The caller owns the log, the model and the tools.
//! `cargo run -p mainpath --example core_alone`.

use mainpath::core::{Input, InputKind, Machine, Reply, estimate};
use mainpath::types::{MessageQueued, Part, Principal, Spec};
use serde_json::json;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    talk()?.iter().for_each(|event| println!("{event}"));
    Ok(())
}

/// Takes an agent through a question and its answer, and gives the names of the events that were decided.
pub fn talk() -> Result<Vec<&'static str>, Box<dyn std::error::Error>> {
    let spec: Spec = serde_json::from_value(
        json!({"model": "any", "context_window": 8_000, "reserved_output": 500, "limits": {}, "tools": []}),
    )?;
    let question =
        MessageQueued::new(vec![Part::text("Which bird?")], estimate("Which bird?"), Principal::local_user());
    let inputs = [
        InputKind::SetSpec { spec: Arc::new(spec), by: None },
        InputKind::UserMessage(question),
        InputKind::ModelFinished(Box::new(Reply::new(1, vec![Part::text("A heron.")], vec![]))),
    ];
    let (mut agent, mut names) = (Machine::new("demo".parse()?), Vec::new());
    for (now, input) in (1..).zip(inputs) {
        let batch = agent.handle(&Input::new(now, input))?;
        names.extend(batch.iter().map(|event| event.kind.name()));
        // Here the caller appends the batch to its log. Only then does it commit, and start what the state demands.
        batch.last().into_iter().for_each(|event| agent.commit(event.id));
        if let Some(pending) = agent.pending() {
            pending.keys().for_each(|effect| eprintln!("to be carried out: {effect:?}"));
        }
    }
    Ok(names)
}
