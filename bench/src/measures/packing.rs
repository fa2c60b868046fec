//! What a request costs before its first byte: its references, and the decision what of them is shown.

use crate::Fail;
use crate::process::now;
use crate::stats::median;
use crate::table::Row;
use mainpath_core::{Input, InputKind, Machine, Packer, Reply, pack};
use mainpath_types::{
    Decision, EffectClass, Limits, MessageQueued, Millis, Part, PlannedCall, Principal, Profile, Spec, ToolOutput,
    ToolSpec, Verdict,
};
use std::hint::black_box;
use std::sync::Arc;

/// An agent that calls a tool in every turn, and whose window is never full.
struct Agent {
    machine: Machine,
    now: Millis,
}

impl Agent {
    fn new() -> Result<Agent, Fail> {
        let look = ToolSpec { name: "look".into(), effect: EffectClass::ReadOnly, ..ToolSpec::default() };
        let limits = Limits { turns: None, calls: None, inject_every: None, ..Limits::default() };
        let spec = Spec { tools: vec![look], limits, context_window: 1 << 30, ..Spec::new("bench", Profile::Trace) };
        let mut agent = Agent { machine: Machine::new("packing".parse()?), now: 1 };
        agent.takes(InputKind::SetSpec { spec: Arc::new(spec), by: None })?;
        let parts = vec![Part::text("Look around until you have seen everything.")];
        let said = MessageQueued::new(parts, 12, Principal::local_user());
        agent.takes(InputKind::UserMessage(said))?;
        Ok(agent)
    }

    fn takes(&mut self, kind: InputKind) -> Result<(), Fail> {
        self.now += 1;
        let batch = self.machine.handle(&Input::new(self.now, kind))?;
        if let Some(last) = batch.last() {
            self.machine.commit(last.id);
        }
        Ok(())
    }

    /// One turn: two messages.
    fn turn(&mut self) -> Result<(), Fail> {
        let request = self.machine.state().counts.requests;
        let verdict = Verdict { decision: Decision::Allow, rule: "bench".into(), reason: String::new() };
        let planned = PlannedCall { tool: Some("look".into()), verdict: Some(verdict), ..PlannedCall::default() };
        let parts = vec![Part::ToolCall { name: "look".into(), arguments: "{}".into(), signature: None }];
        self.takes(InputKind::ModelFinished(Box::new(Reply::new(request, parts, vec![planned]))))?;
        let call = self.machine.state().turn_calls().first().ok_or("no call was made")?.id;
        let output = ToolOutput::text("a hundred bytes of what there is to see");
        self.takes(InputKind::ToolFinished { call, attempt: 1, output, tokens: 25 })
    }

    fn grow(&mut self, messages: usize) -> Result<(), Fail> {
        while self.machine.state().tree.len() < messages {
            self.turn()?;
        }
        Ok(())
    }
}

/// A trace of 10,000 messages: all of it packed, one turn more packed, and what a turn costs to decide against a short trace.
pub fn packing(quick: bool) -> Result<Vec<Row>, Fail> {
    let tries = if quick { 50 } else { 400 };
    let mut agent = Agent::new()?;
    agent.grow(100)?;
    let short = decisions(&mut agent, tries)?;
    agent.grow(10_000)?;
    let mut whole = Vec::new();
    for _ in 0..tries {
        let began = now();
        let packed = black_box(pack(agent.machine.state()));
        whole.push((now() - began) as f64);
        drop(packed);
    }
    let (mut packer, mut added) = (Packer::default(), Vec::new());
    packer.pack(agent.machine.state());
    for _ in 0..tries {
        agent.turn()?;
        let began = now();
        black_box(packer.pack(agent.machine.state()));
        added.push((now() - began) as f64);
    }
    let long = decisions(&mut agent, tries)?;
    let us = |nanos: f64| format!("{:.1} us", nanos / 1e3);
    let (whole, added) = (median(&whole), median(&added));
    Ok(vec![
        Row::goal("packing 10,000 messages (references)", "< 0.3 ms", us(whole), whole < 3e5),
        Row::goal("the same with one turn added", "< 10 us", us(added), added < 1e4),
        Row::goal(
            "deciding a turn after 10,000 messages, against one after 100",
            "<= 1.5 x",
            format!("{} against {}", us(long), us(short)),
            long <= 1.5 * short,
        )
        .ratio(long / short),
    ])
}

/// What a turn costs to decide, with what keeps its request inside the window: the median in nanoseconds.
fn decisions(agent: &mut Agent, tries: usize) -> Result<f64, Fail> {
    let mut costs = Vec::new();
    for _ in 0..tries {
        let began = now();
        agent.turn()?;
        costs.push((now() - began) as f64);
    }
    Ok(median(&costs))
}
