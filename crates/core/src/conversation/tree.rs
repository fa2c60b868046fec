//! The message tree: heads of messages, the main path, and what is left out of it.

use mainpath_types::{CallId, EventId, GoalId, Keeps, Seq, Shortened};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The messages of a trace as a tree. Nothing is ever removed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tree {
    nodes: Vec<Node>,
    cuts: BTreeMap<Seq, Cut>,
    /// The tip of the main path.
    pub head: Option<Seq>,
    /// The last message of conversations that were cleared: nothing up to it is shown or recalled.
    pub cleared: Seq,
}

/// The head of a message; its text is in the event that brought it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// The size of what it demands or rules out, which no cut leaves out.
    pub demands: u32,
    /// What would be saved on the path up to and including it if all that is to be shown once were shown by its long-term line.
    pub path_once: u64,
    /// Whether it answers a request that showed more or less than the path before it: what its vendor signed then, it
    /// would not know again.
    pub apart: bool,
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
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
    /// Asks the model to reflect before it summarises.
    ReflectPrompt,
    /// Asks the model for a summary.
    SummaryPrompt,
    /// A skill's text.
    Skill,
    /// Reminds the model of its plan and its budgets.
    Injected,
    /// Says from where on messages are shown; shows nothing itself but a summary, if it has one.
    Cut,
}

/// What is shown below a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cut {
    /// Of the path above.
    pub keeps: Keeps,
    /// The event whose text stands for what is left out: the summary, and the note on what is left out.
    pub summary: Option<EventId>,
    /// Its size.
    pub tokens: u32,
    /// The event that has the summary alone.
    pub base: Option<EventId>,
    /// The summary's size alone.
    pub base_tokens: u32,
    /// The newest answer of a model's that summarises this path. A later summary by rules quotes it.
    pub by_model: Option<EventId>,
    /// How many messages the omitted are.
    pub(crate) gone: u32,
    /// What omitting and shortening saves.
    pub(crate) saved: u64,
    /// How much of what the path would save by showing things once is saved.
    pub(crate) once: u64,
}

/// A message with which what is shown may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    /// Which.
    pub seq: Seq,
    /// Whether a person, or somebody else outside, said it.
    pub is_said: bool,
    /// What is shown from it on, in tokens.
    pub tokens: u64,
}

impl Cut {
    /// Whether a message after the first kept one is left out.
    pub fn omits(&self, seq: Seq) -> bool {
        let after = self.keeps.omitted.partition_point(|(_, last)| *last < seq);
        self.keeps.omitted.get(after).is_some_and(|(first, _)| *first <= seq)
    }

    /// How a result is shown that is not shown whole.
    pub fn shortened(&self, call: CallId) -> Option<&Shortened> {
        let at = self.keeps.shortened.binary_search_by_key(&call, |short| short.call).ok()?;
        self.keeps.shortened.get(at)
    }

