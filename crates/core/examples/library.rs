//! An agent with nothing but this crate: its seven inputs, by hand. The caller owns the log, the model and the tools.

use mainpath_core::{
    Effect, Input, InputKind, Log, Machine, Refusal, Reply, estimate, message, model_summary, pack, summarise,
    summary_input,
};
use mainpath_types::{CallId, Decision, Delta, MessageQueued, Part, PlannedCall, Principal, Spec, ToolOutput, Verdict};
use serde_json::json;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut agent, mut log, user) = (Machine::new("demo".parse()?), Log::default(), Principal::local_user());
    let mut now = 0;
    // Offers an input and "appends" what it decides; only then would effects start. One is carried out here: a summary by rules.
    let mut offer = |agent: &mut Machine, mut kind: InputKind| -> Result<(), Refusal> {
        loop {
            now += 1_000;
            let batch = agent.handle(&Input::new(now, kind))?;
            log.extend(&batch);
            batch.last().into_iter().for_each(|event| agent.commit(event.id));
            println!("{:?} -> {:?}", batch.iter().map(|event| event.kind.name()).collect::<Vec<_>>(), agent.pending());
            let mut pending = agent.pending().into_iter().flat_map(|pending| pending.into_values());
            let wanted = pending.find_map(|effect| match effect {
                Effect::Summarise { most, below, keeps } => Some((most, below, keeps)),
                _ => None,
            });
            let Some((most, below, keeps)) = wanted else { return Ok(()) };
            let words = below.map(|event| model_summary(&log, event).unwrap_or_default());
            kind = summary_input(summarise(agent.state(), &log), words.as_deref(), most, &keeps);
        }
    };
    let spec: Spec = serde_json::from_value(json!({
        "model": "any", "context_window": 8_000, "reserved_output": 500, "limits": {"window_messages": 4, "summary": "rules"},
        "tools": [{"name": "search", "description": "Looks things up.", "input_schema": {}, "effect": "read-only"}],
    }))?;
    let said =
        |text: &str| InputKind::UserMessage(MessageQueued::new(vec![Part::text(text)], estimate(text), user.clone()));
    let reply = |request, parts, calls| InputKind::ModelFinished(Box::new(Reply::new(request, parts, calls)));
    offer(&mut agent, InputKind::SetSpec { spec: Arc::new(spec), by: None })?;

    // 1. A user message. The state now demands model request 1.
    offer(&mut agent, said("What is a heron?"))?;
    // 2. and 3. The model's answer, in chunks, then complete: it calls a tool, and a rule allows it.
    offer(&mut agent, InputKind::ModelChunk { request: 1, delta: Delta::Text { text: "Let me".into() } })?;
    let verdict = Verdict { decision: Decision::Allow, rule: "demo".into(), reason: "read-only".into() };
    let call = Part::ToolCall { name: "search".into(), arguments: r#"{"q":"heron"}"#.into(), signature: None };
    let planned = PlannedCall { tool: Some("search".into()), verdict: Some(verdict), ..PlannedCall::default() };
    offer(&mut agent, reply(1, vec![Part::text("Let me look."), call], vec![planned]))?;
    // 4. and 5. The tool begins, and returns.
    let call: CallId = "2.0".parse()?;
    offer(&mut agent, InputKind::ToolStarted { call, attempt: 1 })?;
    offer(&mut agent, InputKind::ToolFinished { call, attempt: 1, output: ToolOutput::text("A bird."), tokens: 3 })?;
    offer(&mut agent, reply(2, vec![Part::text("A bird.")], vec![]))?;
    // A second question outgrows the window of four messages; 6. expands it, 7. shows the old call's result again.
    offer(&mut agent, said("And a crane?"))?;
    offer(&mut agent, reply(3, vec![Part::text("A bird, or a machine.")], vec![]))?;
    offer(&mut agent, InputKind::ExpandContext { by: 2 })?;
    offer(&mut agent, InputKind::RecallCalls { calls: vec![call] })?;
    offer(&mut agent, said("Which of them wades?"))?;

    let shown = pack(agent.state()).ok_or("no request")?;
    shown.items.iter().for_each(|item| println!("{:?}", message(agent.state(), &log, item)));
    Ok(())
}
