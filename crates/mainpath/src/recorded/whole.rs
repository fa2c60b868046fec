//! All that a trace's main path says, also where it cannot be played again: what was imported, what holds images, what was erased.

use super::reading::{Ends, answer, malformed};
use super::step::{CallStep, RecordedAnswer, RecordedStep};
use crate::Error;
use crate::trace::Read;
use mainpath_core::{Bodies, NodeKind};
use mainpath_runtime::Hydrated;
use mainpath_store::TraceStore;
use mainpath_types::{EventId, EventKind, MessageImported, Part, Resolution, Role, Seq, StopReason, ToolOutput, Usage};
use std::collections::HashSet;

/// What was said and done on a main path.
pub(crate) struct WholeRun {
    /// Its steps. What is no text stands as a word in brackets.
    pub steps: Vec<RecordedStep>,
    /// Whether something of it was imported: nobody recorded what was decided there.
    pub is_imported: bool,
    /// The first message of it that was erased.
    pub erased: Option<Seq>,
}

/// Reads it. Errors: the store cannot be read.
pub(crate) async fn whole_run(at: TraceStore<'_>, read: &Read) -> Result<WholeRun, Error> {
    let Read { log, state, .. } = read;
    let gone: HashSet<EventId> = log.erased.iter().map(|erased| erased.id).collect();
    let (ends, mut whole) = (Ends::of(&log.events), Hydrated::with_lines(read));
    let mut path: Vec<_> = state.tree.up(state.tree.head).collect();
    path.reverse();
    let mut run = WholeRun { steps: Vec::new(), is_imported: false, erased: None };
    for (seq, node) in path {
        if gone.contains(&node.event) {
            run.erased.get_or_insert(seq);
        }
        if !matches!(node.kind, NodeKind::User | NodeKind::Assistant { .. } | NodeKind::Malformed) {
            continue;
        }
        whole.load(at.scoped(), node.event).await?;
        let mut step = match whole.get(node.event) {
            Some(EventKind::MessageQueued(data)) => RecordedStep::said(data.parts.clone()),
            Some(EventKind::RewindRequested(data)) => RecordedStep::said(data.parts.clone().unwrap_or_default()),
            Some(EventKind::ModelFinished(data)) => {
                let data = data.clone();
                for call in data.calls() {
                    let Some(event) = ends.results.get(&call.id) else { continue };
                    if gone.contains(event) {
                        run.erased.get_or_insert(seq);
                    }
                    whole.load(at.scoped(), *event).await?;
                }
                RecordedStep::Answered(Box::new(answer(&data, &ends, &whole)))
            }
            Some(EventKind::ModelMalformed(data)) => RecordedStep::Answered(Box::new(malformed(data))),
            Some(EventKind::MessageImported(data)) => {
                run.is_imported = true;
                imported(data)
            }
            _ => continue,
        };
        in_text(&mut step);
        run.steps.push(step);
    }
    Ok(run)
}

/// A message of another program. Its calls ran there, and nobody knows what rules said.
fn imported(data: &MessageImported) -> RecordedStep {
    if data.role != Role::Assistant {
        return RecordedStep::said(data.said());
    }
    let mut results = data.results();
    let calls = data.parts.iter().filter_map(|part| match part {
        Part::ToolCall { name, arguments, .. } => {
            let result = results.next();
            let is_error = result.is_some_and(|(_, is_error)| is_error);
            Some(CallStep {
                tool: name.clone(),
                arguments: arguments.clone(),
                written: None,
                verdict: None,
                rule: String::new(),
                approved: false,
                approved_for: None,
                resolution: result.map(|_| if is_error { Resolution::Error } else { Resolution::Ok }),
                output: result.map(|(content, _)| ToolOutput { content: content.to_vec(), ..ToolOutput::text("") }),
                reason: None,
                children: Vec::new(),
            })
        }
        _ => None,
    });
    let calls = calls.collect();
    let usage =
        data.recorded.as_ref().and_then(|recorded| recorded.spent).map_or(Usage::default(), |spent| spent.usage);
    let parts = data.said();
    let (stop, ends) = (StopReason::End, Vec::new());
    RecordedStep::Answered(Box::new(RecordedAnswer { parts, usage, stop, malformed: false, calls, ends }))
}

/// What is no text, as a word in brackets.
fn in_text(step: &mut RecordedStep) {
    let change = |part: &mut Part| {
        let what = match part {
            Part::Image { .. } => "[image]".to_owned(),
            Part::Audio { .. } => "[sound]".to_owned(),
            Part::Document { name, .. } => format!("[document {}]", name.as_deref().unwrap_or_default()),
            Part::StoredText { bytes, .. } => format!("[{bytes} bytes that are not at hand]"),
            _ => return,
        };
        *part = Part::text(what);
    };
    match step {
        RecordedStep::Said { parts, .. } => parts.iter_mut().for_each(change),
        RecordedStep::Answered(answer) => {
            answer.parts.iter_mut().for_each(change);
            let outputs = answer.calls.iter_mut().filter_map(|call| call.output.as_mut());
            outputs.flat_map(|output| &mut output.content).for_each(change);
        }
    }
}
