//! The prefix rule, exactly. What the main path shows grows at its end, or breaks: by one of four events, each of which says up to
//! where it still stands. A request shows that, and after it what this request alone shows. Whatever else a request is made of, a
//! spec and a model, changes by an event as well.

use mainpath_core::{Bodies, Item, Node, NodeKind, Packed, State, Tree, message, pack};
use mainpath_types::{CallId, Event, EventId, EventKind, Keeps, ModelFailed, Remedy, Seq, Shortened};

type Check = Result<(), String>;

fn ensure(holds: bool, problem: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(problem()) }
}

/// What the main path shows in whatever request comes next.
fn path(state: &State) -> Vec<Item> {
    let mut state = state.clone();
    (state.model, state.branch) = (None, None);
    state.context.recalled.clear();
    pack(&state).map_or_else(Vec::new, |packed| packed.items)
}

/// How many of the items that the main path showed before an event still stand after it, in their words as well; `None` where
/// all do. The event must say so itself: a break that no event names, or that lies elsewhere, is an error.
pub fn broken(before: &State, event: &Event, after: &State, bodies: &dyn Bodies) -> Result<Option<usize>, String> {
    let (was, is) = (path(before), path(after));
    let named = named(before, event, &was);
    let stands = was.iter().zip(&is).take_while(|(was, is)| was == is).count();
    ensure(stands == named.unwrap_or(was.len()), || {
        format!("{stands} items stand, not {named:?}, after {event:?}:\n{was:?}\n{is:?}")
    })?;
    let spec = |state: &State| state.spec.as_ref().map(|spec| spec.event);
    if spec(before) == spec(after) {
        for item in was.iter().take(stands) {
            let (then, now) = (message(before, bodies, item), message(after, bodies, item));
            ensure(then == now, || format!("{item:?} has other words after {event:?}:\n{then:?}\n{now:?}"))?;
        }
    }
    Ok(named.filter(|named| *named < was.len()))
}

/// Up to where what was shown stands, by what the event says; `None` for an event that breaks nothing.
fn named(before: &State, event: &Event, was: &[Item]) -> Option<usize> {
    let tree = &before.tree;
    let old = Kept::at(tree, tree.head);
    let (new, tip) = match &event.kind {
        EventKind::SessionCleared(_) => return Some(0),
        EventKind::Rewound(data) => (Kept::at(tree, data.head), data.head),
        EventKind::ContextCut(data) => {
            let base = tree.cut_at(tree.head).and_then(|cut| cut.base);
            let summary = if data.note.is_some() { Some(event.id) } else { base };
            (Some(Kept { seq: data.seq, keeps: &data.keeps, summary }), tree.head)
        }
        EventKind::Compacted(data) => {
            let own = data.note.is_some() || data.excerpt.is_some();
            let summary = Some(if own { event.id } else { data.summary });
            (Some(Kept { seq: data.seq, keeps: &data.keeps, summary }), tree.head)
        }
        _ => return None,
    };
    let how = |kept: &Option<Kept>, seq, node: &Node| kept.as_ref().map_or(How::Whole, |kept| kept.how(seq, node));
    let changes =
        |seq: Seq, node: &Node| tip.is_none_or(|tip| seq > tip) || how(&old, seq, node) != how(&new, seq, node);
    let path = || tree.up(tree.head).filter(|(_, node)| node.kind != NodeKind::Cut);
    let first = path().filter(|(seq, node)| changes(*seq, node)).last().map(|(seq, _)| seq);
    // Where a summary stands, or comes to stand: after the earlier messages that are kept.
    let summary = |kept: &Option<Kept>| kept.as_ref().and_then(|kept| Some((kept.summary?, kept.floor())));
    let (from, to) = (summary(&old), summary(&new));
    let later = if from.map(|(_, floor)| floor) > to.map(|(_, floor)| floor) { &old } else { &new };
    let floors = [from, to].into_iter().flatten().map(|(_, floor)| floor);
    let between = floors.clone().min()..floors.clone().max();
    let moved = path().any(|(seq, node)| between.contains(&Some(seq)) && how(later, seq, node) != How::Gone);
    let same = from.map(|(event, _)| event) == to.map(|(event, _)| event) && !moved;
    let floor = floors.min();
    let place = floor.filter(|_| !same);
    let stands = |item: &&Item| match item.seq() {
        Some(seq) => first.is_none_or(|first| seq < first) && place.is_none_or(|place| seq < place),
        None => same && first.is_none_or(|first| Some(first) >= floor),
    };
    Some(was.iter().take_while(stands).count())
}

