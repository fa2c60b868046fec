//! What is left out of the requests to come, and when. Decided from heads alone, recorded as an event, never computed again.
//!
//! A section may be larger than its share as long as the request is not nearly full. Then go messages of finished goals, for which
//! their summaries stand, and the oldest tool outputs down to their long-term line, which can be recalled. All else goes only with
//! a summary in its place. The task, what people demand, the newest turn and open calls never go.

use crate::context::compact;
use crate::context::cut::expand;
use crate::context::leaving::{crowded, first_kept, too_many};
use crate::context::loss::{EXCERPT, Loss, saves};
use crate::context::room::Room;
use crate::{Node, NodeKind, Run, SpecHead, State};
use mainpath_types::{
    CallId, ContextCut, CutCause, EventKind, FinishReason, Finished, Remedy, RunClosing, Seq, Shortened, SummaryMode,
};

/// What keeps the next request inside the window: a cut, a summary, or else the end of the run.
pub(crate) fn due(state: &State, run: &Run, spec: &SpecHead) -> Option<EventKind> {
    let (room, tokens) = (Room::of(spec), state.request_tokens());
    let too_large = tokens > room.most;
    let tried = run.compacted_at == Some(run.turns) && run.summary_next.is_none();
    let summary = || compact::opened(state, run, spec).into();
    if let Some(loss) = too_many(state, spec) {
        return Some(if tried { loss.cut(CutCause::Window).into() } else { summary() });
    }
    if too_large && let Some(cut) = giants(state, &room) {
        return Some(cut.into());
    }
    if run.remedy == Some(Remedy::Cut) || (too_large && run.asking) {
        let helps = !tried && compact::shrinks(state, spec, true);
        return Some(if helps { summary() } else { last_resort(state, run, spec) });
    }
    if let Some(cut) = state.context.expand.and_then(|by| expand(state, by).ok()) {
        return Some(cut.into());
    }
    if run.asking {
        return None;
    }
    if state.context.compaction.is_some() || run.summary_next.is_some() {
        return Some(summary());
    }
    if spec.limits.finished_goals == Finished::EveryTurn && state.context.unswept {
        let mut loss = Loss::new(state);
        loss.omit_finished_goals();
        if loss.saved > 0 {
            return Some(loss.cut(CutCause::Goals).into());
        }
    }
    let once = state.tree.once_due(state.tree.head);
    if once > 0 && pays(state, once) {
        return Some(Loss::new(state).cut(CutCause::Once).into());
    }
    if tokens <= room.full {
        return None;
    }
    let whole = state.tokens_to_cut();
    let left = |loss: &Loss<'_>| whole.saturating_sub(loss.saved);
    let loss = match spec.limits.summary {
        SummaryMode::Rules => crowded(state, &room),
        SummaryMode::Single | SummaryMode::Agent => Loss::light(state, |loss| left(loss) <= room.enough()),
    };
    // What does not fit is made to fit by the lightest means; there is time for a summary when it is full again.
    let asks = spec.limits.summary != SummaryMode::Rules;
    let enough = if too_large && asks { room.full } else { room.enough() };
    if !loss.needs_summary() && left(&loss) <= enough {
        return Some(loss.cut(CutCause::Full).into());
    }
    let grown = |to: u64| tokens >= to.saturating_add((room.most / 10).min(room.most.saturating_sub(to) / 2));
    let grown = too_large || state.context.summarised_to.is_none_or(grown);
    let fresh = run.compacted_at.is_none_or(|turns| turns < run.turns) && grown;
    // What does not fit goes only with a summary, however few messages there are; and so does what leaves no room to look back.
    let is_crowded = room.is_crowded_by(tokens);
    if fresh && (state.tree.shown_count(state.tree.head) > 4 || is_crowded && compact::shrinks(state, spec, true)) {
        return Some(summary());
    }
    too_large.then(|| last_resort(state, run, spec))
}

