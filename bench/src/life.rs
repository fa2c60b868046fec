//! Logs of any length, as a machine decides them.

use crate::Fail;
use crate::agent::{spec, task, text};
use mainpath_core::{ChildEnded, ChildStarting, Input, InputKind, Machine, Reply, estimate_parts};
use mainpath_store::scheduler::system_clock;
use mainpath_store::{Appended, MemoryStore, Raw, Salts, Scope, Store};
use mainpath_types::{
    CallId, ChildLimits, ChildMode, ChildOutcome, ChildPlace, Decision, EffectClass, Event, EventKind, HandedBack,
    MessageQueued, Part, PlannedCall, Principal, Spec, ToolOutput, ToolSpec, TraceId, Usage, Verdict,
};
use std::path::Path;
use std::sync::Arc;

/// The tool that starts an agent.
const AGENT: &str = "agent";
/// When the first event of a life was written, in milliseconds since 1970.
const BEGAN: u64 = 1_795_315_500_000;

/// The life of a trace: asked again and again, it takes some looks, then answers.
#[derive(Clone, Copy, Debug)]
pub struct Life {
    /// How many events it has.
    pub events: usize,
    /// How many agents it starts, a few with each question.
    pub agents: usize,
}

impl Life {
    /// One without agents.
    pub fn of(events: usize) -> Life {
        Life { events, agents: 0 }
    }

    /// All of it, as a machine decides it.
    pub fn log(self, trace: &TraceId) -> Result<Vec<Event>, Fail> {
        let mut teller =
            Teller { machine: Machine::new(trace.clone()), log: Vec::with_capacity(self.events), at: BEGAN };
        teller.offer(InputKind::SetSpec { spec: Arc::new(self.spec()), by: None })?;
        let mut agents = self.agents;
        for question in 0.. {
            let parts = vec![Part::text(task(&format!("q-{question}"), 120 + question % 200))];
            let tokens = estimate_parts(&parts);
            teller.offer(InputKind::UserMessage(MessageQueued::new(parts, tokens, Principal::local_user())))?;
            for turn in 0..=12 {
                let (tool, calls) = match turn {
                    12 => ("look", 0),
                    _ if agents > 0 && turn % 2 == 0 => (AGENT, 1),
                    _ => ("look", 1 + turn % 2),
                };
                teller.turn(tool, calls)?;
                if tool == AGENT {
                    agents -= 1;
                }
            }
            if teller.log.len() >= self.events {
                break;
            }
        }
        if agents > 0 {
            return Err(format!("{} agents have no room in {} events", self.agents, self.events).into());
        }
        teller.log.truncate(self.events);
        Ok(teller.log)
    }

    fn spec(self) -> Spec {
        let mut spec = spec("scripted".into());
        if self.agents > 0 {
            let tool = ToolSpec {
                name: AGENT.into(),
                description: "Starts an agent.".into(),
                input_schema: serde_json::json!({}).into(),
                effect: EffectClass::StartChild,
                ..ToolSpec::default()
            };
            spec.tools.push(tool);
            spec.limits.children = ChildLimits { in_all: u16::MAX, ..ChildLimits::default() };
        }
        spec
    }
}

/// A life as far as it is told.
struct Teller {
    machine: Machine,
    log: Vec<Event>,
    at: u64,
}

impl Teller {
    fn offer(&mut self, kind: InputKind) -> Result<(), Fail> {
        self.at += 317;
        let batch = self.machine.handle(&Input::new(self.at, kind))?;
        if let Some(last) = batch.last() {
            self.machine.commit(last.id);
        }
        self.log.extend(batch);
        Ok(())
    }

