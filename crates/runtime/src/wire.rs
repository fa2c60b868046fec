//! Events as watchers see them: the log's facts under their finer, published names, with the trace's and the run's id.

use mainpath_types::*;
use serde_json::{Map, Value, json};

/// Turns log events into wire events. Feed it a log from the first event on: it keeps count of runs and turns.
#[derive(Debug)]
pub struct Projector {
    trace: TraceId,
    run: u32,
    turn: u32,
}

impl Projector {
    /// A projector for the log of this trace.
    pub fn new(trace: TraceId) -> Projector {
        Projector { trace, run: 0, turn: 0 }
    }

    /// The wire events of a log event, in order. They share its number: a watcher resumes after it.
    pub fn project(&mut self, event: &Event) -> Vec<Value> {
        if let EventKind::RunStarted(data) = &event.kind {
            self.run = data.run;
        }
        let mut facts = Vec::new();
        if event.turn > self.turn {
            self.turn = event.turn;
            facts.push(("turn_started", json!({})));
        }
        if let EventKind::ModelRequested(ModelRequested { minimal: true, .. }) = &event.kind {
            let why = json!({"chat_id": self.trace, "reason": "the model's address was not found (404)", "retry": 1});
            facts.push(("request_repacked", why));
        }
        facts.extend(facts_of(&event.kind));
        facts.into_iter().map(|(name, data)| self.line(event, name, data)).collect()
    }

    fn line(&self, event: &Event, name: &str, data: Value) -> Value {
        let mut line = Map::new();
        line.insert("v".into(), LOG_VERSION.into());
        line.insert("id".into(), event.id.into());
        line.insert("ts".into(), format_time(event.ts).into());
        line.insert("trace_id".into(), self.trace.as_str().into());
        line.insert("run_id".into(), format!("{}/{}", self.trace, self.run).into());
        line.insert("turn".into(), event.turn.into());
        line.insert("type".into(), name.into());
        if let Some(mail) = event.mail {
            line.insert("mail".into(), mail.into());
        }
        line.insert("data".into(), data);
        Value::Object(line)
    }
}

type Fact = (&'static str, Value);

fn facts_of(kind: &EventKind) -> Vec<Fact> {
    match kind {
        EventKind::MessageQueued(data) => vec![(
            match data.mode {
                MessageMode::Message => "message_queued",
                MessageMode::Steer => "steer_queued",
                MessageMode::FollowUp => "follow_up_queued",
            },
            value(data),
        )],
        EventKind::ModelRequested(data) => vec![("model_request", value(data))],
        EventKind::ModelFinished(data) => answer(data),
        EventKind::ModelMalformed(data) => {
            vec![("model_response", value(data)), ("branch_opened", json!({"kind": BranchKind::Repair}))]
        }
        EventKind::CallResolved(data) => {
            let mut facts = Vec::new();
            if matches!(data.cause, ResolveCause::DeniedByPerson | ResolveCause::DeniedByRule) {
                facts.push(("approval_denied", json!({"call": data.call, "by": data.by, "reason": data.reason})));
            } else if data.attempt > 0 {
                let executed = json!({
                    "call": data.call, "attempt": data.attempt, "resolution": data.resolution,
                    "elapsed_ms": data.elapsed_ms,
                });
                facts.push(("action_executed", executed));
            }
            facts.push(("observation_recorded", value(data)));
            facts
        }
        EventKind::GoalsChanged(data) => goals(&data.ops),
        other => vec![(other.name(), data_of(other))],
    }
}

fn answer(data: &ModelFinished) -> Vec<Fact> {
    let mut facts = vec![("model_response", value(data))];
    facts.extend(goals(&data.goals));
    let made = data.parts.iter().filter_map(|part| match part {
        Part::ToolCall { name, arguments, .. } => Some((name, arguments)),
        _ => None,
    });
    for ((index, planned), (name, arguments)) in (0u16..).zip(&data.calls).zip(made) {
        let call = CallId { seq: data.seq, index };
        // What will run; the model's own words are in `model_response`.
        let arguments = planned.arguments.as_ref().unwrap_or(arguments);
        let mut made = json!({"call": call, "tool": name, "arguments": arguments});
        for (name, value) in [("changed_by", &planned.changed_by), ("places", &planned.places)] {
            if !value.is_empty() {
                made[name] = json!(value);
            }
        }
        facts.push(("action_planned", made.clone()));
        if let Some(problem) = &planned.problem {
            facts.push(("observation_recorded", json!({"call": call, "resolution": "error", "problem": problem})));
            continue;
        }
        let Some(verdict) = &planned.verdict else { continue };
        facts.push(("action_validated", json!({"call": call, "tool": planned.tool, "verdict": verdict})));
        match verdict.decision {
            Decision::Allow => {
                if let Some(answer) = &planned.answer {
                    facts.push(("observation_recorded", json!({"call": call, "resolution": "ok", "answer": answer})));
                }
            }
            Decision::Ask => facts.push(("approval_required", made)),
            Decision::Deny => {
                facts.push(("approval_denied", json!({"call": call, "by": verdict.rule, "reason": verdict.reason})));
                facts.push(("observation_recorded", json!({"call": call, "resolution": "denied"})));
            }
        }
    }
    facts
}

fn goals(ops: &[GoalOp]) -> Vec<Fact> {
    let name = |op: &GoalOp| match op {
        GoalOp::Add { .. } => "goal_added",
        GoalOp::Focus { .. } | GoalOp::Done { .. } | GoalOp::Abandon { .. } | GoalOp::Patch { .. } => "goal_updated",
        GoalOp::Set { .. } => "plan_created",
        GoalOp::Update { .. } | GoalOp::Terms { .. } => "plan_updated",
    };
    ops.iter().map(|op| (name(op), value(op))).collect()
}

fn data_of(kind: &EventKind) -> Value {
    kind.encode().ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// Events are plain data: they always have a JSON form.
fn value(data: &impl serde::Serialize) -> Value {
    serde_json::to_value(data).unwrap_or_default()
}
