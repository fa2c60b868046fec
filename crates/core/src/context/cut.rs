//! What is left out of the requests to come, and when. Decided from heads alone, recorded as an event, never computed again.
//!
//! A section may be larger than its share as long as the request is not nearly full. Then goes, in this order: messages of
//! finished goals, chat of earlier runs, the oldest tool outputs down to their long-term line; and if that is not enough, a
//! summary takes the place of what is old. The task, what people demand, the newest turn and open calls never go.

use crate::context::compact;
use crate::{Call, Cut, Node, NodeKind, Refusal, Run, SpecHead, State};
use mainpath_types::*;
use std::collections::BTreeSet;

/// A request this full, in hundredths of the window, is cut or summarised.
const FULL: u64 = 80;
/// A cut is worth it if it brings the request down to so many hundredths of what it may take.
const ENOUGH: u64 = 60;
/// Characters of a token, where characters are limited. Wide scripts have fewer.
const CHARS_A_TOKEN: u64 = 4;
/// What the JSON around a message takes in the widest format, its call or the call that it answers included, beyond what is
/// estimated of it: about 130 characters, in tokens. What escapes make longer is seen when the body is made.
pub(crate) const AROUND: u64 = 32;
/// The size of the note on a result that is not shown whole.
pub(crate) const NOTE: u32 = 24;
/// The size at which an old result without a long-term line is shown.
const EXCERPT: u32 = 120;

/// A message of a person's of at most so many tokens stays whole if it demands something and there is room.
const WHOLE: u32 = 256;

/// With less room than this nothing is shown of a message that demands more.
const SOME: u64 = 64;

/// How large a request may be, in tokens.
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
        let most = window.saturating_sub(model.reserved_output.into()).min(chars);
        let full = window.min(chars).saturating_mul(FULL) / 100;
        Room { most, full: full.min(most), shares: spec.limits.shares }
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

/// What a call's result is shown as once it is old.
fn brief(call: &Call) -> Shortened {
    let line = call.memory.map(|line| line.saturating_add(NOTE));
    Shortened { call: call.id, tokens: line.unwrap_or(EXCERPT), excerpt: line.is_none() }
}

/// What that saves.
pub(crate) fn saves(call: &Call) -> u32 {
    call.tokens.saturating_sub(brief(call).tokens)
}

/// What keeps the next request inside the window: a cut, a summary, or else the end of the run.
pub(crate) fn due(state: &State, run: &Run, spec: &SpecHead) -> Option<EventKind> {
    if let Some(cut) = window(state, spec) {
        return Some(cut.into());
    }
    let (room, tokens) = (Room::of(spec), state.request_tokens());
    let too_large = tokens > room.most;
    if too_large && let Some(cut) = giants(state, &room) {
        return Some(cut.into());
    }
    // In the middle of a turn a model's summary would come too late: the request that it takes does not fit either.
    if run.remedy == Some(Remedy::Cut) || (too_large && run.asking) {
        let again = run.compacted_at == Some(run.turns);
        return Some(match compact::shrinks(state, spec, true) {
            true if !again => compact::opened(state, SummaryMode::Rules).into(),
            _ => last_resort(state, run, spec),
        });
    }
    if let Some(cut) = state.expand.and_then(|by| expand(state, by).ok()) {
        return Some(cut.into());
    }
    if run.asking {
        return None;
    }
    if state.compaction.is_some() || run.rules_next {
        let by = if run.rules_next || too_large { SummaryMode::Rules } else { spec.limits.summary };
        return Some(compact::opened(state, by).into());
    }
    if spec.limits.finished_goals == Finished::EveryTurn && state.unswept {
        let mut loss = Loss::new(state);
        loss.omit_finished_goals();
        if loss.saved > 0 {
            return Some(loss.cut(CutCause::Goals).into());
        }
    }
    let once = state.tree.once_due(state.tree.head);
    if once > 0 && once >= tokens.saturating_sub(once) {
        return Some(Loss::new(state).cut(CutCause::Once).into());
    }
    if tokens <= room.full {
        return None;
    }
    let loss = Loss::enough(state, tokens, room.enough());
    if tokens.saturating_sub(loss.saved) <= room.enough() {
        return Some(loss.cut(CutCause::Full).into());
    }
    let grown = |to: u64| tokens >= to.saturating_add((room.most / 10).min(room.most.saturating_sub(to) / 2));
    let grown = state.summarised_to.is_none_or(grown) || (too_large && !run.compacted);
    let fresh = run.compacted_at.is_none_or(|turns| turns < run.turns) && grown;
    if fresh && state.tree.shown_count(state.tree.head) > 4 {
        // The model cannot be asked about what does not fit.
        let by = if too_large { SummaryMode::Rules } else { spec.limits.summary };
        return Some(compact::opened(state, by).into());
    }
    too_large.then(|| last_resort(state, run, spec))
}

