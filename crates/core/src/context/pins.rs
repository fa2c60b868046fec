//! What stays of earlier messages, whatever else is left out: the task, what opened the exchange, the newest reminder, and what
//! people demand, in their own words.

use crate::context::room::Room;
use crate::{Node, NodeKind, State};
use mainpath_types::Seq;

/// A message of a person's of at most so many tokens stays whole if it demands something and there is room.
const WHOLE: u32 = 256;

/// A task that takes more than one in so many of the tokens that a request has for messages stays whole only while it is worked on.
const LARGE_TASK: u64 = 3;

/// With less room than this nothing is shown of a message that demands more.
const SOME: u64 = 64;

/// Whether the newest reminder tells no plan, or one that has changed since: what else it tells, such as budgets, soon has.
pub(crate) fn is_outdated(state: &State) -> bool {
    state.reminders.plan_changed || state.goals.is_empty()
}

/// The first thing that was asked for on the main path.
pub fn task(state: &State) -> Option<Seq> {
    state.tree.up(state.tree.head).filter(|(_, node)| node.kind == NodeKind::User).last().map(|(seq, _)| seq)
}

/// The task, so far as it stays whole: one that fills much of the window does so in its own run alone, or nothing else would fit.
fn whole_task(state: &State, opened: Option<Seq>) -> Option<Seq> {
    let room =
        state.coming_spec().map_or(u64::MAX, |spec| Room::of(spec).most.saturating_sub(spec.fixed_tokens.into()));
    let is_large = |seq: Seq| state.tree.node(seq).is_some_and(|node| u64::from(node.tokens) > room / LARGE_TASK);
    task(state).filter(|seq| opened.is_none_or(|opened| opened == *seq) || !is_large(*seq))
}

/// What stays of earlier messages: see [`Keeps`].
#[derive(Default)]
pub(crate) struct Pins {
    pub pinned: Vec<Seq>,
    pub demands: Vec<Seq>,
    pub partly: Option<(Seq, u32)>,
}

/// What was asked before a message, where that message is an answer: else it would stand without its question. One that takes more
/// than half of what the newest turn may take stays away.
fn question(state: &State, before: Seq) -> Option<Seq> {
    let spec = state.coming_spec()?;
    let most = Room::of(spec).share(spec.limits.shares.current) / 2;
    let mut path = state.tree.up(state.tree.head).filter(|(seq, _)| *seq <= before).map(|(seq, node)| (seq, *node));
    let (_, first) = path.next().filter(|(seq, _)| *seq == before)?;
    if first.kind == NodeKind::User {
        return None;
    }
    let (seq, node) = path.find(|(_, node)| node.kind == NodeKind::User)?;
    (u64::from(node.tokens) <= most).then_some(seq)
}

/// The messages before one that stay in any case. Whole are the loaded skills, the task (a large one while it is worked on), what opened the run, what the first of those after them
/// answers, and the newest reminder if it holds.
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
    let whole: Vec<Seq> =
        [whole_task(state, first), first, question(state, before), reminder].into_iter().flatten().collect();
    let Pins { mut pinned, mut demands, mut partly } = Pins::default();
    let takes = |room: &mut u64, size: u32| {
        let left = room.checked_sub(size.into());
        *room = left.unwrap_or(*room);
        left.is_some()
    };
    let (mut held, mut unheld): (Vec<(Seq, &Node)>, _) = (Vec::new(), None);
    for (seq, node) in state.tree.up(state.tree.head).filter(|(seq, _)| *seq < before) {
        if whole.contains(&seq) || node.kind == NodeKind::Skill {
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
