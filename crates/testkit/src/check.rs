//! The invariants of an agent, as checks on states, packs and logs.

use jsonschema::Validator;
use mainpath_core::{
    Bodies, Call, CallState, Effect, EffectKey, Goals, Item, NodeKind, Packed, SpecHead, State, estimate_parts,
    message, next_step, pack, pending, schemas,
};
use mainpath_types::{
    BudgetMode, CallId, CutCause, Decision, EffectClass, Event, EventId, EventKind, FinishReason, Part, Role,
    RunFinished, Seq, SkillBy, text_of,
};
use schemars::Schema;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

type Check = Result<(), String>;

pub(crate) fn ensure(holds: bool, problem: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(problem()) }
}

/// A state that was written as JSON and read back. It must be the same, and so must be what follows from it.
pub fn stored(state: &State) -> Result<State, String> {
    let text = serde_json::to_string(state).map_err(|error| format!("the state cannot be written: {error}"))?;
    let read: State = serde_json::from_str(&text).map_err(|error| format!("the state cannot be read back: {error}"))?;
    ensure(read == *state, || format!("the state at event {} is another one when read back", state.log.last))?;
    let same = pending(&read) == pending(state) && next_step(&read) == next_step(state) && pack(&read) == pack(state);
    ensure(same, || format!("after event {} something else follows from the state read back", state.log.last))?;
    Ok(read)
}

/// Whether a value is what the published schema of this type of the core's says. Errors: where it is not, or there is no such type.
pub fn fits_schema(name: &str, value: &serde_json::Value) -> Check {
    // A validator is made once: that takes much longer than to use it.
    static VALIDATORS: LazyLock<BTreeMap<&str, Result<Validator, String>>> = LazyLock::new(|| {
        let made = |schema: Schema| jsonschema::validator_for(schema.as_value()).map_err(|error| error.to_string());
        schemas().into_iter().map(|(name, schema)| (name, made(schema))).collect()
    });
    let validator = VALIDATORS.get(name).ok_or_else(|| format!("no schema {name}"))?;
    let validator = validator.as_ref().map_err(|error| format!("{name}: {error}"))?;
    validator.validate(value).map_err(|error| format!("{name}, at {}: {error}", error.instance_path()))
}

/// Whether a call may run beside others: it only reads, or starts agents, which are kept out of each other's way.
fn goes_with_others(call: &Call) -> bool {
    call.effect.is_read_only() || call.effect == EffectClass::StartChild
}

/// What must hold when this event follows this state. `not_done`: calls whose probe found that they were not done.
pub fn event(before: &State, event: &Event, not_done: &BTreeSet<CallId>) -> Check {
    ensure(event.id == before.log.last + 1, || format!("event {} after {}", event.id, before.log.last))?;
    ensure(event.ts >= before.log.now, || format!("event {} goes back in time", event.id))?;
    let closing = before.closing();
    match &event.kind {
        EventKind::ActionStarted(data) => {
            ensure(closing.is_none(), || format!("call {} started while the run was closing", data.call))?;
            let call = before.calls.get(data.call).ok_or_else(|| format!("call {} started from nowhere", data.call))?;
            let rerun = call.attempt > 0;
            ensure(!rerun || call.effect.may_repeat() || not_done.contains(&data.call), || {
                format!("call {} with side effects was repeated blindly", data.call)
            })?;
            ensure(call.approved || call.verdict().is_some_and(|v| v.decision == Decision::Allow), || {
                format!("call {} started without a verdict that allows it", data.call)
            })?;
            ensure(call.verdict().is_none_or(|verdict| verdict.decision != Decision::Deny), || {
                format!("call {} started though its verdict denies it", data.call)
            })?;
            let mut others = before.turn_calls().iter().filter(|other| other.id != data.call);
            let alone = others.all(|other| {
                let runs = !other.state.is_done() && !other.state.is_unstarted();
                !runs || rerun || (goes_with_others(other) && goes_with_others(call))
            });
            ensure(alone, || format!("call {} overlaps with another that does not only read", data.call))?;
            let earlier = before.turn_calls().iter().take_while(|other| other.id < data.call);
            let ordered = goes_with_others(call) || earlier.into_iter().all(|other| other.state.is_done());
            ensure(ordered || rerun, || format!("call {} overtook an earlier one", data.call))
        }
        EventKind::ModelRequested(data) => {
            ensure(closing.is_none(), || format!("request {} while the run was closing", data.request))?;
            ensure(before.turn.is_none(), || format!("request {} while calls were open", data.request))?;
            ensure(data.request == before.counts.requests + 1, || format!("request {} is out of order", data.request))
        }
        EventKind::Injected(data) => {
            let tip = before.tree.up(before.tree.head).find(|(_, node)| node.kind != NodeKind::Cut);
            let results = tip.is_some_and(|(_, node)| matches!(node.kind, NodeKind::Result(_)));
            let quiet = before.turn.is_none() && before.model.is_none() && before.branch.is_none();
            let hidden = before.reminders.plan_hidden || before.reminders.pin_is_news || before.inbox.is_news;
            ensure(closing.is_none() && quiet && (results || hidden), || {
                format!("a reminder {} in the wrong place", data.seq)
            })?;
            let every = before.coming_spec().and_then(|spec| spec.limits.inject_every).unwrap_or(u32::MAX);
            let passed = before.counts.turns - before.reminders.turn;
            ensure(passed >= every || before.reminders.plan_is_news || hidden, || {
                format!("a reminder {passed} turns after the last")
            })
        }
        EventKind::CallResolved(data) => {
            let open = before.calls.get(data.call).is_some_and(|call| !call.state.is_done());
            ensure(open, || format!("call {} was resolved twice", data.call))
        }
        _ => Ok(()),
    }
}