/// Where no summary could be made, what is old goes without one; else the run ends.
fn last_resort(state: &State, run: &Run, spec: &SpecHead) -> EventKind {
    let first_kept = compact::first_kept(state, spec, true);
    let cut = Loss { first_kept, ..Loss::new(state) }.cut(CutCause::Overflow);
    let helps = first_kept.is_some_and(|first| state.tree.left_out_by(state.tree.head, first, &cut.keeps.pinned) > 0);
    if !run.compacted && helps { cut.into() } else { too_much(state, run, spec) }
}

/// Whether the next request is small enough.
pub(crate) fn fits(state: &State, spec: &SpecHead) -> bool {
    state.request_tokens() <= Room::of(spec).most
}

/// The end of a run whose request cannot be made to fit, with the reason in words.
fn too_much(state: &State, run: &Run, spec: &SpecHead) -> EventKind {
    let (room, tokens) = (Room::of(spec), state.request_tokens());
    let most = match spec.limits.context_chars {
        Some(chars) if Room::is_limited(spec) => {
            format!("the limit is {chars} characters, {} tokens", room.most)
        }
        _ => format!("the model's window leaves {}", room.most),
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
fn window(state: &State, spec: &SpecHead) -> Option<ContextCut> {
    let (tree, head) = (&state.tree, state.tree.head);
    let window = spec.limits.window_messages?;
    let most = window.saturating_add(state.window_extra);
    if tree.shown_count(head) <= most {
        return None;
    }
    let first_kept = tree.keep_from(head, |count, _| count <= most - window / 2)?;
    let loss = Loss { first_kept: Some(first_kept), ..Loss::new(state) };
    let cut = loss.cut(CutCause::Window);
    (tree.left_out_by(head, first_kept, &cut.keeps.pinned) > 0).then_some(cut)
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
/// far as there is room.
pub fn expand(state: &State, by: u32) -> Result<ContextCut, Refusal> {
    let (tree, head) = (&state.tree, state.tree.head);
    let cut = tree.cut_at(head).ok_or(Refusal::NothingCut)?;
    let floor = tree.floor(head);
    let left_out = |(seq, node): &(Seq, &Node)| {
        let is_out = if *seq < floor { !cut.keeps.pinned.contains(seq) } else { cut.omits(*seq) };
        !matches!(node.kind, NodeKind::Cut | NodeKind::Injected) && is_out
    };
    let free = state.coming_spec().map_or(0, |spec| Room::of(spec).full.saturating_sub(state.request_tokens()));
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

/// What is to be left out: what is left out already, what has been shown once and was to be, and more.
struct Loss<'a> {
    state: &'a State,
    /// The messages before the newest turn that are shown for themselves, oldest first.
    old: Vec<(Seq, &'a Node)>,
    /// From where on messages are shown.
    first_kept: Option<Seq>,
    gone: BTreeSet<Seq>,
    shortened: Vec<Shortened>,
    /// How many tokens less a request has.
    saved: u64,
}

impl<'a> Loss<'a> {
    fn new(state: &'a State) -> Loss<'a> {
        let (tree, head) = (&state.tree, state.tree.head);
        let (held, floor) = (tree.cut_at(head), tree.floor(head));
        let current = tree.current_from(head).unwrap_or(Seq(u32::MAX));
        let mut old: Vec<(Seq, &Node)> = tree.kept(head).filter(|(seq, _)| *seq < current).collect();
        old.reverse();
        let path = tree.up(head).take_while(|(seq, _)| *seq >= floor);
        let gone = path.filter(|(seq, _)| held.is_some_and(|cut| cut.omits(*seq))).map(|(seq, _)| seq).collect();
        let first_kept = Some(floor.max(Seq(1)));
        let shortened = held.map(|cut| cut.keeps.shortened.clone()).unwrap_or_default();
        let mut loss = Loss { state, old, first_kept, gone, shortened, saved: 0 };
        let once = loss.old.iter().filter_map(|(_, node)| loss.result(node)).filter(|call| call.once);
        let once: Vec<Shortened> = once.map(brief).collect();
        once.into_iter().for_each(|short| loss.shorten(short));
        loss
    }

    /// Leaves out what goes first until a request of so many tokens is small enough, or nothing more goes.
    fn enough(state: &'a State, tokens: u64, enough: u64) -> Loss<'a> {
        let mut loss = Loss::new(state);
        let fits = |loss: &Loss<'_>| tokens.saturating_sub(loss.saved) <= enough;
        if !fits(&loss) {
            loss.omit_finished_goals();
        }
        if !fits(&loss) {
            loss.omit_old_chat();
        }
        let results: Vec<Shortened> = loss.old.iter().filter_map(|(_, node)| loss.result(node)).map(brief).collect();
        for short in results {
            if fits(&loss) {
                break;
            }
            loss.shorten(short);
        }
        loss
    }

    /// The call that a message is the result of, if it is shown whole.
    fn result(&self, node: &Node) -> Option<&'a Call> {
        let NodeKind::Result(id) = node.kind else { return None };
        let call = self.state.calls.get(id)?;
        (saves(call) > 0 && self.shortened.binary_search_by_key(&id, |short| short.call).is_err()).then_some(call)
    }

    fn omit_finished_goals(&mut self) {
        let goals = &self.state.goals;
        self.omit(|_, node| {
            let works = matches!(node.kind, NodeKind::Assistant { .. } | NodeKind::Result(_));
            works && node.goal.and_then(|goal| goals.get(goal)).is_some_and(Goal::is_finished)
        });
    }

    fn omit_old_chat(&mut self) {
        let Some(first) = self.state.run.as_ref().and_then(|run| run.first) else { return };
        let task = task(self.state);
        self.omit(|seq, node| {
            let chat = match node.kind {
                NodeKind::User => node.demands == 0,
                NodeKind::Assistant { calls } => calls == 0,
                _ => false,
            };
            chat && seq < first && Some(seq) != task
        });
    }

    fn omit(&mut self, goes: impl Fn(Seq, &Node) -> bool) {
        for (seq, node) in &self.old {
            if !goes(*seq, node) || !self.gone.insert(*seq) {
                continue;
            }
            let short = if let NodeKind::Result(call) = node.kind { short(&self.shortened, call) } else { None };
            self.saved += u64::from(short.map_or(node.tokens, |short| short.tokens));
        }
    }

    fn shorten(&mut self, short: Shortened) {
        let Some(call) = self.state.calls.get(short.call) else { return };
        let Err(at) = self.shortened.binary_search_by_key(&short.call, |short| short.call) else { return };
        self.shortened.insert(at, short);
        self.saved += u64::from(call.tokens.saturating_sub(short.tokens));
    }

    fn cut(self, cause: CutCause) -> ContextCut {
        let seq = self.state.tree.next_seq();
        ContextCut { seq, keeps: self.keeps(), cause }
    }

    fn keeps(mut self) -> Keeps {
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

/// What a summary keeps that stands for everything before a message: the sets that hold now, as far as they still matter.
pub(crate) fn kept_after(state: &State, first_kept: Option<Seq>) -> Keeps {
    Loss { first_kept, ..Loss::new(state) }.keeps()
}

fn short(shortened: &[Shortened], call: CallId) -> Option<&Shortened> {
    shortened.get(shortened.binary_search_by_key(&call, |short| short.call).ok()?)
}

/// Whether the newest reminder tells a plan that has changed since.
fn is_outdated(state: &State) -> bool {
    state.plan_changed && !state.goals.is_empty()
}

/// The first thing that was asked for on the main path.
pub fn task(state: &State) -> Option<Seq> {
    state.tree.up(state.tree.head).filter(|(_, node)| node.kind == NodeKind::User).last().map(|(seq, _)| seq)
}

/// What stays of earlier messages: see [`Keeps`].
#[derive(Default)]
pub(crate) struct Pins {
    pub pinned: Vec<Seq>,
    pub demands: Vec<Seq>,
    pub partly: Option<(Seq, u32)>,
}

/// The messages before one that stay in any case. Whole are the task, what opened the run, and the newest reminder if it holds.
/// Demands may take half of the summary's share, the newest first, since they may correct the older; one that is too large
/// for what is left keeps out no other. Of the newest such message there is shown what fits then; what room is left after that
/// has short messages stay whole.
pub(crate) fn pins(state: &State, before: Seq) -> Pins {
    let mut room = state.coming_spec().map_or(0, |spec| {
        let room = Room::of(spec);
        room.share(room.shares.summary) / 2
    });
    let mut reminders = state.tree.up(state.tree.head).filter(|(_, node)| node.kind == NodeKind::Injected);
    let reminder = reminders.next().map(|(seq, _)| seq).filter(|_| !is_outdated(state));
    let first = state.run.as_ref().and_then(|run| run.first);
    let whole: Vec<Seq> = [task(state), first, reminder].into_iter().flatten().collect();
    let Pins { mut pinned, mut demands, mut partly } = Pins::default();
    let takes = |room: &mut u64, size: u32| {
        let left = room.checked_sub(size.into());
        *room = left.unwrap_or(*room);
        left.is_some()
    };
    let (mut held, mut unheld): (Vec<(Seq, &Node)>, _) = (Vec::new(), None);
    for (seq, node) in state.tree.up(state.tree.head).filter(|(seq, _)| *seq < before) {
        if whole.contains(&seq) {
            pinned.push(seq);
        } else if node.demands > 0 && takes(&mut room, node.demands) {
            held.push((seq, node));
        } else if node.demands > 0 {
            unheld = unheld.or(Some(seq));
        }
    }
    if let Some(seq) = unheld.filter(|_| room >= SOME) {
        // There is less room than it takes.
        partly = Some((seq, u32::try_from(room).unwrap_or(u32::MAX)));
        room = 0;
    }
    for (seq, node) in held {
        let more = node.tokens.saturating_sub(node.demands);
        let stays = more == 0 || (node.tokens <= WHOLE && takes(&mut room, more));
        if stays { pinned.push(seq) } else { demands.push(seq) }
    }
    pinned.sort_unstable();
    demands.sort_unstable();
    Pins { pinned, demands, partly }
}

impl State {
    pub(crate) fn context_cut(&mut self, event: EventId, data: &ContextCut) {
        let above = self.tree.cut_at(self.tree.head);
        let (summary, tokens) = above.map_or((None, 0), |cut| (cut.summary, cut.tokens));
        self.cut(event, Cut { keeps: data.keeps.clone(), summary, tokens, ..Cut::default() });
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

/// The runs of neighbours on a path that are in a set. The path is newest first, the spans are oldest first.
fn spans(path: &[Seq], gone: &BTreeSet<Seq>) -> Vec<Span> {
    let runs = path.chunk_by(|a, b| gone.contains(a) == gone.contains(b));
    let spans = runs.filter_map(|run| Some((*run.last()?, *run.first()?))).filter(|(first, _)| gone.contains(first));
    let mut spans: Vec<Span> = spans.collect();
    spans.reverse();
    spans
}
