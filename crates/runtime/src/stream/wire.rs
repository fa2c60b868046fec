//! Events as watchers see them: the log's facts under their finer, published names, with the trace's and the run's id; and, for
//! who watches as it happens, pieces of what is still coming.

mod fact;
mod plan;

use fact::{Fact, value};
use mainpath_core::{EffectKey, State, TEXT_ISSUER, apply};
use mainpath_types::{
    BranchKind, CallResolved, Decision, Delta, Event, EventKind, GoalOp, LOG_VERSION, Limits, MessageMode, Millis,
    ModelFinished, Part, Principal, RecordedCall, ResolveCause, Signature, TraceId, format_time, text_of,
};
use serde_json::{Map, Value, json};

/// Why a request was made again with less: the fixed word for programs.
const NOT_FOUND: &str = "http_404_fallback";

/// Turns log events into wire events. Feed it a log from the first event on: it keeps count of runs, turns and the plan.
#[derive(Debug)]
pub struct Projector {
    state: State,
    turn: u32,
    /// Whether there was a plan in this conversation.
    planned: bool,
    /// The session by whose name the trace is called.
    session: Option<String>,
}

impl Projector {
    /// A projector for the log of this trace.
    pub fn new(trace: TraceId) -> Projector {
        Projector { state: State::new(trace), turn: 0, planned: false, session: None }
    }

    /// The state after what was fed.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The wire events of a log event, in order. They share its number: a watcher resumes after it.
    pub fn project(&mut self, event: &Event) -> Vec<Value> {
        let mut facts = Vec::new();
        if event.turn > self.turn {
            self.turn = event.turn;
            facts.push(("turn_started", json!({})));
        }
        facts.extend(self.facts(&event.kind));
        apply(&mut self.state, event);
        if matches!(event.kind, EventKind::SessionCleared(_)) {
            self.planned = false;
        }
        facts.into_iter().map(|(name, data)| self.durable(event, name, data)).collect()
    }

    /// Takes an event whose wire events nobody needs.
    pub fn skip(&mut self, event: &Event) {
        self.turn = self.turn.max(event.turn);
        match &event.kind {
            EventKind::SpecChanged(data) => self.session.clone_from(&data.spec.relations.session),
            EventKind::ModelFinished(data) => drop(self.goals(&data.goals)),
            EventKind::GoalsChanged(data) => drop(self.goals(&data.ops)),
            _ => {}
        }
        apply(&mut self.state, event);
        if matches!(event.kind, EventKind::SessionCleared(_)) {
            self.planned = false;
        }
    }

    /// The wire events of a piece of what is still coming, seen at this time. They have no number: they are in no log, and nobody
    /// can resume from them.
    pub fn delta(&self, of: &EffectKey, delta: &Delta, at: Millis) -> Vec<Value> {
        let mut data = value(delta);
        let name = data.as_object_mut().and_then(|data| data.remove("type"));
        let whose = match of {
            EffectKey::Model(request) => ("request", json!(request)),
            EffectKey::Tool(_, attempt) => ("attempt", json!(attempt)),
            other => ("effect", json!(other)),
        };
        data[whose.0] = whose.1;
        let mut lines = Vec::new();
        if let Delta::Arguments { index, name: Some(tool), .. } = delta {
            let named = json!({"request": data["request"], "index": index, "tool": tool});
            lines.push(self.line(at, "action_partial", named));
        }
        if !matches!(delta, Delta::Arguments { text, .. } if text.is_empty()) {
            lines.push(self.line(at, name.as_ref().and_then(Value::as_str).unwrap_or_default(), data));
        }
        lines
    }

    /// The wire event of a word about the driving itself, said at this time. It has no number either.
    pub fn notice(&self, text: &str, at: Millis) -> Value {
        self.line(at, "notice", json!({ "text": text }))
    }

