//! The message tree: heads of messages, the main path, and what is left out of it.

use mainpath_types::{CallId, EventId, GoalId, Seq};
use std::collections::BTreeMap;

/// The messages of a trace as a tree. Nothing is ever removed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    nodes: Vec<Node>,
    cuts: BTreeMap<Seq, Cut>,
    /// The tip of the main path.
    pub head: Option<Seq>,
}

/// The head of a message; its text is in the event that brought it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// What came before it.
    pub parent: Option<Seq>,
    /// The event that holds its body.
    pub event: EventId,
    /// What it is.
    pub kind: NodeKind,
    /// Its size in tokens, estimated.
    pub tokens: u32,
    /// The size of the path up to and including it.
    pub path_tokens: u64,
    /// The number of messages on the path up to and including it.
    pub depth: u32,
    /// The cut that holds here: the last one on the path, this node included.
    pub cut: Option<Seq>,
    /// The goal that it serves.
    pub goal: Option<GoalId>,
    /// Whether it answers a request that showed more or less than the path before it: what its vendor signed then, it
    /// would not know again.
    pub apart: bool,
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// From outside.
    User,
    /// From the model.
    Assistant {
        /// How many tools it called.
        calls: u16,
    },
    /// What became of a call.
    Result(CallId),
    /// From the model, in no valid form.
    Malformed,
    /// Asks the model to repair its answer.
    RepairPrompt,
    /// Asks the model for a summary.
    SummaryPrompt,
    /// Reminds the model of its plan and its budgets.
    Injected,
    /// Says from where on messages are shown; shows nothing itself but a summary, if it has one.
    Cut,
}

/// From where on messages are shown below a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The first message that is shown; `None`: only what comes after the cut.
    pub first_kept: Option<Seq>,
    /// Earlier messages that are shown all the same, oldest first.
    pub pinned: Vec<Seq>,
    /// The event whose text stands for what is left out.
    pub summary: Option<EventId>,
    /// The summary's size.
    pub tokens: u32,
    /// Reminders among what is kept that a newer one before the cut has replaced.
    pub stale: Vec<Seq>,
}

