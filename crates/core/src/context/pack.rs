//! Packing: from a state to the ordered list of what a request shows, as references with their provenance.

use crate::{Cut, Node, NodeKind, State};
use mainpath_types::{CallId, EventId, Seq, SummaryMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the packer. A request is rebuilt by the version that its event names.
pub const PACK_VERSION: u16 = 1;

/// The context of a request: what it shows, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Packed {
    /// Which spec and model.
    pub under: Under,
    /// The conversation.
    pub items: Vec<Item>,
}

/// What a request is made under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Under {
    /// The event that holds the spec: models, system text, tools.
    pub spec: EventId,
    /// Which of its models: 0 is the first, 1 the first to fall back to.
    pub model: usize,
    /// The cut that holds, if one does.
    pub cut: Option<Seq>,
    /// The first message that was or will be made under this spec and model.
    pub since: Seq,
    /// Whether a summary is asked for, which is held to no form.
    pub summary: bool,
}

impl Default for Under {
    fn default() -> Under {
        Under { spec: 0, model: 0, cut: None, since: Seq(0), summary: false }
    }
}

/// One message of a request. The event is where its body is, and so where it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Item {
    /// From outside.
    User {
        /// Its number.
        seq: Seq,
        /// Where its body is.
        event: EventId,
    },
    /// From the model.
    Assistant {
        /// Its number.
        seq: Seq,
        /// Where its body is.
        event: EventId,
    },
    /// What became of a call.
    Result {
        /// Its number.
        seq: Seq,
        /// The call.
        call: CallId,
        /// Where its body is.
        event: EventId,
        /// How much of it.
        shown: Shown,
    },
    /// What an earlier message, which is not shown, demands or rules out.
    Demands {
        /// The message's number.
        seq: Seq,
        /// Where its body is.
        event: EventId,
        /// In how many tokens some of it is shown, where there is no room for all.
        most: Option<u32>,
    },
    /// From the model, in no valid form.
    Malformed {
        /// Its number.
        seq: Seq,
        /// Where its body is.
        event: EventId,
    },
    /// A skill's text.
    Skill {
        /// Its number.
        seq: Seq,
        /// Where its body is.
        event: EventId,
    },
    /// Reminds the model of its plan and its budgets.
    Injected {
        /// Its number.
        seq: Seq,
        /// Where its text is.
        event: EventId,
    },
    /// Asks for a repair.
    RepairPrompt {
        /// Its number.
        seq: Seq,
        /// The event that says what was wrong.
        event: EventId,
    },
    /// Stands for what is left out.
    Summary {
        /// The event whose text it is.
        event: EventId,
    },
    /// Asks the model to reflect before it summarises.
    ReflectPrompt {
        /// Its number.
        seq: Seq,
    },
    /// Asks for a summary.
    SummaryPrompt {
        /// Its number.
        seq: Seq,
        /// Whether it follows a reflection.
        reflected: bool,
        /// The event that says what the summary should keep in mind, if somebody asked for it.
        asked: Option<EventId>,
        /// The event that holds the plan as it was when the summary was begun.
        opened: EventId,
    },
    /// A past call, shown again in this one request.
    Recalled {
        /// The call.
        call: CallId,
        /// Where its result is.
        event: EventId,
    },
    /// Where things stand: the plan in short and what is left of the budgets.
    Standing {
        /// Where its text is.
        event: EventId,
    },
    /// Asks for a last answer.
    LastAnswer,
}

/// How much of a result is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// All of it.
    Whole,
    /// Its long-term line.
    Line,
    /// Its beginning and its end, at most so many tokens.
    Excerpt(u32),
}

impl Item {
    /// Its number; `None` for what is rendered for one request only, and for a summary.
    pub fn seq(&self) -> Option<Seq> {
        match self {
            Item::User { seq, .. }
            | Item::Assistant { seq, .. }
            | Item::Result { seq, .. }
            | Item::Demands { seq, .. }
            | Item::Malformed { seq, .. }
            | Item::RepairPrompt { seq, .. }
            | Item::Skill { seq, .. }
            | Item::Injected { seq, .. }
            | Item::ReflectPrompt { seq }
            | Item::SummaryPrompt { seq, .. } => Some(*seq),
            Item::Summary { .. } | Item::Recalled { .. } | Item::Standing { .. } | Item::LastAnswer => None,
        }
    }

