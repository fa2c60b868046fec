//! Where every token of a request goes, and what was left out of it: for people who ask.

use crate::context::estimate::letters;
use crate::context::loss::NOTE;
use crate::context::room::Room;
use crate::goals::reminders::standing;
use crate::{Item, Node, NodeKind, Packed, Shown, SpecHead, State, estimate, pack};
use mainpath_types::{EventId, Protocol, Seq, Spec, ToolSpec};
use std::collections::BTreeMap;

/// A section of a request. The names are fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// The system text and the tools.
    System,
    /// What stands for the messages that are left out: the summary, and what is pinned.
    Summary,
    /// The messages before the newest turn.
    Recent,
    /// The newest turn, and what came after it.
    Current,
}

impl Section {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Section::System => "system",
            Section::Summary => "summary",
            Section::Recent => "recent",
            Section::Current => "current",
        }
    }
}

/// A request, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The window of the model, in tokens.
    pub window: u32,
    /// What of it is kept free for the answer.
    pub reserved: u32,
    /// How many tokens the request may have.
    pub most: u64,
    /// From how many on it is nearly full.
    pub full: u64,
    /// The model's tokens for a thousand of those that are counted here, by estimate.
    pub per_mille: u64,
    /// The sections with their shares in tokens, and what is in them.
    pub sections: Vec<(Section, u64, u64)>,
    /// The messages, in order.
    pub parts: Vec<Placed>,
    /// What is not shown of the main path.
    pub left_out: Vec<LeftOut>,
}

/// A message of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// What it is, and the event that it comes from.
    pub item: Item,
    /// The section that it is counted to.
    pub section: Section,
    /// Its size in tokens, by estimate.
    pub tokens: u32,
}

/// Neighbouring messages that are left out or shortened for the same reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The first of them.
    pub first: Seq,
    /// The last of them.
    pub last: Seq,
    /// How many they are.
    pub messages: u32,
    /// Their size in tokens, by estimate.
    pub tokens: u64,
    /// What of that is shown all the same.
    pub shown: u64,
    /// How many of them demand something for which there was no room.
    pub demands: u32,
    /// The event that left them out: a cut or a summary.
    pub by: EventId,
}

/// The request in flight, or the one that would be made now, taken apart. `None` without a spec.
pub fn layout(state: &State) -> Option<Layout> {
    let Packed { items, .. } = pack(state)?;
    let spec = state.coming_spec()?;
    let (room, model) = (Room::of(spec), spec.model());
    let tip = state.model.map_or_else(|| state.tip(), |model| model.head);
    let floor = state.tree.floor(tip);
    let current = state.tree.current_from(tip).unwrap_or(Seq(u32::MAX));
    let place = |item: &Item| {
        let section = match item.seq() {
            None if matches!(item, Item::Summary { .. }) => Section::Summary,
            None => Section::Current,
            Some(seq) if seq < floor => Section::Summary,
            Some(seq) if seq < current => Section::Recent,
            Some(_) => Section::Current,
        };
        Placed { item: *item, section, tokens: size(state, item) }
    };
    let parts: Vec<Placed> = items.iter().map(place).collect();
    let sum = |section| parts.iter().filter(|part| part.section == section).map(|part| u64::from(part.tokens)).sum();
    let shares = room.shares;
    let sections = vec![
        (Section::System, room.share(shares.system), spec.fixed_tokens.into()),
        (Section::Summary, room.share(shares.summary), sum(Section::Summary)),
        (Section::Recent, room.share(shares.recent), sum(Section::Recent)),
        (Section::Current, room.share(shares.current), sum(Section::Current)),
    ];
    let left_out = left_out(state, tip, &parts);
    let (window, reserved) = (model.context_window, model.reserved_output);
    Some(Layout {
        window,
        reserved,
        most: room.most,
        full: room.full,
        per_mille: model.scale.per_mille(),
        sections,
        parts,
        left_out,
    })
}

/// What goes with every request under a spec, by name and size: the system text with what files and the owner added to it, then
/// each tool. Under the text protocol the system text describes the tools.
pub fn fixed_parts(spec: &Spec) -> Vec<(String, u32)> {
    let added: u32 = spec.instruction_parts.iter().map(|part| part.tokens).sum();
    let whole = estimate(&spec.instructions);
    let mut parts = vec![("system text".to_string(), whole.saturating_sub(added))];
    // Sizes of parts are rounded up; together they are no more than the whole.
    let mut left = whole.min(added);
    for part in &spec.instruction_parts {
        let tokens = part.tokens.min(left);
        left -= tokens;
        parts.push((part.source.clone(), tokens));
    }
    if spec.protocol == Protocol::Json {
        return parts;
    }
    parts.extend(spec.tools.iter().map(|tool| (format!("tool {}", tool.name), tool_tokens(tool))));
    parts
}

