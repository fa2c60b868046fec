//! The steps of a trace, read from its log.

use super::compare::json;
use super::ending::{ends_of_runs, is_step};
use super::step::{CallStep, RecordedAnswer, RecordedStep};
use crate::trace::Read;
use crate::{Error, ErrorKind};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mainpath_core::{Bodies, State};
use mainpath_runtime::Hydrated;
use mainpath_store::{StoreError, TraceStore};
use mainpath_types::{
    ApprovalGranted, CallId, CallResolved, Event, EventId, EventKind, MessageMode, ModelFinished, ModelMalformed, Part,
    RecordedCall, Relations, Seq, Source, Spec, StopReason, SubTraceCompleted,
};
use std::collections::{HashMap, HashSet};

/// What became of the calls of a log, and which messages redirected a run.
#[derive(Default)]
pub(super) struct Ends {
    approvals: HashMap<CallId, ApprovalGranted>,
    pub results: HashMap<CallId, EventId>,
    steers: HashSet<EventId>,
    children: HashMap<CallId, Vec<SubTraceCompleted>>,
}

impl Ends {
    pub fn of(events: &[Event]) -> Ends {
        let (mut ends, mut goes_on) = (Ends::default(), false);
        for event in events {
            match &event.kind {
                EventKind::RunStarted(_) => goes_on = true,
                EventKind::RunFinished(_) => goes_on = false,
                EventKind::MessageQueued(data) if goes_on && data.mode == MessageMode::Steer => {
                    ends.steers.insert(event.id);
                }
                EventKind::ApprovalGranted(data) => drop(ends.approvals.insert(data.call, data.clone())),
                EventKind::CallResolved(data) => drop(ends.results.insert(data.call, event.id)),
                EventKind::SubTraceCompleted(data) => ends.children.entry(data.call).or_default().push(data.clone()),
                _ => {}
            }
        }
        ends
    }
}

/// The steps of a trace's main path, to be played after a message: with the bytes of what is attached. Errors: as [`steps`]'s, or some of
/// the bytes are not there any more.
pub(crate) async fn recording(at: TraceStore<'_>, read: &Read, after: Seq) -> Result<Vec<RecordedStep>, Error> {
    let mut steps = steps(at, read, after).await?;
    for (step, seq) in steps.iter_mut().zip(step_messages(&read.state)) {
        match step {
            _ if seq <= after => {}
            RecordedStep::Said { parts, .. } => bring(at, parts).await?,
            RecordedStep::Answered(answer) => {
                bring(at, &mut answer.parts).await?;
                for output in answer.calls.iter_mut().filter_map(|call| call.output.as_mut()) {
                    bring(at, &mut output.content).await?;
                }
            }
        }
    }
    Ok(steps)
}

/// Puts the bytes of images, sound and documents in the place of their blobs.
async fn bring(at: TraceStore<'_>, parts: &mut [Part]) -> Result<(), Error> {
    for part in parts {
        let (Part::Image { source } | Part::Audio { source } | Part::Document { source, .. }) = part else { continue };
        let Source::Blob { hash, media_type } = source else { continue };
        let lost = |error: StoreError| {
            let why = format!("an attachment ({media_type}) of {} is not there any more: {error}", at.trace);
            Error::new(ErrorKind::Refused, why)
        };
        let data = STANDARD.encode(at.scoped().get_blob(hash).await.map_err(lost)?);
        *source = Source::Base64 { data, media_type: std::mem::take(media_type) };
    }
    Ok(())
}

