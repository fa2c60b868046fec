//! What is to be left out of the requests to come, as it is put together: in which order messages go, and what stays.
//!
//! What a person asked and all that was done about it is an *exchange*. Without a model, exchanges in which nothing was called go
//! before those with results of tools; the last ones go last. No exchange is left without what was asked.

use crate::context::note::note;
use crate::context::pins::{Pins, is_outdated, pins, task};
use crate::{Call, Goals, Node, NodeKind, State};
use mainpath_types::{CallId, ContextCut, CutCause, Goal, Keeps, Seq, Shortened, Span};
use std::collections::BTreeSet;
use std::ops::Range;

/// The size of the note on a result that is not shown whole.
pub(crate) const NOTE: u32 = 24;
/// The size at which an old result without a long-term line is shown.
pub(crate) const EXCERPT: u32 = 120;
/// So many exchanges before the present one go last.
pub(crate) const LAST: usize = 2;

/// What a call's result is shown as once it is old.
fn brief(call: &Call) -> Shortened {
    let line = call.memory.map(|line| line.saturating_add(NOTE));
    Shortened { call: call.id, tokens: line.unwrap_or(EXCERPT), excerpt: line.is_none() }
}

/// What that saves.
pub(crate) fn saves(call: &Call) -> u32 {
    call.tokens.saturating_sub(brief(call).tokens)
}

/// What is to be left out: what is left out already, what has been shown once and was to be, and more.
pub(crate) struct Loss<'a> {
    state: &'a State,
    /// The messages before the newest turn that are shown for themselves, oldest first.
    old: Vec<(Seq, &'a Node)>,
    /// From where on messages are shown.
    pub first_kept: Option<Seq>,
    /// Messages after that which are left out.
    pub gone: BTreeSet<Seq>,
    shortened: Vec<Shortened>,
    /// How many tokens less a request has.
    pub saved: u64,
    /// How many messages less it has.
    pub messages: u32,
}

/// A question and what was done about it, by its places among the old messages.
struct Exchange {
    at: Range<usize>,
    has_calls: bool,
}

impl<'a> Loss<'a> {
    /// What is left out anyway.
    pub fn new(state: &'a State) -> Loss<'a> {
        let (tree, head) = (&state.tree, state.tree.head);
        let (held, floor) = (tree.cut_at(head), tree.floor(head));
        let current = tree.current_from(head).unwrap_or(Seq(u32::MAX));
        let mut old: Vec<(Seq, &Node)> = tree.kept(head).filter(|(seq, _)| *seq < current).collect();
        old.reverse();
        let path = tree.up(head).take_while(|(seq, _)| *seq >= floor);
        let gone = path.filter(|(seq, _)| held.is_some_and(|cut| cut.omits(*seq))).map(|(seq, _)| seq).collect();
        let first_kept = Some(floor.max(Seq(1)));
        let shortened = held.map(|cut| cut.keeps.shortened.clone()).unwrap_or_default();
        let mut loss = Loss { state, old, first_kept, gone, shortened, saved: 0, messages: 0 };
        let once = loss.old.iter().filter_map(|(_, node)| loss.result(node)).filter(|call| call.once);
        let once: Vec<Shortened> = once.map(brief).collect();
        once.into_iter().for_each(|short| loss.shorten(short));
        loss
    }

    /// All before a message.
    pub fn before(state: &'a State, first_kept: Option<Seq>) -> Loss<'a> {
        Loss { first_kept, ..Loss::new(state) }
    }

    /// What goes without a word being lost, until `fits`: messages of finished goals, of which their summaries stay; then the
    /// oldest outputs of tools, which can be recalled.
    pub fn light(state: &'a State, fits: impl Fn(&Loss<'_>) -> bool) -> Loss<'a> {
        let mut loss = Loss::new(state);
        if !fits(&loss) {
            loss.omit_finished_goals();
        }
        loss.shorten_until(fits);
        loss
    }

