//! What a model said, or why it said nothing.

use crate::context::aside;
use crate::error::Decided;
use crate::run::progress::{Outcome, made, text_result};
use crate::{ModelCall, Refusal, Reply, State, estimate_parts};
use mainpath_types::{
    Breach, GoalOp, Millis, ModelAbandoned, ModelError, ModelErrorKind, ModelFailed, ModelFinished, ModelMalformed,
    Part, PlannedCall, Remedy, Seq, Usage,
};

pub(crate) fn awaited(state: &State, request: u32) -> Result<&ModelCall, Refusal> {
    state.model.as_ref().filter(|model| model.request == request).ok_or(Refusal::StaleRequest(request))
}

pub(crate) fn unsent(state: &State, request: u32) -> Decided {
    let request = awaited(state, request)?.request;
    let (usage, cost) = (Usage::default(), 0);
    Ok(ModelAbandoned { request, lost: false, usage, cost, spent: None }.into())
}

/// The vendor's count, and whether it is whole; what it does not say was estimated. No request is empty, nor what it cost to
/// answer.
fn used(model: &ModelCall, reply: &Reply) -> (Usage, bool) {
    let said = reply.usage.unwrap_or_default();
    let or = |said: u64, estimate: u32| if said > 0 { said } else { estimate.into() };
    let output = if reply.parts.is_empty() { said.output } else { or(said.output, reply.tokens) };
    let likely = u32::try_from(model.likely).unwrap_or(u32::MAX);
    let usage = Usage { input: or(said.input, likely), output, ..said };
    (usage, usage == said)
}

pub(crate) fn answer(state: &State, at: Millis, reply: &Reply) -> Decided {
    let model = awaited(state, reply.request)?;
    let (usage, counted) = used(model, reply);
    let finished = ModelFinished {
        request: reply.request,
        seq: state.tree.next_seq(),
        parts: reply.parts.clone(),
        calls: told_of_repeats(state, reply),
        goals: carried_out(state, &reply.goals),
        stop: reply.stop,
        tolerated: reply.tolerated,
        tokens: reply.tokens,
        usage,
        counted,
        cost: state.price_of(&usage),
        elapsed_ms: at.saturating_sub(model.since),
        sent: reply.sent.clone(),
        aside: reply.aside && aside::may(state, reply),
        expand: reply.expand,
    };
    Ok(finished.into())
}

/// The calls of an answer; of those that have ended already the model is told which it makes again and again.
fn told_of_repeats(state: &State, reply: &Reply) -> Vec<PlannedCall> {
    let mut reply = reply.clone();
    for call in reply.calls_mut() {
        let result = call.planned.ended().map(|(_, text)| text_result(text));
        call.planned.repeated = result.map_or(0, |result| repeats(state, made(call.written), result));
    }
    reply.calls
}

/// How often a call has come to the same by now, if the model is to be told.
pub(crate) fn repeats(state: &State, call: u64, result: Outcome) -> u32 {
    let (Some(run), Some(limits)) = (&state.run, state.limits()) else { return 0 };
    run.progress.to_tell(call, result, state.counts.requests, limits.repeated_failures)
}

/// The operations that the plan allows: it may have changed since they were read.
fn carried_out(state: &State, ops: &[GoalOp]) -> Vec<GoalOp> {
    if ops.is_empty() {
        return Vec::new();
    }
    let (mut plan, head) = (state.goals.clone(), Some(state.tree.next_seq()));
    ops.iter().filter(|op| plan.change(op, head).is_ok()).cloned().collect()
}

pub(crate) fn malformed(
    state: &State,
    at: Millis,
    reply: &Reply,
    problem: &str,
    breach: Breach,
    repair_tokens: u32,
) -> Decided {
    let model = awaited(state, reply.request)?;
    let (usage, counted) = used(model, reply);
    let seq = state.tree.next_seq();
    let malformed = ModelMalformed {
        request: reply.request,
        seq,
        repair_seq: Seq(seq.0.saturating_add(1)),
        parts: reply.parts.clone(),
        problem: problem.into(),
        breach,
        tokens: reply.tokens,
        repair_tokens,
        usage,
        about: !counted,
        cost: state.price_of(&usage),
        elapsed_ms: at.saturating_sub(model.since),
        sent: reply.sent.clone(),
    };
    Ok(malformed.into())
}

/// A request of which the vendor says what it used is charged that, another that may have run in full; one that the server
/// refused is free. What is shown to people of the second is an estimate of what was really used.
pub(crate) fn model_failed(
    state: &State,
    request: u32,
    error: &ModelError,
    retry_at: Option<Millis>,
    usage: Option<Usage>,
    received: u32,
) -> Decided {
    let model = awaited(state, request)?;
    let failures = state.run.as_ref().map_or(0, |run| run.model_failures);
    let retries = state.limits().map_or(0, |limits| limits.model_retries);
    let may_retry = error.kind.is_retryable() && failures < retries;
    let (charged, spent) = match (usage, error.kind) {
        (Some(usage), _) => ((usage, state.price_of(&usage)), None),
        (None, ModelErrorKind::Timeout | ModelErrorKind::StreamCut) => {
            (state.reserved(model), Some(state.spent_on(model, received)))
        }
        // It had begun to answer when it broke off.
        (None, _) if received > 0 => (state.reserved(model), Some(state.spent_on(model, received))),
        (None, _) => ((Usage::default(), 0), None),
    };
    let (usage, cost) = charged;
    let retry_at = retry_at.filter(|_| may_retry);
    let remedy = if retry_at.is_none() { remedy(state, model, error.kind) } else { None };
    Ok(ModelFailed { request, error: error.clone(), retry_at, remedy, usage, cost, spent }.into())
}

/// What may help where the same request would fail again. Each is tried once: the least context in a run's first turn, half
/// the context once a turn, every fallback model once a run.
fn remedy(state: &State, model: &ModelCall, kind: ModelErrorKind) -> Option<Remedy> {
    use ModelErrorKind::*;
    let run = state.run.as_ref().filter(|run| run.closing.is_none())?;
    let spec = state.spec.as_ref()?;
    let on_path = state.branch.is_none();
    match kind {
        NotFound if on_path && run.turns == 1 && run.model_failures == 0 => Some(Remedy::Minimal),
        Overflow if on_path && run.compacted_at != Some(run.turns) => Some(Remedy::Cut),
        Overflow | ContentFilter => None,
        _ if spec.using + 1 < spec.models.len() && !model.last => Some(Remedy::Fallback),
        _ => None,
    }
}

/// Takes what a `ModelFinished` left out from the draft's text.
pub(crate) fn fill(reply: &Reply, text: &str) -> Reply {
    let parts = vec![Part::text(text)];
    Reply { tokens: estimate_parts(&parts), parts, ..reply.clone() }
}