    /// An answer with so many calls, and what comes of them.
    fn turn(&mut self, tool: &str, calls: usize) -> Result<(), Fail> {
        let request = self.machine.state().model.ok_or("no request is pending")?.request;
        self.offer(answered(request, tool, calls))?;
        let open: Vec<(CallId, u32)> =
            self.machine.state().turn_calls().iter().map(|call| (call.id, call.attempt)).collect();
        for (call, attempt) in open {
            let output = ToolOutput::text(text(40 + (self.log.len() * 37) % 120));
            let tokens = estimate_parts(&output.content);
            if tool == AGENT {
                self.agent(call)?;
                self.offer(InputKind::HandedBack { call, output, tokens })?;
            } else {
                self.offer(InputKind::ToolFinished { call, attempt, output, tokens })?;
            }
        }
        Ok(())
    }

    /// An agent that a call starts, and its end.
    fn agent(&mut self, call: CallId) -> Result<(), Fail> {
        let (nth, of) = (0, 1);
        self.offer(InputKind::ChildStarting(ChildStarting {
            call,
            nth,
            of,
            mode: ChildMode::Delegate,
            place: ChildPlace::Alone,
            host: None,
            continues: None,
            after: 0,
            task: "Look whether it is as it should be.".into(),
            no_copy: None,
        }))?;
        let child = self.machine.state().children.get(call, nth).and_then(|child| child.trace.clone());
        let handed = HandedBack { child, answer: text(60), turns: 3, calls: 4, ..HandedBack::default() };
        self.offer(InputKind::ChildEnded(ChildEnded { call, nth, of, outcome: ChildOutcome::Result, handed }))
    }
}

/// An answer with so many calls; the final one if none.
fn answered(request: u32, tool: &str, calls: usize) -> InputKind {
    let call = |n: usize| Part::ToolCall {
        name: tool.into(),
        arguments: format!("{{\"bytes\":{}}}", 100 + n),
        signature: None,
    };
    let mut parts = vec![Part::text(if calls == 0 { text(200) } else { text(20) })];
    parts.extend((0..calls).map(call));
    let verdict =
        Verdict { decision: Decision::Allow, rule: "builtin.read-only".into(), reason: "it changes nothing".into() };
    let planned = PlannedCall { tool: Some(tool.into()), verdict: Some(verdict), ..PlannedCall::default() };
    InputKind::ModelFinished(Box::new(Reply {
        usage: Some(Usage { input: 1_000 + u64::from(request) * 20, output: 40, ..Usage::default() }),
        sent: Some(format!("{:064x}", u64::from(request) * 0x9e37_79b9)),
        ..Reply::new(request, parts, vec![planned; calls])
    }))
}

/// Writes the bytes that a files store would write, without its syncs.
pub async fn write_log(home: &Path, trace: &TraceId, log: Vec<Event>) -> Result<(), Fail> {
    let scope = Scope::local();
    let salts = trace.as_str().bytes().fold(7, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let store = MemoryStore::new(system_clock, Salts::Seeded(salts));
    let opened = store.lease(&scope, trace, true).await?;
    let appended = store.append(&opened.lease, 0, log).await;
    if !matches!(appended, Appended::Committed { .. }) {
        return Err(format!("the log was not written: {appended:?}").into());
    }
    let folder = home.join("traces").join(trace.as_str());
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("events.jsonl"), store.log_bytes(&scope.tenant, trace))?;
    Ok(())
}

/// Writes a trace of so many events that started so many agents, with a log for each of them, into a home:
/// `mainpath-bench life HOME TRACE EVENTS AGENTS`.
pub fn write(words: &[&str]) -> Result<(), Fail> {
    let [home, trace, events, agents] = words else { return Err("life HOME TRACE EVENTS AGENTS".into()) };
    let life = Life { events: events.parse()?, agents: agents.parse()? };
    let trace: TraceId = trace.parse()?;
    let log = life.log(&trace)?;
    let started = |event: &Event| match &event.kind {
        EventKind::SubTraceStarted(data) => Some(data.child.clone()),
        _ => None,
    };
    tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
        for child in log.iter().filter_map(started) {
            write_log(Path::new(home), &child, Life::of(24).log(&child)?).await?;
        }
        write_log(Path::new(home), &trace, log).await
    })
}