/// What must hold after a run has finished.
pub fn finished(state: &State, finished: &RunFinished) -> Check {
    ensure(state.model.is_none(), || "a reservation is left at the end of the run".into())?;
    ensure(state.turn.is_none() && state.branch.is_none(), || {
        "a turn or a branch is left at the end of the run".into()
    })?;
    let limits = state.limits().ok_or("a run without limits")?;
    ensure(limits.turns.is_none_or(|most| finished.turns <= most), || format!("{} turns", finished.turns))?;
    ensure(limits.calls.is_none_or(|most| finished.calls <= most), || format!("{} calls", finished.calls))?;
    if limits.budget == BudgetMode::Hard {
        let used = finished.usage.total();
        ensure(limits.tokens.is_none_or(|most| used <= most), || format!("{used} tokens against {:?}", limits.tokens))?;
        ensure(limits.money.is_none_or(|most| finished.cost <= most), || format!("{} micros", finished.cost))?;
    }
    // A run that only summarised keeps the reason of the one before it.
    if matches!(finished.reason, FinishReason::Final | FinishReason::MaxOutput) && finished.turns > 0 {
        let mut path = state.tree.up(state.tree.head).map(|(_, node)| node.kind);
        // In a fork a skill may have joined after the answer, for a message that the fork has not.
        let tip = path.find(|kind| !matches!(kind, NodeKind::Cut | NodeKind::Skill));
        ensure(tip == Some(NodeKind::Assistant { calls: 0 }), || format!("final, but the tip is {tip:?}"))?;
    }
    Ok(())
}

/// A running trace always has something to wait for that is not a timer, but for the wait before a retry or for a tool's rate.
pub fn alive(state: &State, pending: &BTreeMap<EffectKey, Effect>) -> Check {
    ensure(next_step(state).is_none(), || format!("a step was left: {:?}", next_step(state)))?;
    let Some(run) = &state.run else {
        return ensure(pending.is_empty(), || format!("obligations without a run: {pending:?}"));
    };
    let delayed = state.turn_calls().iter().any(|call| call.not_before > 0 && call.state == CallState::Ready);
    let real = |key: &EffectKey| !matches!(key, EffectKey::Timer(_)) || run.retry_at.is_some() || delayed;
    ensure(pending.keys().any(real), || format!("a run that waits for nothing: {pending:?}"))
}

/// A call runs where its arguments were judged, and nowhere else.
pub fn granted(pending: &BTreeMap<EffectKey, Effect>, bodies: &dyn Bodies) -> Check {
    for effect in pending.values() {
        let (Effect::RunTool { grant, arguments } | Effect::Probe { grant, arguments }) = effect else { continue };
        let places = match bodies.get(*arguments) {
            Some(EventKind::ModelFinished(data)) => data.call(grant.call().index).map(|call| &call.planned.places),
            Some(EventKind::ApprovalGranted(data)) => Some(&data.places),
            _ => None,
        };
        let places = places.ok_or_else(|| format!("call {} was judged nowhere", grant.call()))?;
        ensure(grant.places() == places, || format!("call {} was judged for {places:?}", grant.call()))?;
    }
    Ok(())
}