/// The estimated size of a tool's description. Of its schema by letters alone: models are shown it in shorter forms than JSON.
pub(crate) fn tool_tokens(tool: &ToolSpec) -> u32 {
    estimate(&tool.description)
        + tool.input_schema.tokens(|schema| letters(&schema.to_string()))
        + letters(&tool.name)
        + 8
}

impl SpecHead {
    /// The estimated size of what goes with every request under a spec: of all [`fixed_parts`].
    pub(crate) fn fixed(spec: &Spec) -> u32 {
        let described = spec.tools.iter().filter(|_| spec.protocol != Protocol::Json);
        estimate(&spec.instructions) + described.map(tool_tokens).sum::<u32>()
    }
}

fn size(state: &State, item: &Item) -> u32 {
    let node = item.seq().and_then(|seq| state.tree.node(seq));
    let whole = node.map_or(0, |node| node.tokens);
    match item {
        Item::Demands { most, .. } => most.unwrap_or(node.map_or(0, |node| node.demands)),
        Item::Result { shown: Shown::Excerpt(tokens), .. } => *tokens,
        Item::Result { shown: Shown::Line, call, .. } => {
            state.calls.get(*call).and_then(|call| call.memory).unwrap_or_default().saturating_add(NOTE)
        }
        Item::Summary { .. } => {
            let tip = state.model.map_or_else(|| state.tip(), |model| model.head);
            state.tree.cut_at(tip).map_or(0, |cut| cut.tokens)
        }
        Item::Standing { .. } => {
            state.coming_spec().and_then(|spec| standing(state, spec)).map_or(0, |text| estimate(&text) + 4)
        }
        Item::Recalled { call, .. } => state.calls.get(*call).map_or(0, |call| call.tokens),
        _ => whole,
    }
}

/// The messages of the path that are not shown, or not whole, each under the first cut since which that is so.
fn left_out(state: &State, tip: Option<Seq>, parts: &[Placed]) -> Vec<LeftOut> {
    let tree = &state.tree;
    let shown: BTreeMap<Seq, u32> = parts.iter().filter_map(|part| Some((part.item.seq()?, part.tokens))).collect();
    let mut path: Vec<(Seq, &Node)> = tree.up(tip).collect();
    path.reverse();
    let cuts: Vec<(Seq, EventId)> =
        path.iter().filter(|(_, node)| node.kind == NodeKind::Cut).map(|(seq, node)| (*seq, node.event)).collect();
    let mut found: Vec<LeftOut> = Vec::new();
    let mut last = None;
    for (at, (seq, node)) in path.iter().filter(|(_, node)| node.kind != NodeKind::Cut).enumerate() {
        let size = shown.get(seq).copied();
        if size.is_some_and(|size| size >= node.tokens) {
            continue;
        }
        let is_out = |cut: &&(Seq, EventId)| {
            let held = tree.cut_at(Some(cut.0));
            let floor = tree.floor(Some(cut.0));
            let out = match node.kind {
                NodeKind::Result(call) => held.is_some_and(|held| held.shortened(call).is_some()),
                _ => false,
            };
            out || *seq < floor || held.is_some_and(|held| held.omits(*seq))
        };
        // The last of the cuts that it is out under without a break, looking back.
        let Some((_, by)) = cuts.iter().rev().take_while(|(cut, _)| cut > seq).take_while(is_out).last() else {
            continue;
        };
        let (tokens, shown) = (u64::from(node.tokens), u64::from(size.unwrap_or_default()));
        let demands = u32::from(size.unwrap_or(0) < node.demands);
        match found
            .last_mut()
            .filter(|before| before.by == *by && last == Some(at.wrapping_sub(1)) && (before.shown > 0) == (shown > 0))
        {
            Some(before) => {
                before.last = *seq;
                before.messages += 1;
                before.tokens += tokens;
                before.shown += shown;
                before.demands += demands;
            }
            None => found.push(LeftOut { first: *seq, last: *seq, messages: 1, tokens, shown, demands, by: *by }),
        }
        last = Some(at);
    }
    found
}