/// What a cut says of the path above it.
struct Kept<'a> {
    seq: Seq,
    keeps: &'a Keeps,
    summary: Option<EventId>,
}

/// How a message is shown.
#[derive(PartialEq)]
enum How {
    Gone,
    Demands,
    Partly(u32),
    Short(Shortened),
    Whole,
}

impl Kept<'_> {
    fn at(tree: &Tree, tip: Option<Seq>) -> Option<Kept<'_>> {
        let cut = tree.cut_at(tip)?;
        Some(Kept { seq: tree.node(tip?)?.cut?, keeps: &cut.keeps, summary: cut.summary })
    }

    fn floor(&self) -> Seq {
        self.keeps.first_kept.unwrap_or(self.seq)
    }

    fn how(&self, seq: Seq, node: &Node) -> How {
        let keeps = self.keeps;
        if seq < self.floor() {
            if let Some((_, tokens)) = keeps.partly.filter(|(partly, _)| *partly == seq) {
                return How::Partly(tokens);
            }
            return match (keeps.pinned.contains(&seq), keeps.demands.contains(&seq)) {
                (true, _) => How::Whole,
                (false, true) => How::Demands,
                (false, false) => How::Gone,
            };
        }
        if keeps.omitted.iter().any(|(first, last)| (*first..=*last).contains(&seq)) {
            return How::Gone;
        }
        let short = |short: &&Shortened| node.kind == NodeKind::Result(short.call);
        keeps.shortened.iter().find(short).map_or(How::Whole, |short| How::Short(*short))
    }
}

/// A request shows what the main path shows, and after it only what it alone shows: what the model looked up again, that this
/// is the last answer, or a side branch. Only the least there is shows less, and a summary of a part of what does not fit.
pub fn request(state: &State, packed: &Packed) -> Check {
    let model = state.model.ok_or("a request without a model call")?;
    if model.minimal {
        return Ok(());
    }
    let mut then = state.clone();
    if state.branch.is_none() {
        // Somebody may have asked to see more since: that is in the next one.
        then.tree.head = model.head;
    }
    let hidden = state.branch.and_then(|branch| branch.hidden);
    let mut main = path(&then);
    main.retain(|item| !hidden.is_some_and(|hidden| item.seq().is_some_and(|seq| hidden.has(seq))));
    let own = packed.items.strip_prefix(main.as_slice());
    let own = own.ok_or_else(|| format!("a request without the path:\n{main:?}\n{:?}", packed.items))?;
    let mut own = own.iter().peekable();
    let tip = state.tree.head.unwrap_or(Seq(0));
    while own.next_if(|item| state.branch.is_some() && item.seq().is_some_and(|seq| seq > tip)).is_some() {}
    let recalled = own.by_ref().take(state.context.recalled.len());
    let recalled: Vec<CallId> =
        recalled.filter_map(|item| if let Item::Recalled { call, .. } = item { Some(*call) } else { None }).collect();
    ensure(recalled == state.context.recalled, || {
        format!("{recalled:?} is shown again, not {:?}", state.context.recalled)
    })?;
    while own.next_if(|item| matches!(item, Item::Standing { event } if model.standing == Some(*event))).is_some() {}
    let rest: Vec<&Item> = own.collect();
    ensure(rest == vec![&Item::LastAnswer; usize::from(model.last)], || format!("also shown: {rest:?}"))
}

/// Two successive requests are made under the same spec and model, but for what an event between them says.
pub fn under(before: &Packed, after: &Packed, log: &[Event], since: &[Event]) -> Check {
    let (before, after) = (before.under, after.under);
    if before.spec != after.spec {
        let newer = log.iter().rfind(|event| event.id == after.spec && event.id > before.spec);
        let says = newer.is_some_and(|event| matches!(event.kind, EventKind::SpecChanged(_)));
        return ensure(says, || format!("another spec, {}, and no event says so", after.spec));
    }
    let model = since.iter().fold(before.model, |model, event| match event.kind {
        EventKind::RunStarted(_) => 0,
        EventKind::ModelFailed(ModelFailed { remedy: Some(Remedy::Fallback), .. }) => model + 1,
        _ => model,
    });
    ensure(model == after.model, || format!("model {} and not {model}, and no event says so", after.model))
}
