//! From the events of one trace to what is found in them. It keeps what is open and nothing else.

use super::finding::{CallEnd, CallWords, Finding, RequestEnd, RequestEnded, RunEnd, Span};
use mainpath::core::{State, result_text};
use mainpath::runtime::Taken;
use mainpath::types::{
    CallId, CallResolved, Event, EventId, EventKind, Millis, ModelFinished, Purpose, Resolution, Spent, StopReason,
    text_of,
};
use std::collections::BTreeMap;

/// What is open in a trace.
#[derive(Debug, Default)]
pub struct Reader {
    /// Whether words are found as well.
    with_content: bool,
    /// The last event that was read.
    last: EventId,
    run: u32,
    began: Option<Millis>,
    step: Option<Millis>,
    request: Option<OpenRequest>,
    calls: BTreeMap<CallId, OpenCall>,
}

#[derive(Debug)]
struct OpenRequest {
    number: u32,
    began: Millis,
    model: String,
}

#[derive(Debug, Default)]
struct OpenCall {
    tool: Option<String>,
    started: Option<Millis>,
    arguments: String,
}

impl Reader {
    /// Of a trace of which nothing was read.
    pub fn new(with_content: bool) -> Reader {
        Reader { with_content, ..Reader::default() }
    }

    /// Reads events; those that were read before are passed over.
    pub fn read(&mut self, Taken { events, state }: Taken<'_>) -> Vec<Finding> {
        let mut found = Vec::new();
        for event in events {
            if event.id > self.last {
                self.last = event.id;
                self.see(event, state, &mut found);
            }
        }
        found
    }

    fn see(&mut self, event: &Event, state: &State, found: &mut Vec<Finding>) {
        match &event.kind {
            EventKind::Forked(_) => {
                // What another trace did is told there.
                found.clear();
                *self = Reader { last: self.last, ..Reader::new(self.with_content) };
            }
            EventKind::RunStarted(data) => {
                (self.run, self.began) = (data.run, Some(event.ts));
                found.push(Finding::Began);
            }
            EventKind::RunFinished(data) => {
                self.end_step(event.ts, found);
                let began = self.began.take().unwrap_or(event.ts);
                let span = Span { began, ended: event.ts };
                let model = model(state);
                let (run, reason, spent) = (data.run, data.reason, data.spent());
                found.push(Finding::Run(RunEnd { run, span, reason, spent, model }));
            }
            EventKind::ModelRequested(data) => {
                if !matches!(data.purpose, Some(Purpose::Reflection | Purpose::Summary)) {
                    self.step = self.step.or(Some(event.ts));
                }
                self.request = Some(OpenRequest { number: data.request, began: event.ts, model: model(state) });
            }
            EventKind::ModelFinished(data) => {
                let end = Ended { how: RequestEnded::Answered, spent: data.spent(), stop: Some(stop(data.stop)) };
                let mut ended = self.end_request(data.request, event.ts, end);
                ended.said = self.with_content.then(|| data.parts.clone());
                found.push(Finding::Request(ended));
                self.answered(event, data, found);
            }
            EventKind::ModelMalformed(data) => {
                let end = Ended { how: RequestEnded::Malformed, spent: data.spent(), stop: None };
                found.push(Finding::Request(self.end_request(data.request, event.ts, end)));
            }
            EventKind::ModelFailed(data) => {
                let end = Ended { how: RequestEnded::Failed(code(data.error.kind)), spent: data.spent(), stop: None };
                found.push(Finding::Request(self.end_request(data.request, event.ts, end)));
            }
            EventKind::ModelAbandoned(data) => {
                let end = Ended { how: RequestEnded::Abandoned, spent: data.spent(), stop: None };
                found.push(Finding::Request(self.end_request(data.request, event.ts, end)));
            }
            EventKind::ActionStarted(data) => {
                let call = self.calls.entry(data.call).or_default();
                call.started = Some(call.started.unwrap_or(event.ts));
            }
            EventKind::CallReopened(data) => {
                let tool = state.calls.get(data.made()).and_then(|row| row.tool.as_deref()).map(String::from);
                self.calls.insert(data.made(), OpenCall { tool, ..OpenCall::default() });
            }
            EventKind::CallResolved(data) => {
                let open = self.calls.remove(&data.call).unwrap_or_default();
                found.push(Finding::Call(self.resolved(event, data, open)));
            }
            EventKind::TurnFinished(_) => self.end_step(event.ts, found),
            _ => {}
        }
    }

