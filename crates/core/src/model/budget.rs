//! What the next request would use at most, and what a spent budget calls for.

use crate::children::share::held;
use crate::goals::reminders::standing;
use crate::{PACK_VERSION, Run, SpecHead, State};
use mainpath_types::{
    BranchKind, BudgetMode, EventKind, FinishReason, Micros, ModelRequested, Purpose, Remedy, RunClosing, Usage,
};

/// What a request would use at most: tokens and money.
fn reserve(state: &State, spec: &SpecHead) -> (u32, u64, Micros) {
    let model = spec.model();
    let input = model.scale.real(state.request_tokens());
    let output = u64::from(model.reserved_output);
    let cost = model.price.cost(&Usage { input, output, ..Usage::default() });
    (u32::try_from(input).unwrap_or(u32::MAX), input.saturating_add(output), cost)
}

/// The end, or the request for a last answer, that a spent budget calls for.
pub(crate) fn budget(state: &State, run: &Run, spec: &SpecHead) -> Option<EventKind> {
    let (limits, (_, tokens, cost)) = (&spec.limits, reserve(state, spec));
    let soft = limits.budget == BudgetMode::Soft;
    // A soft budget may be overrun by what is under way; a hard one is never.
    let (more_tokens, more_cost) = if soft { (1, 1) } else { (tokens, cost) };
    // What children hold is not there to be used.
    let held = held(state);
    let (used, paid) = (run.usage.total().saturating_add(held.tokens), run.cost.saturating_add(held.money));
    let reason = if limits.tokens.is_some_and(|most| used.saturating_add(more_tokens) > most) {
        FinishReason::TokenBudget
    } else if limits.money.is_some_and(|most| paid.saturating_add(more_cost) > most) {
        FinishReason::MoneyBudget
    } else {
        return None;
    };
    let may_ask = soft && state.branch.is_none() && run.turns > 0;
    Some(if may_ask { request(state, spec, Some(reason)) } else { closing(reason) })
}

pub(crate) fn request(state: &State, spec: &SpecHead, last: Option<FinishReason>) -> EventKind {
    let (input, reserve, reserve_cost) = reserve(state, spec);
    let (request, head) = (state.counts.requests.saturating_add(1), state.tip());
    let minimal = state.run.as_ref().is_some_and(|run| run.remedy == Some(Remedy::Minimal));
    let standing = standing(state, spec).filter(|_| !minimal);
    let purpose = state.branch.map(|branch| match branch.kind {
        BranchKind::Compaction if branch.reflects => Purpose::Reflection,
        BranchKind::Compaction => Purpose::Summary,
        BranchKind::Repair => Purpose::Repair,
        BranchKind::Aside => Purpose::LookBack,
    });
    let pack = PACK_VERSION;
    ModelRequested { request, head, pack, input, reserve, reserve_cost, last, minimal, standing, purpose }.into()
}

/// The end of a run for want of something.
pub(crate) fn closing(reason: FinishReason) -> EventKind {
    RunClosing { reason, by: None, why: None }.into()
}
