//! What the driver makes of the log: the summary that needs no model, and answers to a model that looks back.

use crate::driver::Driver;
use crate::driver::error::DriveError;
use crate::driver::running_summary::RunningSummary;
use crate::internal::settle::{SettleInput, needs_log, settle};
use crate::prompt::texts::{Events, Hydrated};
use mainpath_core::{InputKind, Log, NodeKind, Reply, Summary, model_summary, summary_input};
use mainpath_store::{StoreError, TraceStore};
use mainpath_types::{EventId, Keeps, Seq};

impl Driver {
    /// Settles an answer: its calls of internal tools are answered, from the log where that holds what they show.
    pub(super) async fn settle(&mut self, reply: Box<Reply>, task: Option<String>) -> Result<InputKind, DriveError> {
        let store = self.store();
        let log: Log = match needs_log(&reply) {
            true => self.trace_store().read(1).await?.events.into_iter().collect(),
            false => Log::default(),
        };
        let (state, tools) = (self.machine.state(), &self.shared.config.tools);
        Ok(settle(reply, SettleInput { state, tools, task, log: &log, store }).await)
    }

    /// The summary by rules of the main path, of at most so many tokens, or of it what a model's words do not tell. A text that is
    /// not there any more is not in it.
    pub(super) async fn summarise(
        &mut self,
        most: u32,
        below: Option<EventId>,
        keeps: &Keeps,
    ) -> Result<InputKind, DriveError> {
        let mut running = self.summary.take().unwrap_or_default();
        let (trace, state) = (self.trace_store(), self.machine.state());
        let (head, upto) = (state.tree.head, running.upto);
        let mut new: Vec<(Seq, EventId)> = state
            .tree
            .up(head)
            .take_while(|(seq, _)| Some(*seq) != upto)
            .map(|(seq, node)| (seq, node.event))
            .collect();
        new.reverse();
        let before = new.first().map_or(head, |(first, _)| state.tree.node(*first).and_then(|node| node.parent));
        if before != upto {
            // Another path than the one that was read: from its beginning.
            *running = RunningSummary::default();
        }
        // A result is told with its tool's name, which its call's answer has.
        let called = |seq: Seq| match state.tree.node(seq)?.kind {
            NodeKind::Result(call) => Some(state.tree.node(call.seq)?.event),
            _ => None,
        };
        let from = new.iter().map(|(seq, event)| called(*seq).map_or(*event, |called| called.min(*event))).min();
        if let Some(from) = from {
            let log = trace.read(from).await?;
            let bodies = Events(&log.events);
            for (seq, event) in new {
                // One at a time: a long conversation is not held in memory.
                let mut whole = Hydrated::new(&bodies);
                match whole.load(trace.scoped(), event).await {
                    Ok(()) | Err(StoreError::NoBlob { .. } | StoreError::Damaged(_)) => {
                        running.found.take(state, &whole, seq);
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
        running.upto = head;
        let by_model = state.tree.cut_at(head).and_then(|cut| cut.by_model);
        let known = running.earlier.as_ref().map(|(event, _)| *event);
        if by_model != known {
            running.earlier = None;
        }
        if let Some(event) = by_model.filter(|event| known != Some(*event)) {
            running.earlier = Some((event, words(trace, event).await?));
        }
        let earlier = running.earlier.as_ref().and_then(|(_, text)| text.clone());
        let found = Summary { earlier, ..running.found.clone() };
        let words = match below {
            Some(event) => Some(words(trace, event).await?.unwrap_or_default()),
            None => None,
        };
        self.summary = Some(running);
        Ok(summary_input(found, words.as_deref(), most, keeps))
    }
}

/// What a model wrote as a summary, so far as it is there.
async fn words(trace: TraceStore<'_>, event: EventId) -> Result<Option<String>, StoreError> {
    let log = trace.read(event).await?;
    let bodies = Events(&log.events);
    let mut whole = Hydrated::new(&bodies);
    match whole.load(trace.scoped(), event).await {
        Ok(()) | Err(StoreError::NoBlob { .. } | StoreError::Damaged(_)) => {}
        Err(error) => return Err(error),
    }
    Ok(model_summary(&whole, event))
}