/// What the tables say of the main path's size is what is shown of it.
pub fn counted(state: &State) -> Check {
    let (tree, head) = (&state.tree, state.tree.head);
    let floor = tree.floor(head);
    let shown = tree.shown(head).into_iter().filter(|seq| *seq >= floor).count();
    let counted = tree.shown_count(head) as usize;
    ensure(counted == shown, || format!("{counted} messages are counted, and {shown} are shown"))
}

/// A packed request that every vendor takes: begins with the user, every call answered once, in order, directly after it.
pub fn packed(state: &State, bodies: &dyn Bodies, packed: &Packed) -> Check {
    let mut open: Vec<CallId> = Vec::new();
    let mut seen = BTreeSet::new();
    for (at, item) in packed.items.iter().enumerate() {
        let message = message(state, bodies, item).ok_or_else(|| format!("{item:?} has no body"))?;
        ensure(at > 0 || message.role == Role::User, || format!("the request begins with {item:?}"))?;
        ensure(!message.parts.is_empty(), || format!("{item:?} is empty"))?;
        // The result of a call that was denied and made later is a message: no call of the model's stands before it.
        if let Item::Result { call, seq, .. } = item
            && message.role == Role::Tool
        {
            ensure(open.first() == Some(call), || format!("the result of {call} is out of place, open: {open:?}"))?;
            open.remove(0);
            ensure(seen.insert(*seq), || format!("{seq} is shown twice"))?;
            continue;
        }
        ensure(open.is_empty(), || format!("{item:?} comes before the results of {open:?}"))?;
        if let Item::Assistant { seq, .. }
        | Item::User { seq, .. }
        | Item::Injected { seq, .. }
        | Item::Skill { seq, .. } = item
        {
            ensure(seen.insert(*seq), || format!("{seq} is shown twice"))?;
        }
        if let Item::Assistant { seq, .. } = item {
            let made = message.parts.iter().filter(|part| matches!(part, Part::ToolCall { .. })).count();
            open = state.calls.of(*seq).iter().map(|call| call.id).collect();
            ensure(made == open.len(), || format!("{seq} shows {made} calls and has {}", open.len()))?;
        }
    }
    ensure(open.is_empty(), || format!("no result for {open:?}"))?;
    let gone = seen.iter().find(|seq| **seq <= state.tree.cleared);
    ensure(gone.is_none(), || format!("{gone:?} is shown, yet it was cleared"))?;
    let last = packed.items.last();
    ensure(!matches!(last, Some(Item::Assistant { .. } | Item::Malformed { .. })), || {
        format!("ends with the assistant: {:?}", packed.items)
    })?;
    if state.model.is_some_and(|model| model.minimal) {
        return ensure(packed.items.len() <= 1, || "more than the least there is".into());
    }
    let shown = |seq| packed.items.iter().any(|item| matches!(item, Item::Skill { seq: at, .. } if *at == seq));
    let skills = state.tree.up(state.tree.head).filter(|(_, node)| node.kind == NodeKind::Skill);
    // Of a conversation that is summarised in parts, the later parts are not shown.
    let hidden = |seq| state.branch.and_then(|branch| branch.hidden).is_some_and(|hidden| seq >= hidden.from);
    let missing = skills.map(|(seq, _)| seq).find(|seq| !hidden(*seq) && !shown(*seq));
    ensure(missing.is_none(), || format!("the skill {missing:?} is loaded and not shown"))?;
    let task = state.tree.up(state.tree.head).filter(|(_, node)| node.kind == NodeKind::User).last();
    let shows = |task| packed.items.iter().any(|item| matches!(item, Item::User { seq, .. } if *seq == task));
    // One that fills the window stays only while it is worked on; then a summary tells of it.
    let opened = state.run.as_ref().and_then(|run| run.first);
    let told = packed.items.iter().any(|item| matches!(item, Item::Summary { .. }));
    // Or half of everything had to go at once, as the vendor would not take it.
    let tip = state.model.map_or_else(|| state.tip(), |model| model.head);
    let cut = tip.and_then(|tip| state.tree.node(tip)?.cut);
    let by = cut.and_then(|cut| bodies.get(state.tree.node(cut)?.event));
    let halved = matches!(by, Some(EventKind::ContextCut(data)) if data.cause == CutCause::Overflow);
    let may_go = |task| (told || halved) && opened != Some(task);
    ensure(task.is_none_or(|(task, _)| shows(task) || may_go(task) || hidden(task)), || {
        "the task is not shown".into()
    })?;
    // Of the reminders before the cut that holds, the newest is shown and no other; none if the plan has changed by then.
    let before_cut =
        state.tree.up(tip).filter(|(seq, node)| node.kind == NodeKind::Injected && cut.is_some_and(|cut| *seq < cut));
    let newest: Vec<Seq> = before_cut.map(|(seq, _)| seq).take(1).collect();
    let reminders = packed.items.iter().filter_map(|item| match item {
        Item::Injected { seq, .. } if cut.is_some_and(|cut| *seq < cut) => Some(*seq),
        _ => None,
    });
    let (reminders, told): (Vec<Seq>, _) = (reminders.collect(), !state.reminders.plan_hidden);
    let planned = !state.goals.is_empty();
    ensure(reminders == newest || reminders.is_empty(), || {
        format!("the newest reminder is {newest:?}: {:?}", packed.items)
    })?;
    // After a cut the plan is in sight: as it was told last, and with what was changed since.
    let says_plan = |item: &Item| {
        let said = message(state, bodies, item).map(|message| text_of(&message.parts)).unwrap_or_default();
        matches!(item, Item::Injected { .. }) && said.contains(&state.goals.short_view())
    };
    // Or every request says it.
    let told = told || packed.items.iter().any(|item| matches!(item, Item::Standing { .. }));
    let in_sight =
        told && (state.reminders.plan_changed || packed.items.iter().any(says_plan) || state.reminders.plan_hidden);
    let cut_away = cut.is_some() && planned && state.branch.is_none() && state.model.is_some() && tip == state.tip();
    ensure(in_sight || !cut_away, || {
        format!(
            "the plan is out of sight: changed {}, hidden {}, {:?}, {:?}",
            state.reminders.plan_changed,
            state.reminders.plan_hidden,
            state.goals.short_view(),
            packed.items
        )
    })?;
    let is_answer = |seq| matches!(state.tree.node(seq).map(|node| node.kind), Some(NodeKind::Assistant { .. }));
    let read: Vec<Seq> = state.inbox.list.iter().filter_map(|arrival| arrival.read).collect();
    ensure(read.iter().all(|seq| is_answer(*seq)), || format!("messages were read by no answer: {read:?}"))?;
    ensure(!state.inbox.is_news || state.inbox.unread().next().is_some(), || "news of no message".into())?;
    plan(&state.goals)?;
    demands(state, bodies, packed)
}

