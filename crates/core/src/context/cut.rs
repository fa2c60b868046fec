//! A cut: recorded as an event, never computed again. And the way back: more of what was left out is shown.

use crate::context::loss::Loss;
use crate::context::room::Room;
use crate::{Cut, Node, NodeKind, Refusal, State};
use mainpath_types::{ContextCut, CutCause, EventId, Goal, Seq};
use std::collections::BTreeSet;

/// Shows `by` more messages of those that are left out, the newest first, with the rest of a call group that this would split, as
/// far as there is room. A quarter of the room stays free: the next look back needs some.
pub fn expand(state: &State, by: u32) -> Result<ContextCut, Refusal> {
    let (tree, head) = (&state.tree, state.tree.head);
    let cut = tree.cut_at(head).ok_or(Refusal::NothingCut)?;
    let floor = tree.floor(head);
    let left_out = |(seq, node): &(Seq, &Node)| {
        let is_out = if *seq < floor { !cut.keeps.pinned.contains(seq) } else { cut.omits(*seq) };
        !matches!(node.kind, NodeKind::Cut | NodeKind::Injected | NodeKind::Skill) && is_out
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
            (CutCause::Expand, Some(most)) => self.context.window_extra = (shown + most / 2).saturating_sub(most),
            (CutCause::Expand | CutCause::Window | CutCause::Overflow, _) => self.context.window_extra = 0,
            (CutCause::Goals | CutCause::Full | CutCause::Once, _) => {}
        }
        if data.cause == CutCause::Expand {
            self.context.expand = None;
        }
        if data.cause == CutCause::Overflow
            && let Some(run) = &mut self.run
        {
            (run.remedy, run.compacted_at) = (None, Some(run.turns));
        }
    }

    pub(crate) fn cut(&mut self, event: EventId, cut: Cut) {
        self.tree.push_cut(event, cut);
        self.counting.counted = None;
        let reminded = || self.tree.up(self.tree.head).any(|(_, node)| node.kind == NodeKind::Injected);
        self.reminders.plan_hidden = !self.goals.is_empty() && (self.reminders.plan_changed || !reminded());
        // The newest turn was left as it is, whatever it serves.
        let goals = &self.goals;
        let finished = |node: &Node| node.goal.and_then(|goal| goals.get(goal)).is_some_and(Goal::is_finished);
        let current = self.tree.current_from(self.tree.head).unwrap_or(Seq(u32::MAX));
        self.context.unswept =
            self.tree.up(self.tree.head).take_while(|(seq, _)| *seq >= current).any(|(_, node)| finished(node));
    }
}