    fn durable(&self, event: &Event, name: &str, data: Value) -> Value {
        let mut line = self.line(event.ts, name, data);
        line["id"] = event.id.into();
        line["turn"] = event.turn.into();
        if let Some(mail) = event.mail {
            line["mail"] = mail.into();
        }
        line
    }

    fn line(&self, at: Millis, name: &str, data: Value) -> Value {
        let mut line = json!({
            "v": LOG_VERSION, "ts": format_time(at), "trace_id": self.state.trace,
            "run_id": format!("{}/{}", self.state.trace, self.state.counts.runs), "turn": self.turn, "type": name,
        });
        // Moved: it may be large.
        line["data"] = data;
        line
    }

    /// The facts of an event that is about to be applied.
    fn facts(&mut self, kind: &EventKind) -> Vec<Fact> {
        match kind {
            EventKind::SpecChanged(data) => {
                self.session.clone_from(&data.spec.relations.session);
                let changed = self.state.coming_spec().and_then(|old| changed_limits(&old.limits, &data.spec.limits));
                [("spec_changed", value(data))]
                    .into_iter()
                    .chain(changed.map(|changed| ("budget_changed", by_whom(changed, data.by.as_ref()))))
                    .collect()
            }
            EventKind::MessageQueued(data) => vec![(
                match data.mode {
                    MessageMode::Message => "message_queued",
                    MessageMode::Steer => "steer_queued",
                    MessageMode::FollowUp => "follow_up_queued",
                },
                value(data),
            )],
            EventKind::ModelRequested(data) => {
                let repacked = data.minimal.then(|| ("request_repacked", self.repacked()));
                repacked.into_iter().chain([("model_request", value(data))]).collect()
            }
            EventKind::ModelFinished(data) => {
                let words = own_words(data);
                let mut plan = self.goals(&data.goals);
                plan.iter_mut().for_each(|(_, fact)| as_given(fact, &words));
                let mut facts = vec![("model_response", value(data))];
                facts.extend(plan);
                facts.extend(calls(data, &words));
                facts
            }
            EventKind::ModelMalformed(data) => {
                vec![("model_response", value(data)), ("branch_opened", json!({"kind": BranchKind::Repair}))]
            }
            EventKind::CallResolved(data) => resolved(data),
            EventKind::GoalsChanged(data) => {
                let by = json!(data.by);
                let mut facts = self.goals(&data.ops);
                facts.iter_mut().for_each(|(_, fact)| fact["by"] = by.clone());
                facts
            }
            other => vec![(other.name(), data_of(other))],
        }
    }

    fn repacked(&self) -> Value {
        json!({
            "chat_id": self.session.as_deref().unwrap_or(self.state.trace.as_str()), "reason": NOT_FOUND, "retry": 1,
            "message": "The server did not know the model or its address (404): asked again with the system text and the last message alone.",
        })
    }

    fn goals(&mut self, ops: &[GoalOp]) -> Vec<Fact> {
        if ops.is_empty() {
            return Vec::new();
        }
        plan::facts(&self.state.goals, ops, self.state.tree.head, &mut self.planned)
    }
}

/// How a call ended: what was decided or done, then what the model sees of it.
fn resolved(data: &CallResolved) -> Vec<Fact> {
    let mut facts = Vec::new();
    if matches!(data.cause, ResolveCause::DeniedByPerson | ResolveCause::DeniedByRule) {
        facts.push(("approval_denied", json!({"call": data.call, "by": data.by, "reason": data.reason})));
    } else if data.attempt > 0 {
        let executed = json!({
            "call": data.call, "attempt": data.attempt, "resolution": data.resolution,
            "elapsed_ms": data.elapsed_ms, "result": result(data),
        });
        facts.push(("action_executed", executed));
    }
    facts.push(("observation_recorded", value(data)));
    facts
}