/// A plan that is one: a tree, its focus in it and unfinished.
fn plan(goals: &Goals) -> Check {
    for goal in goals.list() {
        let parent = goal.parent.is_none_or(|parent| goals.get(parent).is_some());
        ensure(parent && goals.above(goal.id).take(1_000).all(|above| above.id != goal.id), || {
            format!("goal {} hangs in the air: {goals:?}", goal.id.0)
        })?;
        let same = goals.list().iter().filter(|other| other.id == goal.id).count();
        ensure(same == 1, || format!("{same} goals {}", goal.id.0))?;
    }
    let focus = goals.focus.map(|id| goals.get(id));
    ensure(focus.is_none_or(|goal| goal.is_some_and(|goal| !goal.is_finished())), || {
        format!("what is in focus is not to be done: {goals:?}")
    })
}

/// What people demanded is shown in their own words. What is not shown would not have fitted beside what was demanded later.
fn demands(state: &State, bodies: &dyn Bodies, packed: &Packed) -> Check {
    let Some(spec) = state.spec.as_ref() else { return Ok(()) };
    // A cut may have been made for the smallest of the models.
    let smallest = (0..spec.models.len()).map(|using| most(&SpecHead { using, ..spec.clone() })).min().unwrap_or(0);
    let room = smallest * u64::from(spec.limits.shares.summary) / 100 / 2;
    let tip = state.model.map_or_else(|| state.tip(), |model| model.head);
    let floor = state.tree.cut_at(tip).and_then(|cut| cut.keeps.first_kept.or(state.tree.node(tip?)?.cut));
    let (mut taken, mut some) = (0, Vec::new());
    for (seq, node) in state.tree.up(tip).filter(|(_, node)| node.demands > 0) {
        let early = floor.is_some_and(|floor| seq < floor);
        let shows = |item: &&Item| match item {
            Item::User { seq: at, .. } => *at == seq,
            Item::Demands { seq: at, most: None, .. } => *at == seq && node.demands < node.tokens,
            _ => false,
        };
        let hidden = state.branch.and_then(|branch| branch.hidden);
        if hidden.is_some_and(|hidden| hidden.has(seq)) {
            continue;
        }
        let Some(item) = packed.items.iter().find(shows) else {
            ensure(early && taken + u64::from(node.demands) > room, || {
                format!("what {seq} demands is not shown: {taken} of {room} are taken")
            })?;
            some.extend(packed.items.iter().filter(|item| item.seq() == Some(seq)));
            continue;
        };
        taken += if early { u64::from(node.demands) } else { 0 };
        let said = message(state, bodies, &Item::User { seq, event: node.event });
        let (Some(said), Some(shown)) = (said, message(state, bodies, item)) else { continue };
        let shown = in_line(&text_of(&shown.parts));
        let lost = demanded(&text_of(&said.parts)).into_iter().find(|words| !shown.contains(words));
        ensure(lost.is_none(), || format!("{lost:?} of {seq} is not in {shown:?}"))?;
    }
    // Of one alone some is shown, and no more than is said.
    for item in &some {
        let Item::Demands { most: Some(most), .. } = item else { return Err(format!("{item:?} is shown")) };
        let size = message(state, bodies, item).map_or(0, |message| estimate_parts(&message.parts));
        ensure(size <= *most, || format!("{size} tokens of {item:?}"))?;
    }
    ensure(some.len() <= 1, || format!("some is shown of {some:?}"))
}