    /// The size at which a message is shown.
    pub(crate) fn size(&self, node: &Node) -> u64 {
        let short = if let NodeKind::Result(call) = node.kind { self.shortened(call) } else { None };
        short.map_or(node.tokens, |short| short.tokens).into()
    }
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
            demands: 0,
            path_once: above.map_or(0, |node| node.path_once),
            apart: false,
        });
        seq
    }

    /// Notes what a message demands.
    pub fn set_demands(&mut self, seq: Seq, demands: u32) {
        if let Some(node) = self.node_mut(seq) {
            node.demands = demands;
        }
    }

    /// Notes that a message is to be shown once, and what that saves later. Nothing may follow it yet.
    pub fn set_once(&mut self, seq: Seq, saves: u32) {
        if let Some(node) = self.node_mut(seq) {
            node.path_once += u64::from(saves);
        }
    }

    fn node_mut(&mut self, seq: Seq) -> Option<&mut Node> {
        self.nodes.get_mut((seq.0 as usize).checked_sub(1)?)
    }

    /// Notes that a message answers a request that showed more or less than the path before it.
    pub fn set_apart(&mut self, seq: Seq) {
        if let Some(node) = self.node_mut(seq) {
            node.apart = true;
        }
    }

    /// Adds a cut below the head and makes it the head.
    pub fn push_cut(&mut self, event: EventId, mut cut: Cut) -> Seq {
        cut.once = self.path_once_shown(self.head);
        let seq = self.push(self.head, event, NodeKind::Cut, 0, None);
        if !cut.keeps.omitted.is_empty() || !cut.keeps.shortened.is_empty() {
            let floor = cut.keeps.first_kept.unwrap_or(seq);
            let (mut gone, mut saved) = (0, 0);
            for (at, node) in self.up(Some(seq)).take_while(|(at, _)| *at >= floor) {
                let size = u64::from(node.tokens);
                match node.kind {
                    NodeKind::Cut => {}
                    _ if cut.omits(at) => (gone, saved) = (gone + 1, saved + size),
                    _ => saved += size.saturating_sub(cut.size(node)),
                }
            }
            (cut.gone, cut.saved) = (gone, saved);
        }
        self.cuts.insert(seq, cut);
        self.head = Some(seq);
        seq
    }

    /// The first message of the newest turn on a path: the last answer with calls, or what was said after the last one without.
    pub fn current_from(&self, tip: Option<Seq>) -> Option<Seq> {
        let mut first = None;
        for (seq, node) in self.up(tip) {
            match node.kind {
                NodeKind::Cut => {}
                NodeKind::Assistant { calls: 0 } => break,
                NodeKind::Assistant { .. } => return Some(seq),
                _ => first = Some(seq),
            }
        }
        first
    }

    /// What would be saved on the path by showing what has been shown once by its long-term line, beyond what a cut has saved.
    pub fn once_due(&self, tip: Option<Seq>) -> u64 {
        self.path_once_shown(tip).saturating_sub(self.cut_at(tip).map_or(0, |cut| cut.once))
    }

    /// The same of the whole path: the newest turn's results have not been shown yet.
    fn path_once_shown(&self, tip: Option<Seq>) -> u64 {
        let shown = match self.current_from(tip) {
            Some(first) => self.node(first).and_then(|node| node.parent),
            None => tip,
        };
        shown.and_then(|seq| self.node(seq)).map_or(0, |node| node.path_once)
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

    /// The numbers of the messages that the path ending at `tip` shows, oldest first: the pinned ones and those that demand
    /// something, then those from the first kept one on. Cuts themselves are not among them.
    pub fn shown(&self, tip: Option<Seq>) -> Vec<Seq> {
        let cut = self.cut_at(tip);
        let mut shown: Vec<Seq> = self.kept(tip).map(|(seq, _)| seq).collect();
        shown.reverse();
        if let Some(cut) = cut {
            let floor = self.floor(tip);
            let partly = cut.keeps.partly.iter().map(|(seq, _)| seq);
            let kept = cut.keeps.pinned.iter().chain(&cut.keeps.demands).chain(partly);
            let mut early: Vec<Seq> = kept.copied().filter(|seq| *seq < floor).collect();
            early.sort_unstable();
            early.append(&mut shown);
            return early;
        }
        shown
    }

    /// The messages that the path ending at `tip` shows for themselves, newest first.
    pub(crate) fn kept(&self, tip: Option<Seq>) -> impl Iterator<Item = (Seq, &Node)> {
        let (cut, floor) = (self.cut_at(tip), self.floor(tip));
        let path = self.up(tip).take_while(move |(seq, _)| *seq >= floor);
        path.filter(move |(seq, node)| node.kind != NodeKind::Cut && !cut.is_some_and(|cut| cut.omits(*seq)))
    }

    /// The estimated size of what the path ending at `tip` shows.
    pub fn shown_tokens(&self, tip: Option<Seq>) -> u64 {
        let Some(node) = tip.and_then(|tip| self.node(tip)) else { return 0 };
        let Some(cut) = self.cut_at(tip) else { return node.path_tokens };
        let floor = self.floor(tip);
        let before = self.node(floor).and_then(|node| self.node(node.parent?)).map_or(0, |node| node.path_tokens);
        let early = |seqs: &[Seq], size: fn(&Node) -> u32| -> u64 {
            let nodes = seqs.iter().filter(|seq| **seq < floor).filter_map(|seq| self.node(*seq));
            nodes.map(|node| u64::from(size(node))).sum()
        };
        let partly = cut.keeps.partly.filter(|(seq, _)| *seq < floor).map_or(0, |(_, tokens)| u64::from(tokens));
        let demands = early(&cut.keeps.demands, |node| node.demands) + partly;
        let pinned = early(&cut.keeps.pinned, |node| node.tokens) + demands;
        node.path_tokens.saturating_sub(before).saturating_sub(cut.saved) + pinned + u64::from(cut.tokens)
    }

    /// Whether the main path ends in an answer.
    pub fn is_answered(&self) -> bool {
        let last = self.up(self.head).find(|(_, node)| node.kind != NodeKind::Cut);
        last.is_some_and(|(_, node)| node.kind == NodeKind::Assistant { calls: 0 })
    }

    /// Where a rewind to `after` really goes: past all results of the call group that it would split, and, when the
    /// model is to answer again, back over a final answer to what it answered.
    pub fn rewind_point(&self, after: Seq, answer_again: bool) -> Option<Seq> {
        // A cut may stand anywhere, also among results: what it follows decides.
        let mut after = after;
        let decides = |after| self.up(Some(after)).find(|(_, node)| node.kind != NodeKind::Cut);
        let (mut base, mut node) = decides(after)?;
        // Several in a row were taken in from elsewhere.
        while answer_again && node.kind == (NodeKind::Assistant { calls: 0 }) {
            after = node.parent?;
            (base, node) = decides(after)?;
        }
        let group = match node.kind {
            NodeKind::Assistant { .. } => base,
            NodeKind::Result(call) => call.seq,
            _ => return Some(after),
        };
        let member = |node: &Node| matches!(node.kind, NodeKind::Result(call) if call.seq == group);
        let last = self.up(self.head).take_while(|(seq, _)| *seq >= after).find(|(_, node)| member(node));
        Some(last.map_or(after, |(seq, _)| seq))
    }

    /// Where a cut may set in, newest first: a call is never separated from its results.
    pub(crate) fn starts(&self, tip: Option<Seq>) -> impl Iterator<Item = Start> {
        let cut = self.cut_at(tip);
        let mut tokens = 0;
        self.kept(tip).filter_map(move |(seq, node)| {
            tokens += cut.map_or(node.tokens.into(), |cut| cut.size(node));
            let is_said = node.kind == NodeKind::User;
            (is_said || matches!(node.kind, NodeKind::Assistant { .. })).then_some(Start { seq, is_said, tokens })
        })
    }

    /// How many messages the path ending at `tip` shows, the pinned ones not counted.
    pub fn shown_count(&self, tip: Option<Seq>) -> u32 {
        let depth = |seq: Option<Seq>| seq.and_then(|seq| self.node(seq)).map_or(0, |node| node.depth);
        let before = self.node(self.floor(tip)).and_then(|node| node.parent);
        let gone = self.cut_at(tip).map_or(0, |cut| cut.gone);
        depth(tip).saturating_sub(depth(before)).saturating_sub(gone)
    }

    /// The first message of the path ending at `tip` that is shown for itself; 0 where all are.
    pub fn floor(&self, tip: Option<Seq>) -> Seq {
        let Some(cut) = self.cut_at(tip) else { return Seq(0) };
        cut.keeps.first_kept.or_else(|| self.node(tip?)?.cut).unwrap_or(Seq(0))
    }
}