    /// What goes for a summary by rules, until `fits`: exchanges without calls, then outputs of tools, then any exchange, each
    /// from the oldest on. The last ones go after all others, and only until it `just_fits`. What is being worked on stays.
    pub fn by_exchange(
        state: &'a State,
        fits: impl Fn(&Loss<'_>) -> bool,
        just_fits: impl Fn(&Loss<'_>) -> bool,
    ) -> Loss<'a> {
        let mut loss = Loss::new(state);
        if !fits(&loss) {
            loss.omit_finished_goals();
        }
        let exchanges = loss.exchanges();
        let older = exchanges.len().saturating_sub(LAST);
        let mut gone = vec![false; exchanges.len()];
        for (exchange, gone) in exchanges.iter().zip(&mut gone).take(older).filter(|(exchange, _)| !exchange.has_calls)
        {
            if !fits(&loss) {
                loss.omit_exchange(exchange);
                *gone = true;
            }
        }
        loss.shorten_until(&fits);
        for (at, (exchange, gone)) in exchanges.iter().zip(&mut gone).enumerate() {
            let enough = if at < older { fits(&loss) } else { just_fits(&loss) };
            if !*gone && !enough {
                loss.omit_exchange(exchange);
                *gone = true;
            }
        }
        // What is gone at the beginning is not among what is shown: then of what people demanded there their own words stay.
        let leading = gone.iter().take_while(|gone| **gone).count();
        if let Some(exchange) = leading.checked_sub(1).and_then(|last| exchanges.get(last)) {
            let next = loss.old.get(exchange.at.end).map(|(seq, _)| *seq);
            loss.first_kept = next.or_else(|| state.tree.current_from(state.tree.head)).max(loss.first_kept);
        }
        loss
    }

    /// Keeps all from a message on that is not left out already.
    pub fn keep_from(&mut self, from: Seq) {
        let held = self.state.tree.cut_at(self.state.tree.head);
        self.first_kept = self.first_kept.map(|first| first.min(from));
        self.gone.retain(|seq| *seq < from || held.is_some_and(|cut| cut.omits(*seq)));
    }

    /// The exchanges among the old messages but the present one, oldest first.
    fn exchanges(&self) -> Vec<Exchange> {
        let is_said = |at: usize| self.old.get(at).is_some_and(|(_, node)| node.kind == NodeKind::User);
        let starts: Vec<usize> =
            (0..self.old.len()).filter(|at| *at == 0 || is_said(*at) && !is_said(at - 1)).collect();
        let ends = starts.iter().skip(1).copied().chain([self.old.len()]);
        let calls = |(_, node): &(Seq, &Node)| matches!(node.kind, NodeKind::Assistant { calls } if calls > 0);
        let exchange = |(from, to): (usize, usize)| {
            let has_calls = self.old.get(from..to).is_some_and(|messages| messages.iter().any(calls));
            Exchange { at: from..to, has_calls }
        };
        let mut exchanges: Vec<Exchange> = starts.iter().copied().zip(ends).map(exchange).collect();
        // The newest turn belongs to the last of them, unless somebody has said something since.
        let (tree, head) = (&self.state.tree, self.state.tree.head);
        let current = tree.current_from(head).and_then(|seq| tree.node(seq));
        if current.is_some_and(|node| node.kind != NodeKind::User) {
            exchanges.pop();
        }
        exchanges
    }

    fn omit_exchange(&mut self, exchange: &Exchange) {
        let task = task(self.state);
        let messages = self.old.get(exchange.at.clone()).unwrap_or_default();
        let goes = |(seq, node): &&(Seq, &Node)| {
            let stays = Some(*seq) == task || node.demands > 0 && node.kind == NodeKind::User;
            !stays && !matches!(node.kind, NodeKind::Injected | NodeKind::Skill)
        };
        let gone: Vec<Seq> = messages.iter().filter(goes).map(|(seq, _)| *seq).collect();
        self.omit(|seq, _| gone.contains(&seq));
    }

    fn shorten_until(&mut self, fits: impl Fn(&Loss<'_>) -> bool) {
        let results: Vec<Shortened> = self.old.iter().filter_map(|(_, node)| self.result(node)).map(brief).collect();
        for short in results {
            if fits(self) {
                break;
            }
            if !self.gone.contains(&short.call.seq) {
                self.shorten(short);
            }
        }
    }

    /// The call that a message is the result of, if it is shown whole.
    fn result(&self, node: &Node) -> Option<&'a Call> {
        let NodeKind::Result(id) = node.kind else { return None };
        let call = self.state.calls.get(id)?;
        (saves(call) > 0 && self.shortened.binary_search_by_key(&id, |short| short.call).is_err()).then_some(call)
    }

    pub fn omit_finished_goals(&mut self) {
        let goals = &self.state.goals;
        self.omit(|_, node| serves_finished(goals, node));
    }

    /// The first message that is shown but the task, where all before it goes: so what stands for that stands after the task.
    fn after_what_is_gone(&self) -> Option<Seq> {
        let (first, task) = (self.first_kept?, task(self.state));
        let mut kept: Vec<(Seq, &Node)> =
            self.state.tree.kept(self.state.tree.head).filter(|(seq, _)| *seq >= first).collect();
        kept.reverse();
        let stays = |(seq, _): &&(Seq, &Node)| !self.gone.contains(seq) && Some(*seq) != task;
        let (next, node) = kept.iter().find(stays)?;
        let goes = kept.iter().any(|(seq, _)| seq < next && self.gone.contains(seq));
        let starts = matches!(node.kind, NodeKind::User | NodeKind::Assistant { .. });
        Some(if goes && starts { *next } else { first })
    }

    fn serves_finished(&self, node: &Node) -> bool {
        serves_finished(&self.state.goals, node)
    }

    fn omit(&mut self, goes: impl Fn(Seq, &Node) -> bool) {
        for (seq, node) in &self.old {
            if !goes(*seq, node) || !self.gone.insert(*seq) {
                continue;
            }
            let short = if let NodeKind::Result(call) = node.kind { short(&self.shortened, call) } else { None };
            self.saved += u64::from(short.map_or(node.tokens, |short| short.tokens));
            self.messages += 1;
        }
    }

    pub fn shorten(&mut self, short: Shortened) {
        let Some(call) = self.state.calls.get(short.call) else { return };
        let Err(at) = self.shortened.binary_search_by_key(&short.call, |short| short.call) else { return };
        self.shortened.insert(at, short);
        self.saved += u64::from(call.tokens.saturating_sub(short.tokens));
    }

    /// What people must be told of in a summary: whether messages go that no finished goal stands for.
    pub fn needs_summary(&self) -> bool {
        let (tree, head) = (&self.state.tree, self.state.tree.head);
        self.first_kept > Some(tree.floor(head).max(Seq(1)))
            || tree.kept(head).any(|(seq, node)| self.gone.contains(&seq) && !self.serves_finished(node))
    }

    /// The size of all that goes, of what is shown now.
    pub fn frees(&self) -> u64 {
        let first = self.first_kept.unwrap_or(Seq(u32::MAX));
        let (tree, head) = (&self.state.tree, self.state.tree.head);
        let pinned = pins(self.state, first).pinned;
        let goes = |seq: Seq| (seq < first && !pinned.contains(&seq)) || self.gone.contains(&seq);
        let cut = tree.cut_at(head);
        let size = |node: &Node| cut.map_or(node.tokens.into(), |cut| cut.size(node)).max(1);
        tree.kept(head).filter(|(seq, _)| goes(*seq)).map(|(_, node)| size(node)).sum()
    }

    /// The event that records it, without a new summary.
    pub fn cut(self, cause: CutCause) -> ContextCut {
        let (state, seq) = (self.state, self.state.tree.next_seq());
        let keeps = self.keeps();
        let note = note(state, &keeps);
        let held = state.tree.cut_at(state.tree.head);
        let summary = held.and_then(|cut| cut.base).filter(|_| note.is_some());
        ContextCut { seq, keeps, cause, note, summary }
    }

    pub fn keeps(mut self) -> Keeps {
        self.first_kept = self.after_what_is_gone();
        let first = self.first_kept.unwrap_or(Seq(u32::MAX));
        let Pins { pinned, demands, partly } = pins(self.state, first);
        self.shortened.retain(|short| short.call.seq >= first);
        let tree = &self.state.tree;
        let path: Vec<Seq> = tree
            .up(tree.head)
            .take_while(|(seq, _)| *seq >= first)
            .filter(|(_, node)| node.kind != NodeKind::Cut)
            .map(|(seq, _)| seq)
            .collect();
        // Of the reminders the newest alone stays: the others are out of date. So may be the newest; then another follows.
        let reminders = tree.up(tree.head).filter(|(_, node)| node.kind == NodeKind::Injected).map(|(seq, _)| seq);
        self.gone.extend(reminders.skip(usize::from(!is_outdated(self.state))).filter(|seq| *seq >= first));
        let omitted = spans(&path, &self.gone);
        Keeps { first_kept: self.first_kept, pinned, demands, partly, omitted, shortened: self.shortened }
    }
}

/// Whether a message is work on a goal that is finished.
fn serves_finished(goals: &Goals, node: &Node) -> bool {
    let works = matches!(node.kind, NodeKind::Assistant { .. } | NodeKind::Result(_));
    works && node.goal.and_then(|goal| goals.get(goal)).is_some_and(has_summary)
}

/// Whether a goal is finished and what came of it stands for the work on it.
fn has_summary(goal: &Goal) -> bool {
    goal.is_finished() && goal.summary.as_deref().is_some_and(|summary| !summary.trim().is_empty())
}

fn short(shortened: &[Shortened], call: CallId) -> Option<&Shortened> {
    shortened.get(shortened.binary_search_by_key(&call, |short| short.call).ok()?)
}

/// The runs of neighbours on a path that are in a set. The path is newest first, the spans are oldest first.
fn spans(path: &[Seq], gone: &BTreeSet<Seq>) -> Vec<Span> {
    let runs = path.chunk_by(|a, b| gone.contains(a) == gone.contains(b));
    let spans = runs.filter_map(|run| Some((*run.last()?, *run.first()?))).filter(|(first, _)| gone.contains(first));
    let mut spans: Vec<Span> = spans.collect();
    spans.reverse();
    spans
}
