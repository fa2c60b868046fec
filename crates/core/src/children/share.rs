//! What a child is given of its parent's budgets.

use crate::{Run, State};
use mainpath_types::{Limits, Micros, Share};

/// Of what is left, this many hundredths go to children: the parent has to say what came of it.
const FOR_CHILDREN: u64 = 80;

/// What children hold of a run's budgets: it counts as used until they have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    pub tokens: u64,
    pub money: Micros,
    pub calls: u32,
    pub children: u16,
}

pub(crate) fn held(state: &State) -> Held {
    state.children.open().fold(Held::default(), |held, child| Held {
        tokens: held.tokens.saturating_add(child.share.tokens.unwrap_or_default()),
        money: held.money.saturating_add(child.share.money.unwrap_or_default()),
        calls: held.calls.saturating_add(child.share.calls.unwrap_or_default()),
        children: held.children.saturating_add(child.share.children),
    })
}

/// How many agents a run may still start.
pub(crate) fn children_left(state: &State, run: &Run, limits: &Limits) -> u16 {
    limits.children.in_all.saturating_sub(run.children).saturating_sub(held(state).children)
}

/// The share of a child that is started now, where so many of its call are still to start, it among them. `None`: nothing is left
/// to give.
pub(crate) fn carve(state: &State, run: &Run, limits: &Limits, waiting: u16) -> Option<Share> {
    let (held, waiting) = (held(state), u64::from(waiting.max(1)));
    let part = |left: u64| left.saturating_mul(FOR_CHILDREN) / 100 / waiting;
    let tokens = limits.tokens.map(|most| part(most.saturating_sub(run.usage.total()).saturating_sub(held.tokens)));
    let money = limits.money.map(|most| part(most.saturating_sub(run.cost).saturating_sub(held.money)));
    let calls = limits.calls.map(|most| most.saturating_sub(run.calls).saturating_sub(held.calls));
    let calls = calls.map(|left| u32::try_from(part(left.into())).unwrap_or(u32::MAX));
    let used = run.worked(state.log.now).saturating_add(run.children_ms);
    let time_ms = limits.run_timeout_ms.map(|most| most.saturating_sub(used));
    let left = children_left(state, run, limits).saturating_sub(1);
    let depth = limits.children.depth.saturating_sub(1);
    let children = match depth {
        0 => 0,
        _ => u16::try_from(u64::from(left) / waiting).unwrap_or(u16::MAX),
    };
    // 0 would mean that there is no limit.
    let has_some = tokens != Some(0) && money != Some(0) && calls != Some(0) && time_ms != Some(0);
    has_some.then_some(Share { tokens, money, time_ms, calls, children, depth })
}
