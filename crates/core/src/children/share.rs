//! What a child is given of its parent's budgets.

use super::Child;
use crate::{Run, State};
use mainpath_types::{CallId, EffectClass, Limits, Micros, Share};

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

impl Held {
    fn of<'a>(children: impl Iterator<Item = &'a Child>) -> Held {
        children.fold(Held::default(), |held, child| Held {
            tokens: held.tokens.saturating_add(child.share.tokens.unwrap_or_default()),
            money: held.money.saturating_add(child.share.money.unwrap_or_default()),
            calls: held.calls.saturating_add(child.share.calls.unwrap_or_default()),
            children: held.children.saturating_add(child.share.children),
        })
    }
}

pub(crate) fn held(state: &State) -> Held {
    Held::of(state.children.open())
}

/// How many agents a run may still start.
pub(crate) fn children_left(state: &State, run: &Run, limits: &Limits) -> u16 {
    limits.children.in_all.saturating_sub(run.children).saturating_sub(held(state).children)
}

/// The children that one answer of the model asks for: they get equal shares, in whatever order they start.
struct Siblings {
    /// The number of those that have not ended, the ones that are still to start among them.
    count: u64,
    /// The budgets that running children hold.
    held: Held,
}

/// The siblings of a child that is started now for a call that has this number still to start, it among them.
fn siblings(state: &State, call: CallId, to_start: u16) -> Siblings {
    let others = state
        .calls
        .of(call.seq)
        .iter()
        .filter(|other| other.id != call && other.effect == EffectClass::StartChild && !other.state.is_done());
    let to_start = others.fold(u64::from(to_start.max(1)), |count, other| {
        // Before the first child has started, the count is unknown.
        let of = state.children.of(other.id).next().map_or(1, |child| child.of);
        let started = state.children.of(other.id).count() as u64;
        count.saturating_add(u64::from(of).saturating_sub(started))
    });
    let open = || state.children.open().filter(|child| child.call.seq == call.seq);
    Siblings { count: to_start.saturating_add(open().count() as u64), held: Held::of(open()) }
}

/// The share of a child that is started now for a call that has this number still to start, it among them. `None`: nothing is left to give.
pub(crate) fn carve(state: &State, run: &Run, limits: &Limits, call: CallId, to_start: u16) -> Option<Share> {
    let (held, siblings) = (held(state), siblings(state, call, to_start));
    // Of what is left and what its siblings hold, each of them has the same part.
    let part = |left: u64, siblings_hold: u64| {
        let equal = left.saturating_add(siblings_hold).saturating_mul(FOR_CHILDREN) / 100 / siblings.count;
        equal.min(left)
    };
    let tokens = limits
        .tokens
        .map(|most| part(most.saturating_sub(run.usage.total()).saturating_sub(held.tokens), siblings.held.tokens));
    let money =
        limits.money.map(|most| part(most.saturating_sub(run.cost).saturating_sub(held.money), siblings.held.money));
    let calls = limits.calls.map(|most| {
        let left = most.saturating_sub(run.calls).saturating_sub(held.calls);
        u32::try_from(part(left.into(), siblings.held.calls.into())).unwrap_or(u32::MAX)
    });
    let time_ms = run.time_left(limits, state.log.now);
    let left = children_left(state, run, limits).saturating_sub(1);
    let depth = limits.children.depth.saturating_sub(1);
    let children = match depth {
        0 => 0,
        _ => {
            let equal = (u64::from(left) + u64::from(siblings.held.children)) / siblings.count;
            u16::try_from(equal.min(left.into())).unwrap_or(u16::MAX)
        }
    };
    // 0 would mean that there is no limit.
    let has_some = tokens != Some(0) && money != Some(0) && calls != Some(0) && time_ms != Some(0);
    has_some.then_some(Share { tokens, money, time_ms, calls, children, depth })
}
