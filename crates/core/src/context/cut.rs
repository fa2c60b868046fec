//! What is left out of the requests to come, and when. Decided from heads alone, recorded as an event, never computed again.
//!
//! A section may be larger than its share as long as the request is not nearly full. Then go messages of finished goals, for which
//! their summaries stand, and the oldest tool outputs down to their long-term line, which can be recalled. All else goes only with
//! a summary in its place. The task, what people demand, the newest turn and open calls never go.

use crate::context::compact;
use crate::context::loss::{EXCERPT, Loss, saves};
use crate::{Cut, Node, NodeKind, Refusal, Run, SpecHead, State};
use mainpath_types::*;
use std::collections::BTreeSet;

/// A request this full, in hundredths of the window, is cut or summarised.
const FULL: u64 = 80;
/// The same of what a request may take, where the window leaves less than that.
const CROWDED: u64 = 95;
/// A cut is worth it if it brings the request down to so many hundredths of what it may take.
const ENOUGH: u64 = 60;
/// Characters of a token, where characters are limited. Wide scripts have fewer.
const CHARS_A_TOKEN: u64 = 4;
/// What the JSON around a message takes in the widest format, its call or the call that it answers included, beyond what is
/// estimated of it: about 130 characters, in tokens. What escapes make longer is seen when the body is made.
pub(crate) const AROUND: u64 = 32;

/// How large a request may be, in estimated tokens: the model's own are scaled down to them.
pub(crate) struct Room {
    /// At most.
    pub most: u64,
    /// Beyond this it is nearly full.
    pub full: u64,
    /// The shares of its sections.
    pub shares: Shares,
}

impl Room {
    pub fn of(spec: &SpecHead) -> Room {
        let model = spec.model();
        let window = u64::from(model.context_window);
        let chars = spec.limits.context_chars.map_or(u64::MAX, |chars| u64::from(chars) / CHARS_A_TOKEN);
        let leaves = window.saturating_sub(model.reserved_output.into());
        let most = model.scale.estimated(leaves).min(chars);
        let full = model.scale.estimated(window).min(chars).saturating_mul(FULL) / 100;
        // Where the answer's part is a large one: there is always room to ask for a summary, and to look back.
        let full = full.min(most.saturating_mul(CROWDED) / 100);
        Room { most, full, shares: spec.limits.shares }
    }

    /// Whether it is the owner's limit in characters that bounds it, and not the model's window.
    pub fn is_limited(spec: &SpecHead) -> bool {
        let limits = Limits { context_chars: None, ..spec.limits.clone() };
        Room::of(spec).most < Room::of(&SpecHead { limits, ..spec.clone() }).most
    }

    /// A section's share.
    pub fn share(&self, hundredths: u8) -> u64 {
        self.most.saturating_mul(hundredths.into()) / 100
    }

    fn enough(&self) -> u64 {
        self.most.saturating_mul(ENOUGH) / 100
    }
}

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
    if let Some(cut) = state.expand.and_then(|by| expand(state, by).ok()) {
        return Some(cut.into());
    }
    if run.asking {
        return None;
    }
    if state.compaction.is_some() || run.summary_next.is_some() {
        return Some(summary());
    }
    if spec.limits.finished_goals == Finished::EveryTurn && state.unswept {
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
    let loss = match spec.limits.summary {
        SummaryMode::Rules => crowded(state, &room),
        SummaryMode::Single | SummaryMode::Agent => {
            Loss::light(state, |loss| tokens.saturating_sub(loss.saved) <= room.enough())
        }
    };
    // What does not fit is made to fit by the lightest means; there is time for a summary when it is full again.
    let asks = spec.limits.summary != SummaryMode::Rules;
    let enough = if too_large && asks { room.full } else { room.enough() };
    if !loss.needs_summary() && tokens.saturating_sub(loss.saved) <= enough {
        return Some(loss.cut(CutCause::Full).into());
    }
    let grown = |to: u64| tokens >= to.saturating_add((room.most / 10).min(room.most.saturating_sub(to) / 2));
    let grown = too_large || state.summarised_to.is_none_or(grown);
    let fresh = run.compacted_at.is_none_or(|turns| turns < run.turns) && grown;
    // What does not fit goes only with a summary, however few messages there are.
    if fresh && (state.tree.shown_count(state.tree.head) > 4 || too_large && compact::shrinks(state, spec, true)) {
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

/// What goes without a model once a request is nearly full. A summary may take its whole share.
fn crowded<'a>(state: &'a State, room: &Room) -> Loss<'a> {
    let tokens = state.request_tokens();
    let light = |loss: &Loss<'_>| tokens.saturating_sub(loss.saved) <= room.enough();
    let mut goals = Loss::new(state);
    goals.omit_finished_goals();
    if light(&goals) {
        return goals;
    }
    let earlier = state.tree.cut_at(state.tree.head).map_or(0, |cut| u64::from(cut.tokens));
    let rest = tokens.saturating_sub(earlier) + room.share(room.shares.summary);
    let fits = |loss: &Loss<'_>, most: u64| {
        let taken = if loss.needs_summary() { rest } else { tokens };
        taken.saturating_sub(loss.saved) <= most
    };
    let just = room.full.saturating_sub(room.share(compact::NEW) / 2);
    Loss::by_exchange(state, |loss| fits(loss, room.enough()), |loss| fits(loss, just))
}

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
        let squeezed = squeezes.then(|| Loss::before(state, compact::first_kept(state, spec, true)));
        return squeezed.filter(|squeezed| squeezed.frees() > loss.frees()).unwrap_or(loss);
    }
    if !squeezes && is_crowded() {
        let loss = crowded(state, &room);
        if loss.needs_summary() {
            return loss;
        }
    }
    Loss::before(state, compact::first_kept(state, spec, squeezes))
}