    /// Where its body is; `None` if it has the same words in every trace.
    pub fn event(&self) -> Option<EventId> {
        match self {
            Item::User { event, .. }
            | Item::Assistant { event, .. }
            | Item::Result { event, .. }
            | Item::Demands { event, .. }
            | Item::Malformed { event, .. }
            | Item::RepairPrompt { event, .. }
            | Item::Skill { event, .. }
            | Item::Injected { event, .. }
            | Item::Summary { event }
            | Item::Standing { event }
            | Item::Recalled { event, .. } => Some(*event),
            Item::SummaryPrompt { asked, opened, .. } => asked.or(Some(*opened)),
            Item::ReflectPrompt { .. } | Item::LastAnswer => None,
        }
    }
}

/// Packs the request in flight, or the one that would be made now. Pure: the same state packs the same, always.
pub fn pack(state: &State) -> Option<Packed> {
    let mut packer = Packer::default();
    packer.pack(state)?;
    packer.packed
}

/// Packs one request of a trace after the other. Where a request begins as the one before it did, only what is new is looked at.
/// It is of use as long as nothing of the log is lost that it has seen.
#[derive(Clone, Debug, Default)]
pub struct Packer {
    packed: Option<Packed>,
    /// How many of its items are the path's, and the last message of these.
    path: (usize, Option<Seq>),
}

impl Packer {
    /// What [`pack`] gives for this state, a state of the same trace as all before it. `None` without a spec.
    pub fn pack(&mut self, state: &State) -> Option<&Packed> {
        // Before the first run there is only the one that it will be made under.
        let spec = state.spec.as_ref().or(state.next_spec.as_ref())?;
        let tip = state.model.map_or_else(|| state.tip(), |model| model.head);
        let cut = tip.and_then(|tip| state.tree.node(tip)?.cut);
        let summary = state.wants_summary();
        let under = Under { spec: spec.event, model: spec.using, cut, since: spec.since, summary };
        let mut items =
            self.packed.take().filter(|last| last.under.cut == cut).map_or_else(Vec::new, |last| last.items);
        items.truncate(self.path.0);
        let end = self.path.1.filter(|_| !items.is_empty() && state.branch.is_none());
        let last = end.and_then(|end| follow(state, tip, end, &mut items)).or_else(|| {
            items.clear();
            path(state, tip, &mut items)
        });
        // What a side branch asks depends on more than its path.
        self.path = if state.branch.is_none() { (items.len(), last) } else { (0, None) };
        if state.model.is_some_and(|model| model.minimal) {
            let last = items.iter().rfind(|item| matches!(item, Item::User { .. })).copied();
            (items, self.path) = (last.into_iter().collect(), (0, None));
            return Some(self.packed.insert(Packed { under, items }));
        }
        for call in state.context.recalled.iter().filter_map(|id| state.calls.get(*id)) {
            items.push(Item::Recalled { call: call.id, event: call.result });
        }
        items.extend(state.model.and_then(|model| model.standing).map(|event| Item::Standing { event }));
        if state.model.is_some_and(|model| model.last) {
            items.push(Item::LastAnswer);
        }
        Some(self.packed.insert(Packed { under, items }))
    }
}

/// Whether what stands before a message in a request is still what stood there when its vendor signed it.
pub fn is_as_signed(state: &State, under: Under, seq: Seq) -> bool {
    let since = under.since.max(under.cut.unwrap_or(Seq(0)));
    seq >= since && state.tree.node(seq).is_some_and(|node| !node.apart)
}

/// Adds the messages of a path that come after `end` under the same cut; gives the last one. `None`, and nothing is added, where
/// the path does not lead there.
fn follow(state: &State, tip: Option<Seq>, end: Seq, items: &mut Vec<Item>) -> Option<Seq> {
    let tree = &state.tree;
    let cut = tree.cut_at(tip);
    let (mut new, mut reached) = (Vec::new(), false);
    for (seq, node) in tree.up(tip).take_while(|(seq, _)| *seq >= end) {
        reached = seq == end;
        if !reached {
            new.push((seq, node));
        }
    }
    if !reached || tree.node(end).is_some_and(|node| node.cut != tip.and_then(|tip| tree.node(tip)?.cut)) {
        return None;
    }
    let open = state.turn.map(|turn| turn.assistant);
    if open.is_some_and(|open| open <= end) {
        return None;
    }
    let mut last = end;
    for (seq, node) in new.into_iter().rev().take_while(|(seq, _)| Some(*seq) != open) {
        items.extend(item(state, cut, seq, node));
        last = seq;
    }
    Some(last)
}

