//! Where the runs of a trace ended, beside its messages: somebody stopped one, a limit was reached, the model could not be called.

use mainpath_core::{NodeKind, State};
use mainpath_types::{Event, EventKind, FinishReason, Seq};
use std::collections::HashMap;

/// Why runs ended after a message of the main path, by its number, in their order. A final answer says for itself that its run ended.
pub(super) fn ends_of_runs(events: &[Event], state: &State) -> HashMap<Seq, Vec<FinishReason>> {
    let (mut ends, mut last) = (HashMap::<Seq, Vec<FinishReason>>::new(), None);
    for event in events {
        match &event.kind {
            EventKind::MessageJoined(data) => last = Some(data.seq),
            EventKind::ModelFinished(data) => last = Some(data.seq),
            EventKind::ModelMalformed(data) => last = Some(data.seq),
            EventKind::Rewound(data) => last = data.head,
            EventKind::RunFinished(data) if data.reason != FinishReason::Final => {
                if let Some(step) = step_at(state, last) {
                    ends.entry(step).or_default().push(data.reason);
                }
            }
            _ => {}
        }
    }
    ends
}

/// The step that a message of the main path belongs to: itself, or the one before it. `None`: it is on no path any more.
fn step_at(state: &State, seq: Option<Seq>) -> Option<Seq> {
    let seq = seq.filter(|seq| state.tree.is_on_path(state.tree.head, *seq))?;
    state.tree.up(Some(seq)).find(|(_, node)| is_step(node.kind)).map(|(seq, _)| seq)
}

/// Whether a message is a step of its run: something that was said or answered.
pub(super) fn is_step(kind: NodeKind) -> bool {
    matches!(kind, NodeKind::User | NodeKind::Assistant { .. } | NodeKind::Malformed)
}

/// Whether a run ends so by its limits: under other limits it might have gone on.
pub(super) fn is_limit(reason: FinishReason) -> bool {
    match reason {
        FinishReason::MaxTurns
        | FinishReason::MaxToolCalls
        | FinishReason::MaxScriptRuns
        | FinishReason::Timeout
        | FinishReason::TokenBudget
        | FinishReason::MoneyBudget
        | FinishReason::MaxOutput
        | FinishReason::ContextLimit
        | FinishReason::RepeatedFailure => true,
        FinishReason::Final
        | FinishReason::Stopped
        | FinishReason::ProtocolError
        | FinishReason::SchemaError
        | FinishReason::ApprovalNeeded
        | FinishReason::Denied
        | FinishReason::ModelError
        | FinishReason::ToolError
        | FinishReason::InternalError => false,
    }
}