/// The steps of a trace's main path; of what is attached they have no bytes. One that cannot be played, and that nobody plays as it comes
/// at this message or before it, is its number alone. Errors: one after it was imported or erased, or a long text is not at hand.
pub(crate) async fn steps(at: TraceStore<'_>, read: &Read, after: Seq) -> Result<Vec<RecordedStep>, Error> {
    let Read { log, state, .. } = read;
    let mut reading = Reading {
        at,
        gone: log.erased.iter().map(|erased| erased.id).collect(),
        ends: Ends::of(&log.events),
        whole: Hydrated::new(read),
    };
    let mut path: Vec<_> = state.tree.up(state.tree.head).collect();
    path.reverse();
    let mut ended = ends_of_runs(&log.events, state);
    let mut steps = Vec::new();
    for (seq, node) in path {
        if !is_step(node.kind) {
            continue;
        }
        let mut step = match reading.step(node.event, follows_calls(&steps)).await? {
            Ok(step) => step,
            Err(_) if seq <= after => RecordedStep::said(vec![Part::text(format!("message {seq}"))]),
            Err(why) => return Err(Error::new(ErrorKind::Refused, format!("message {seq} of {} {why}", at.trace))),
        };
        let reasons = ended.remove(&seq).unwrap_or_default();
        match &mut step {
            RecordedStep::Said { ends, .. } => *ends = reasons,
            RecordedStep::Answered(answer) => answer.ends = reasons,
        }
        steps.push(step);
    }
    Ok(steps)
}

/// Why an event cannot be played again: words that follow its message.
#[derive(Debug, thiserror::Error)]
enum Unplayable {
    #[error("was erased: it cannot be played again")]
    Erased,
    #[error("has a result that was erased: it cannot be played again")]
    ResultErased,
    #[error("was imported: nobody recorded what was asked and decided there")]
    Imported,
    #[error("is a denied call that was made after all")]
    Reopened,
    #[error("is not in the log")]
    Missing,
    #[error("has a long text that is not at hand")]
    TextMissing,
}

/// A log that is read step by step.
struct Reading<'a> {
    at: TraceStore<'a>,
    gone: HashSet<EventId>,
    ends: Ends,
    whole: Hydrated<'a>,
}

impl Reading<'_> {
    /// The step that an event is. The inner error says why it cannot be played.
    async fn step(&mut self, event: EventId, follows_calls: bool) -> Result<Result<RecordedStep, Unplayable>, Error> {
        let Reading { at, gone, ends, whole } = self;
        if gone.contains(&event) {
            return Ok(Err(Unplayable::Erased));
        }
        whole.load(at.scoped(), event).await?;
        let step = match whole.get(event) {
            Some(EventKind::MessageQueued(data)) => {
                let steer = ends.steers.contains(&event) && follows_calls;
                RecordedStep::Said { parts: data.parts.clone(), steer, ends: Vec::new() }
            }
            Some(EventKind::RewindRequested(data)) => RecordedStep::said(data.parts.clone().unwrap_or_default()),
            Some(EventKind::ModelFinished(data)) => {
                let data = data.clone();
                for call in data.calls() {
                    let Some(event) = ends.results.get(&call.id) else { continue };
                    if gone.contains(event) {
                        return Ok(Err(Unplayable::ResultErased));
                    }
                    whole.load(at.scoped(), *event).await?;
                }
                RecordedStep::Answered(Box::new(answer(&data, ends, whole)))
            }
            Some(EventKind::ModelMalformed(data)) => RecordedStep::Answered(Box::new(malformed(data))),
            Some(EventKind::MessageImported(_)) => return Ok(Err(Unplayable::Imported)),
            Some(EventKind::CallReopened(_)) => return Ok(Err(Unplayable::Reopened)),
            _ => return Ok(Err(Unplayable::Missing)),
        };
        Ok(if is_whole(&step) { Ok(step) } else { Err(Unplayable::TextMissing) })
    }
}

/// The messages of a trace's main path that are its steps, in their order.
pub(crate) fn step_messages(state: &State) -> Vec<Seq> {
    let path = state.tree.up(state.tree.head).filter(|(_, node)| is_step(node.kind));
    let mut messages: Vec<Seq> = path.map(|(seq, _)| seq).collect();
    messages.reverse();
    messages
}

/// The first message that came under another agent than this one, of those after an event. What the agent belongs to is not looked at.
pub(crate) fn first_under_another(read: &Read, after: EventId, spec: &Spec) -> Option<Seq> {
    let bare = |spec: &Spec| Spec { relations: Relations::default(), mode_for: None, ..spec.clone() };
    let changes = read.log.events.iter().filter(|event| event.id > after).find(|event| match &event.kind {
        EventKind::SpecChanged(data) => bare(&data.spec) != bare(spec),
        _ => false,
    });
    let changed = changes?.id;
    let came = |seq: &Seq| read.state.tree.node(*seq).is_some_and(|node| node.event > changed);
    step_messages(&read.state).into_iter().find(came)
}