/// Whether it pays to show by its long-term line what has been shown once and takes so many tokens more: what comes after the
/// oldest of it has to be sent anew, and is less.
fn pays(state: &State, once: u64) -> bool {
    let tree = &state.tree;
    let held = tree.cut_at(tree.head);
    let current = tree.current_from(tree.head).unwrap_or(Seq(u32::MAX));
    let (mut after, mut found) = (0u64, 0u64);
    for (seq, node) in tree.up(tree.head) {
        if let NodeKind::Result(call) = node.kind
            && seq < current
            && held.and_then(|cut| cut.shortened(call)).is_none()
            && let Some(call) = state.calls.get(call).filter(|call| call.once)
        {
            found = found.saturating_add(saves(call).into());
        }
        after = after.saturating_add(node.tokens.into());
        if found >= once {
            return after <= once.saturating_mul(2);
        }
        if after > once.saturating_mul(2) {
            return false;
        }
    }
    false
}

/// Where no summary could be made, what is old goes without one; else the run ends.
fn last_resort(state: &State, run: &Run, spec: &SpecHead) -> EventKind {
    let loss = Loss::before(state, first_kept(state, spec, true));
    let helps = loss.first_kept.is_some() && loss.frees() > 0;
    if !run.compacted && helps { loss.cut(CutCause::Overflow).into() } else { too_much(state, run, spec) }
}

/// Whether the next request is small enough.
pub(crate) fn fits(state: &State, spec: &SpecHead) -> bool {
    state.request_tokens() <= Room::of(spec).most
}

/// The end of a run whose request cannot be made to fit, with the reason in words.
fn too_much(state: &State, run: &Run, spec: &SpecHead) -> EventKind {
    let (room, scale) = (Room::of(spec), spec.model().scale);
    let tokens = scale.real(state.request_tokens());
    let most = match spec.limits.context_chars {
        Some(chars) if Room::is_limited(spec) => {
            format!("the limit is {chars} characters, {} tokens", room.most)
        }
        _ => format!("the model's window leaves {}", scale.real(room.most)),
    };
    let why = if let (Some(Remedy::Cut), Some(chars)) = (run.remedy, spec.limits.context_chars) {
        format!(
            "the request is larger than the model's window, or than the limit of {chars} characters, and nothing of it can be \
             left out"
        )
    } else if run.remedy == Some(Remedy::Cut) {
        "the server says that the request is larger than the model's window, and nothing of it can be left out".into()
    } else if run.compacted_at.is_some() {
        format!("also after a summary a request would take about {tokens} tokens, and {most}")
    } else if run.turns == 0 {
        format!("the task and what goes with every request take about {tokens} tokens, and {most}")
    } else {
        format!("the next request would take about {tokens} tokens, {most}, and nothing more can be left out")
    };
    RunClosing { reason: FinishReason::ContextLimit, by: None, why: Some(why) }.into()
}

/// Results that alone take more than the newest turn's share, when the request does not fit: their beginning and end stay.
fn giants(state: &State, room: &Room) -> Option<ContextCut> {
    let (tree, share) = (&state.tree, room.share(room.shares.current));
    let held = tree.cut_at(tree.head);
    let is_giant = |node: &Node| match node.kind {
        NodeKind::Result(call) => {
            let whole = held.and_then(|cut| cut.shortened(call)).is_none();
            (whole && u64::from(node.tokens) > share).then_some(call)
        }
        _ => None,
    };
    let giants: Vec<CallId> = tree.kept(tree.head).filter_map(|(_, node)| is_giant(node)).collect();
    let each = share.checked_div(giants.len() as u64)?.max(EXCERPT.into());
    let mut loss = Loss::new(state);
    for call in giants {
        loss.shorten(Shortened { call, tokens: u32::try_from(each).unwrap_or(u32::MAX), excerpt: true });
    }
    (loss.saved > 0).then(|| loss.cut(CutCause::Full))
}
