//! What goes when a summary takes its place: the first message that stays, and what of it can go without a model.

use crate::context::loss::{LAST, Loss};
use crate::context::room::Room;
use crate::conversation::tree::Start;
use crate::{Node, NodeKind, SpecHead, State};
use mainpath_types::{Seq, SummaryMode};

/// What a summary leaves free for what comes next, in hundredths of what a request may take.
pub(crate) const NEW: u8 = 15;

/// What a summary takes the place of: no more than it was made of.
pub(crate) fn leaving<'a>(state: &'a State, spec: &SpecHead, squeezes: bool, before: Option<Seq>) -> Loss<'a> {
    let mut loss = all_leaving(state, spec, squeezes);
    if let Some(before) = before {
        loss.keep_from(before);
    }
    loss
}

fn all_leaving<'a>(state: &'a State, spec: &SpecHead, squeezes: bool) -> Loss<'a> {
    let room = Room::of(spec);
    let is_crowded = || spec.limits.summary == SummaryMode::Rules && state.request_tokens() > room.full;
    if let Some(loss) = too_many(state, spec) {
        let squeezed = squeezes.then(|| Loss::before(state, first_kept(state, spec, true)));
        return squeezed.filter(|squeezed| squeezed.frees() > loss.frees()).unwrap_or(loss);
    }
    if !squeezes && is_crowded() {
        let loss = crowded(state, &room);
        if loss.needs_summary() {
            return loss;
        }
    }
    Loss::before(state, first_kept(state, spec, squeezes))
}

/// The first message that a summary keeps. What is newer takes half of what the newest turn and what is recent may, and leaves
/// room for something new to be said; the last exchanges stay whole where they leave that room too. It is what a person said,
/// unless much more fits that was done about it. Where the request does not fit, or a person wants it smaller, at most half of
/// what there is stays.
pub(crate) fn first_kept(state: &State, spec: &SpecHead, squeezes: bool) -> Option<Seq> {
    let room = Room::of(spec);
    let half = state.tree.shown_tokens(state.tree.head) / 2;
    let usual = (room.share(room.shares.recent) + room.share(room.shares.current)) / 2;
    let others = u64::from(spec.fixed_tokens) + room.share(room.shares.summary);
    let leaving = |new: u64| room.full.saturating_sub(others + new);
    let (wide, narrow) = (leaving(room.share(NEW)), leaving(room.share(NEW) / 2));
    let keep = usual.min(wide);
    let [keep, wide, narrow] =
        if squeezes { [keep, keep, narrow].map(|room| half.min(room)) } else { [keep, wide, narrow] };
    let starts: Vec<Start> = state.tree.starts(state.tree.head).collect();
    // The newest legal place if none fits.
    let free = starts.iter().take_while(|start| start.tokens <= keep).last().or(starts.first())?;
    let said = || starts.iter().filter(|start| start.is_said);
    let last = said().take(LAST + 1).take_while(|start| start.tokens <= wide).last();
    // The one before what is asked now, even if that leaves half as much room for what comes.
    let before = said().take(2).take_while(|start| start.tokens <= narrow).last();
    let said = said().take_while(|start| start.tokens <= keep).last();
    let asked = said.into_iter().chain(last).chain(before).max_by_key(|start| start.tokens);
    let chosen = asked.filter(|asked| asked.tokens.saturating_mul(2) >= free.tokens.min(keep)).unwrap_or(free);
    Some(chosen.seq)
}

/// What goes without a model once a request is nearly full. A summary may take its whole share.
pub(crate) fn crowded<'a>(state: &'a State, room: &Room) -> Loss<'a> {
    let (tokens, estimated) = (state.request_tokens(), state.tokens_to_cut());
    let light = |loss: &Loss<'_>| tokens.saturating_sub(loss.saved) <= room.enough();
    let mut goals = Loss::new(state);
    goals.omit_finished_goals();
    if light(&goals) {
        return goals;
    }
    let earlier = state.tree.cut_at(state.tree.head).map_or(0, |cut| u64::from(cut.tokens));
    let summary = room.share(room.shares.summary);
    let left = |loss: &Loss<'_>, of: u64| {
        let taken = if loss.needs_summary() { of.saturating_sub(earlier) + summary } else { of };
        taken.saturating_sub(loss.saved)
    };
    let just = room.full.saturating_sub(room.share(NEW) / 2);
    // The last exchanges stay while there is room to look back, also by what is told of the request after the cut.
    let just_fits = |loss: &Loss<'_>| left(loss, tokens) <= just && !room.is_crowded_by(left(loss, estimated));
    Loss::by_exchange(state, |loss| left(loss, tokens) <= room.enough(), just_fits)
}

/// More messages than the window holds: half of it goes at once, so that the prefix breaks seldom.
pub(crate) fn too_many<'a>(state: &'a State, spec: &SpecHead) -> Option<Loss<'a>> {
    let (tree, head) = (&state.tree, state.tree.head);
    let window = spec.limits.window_messages?;
    let most = window.saturating_add(state.context.window_extra);
    let shown = tree.shown_count(head);
    if shown <= most {
        return None;
    }
    let fits = |count: u32| count <= most - window / 2;
    let by = |loss: &Loss<'_>| fits(shown.saturating_sub(loss.messages));
    let mut loss = Loss::by_exchange(state, by, by);
    if !fits(shown.saturating_sub(loss.messages)) {
        // More than that was done about one question alone.
        let first = tree.kept(head).filter(|(_, node)| starts(node)).map(|(seq, _)| seq);
        let kept = |seq: Seq| tree.kept(head).take_while(|(at, _)| *at >= seq).count();
        let oldest = first.take_while(|seq| u32::try_from(kept(*seq)).is_ok_and(fits)).last();
        loss.first_kept = oldest.max(loss.first_kept);
    }
    (loss.frees() > 0).then_some(loss)
}

/// Whether what is shown may begin with a message.
fn starts(node: &Node) -> bool {
    matches!(node.kind, NodeKind::User | NodeKind::Assistant { .. })
}
