//! What can be asked of each call, and of each answer without one: read from a log, event by event.

use crate::found::Step;
use mainpath_core::result_text;
use mainpath_policy::argument_values;
use mainpath_types::{
    ApprovalGranted, CallId, CallResolved, Event, EventKind, MessageImported, Micros, ModelFinished, Part,
    RecordedCall, Resolution, Role, Spec,
};
use serde_json::Value;
use std::collections::HashMap;

/// As much of each text among the arguments is kept, in characters.
const ARGUMENT: usize = 1_000;
/// As much of all arguments of a call is kept, in bytes, and of what the model said with it.
const MOST: usize = 16 * 1024;
/// As much of the text of an error is kept, in bytes.
const ERROR: usize = 2 * 1024;

/// The steps of a log.
#[derive(Default)]
pub(crate) struct Steps<'a> {
    steps: Vec<Step>,
    /// Where each call is among them.
    calls: HashMap<CallId, usize>,
    spec: Option<&'a Spec>,
}

impl<'a> Steps<'a> {
    /// Takes in the next event; `cost` is what the trace has cost with it, `said` reads what stands in parts.
    pub fn take(&mut self, event: &'a Event, cost: Micros, said: &dyn Fn(&[Part]) -> String) {
        match &event.kind {
            EventKind::SpecChanged(data) => self.spec = Some(&data.spec),
            EventKind::ModelFinished(data) => self.answer(data, cost, said),
            EventKind::ModelFailed(data) => {
                let error = serde_json::to_value(data.error.kind).ok();
                let code = error.as_ref().and_then(Value::as_str).unwrap_or("model_error").to_string();
                let failure = cut(&data.error.message, ERROR).to_string();
                self.steps.push(Step { code, failure, outcome: "error", cost, ..self.blank() });
            }
            EventKind::CallReopened(data) => {
                if let Some(at) = self.calls.get(&data.of).copied() {
                    self.calls.insert(data.made(), at);
                }
            }
            EventKind::ApprovalGranted(ApprovalGranted { call, arguments: Some(edited), .. }) => {
                if let Some(step) = self.step_of(*call) {
                    step.arguments = kept(edited);
                }
            }
            EventKind::CallResolved(data) => self.resolve(data, said),
            EventKind::MessageImported(data) if data.role == Role::Assistant => self.imported(data, cost, said),
            _ => {}
        }
    }

    /// All of them.
    pub fn done(self) -> Vec<Step> {
        self.steps
    }

    fn step_of(&mut self, call: CallId) -> Option<&mut Step> {
        self.calls.get(&call).and_then(|at| self.steps.get_mut(*at))
    }

    fn blank(&self) -> Step {
        Step { model: self.spec.map(|spec| spec.model.clone()).unwrap_or_default(), ..Step::default() }
    }

    fn answer(&mut self, data: &ModelFinished, cost: Micros, said: &dyn Fn(&[Part]) -> String) {
        let said = said(&data.parts);
        let blank = Step { seq: data.seq, said, cost, ..self.blank() };
        if data.calls.is_empty() {
            self.steps.push(blank);
            return;
        }
        for RecordedCall { id, written, arguments, planned } in data.calls() {
            let (outcome, failure) = match planned.ended() {
                Some((Resolution::Ok, _)) => ("ok", ""),
                Some((resolution, why)) => (resolution.as_str(), why),
                None => ("", ""),
            };
            let code = if planned.problem.is_some() { "invalid_call" } else { "" };
            let verdict = planned.verdict.as_ref();
            self.calls.insert(id, self.steps.len());
            self.steps.push(Step {
                call: Some(id.index),
                tool: planned.tool.as_deref().unwrap_or(written.name).into(),
                arguments: kept(arguments),
                verdict: verdict.map_or("", |verdict| verdict.decision.as_str()),
                rule: verdict.map(|verdict| verdict.rule.clone()).unwrap_or_default(),
                origins: planned.origins.clone(),
                outcome,
                code: if outcome == "denied" { "denied".into() } else { code.into() },
                failure: cut(failure, ERROR).into(),
                ..blank.clone()
            });
        }
    }

    /// What another program recorded: no rule was asked of it here, and its arguments are from who knows where.
    fn imported(&mut self, data: &MessageImported, cost: Micros, said: &dyn Fn(&[Part]) -> String) {
        let model = data.recorded.as_ref().and_then(|recorded| recorded.model.clone());
        let blank = Step { seq: data.seq, said: said(&data.said()), cost, ..self.blank() };
        let blank = Step { model: model.unwrap_or(blank.model), ..blank };
        let (before, mut results) = (self.steps.len(), data.results());
        let calls = data.parts.iter().filter_map(|part| match part {
            Part::ToolCall { name, arguments, .. } => Some((name, arguments)),
            _ => None,
        });
        for (index, (name, arguments)) in (0..=u16::MAX).zip(calls) {
            let (outcome, failure) = match results.next() {
                None => ("", String::new()),
                Some((_, false)) => ("ok", String::new()),
                Some((content, true)) => ("error", cut(&said(content), ERROR).into()),
            };
            let code = if outcome == "error" { "tool_error".into() } else { String::new() };
            let (tool, arguments) = (name.clone(), kept(arguments));
            self.steps.push(Step { call: Some(index), tool, arguments, outcome, code, failure, ..blank.clone() });
        }
        if self.steps.len() == before {
            self.steps.push(blank);
        }
    }

    fn resolve(&mut self, data: &CallResolved, said: &dyn Fn(&[Part]) -> String) {
        let Some(step) = self.step_of(data.call) else { return };
        step.outcome = data.resolution.as_str();
        step.code = data.failure().unwrap_or_default();
        step.failure = match step.code.is_empty() {
            true => String::new(),
            false => cut(&said(&result_text(data)), ERROR).into(),
        };
    }
}

/// All that a text may be searched for in, in one.
pub(crate) fn words(arguments: &str, said: &str, failure: &str) -> String {
    let arguments = values(arguments);
    format!("{arguments}\n{said}\n{failure}")
}

/// Arguments as they are kept.
pub(crate) fn parsed(arguments: &str) -> Value {
    match arguments {
        "" => Value::Null,
        text => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
    }
}

fn values(arguments: &str) -> String {
    if arguments.is_empty() { String::new() } else { argument_values(&parsed(arguments)) }
}

/// Arguments with their long texts cut; those of a great many values in one text.
fn kept(arguments: &str) -> String {
    fn shorten(value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some((at, _)) = text.char_indices().nth(ARGUMENT) {
                    text.truncate(at);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(shorten),
            Value::Object(map) => map.values_mut().for_each(shorten),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    if arguments.len() <= ARGUMENT {
        return arguments.into();
    }
    let Ok(mut value) = serde_json::from_str::<Value>(arguments) else { return cut(arguments, MOST).into() };
    shorten(&mut value);
    let text = value.to_string();
    if text.len() <= MOST { text } else { Value::from(cut(&argument_values(&value), MOST)).to_string() }
}

pub(crate) fn cut(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or_default()
}