impl Tree {
    /// The number that the next message gets.
    pub fn next_seq(&self) -> Seq {
        Seq(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX).saturating_add(1))
    }

    /// A message by its number.
    pub fn node(&self, seq: Seq) -> Option<&Node> {
        self.nodes.get((seq.0 as usize).checked_sub(1)?)
    }

    /// All messages, by number.
    pub fn iter(&self) -> impl Iterator<Item = (Seq, &Node)> {
        (1u32..).map(Seq).zip(&self.nodes)
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Adds a message below `parent` and returns its number. The head does not move.
    pub fn push(
        &mut self,
        parent: Option<Seq>,
        event: EventId,
        kind: NodeKind,
        tokens: u32,
        goal: Option<GoalId>,
    ) -> Seq {
        let seq = self.next_seq();
        let above = parent.and_then(|parent| self.node(parent)).copied();
        let is_message = u32::from(kind != NodeKind::Cut);
        self.nodes.push(Node {
            parent,
            event,
            kind,
            tokens,
            path_tokens: above.map_or(0, |node| node.path_tokens) + u64::from(tokens),
            depth: above.map_or(0, |node| node.depth) + is_message,
            cut: if kind == NodeKind::Cut { Some(seq) } else { above.and_then(|node| node.cut) },
            goal,
            apart: false,
        });
        seq
    }

    /// Notes that a message answers a request that showed more or less than the path before it.
    pub fn set_apart(&mut self, seq: Seq) {
        let node = (seq.0 as usize).checked_sub(1).and_then(|at| self.nodes.get_mut(at));
        if let Some(node) = node {
            node.apart = true;
        }
    }

    /// Adds a cut below the head and makes it the head.
    pub fn push_cut(&mut self, event: EventId, mut cut: Cut) -> Seq {
        let kept = |seq: &Seq| cut.first_kept.is_some_and(|first| first <= *seq);
        let reminders = self.up(self.head).take_while(|(seq, _)| kept(seq));
        let reminders = reminders.filter(|(_, node)| node.kind == NodeKind::Injected).skip(1);
        cut.stale = reminders.map(|(seq, _)| seq).collect();
        let seq = self.push(self.head, event, NodeKind::Cut, 0, None);
        self.cuts.insert(seq, cut);
        self.head = Some(seq);
        seq
    }

    /// The cut that holds at a message.
    pub fn cut_at(&self, seq: Option<Seq>) -> Option<&Cut> {
        self.cuts.get(&self.node(seq?)?.cut?)
    }

    /// From a message to the root.
    pub fn up(&self, from: Option<Seq>) -> impl Iterator<Item = (Seq, &Node)> {
        let mut next = from;
        std::iter::from_fn(move || {
            let seq = next?;
            let node = self.node(seq)?;
            // A parent is always older: this ends, also on a log that somebody made up.
            next = node.parent.filter(|parent| *parent < seq);
            Some((seq, node))
        })
    }

    /// Whether a message lies on the path that ends at `tip`.
    pub fn is_on_path(&self, tip: Option<Seq>, seq: Seq) -> bool {
        self.up(tip).take_while(|(at, _)| *at >= seq).any(|(at, _)| at == seq)
    }

    /// The numbers of the messages that the path ending at `tip` shows, oldest first: the pinned ones, then those from the
    /// first kept one on. Cuts themselves are not among them.
    pub fn shown(&self, tip: Option<Seq>) -> Vec<Seq> {
        let cut = self.cut_at(tip);
        let floor = self.floor(tip);
        let stale = |seq: &Seq| cut.is_some_and(|cut| cut.stale.contains(seq));
        let kept = self.up(tip).take_while(|(seq, _)| *seq >= floor).filter(|(_, node)| node.kind != NodeKind::Cut);
        let mut shown: Vec<Seq> = kept.map(|(seq, _)| seq).filter(|seq| !stale(seq)).collect();
        if let Some(cut) = cut {
            shown.extend(cut.pinned.iter().rev().filter(|seq| **seq < floor));
        }
        shown.reverse();
        shown
    }

    /// The estimated size of what the path ending at `tip` shows.
    pub fn shown_tokens(&self, tip: Option<Seq>) -> u64 {
        let Some(node) = tip.and_then(|tip| self.node(tip)) else { return 0 };
        let Some(cut) = self.cut_at(tip) else { return node.path_tokens };
        let floor = self.floor(tip);
        let before = self.node(floor).and_then(|node| self.node(node.parent?)).map_or(0, |node| node.path_tokens);
        let pinned = cut.pinned.iter().filter(|seq| **seq < floor).filter_map(|seq| self.node(*seq));
        let pinned: u64 = pinned.map(|node| u64::from(node.tokens)).sum();
        let stale: u64 = cut.stale.iter().filter_map(|seq| self.node(*seq)).map(|node| u64::from(node.tokens)).sum();
        (node.path_tokens.saturating_sub(before) + pinned + u64::from(cut.tokens)).saturating_sub(stale)
    }

    /// Where a rewind to `after` really goes: past all results of the call group that it would split, and, when the
    /// model is to answer again, back over a final answer to what it answered.
    pub fn rewind_point(&self, after: Seq, answer_again: bool) -> Option<Seq> {
        // A cut may stand anywhere, also among results: what it follows decides.
        let (base, node) = self.up(Some(after)).find(|(_, node)| node.kind != NodeKind::Cut)?;
        let group = match node.kind {
            NodeKind::Assistant { calls: 0 } if answer_again => return node.parent,
            NodeKind::Assistant { .. } => base,
            NodeKind::Result(call) => call.seq,
            _ => return Some(after),
        };
        let member = |node: &Node| matches!(node.kind, NodeKind::Result(call) if call.seq == group);
        let last = self.up(self.head).take_while(|(seq, _)| *seq >= after).find(|(_, node)| member(node));
        Some(last.map_or(after, |(seq, _)| seq))
    }

    /// Where a cut may set in so that the messages from there on fit: the oldest such message among those that are shown,
    /// or the newest legal one if none fits. A call is never separated from its results. `fits` gets the number of
    /// messages kept and their tokens.
    pub fn keep_from(&self, tip: Option<Seq>, fits: impl Fn(u32, u64) -> bool) -> Option<Seq> {
        let last = self.node(tip?)?;
        let floor = self.floor(tip);
        let mut kept = None;
        for (seq, node) in self.up(tip).take_while(|(seq, _)| *seq >= floor) {
            let before = node.parent.and_then(|parent| self.node(parent));
            let count = last.depth.saturating_sub(before.map_or(0, |node| node.depth));
            let tokens = last.path_tokens.saturating_sub(before.map_or(0, |node| node.path_tokens));
            if kept.is_some() && !fits(count, tokens) {
                break;
            }
            if matches!(node.kind, NodeKind::User | NodeKind::Assistant { .. }) {
                kept = Some(seq);
            }
        }
        kept
    }

    /// Whether a cut before `seq` would leave anything out that the path ending at `tip` shows now, but for the pinned.
    pub(crate) fn leaves_out(&self, tip: Option<Seq>, seq: Seq, pinned: &[Seq]) -> bool {
        let floor = self.floor(tip);
        let mut shown = self.up(Some(seq)).skip(1).take_while(|(at, _)| *at >= floor);
        shown.any(|(at, node)| node.kind != NodeKind::Cut && !pinned.contains(&at))
    }

    /// How many messages the path ending at `tip` shows, the pinned ones not counted.
    pub fn shown_count(&self, tip: Option<Seq>) -> u32 {
        let depth = |seq: Option<Seq>| seq.and_then(|seq| self.node(seq)).map_or(0, |node| node.depth);
        let before = self.node(self.floor(tip)).and_then(|node| node.parent);
        let stale = self.cut_at(tip).map_or(0, |cut| u32::try_from(cut.stale.len()).unwrap_or(u32::MAX));
        depth(tip).saturating_sub(depth(before)).saturating_sub(stale)
    }

    /// The first message of the path ending at `tip` that is shown for itself; 0 where all are.
    fn floor(&self, tip: Option<Seq>) -> Seq {
        let Some(cut) = self.cut_at(tip) else { return Seq(0) };
        cut.first_kept.or_else(|| self.node(tip?)?.cut).unwrap_or(Seq(0))
    }
}