/// What came of an attempt, in numbers; its words are in `observation_recorded`.
fn result(data: &CallResolved) -> Value {
    let Some(output) = &data.output else { return json!({"cause": data.cause}) };
    let mut told = Map::new();
    if let Some(error) = &output.error {
        told.insert("error".into(), json!(error));
    }
    let chars: u64 = output
        .content
        .iter()
        .map(|part| match part {
            Part::Text { text } => text.chars().count() as u64,
            Part::StoredText { bytes, .. } => *bytes,
            _ => 0,
        })
        .sum();
    told.insert("chars".into(), chars.into());
    // Of a command: its exit code, and how much it wrote where.
    if let Value::Object(command) = &value(output)["command"] {
        told.extend(command.clone());
    }
    for artifact in &output.artifacts {
        told.insert(format!("{}_bytes", artifact.name), artifact.bytes.into());
    }
    Value::Object(told)
}

/// The calls of an answer: what is planned, and what was decided on it at once.
fn calls(data: &ModelFinished, words: &Value) -> Vec<Fact> {
    let mut facts = Vec::new();
    let reason = reason(data, words);
    // With the arguments that will run; the model's own words are in `model_response`.
    for RecordedCall { id: call, written, arguments, planned } in data.calls() {
        let mut made = json!({"call": call, "tool": written.name, "arguments": arguments});
        for (name, value) in [("changed_by", &planned.changed_by), ("places", &planned.places)] {
            if !value.is_empty() {
                made[name] = json!(value);
            }
        }
        if let Some(reason) = &reason {
            made["reason"] = json!(reason);
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
            Decision::Ask => {
                if let Some(offer) = &planned.offer {
                    made["offer"] = json!(offer);
                }
                facts.push(("approval_required", made));
            }
            Decision::Deny => {
                facts.push(("approval_denied", json!({"call": call, "by": verdict.rule, "reason": verdict.reason})));
                facts.push(("observation_recorded", json!({"call": call, "resolution": "denied"})));
            }
        }
    }
    facts
}

/// Why the model does what it does, as it says: the reason of its action under the text protocol, else what it says before its calls.
fn reason(data: &ModelFinished, words: &Value) -> Option<String> {
    let said = match words {
        Value::Null => text_of(&data.parts),
        turn => turn["action"]["reason"].as_str()?.to_string(),
    };
    Some(said.trim().to_string()).filter(|said| !said.is_empty())
}

/// A turn of the text protocol as the model wrote it, where that says more than its parts; else null.
fn own_words(data: &ModelFinished) -> Value {
    let own = data.parts.iter().find_map(|part| match part {
        Part::Thinking { signature: Some(Signature { issuer, value }), .. } if issuer == TEXT_ISSUER => Some(value),
        _ => None,
    });
    own.and_then(|words| serde_json::from_str(words).ok()).unwrap_or_default()
}

/// Terms that the model gave as an object: the plan keeps them as lines, watchers see the object.
fn as_given(fact: &mut Value, words: &Value) {
    for name in ["constraints", "assumptions"] {
        let given = ["plan", "plan_update"].iter().map(|plan| &words[*plan][name]).find(|given| given.is_object());
        if let Some(given) = given.filter(|_| !fact[name].is_null()) {
            fact[name] = given.clone();
        }
    }
}

/// Limits that changed, and who changed them, if that is known.
fn by_whom(mut changed: Value, by: Option<&Principal>) -> Value {
    if let Some(by) = by {
        changed["by"] = json!(by);
    }
    changed
}

/// Which limits a spec changes, each with what it was and what it is.
fn changed_limits(old: &Limits, new: &Limits) -> Option<Value> {
    let (Value::Object(old), Value::Object(new)) = (value(old), value(new)) else { return None };
    let names = old.keys().chain(new.keys().filter(|name| !old.contains_key(*name)));
    let changed = names.filter(|name| old.get(*name) != new.get(*name));
    let changed: Map<String, Value> =
        changed.map(|name| (name.clone(), json!({"from": old.get(name), "to": new.get(name)}))).collect();
    (!changed.is_empty()).then_some(Value::Object(changed))
}

fn data_of(kind: &EventKind) -> Value {
    kind.encode().ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}