/// Where no summary could be made, what is old goes without one; else the run ends.
fn last_resort(state: &State, run: &Run, spec: &SpecHead) -> EventKind {
    let loss = Loss::before(state, compact::first_kept(state, spec, true));
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

/// More messages than the window holds: half of it goes at once, so that the prefix breaks seldom.
pub(crate) fn too_many<'a>(state: &'a State, spec: &SpecHead) -> Option<Loss<'a>> {
    let (tree, head) = (&state.tree, state.tree.head);
    let window = spec.limits.window_messages?;
    let most = window.saturating_add(state.window_extra);
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

/// Shows `by` more messages of those that are left out, the newest first, with the rest of a call group that this would split, as
/// far as there is room. A quarter of the room stays free: the next look back needs some.
pub fn expand(state: &State, by: u32) -> Result<ContextCut, Refusal> {
    let (tree, head) = (&state.tree, state.tree.head);
    let cut = tree.cut_at(head).ok_or(Refusal::NothingCut)?;
    let floor = tree.floor(head);
    let left_out = |(seq, node): &(Seq, &Node)| {
        let is_out = if *seq < floor { !cut.keeps.pinned.contains(seq) } else { cut.omits(*seq) };
        !matches!(node.kind, NodeKind::Cut | NodeKind::Injected) && is_out
    };
    let free = state.coming_spec().map_or(0, |spec| Room::of(spec).full.saturating_sub(state.request_tokens()));
    let free = free - free / 4;
    let (mut shown, mut taken, mut size) = (BTreeSet::new(), 0, 0u64);
    let mut group: Vec<Seq> = Vec::new();
    for (seq, node) in tree.up(head).filter(left_out) {
        if taken >= by && group.is_empty() {
            break;
        }
        group.push(seq);
        size += u64::from(node.tokens);
        taken += 1;
        if !matches!(node.kind, NodeKind::Result(_)) {
            if size > free {
                break;
            }
            shown.extend(group.drain(..));
        }
    }
    let oldest = *shown.first().ok_or(if taken > 0 { Refusal::NoRoom(size, free) } else { Refusal::NothingCut })?;
    let mut loss = Loss::new(state);
    loss.gone.retain(|seq| !shown.contains(seq));
    loss.first_kept = Some(oldest.min(floor).max(Seq(1)));
    Ok(loss.cut(CutCause::Expand))
}

impl State {
    pub(crate) fn context_cut(&mut self, event: EventId, data: &ContextCut) {
        let above = self.tree.cut_at(self.tree.head).cloned().unwrap_or_default();
        let summary = if data.note.is_some() { Some(event) } else { above.base };
        let note = data.note.as_ref().map_or(0, |note| note.tokens);
        let tokens = above.base_tokens.saturating_add(note);
        let Cut { base, base_tokens, by_model, .. } = above;
        let keeps = data.keeps.clone();
        self.cut(event, Cut { keeps, summary, tokens, base, base_tokens, by_model, ..Cut::default() });
        // What was asked for is shown until half a window more has been said.
        let window = self.coming_spec().and_then(|spec| spec.limits.window_messages);
        let shown = self.tree.shown_count(self.tree.head);
        match (data.cause, window) {
            (CutCause::Expand, Some(most)) => self.window_extra = (shown + most / 2).saturating_sub(most),
            (CutCause::Expand | CutCause::Window | CutCause::Overflow, _) => self.window_extra = 0,
            (CutCause::Goals | CutCause::Full | CutCause::Once, _) => {}
        }
        if data.cause == CutCause::Expand {
            self.expand = None;
        }
        if data.cause == CutCause::Overflow
            && let Some(run) = &mut self.run
        {
            (run.remedy, run.compacted_at) = (None, Some(run.turns));
        }
    }

    pub(crate) fn cut(&mut self, event: EventId, cut: Cut) {
        self.tree.push_cut(event, cut);
        self.counted = None;
        let reminded = || self.tree.up(self.tree.head).any(|(_, node)| node.kind == NodeKind::Injected);
        self.plan_hidden = !self.goals.is_empty() && (self.plan_changed || !reminded());
        // The newest turn was left as it is, whatever it serves.
        let goals = &self.goals;
        let finished = |node: &Node| node.goal.and_then(|goal| goals.get(goal)).is_some_and(Goal::is_finished);
        let current = self.tree.current_from(self.tree.head).unwrap_or(Seq(u32::MAX));
        self.unswept =
            self.tree.up(self.tree.head).take_while(|(seq, _)| *seq >= current).any(|(_, node)| finished(node));
    }
}