pub(super) fn answer(data: &ModelFinished, ends: &Ends, whole: &Hydrated<'_>) -> RecordedAnswer {
    let calls = data.calls().map(|call| {
        let result = ends.results.get(&call.id).and_then(|event| whole.get(*event)).and_then(|kind| match kind {
            EventKind::CallResolved(data) => Some(data),
            _ => None,
        });
        let mut children = ends.children.get(&call.id).cloned().unwrap_or_default();
        children.sort_by_key(|child| child.nth);
        CallStep { children, ..step(call, ends.approvals.get(&call.id), result) }
    });
    let calls = calls.collect();
    // Hooks are not called again: what they changed is played as they changed it.
    let mut parts = unsigned(&data.parts);
    let made = parts.iter_mut().filter_map(|part| match part {
        Part::ToolCall { arguments, .. } => Some(arguments),
        _ => None,
    });
    for (written, planned) in made.zip(&data.calls) {
        if let Some(changed) = &planned.arguments {
            written.clone_from(changed);
        }
    }
    RecordedAnswer { parts, usage: data.usage, stop: data.stop, malformed: false, calls, ends: Vec::new() }
}

fn step(call: RecordedCall<'_>, approval: Option<&ApprovalGranted>, result: Option<&CallResolved>) -> CallStep {
    let RecordedCall { planned, written, arguments, .. } = call;
    let verdict = planned.verdict.as_ref();
    let approved = approval.and_then(|approval| approval.arguments.clone());
    let before = approved.as_ref().filter(|approved| json(approved) != json(arguments)).map(|_| arguments.to_owned());
    let arguments = approved.unwrap_or_else(|| arguments.into());
    let output = result.and_then(|result| result.output.clone()).map(|mut output| {
        // What files held lies beside the log, and what was kept of a result as well.
        output.changes.clear();
        output.artifacts.clear();
        output
    });
    CallStep {
        tool: planned.tool.clone().unwrap_or_else(|| written.name.into()),
        arguments,
        written: before,
        verdict: verdict.map(|verdict| verdict.decision),
        rule: verdict.map(|verdict| verdict.rule.clone()).unwrap_or_default(),
        approved: approval.is_some(),
        approved_for: approval.and_then(|approval| approval.rule.clone()),
        resolution: result.map(|result| result.resolution),
        output,
        reason: result.and_then(|result| result.reason.clone()),
        children: Vec::new(),
    }
}

pub(super) fn malformed(data: &ModelMalformed) -> RecordedAnswer {
    RecordedAnswer {
        parts: unsigned(&data.parts),
        usage: data.usage,
        stop: StopReason::End,
        malformed: true,
        calls: Vec::new(),
        ends: Vec::new(),
    }
}

/// What a vendor signed it takes back from nobody else.
fn unsigned(parts: &[Part]) -> Vec<Part> {
    let unsigned = |part: &Part| match part.clone() {
        Part::Thinking { text, .. } => Part::Thinking { text, signature: None },
        Part::ToolCall { name, arguments, .. } => Part::ToolCall { name, arguments, signature: None },
        other => other,
    };
    parts.iter().map(unsigned).collect()
}

/// Whether a message that comes after these steps comes while a run goes on.
fn follows_calls(steps: &[RecordedStep]) -> bool {
    match steps.last() {
        Some(RecordedStep::Answered(answer)) => !answer.calls.is_empty(),
        Some(RecordedStep::Said { steer, .. }) => *steer,
        None => false,
    }
}

fn is_whole(step: &RecordedStep) -> bool {
    let is_text = |part: &Part| !matches!(part, Part::StoredText { .. });
    match step {
        RecordedStep::Said { parts, .. } => parts.iter().all(is_text),
        RecordedStep::Answered(answer) => {
            let results = answer.calls.iter().filter_map(|call| call.output.as_ref());
            answer.parts.iter().all(is_text) && results.flat_map(|output| &output.content).all(is_text)
        }
    }
}