    /// The calls of an answer: those that are ended with it, and those that are open from now on.
    fn answered(&mut self, event: &Event, data: &ModelFinished, found: &mut Vec<Finding>) {
        for call in data.calls().filter(|_| !data.aside) {
            let tool = call.planned.tool.clone();
            match call.planned.ended() {
                None => {
                    let arguments = if self.with_content { call.arguments.to_string() } else { String::new() };
                    self.calls.insert(call.id, OpenCall { tool, started: None, arguments });
                }
                Some((resolution, words)) => {
                    let error = match resolution {
                        Resolution::Ok => None,
                        Resolution::Denied => Some("denied".into()),
                        _ => Some("refused".into()),
                    };
                    let words = self
                        .with_content
                        .then(|| CallWords { arguments: call.arguments.to_string(), result: words.to_string() });
                    let (run, call, at) = (self.run, call.id, event.ts);
                    let ended = CallEnd { run, call, event: event.id, tool, span: None, at, resolution, error, words };
                    found.push(Finding::Call(ended));
                }
            }
        }
        if data.calls.is_empty() && !data.aside {
            self.end_step(event.ts, found);
        }
    }

    fn resolved(&self, event: &Event, data: &CallResolved, open: OpenCall) -> CallEnd {
        let error = data.failure();
        let ran = |ms: u64| Span { began: open.started.unwrap_or(event.ts.saturating_sub(ms)), ended: event.ts };
        CallEnd {
            run: self.run,
            call: data.call,
            event: event.id,
            tool: open.tool,
            span: data.ran_ms().map(ran),
            at: event.ts,
            resolution: data.resolution,
            error,
            words: self
                .with_content
                .then(|| CallWords { arguments: open.arguments, result: text_of(&result_text(data)) }),
        }
    }

    fn end_step(&mut self, at: Millis, found: &mut Vec<Finding>) {
        if let Some(began) = self.step.take() {
            found.push(Finding::Step(Span { began, ended: at }));
        }
    }

    fn end_request(&mut self, number: u32, at: Millis, end: Ended) -> RequestEnd {
        let Ended { how, spent, stop } = end;
        let open = self.request.take_if(|open| open.number == number);
        let open = open.unwrap_or(OpenRequest { number, began: at, model: String::new() });
        let span = Span { began: open.began, ended: at };
        RequestEnd { run: self.run, request: number, span, model: open.model, how, spent, stop, said: None }
    }
}

/// How a request ended.
struct Ended {
    how: RequestEnded,
    spent: Spent,
    stop: Option<&'static str>,
}

/// The model that a trace works on.
fn model(state: &State) -> String {
    let spec = state.spec.as_ref();
    spec.and_then(|spec| spec.names.get(spec.using)).map(|name| name.to_string()).unwrap_or_default()
}

fn stop(reason: StopReason) -> &'static str {
    match reason {
        StopReason::End => "stop",
        StopReason::ToolCalls => "tool_calls",
        StopReason::MaxTokens => "length",
        StopReason::ContentFilter => "content_filter",
    }
}

/// The published word of a kind.
fn code(kind: mainpath::types::ModelErrorKind) -> String {
    let kind = serde_json::to_value(kind).unwrap_or_default();
    kind.as_str().unwrap_or("error").to_string()
}