/// Adds all messages of a path; gives the last one.
fn path(state: &State, tip: Option<Seq>, items: &mut Vec<Item>) -> Option<Seq> {
    let tree = &state.tree;
    let cut = tree.cut_at(tip);
    let mut summary = cut.and_then(|cut| cut.summary);
    let partly = cut.and_then(|cut| cut.keeps.partly);
    let (floor, mut last) = (tree.floor(tip), None);
    // A message whose calls have not all joined ends the pack before it.
    let open = state.turn.map(|turn| turn.assistant);
    let hidden = state.branch.and_then(|branch| branch.hidden);
    let is_shown = |seq: &Seq| !hidden.is_some_and(|hidden| hidden.has(*seq));
    for seq in tree.shown(tip).into_iter().take_while(|seq| Some(*seq) != open).filter(is_shown) {
        let Some(node) = tree.node(seq) else { continue };
        if seq >= floor
            && let Some(event) = summary.take()
        {
            items.push(Item::Summary { event });
        }
        match node.kind {
            NodeKind::User if seq < floor && cut.is_some_and(|cut| cut.keeps.demands.contains(&seq)) => {
                items.push(Item::Demands { seq, event: node.event, most: None });
            }
            NodeKind::User if seq < floor && partly.is_some_and(|(partly, _)| partly == seq) => {
                items.push(Item::Demands { seq, event: node.event, most: partly.map(|(_, tokens)| tokens) });
            }
            _ => items.extend(item(state, cut, seq, node)),
        }
        last = Some(seq);
    }
    if let Some(event) = summary {
        items.push(Item::Summary { event });
    }
    last
}

/// What a message is in a request; `None` for a cut.
fn item(state: &State, cut: Option<&Cut>, seq: Seq, node: &Node) -> Option<Item> {
    let event = node.event;
    Some(match node.kind {
        NodeKind::User => Item::User { seq, event },
        NodeKind::Assistant { .. } => Item::Assistant { seq, event },
        NodeKind::Result(call) => Item::Result { seq, call, event, shown: shown(cut, call) },
        NodeKind::Malformed => Item::Malformed { seq, event },
        NodeKind::RepairPrompt => Item::RepairPrompt { seq, event },
        NodeKind::Skill => Item::Skill { seq, event },
        NodeKind::Injected => Item::Injected { seq, event },
        NodeKind::ReflectPrompt => Item::ReflectPrompt { seq },
        NodeKind::SummaryPrompt => {
            let branch = state.branch;
            let reflected = branch.is_some_and(|branch| branch.by == SummaryMode::Agent);
            let opened = branch.map_or(0, |branch| branch.opened);
            Item::SummaryPrompt { seq, reflected, asked: branch.and_then(|branch| branch.asked), opened }
        }
        NodeKind::Cut => return None,
    })
}

/// The messages of a path that are not shown, newest first, as they were; with `partly`, those too of which only a part is.
pub(crate) fn left_out(state: &State, tip: Option<Seq>, partly: bool) -> impl Iterator<Item = Item> {
    let (tree, cut) = (&state.tree, state.tree.cut_at(tip));
    let floor = tree.floor(tip);
    tree.up(tip).filter_map(move |(seq, node)| {
        let early = seq < floor && !cut.is_some_and(|cut| cut.keeps.pinned.contains(&seq));
        let is_short = |cut: &Cut| matches!(node.kind, NodeKind::Result(call) if cut.shortened(call).is_some());
        let is_left_out = early || cut.is_some_and(|cut| cut.omits(seq) || partly && is_short(cut));
        if is_left_out { whole(seq, node) } else { None }
    })
}

/// All that was said on the main path by people, the model and tools, oldest first and whole, left out of the context or not. It
/// ends before a message whose calls have not all ended.
pub fn said(state: &State) -> Vec<Item> {
    let open = state.turn.map(|turn| turn.assistant);
    let mut said: Vec<Item> = state
        .tree
        .up(state.tree.head)
        .filter_map(|(seq, node)| whole(seq, node).filter(|_| Some(seq) != open))
        .collect();
    said.reverse();
    said
}

/// A message as it was said; `None` for what Mainpath itself adds.
fn whole(seq: Seq, node: &Node) -> Option<Item> {
    let event = node.event;
    match node.kind {
        NodeKind::User => Some(Item::User { seq, event }),
        NodeKind::Assistant { .. } => Some(Item::Assistant { seq, event }),
        NodeKind::Result(call) => Some(Item::Result { seq, call, event, shown: Shown::Whole }),
        NodeKind::Malformed
        | NodeKind::RepairPrompt
        | NodeKind::ReflectPrompt
        | NodeKind::SummaryPrompt
        | NodeKind::Skill
        | NodeKind::Injected
        | NodeKind::Cut => None,
    }
}

fn shown(cut: Option<&Cut>, call: CallId) -> Shown {
    match cut.and_then(|cut| cut.shortened(call)) {
        None => Shown::Whole,
        Some(short) if short.excerpt => Shown::Excerpt(short.tokens),
        Some(_) => Shown::Line,
    }
}