/// What a message demands, word by word, by a rule of its own that knows what is said in tests: sentences with `must`, and the
/// list under one that ends with a colon.
fn demanded(text: &str) -> Vec<String> {
    let (mut found, mut lists) = (Vec::new(), false);
    for line in text.lines() {
        if lists && line.starts_with("- ") {
            found.push(in_line(line));
            continue;
        }
        lists = false;
        for sentence in line.split_inclusive(". ").filter(|sentence| sentence.contains(" must ")) {
            lists = sentence.ends_with(':');
            found.push(in_line(sentence));
        }
    }
    found
}

fn in_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How many tokens a request may have.
fn most(spec: &SpecHead) -> u64 {
    let window = spec.model().context_window.saturating_sub(spec.model().reserved_output);
    u64::from(window.min(spec.limits.context_chars.map_or(u32::MAX, |chars| chars / 4)))
}

/// A request is made only if it fits, by estimate; but for those on side branches that show all of one that fitted, to which they
/// add little.
pub fn fits(state: &State) -> Check {
    let (Some(spec), Some(model)) = (state.spec.as_ref(), state.model) else { return Ok(()) };
    let adds = state.branch.is_some_and(|branch| branch.hidden.is_none());
    ensure(adds || u64::from(model.input) <= most(spec), || {
        format!("{} tokens do not fit in {}", model.input, most(spec))
    })
}

/// What must hold of a whole log.
pub fn log(log: &[Event]) -> Check {
    let (mut resolved, mut joined) = (BTreeSet::new(), BTreeSet::new());
    let preset = |event: &&Event| matches!(&event.kind, EventKind::SkillSelected(data) if data.by == SkillBy::Preset);
    let presets: BTreeSet<EventId> = log.iter().filter(preset).map(|event| event.id).collect();
    for event in log {
        match &event.kind {
            EventKind::CallResolved(data) => {
                ensure(resolved.insert(data.call), || format!("call {} was resolved twice", data.call))?;
            }
            EventKind::MessageJoined(data) => {
                // What is loaded from the beginning joins again where the conversation begins again.
                let is_new = joined.insert(data.of) || presets.contains(&data.of);
                ensure(is_new, || format!("message {} joined twice", data.of))?;
            }
            _ => {}
        }
    }
    Ok(())
}
