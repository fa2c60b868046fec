//! What children do in a world: they begin, end in one way or another, and never use more than they were given.

use fastrand::Rng;
use mainpath_core::{ChildEnded, ChildStarting, Effect, InputKind, State};
use mainpath_types::{CallId, ChildMode, ChildOutcome, ChildPlace, HandedBack, Share, Spent, ToolOutput, Usage};

/// Answers what is to be done for a child, or for a call whose children have all ended.
pub fn answer(state: &State, effect: &Effect, rng: &mut Rng) -> InputKind {
    match *effect {
        Effect::StartChild { call, nth, .. } => start(state, call, nth, rng),
        Effect::AwaitChild { call, nth, .. } => {
            let share = state.children.get(call, nth).map_or(Share::default(), |child| child.share);
            let outcomes = [ChildOutcome::Result, ChildOutcome::Partial, ChildOutcome::Failed, ChildOutcome::Stopped];
            let outcome = *rng.choice(&outcomes).expect("there are four");
            ended(state, call, nth, outcome, used(share, rng))
        }
        Effect::HandBack { call } => InputKind::HandedBack { call, output: ToolOutput::text("handed back"), tokens: 5 },
        _ => unreachable!("no effect of a child"),
    }
}

fn start(state: &State, call: CallId, nth: u16, rng: &mut Rng) -> InputKind {
    let known = state.children.of(call).next();
    let of = known.map_or_else(|| rng.u16(1..4), |child| child.of);
    if rng.u32(0..6) == 0 {
        let handed = HandedBack { problem: Some("there is no such preset".into()), ..HandedBack::default() };
        return InputKind::ChildEnded(ChildEnded { call, nth, of, outcome: ChildOutcome::Failed, handed });
    }
    let (mode, place) = match of {
        1 if rng.bool() => (ChildMode::Delegate, if rng.bool() { ChildPlace::Alone } else { ChildPlace::Own }),
        1 => (ChildMode::Evaluate, ChildPlace::Reading),
        _ => (ChildMode::Explore, ChildPlace::Reading),
    };
    let before: Vec<_> = state.children.list.iter().filter_map(|child| child.trace.clone()).collect();
    let continues = rng.choice(&before).filter(|_| of == 1 && rng.u32(0..4) == 0).cloned();
    let after = u64::from(continues.is_some()) * 9;
    let no_copy = (place == ChildPlace::Alone && rng.bool()).then(|| "no git".into());
    let task = "look".into();
    InputKind::ChildStarting(ChildStarting { call, nth, of, mode, place, host: None, continues, after, task, no_copy })
}

/// A child that was at work has been stopped.
pub fn stopped(state: &State, call: CallId, nth: u16) -> InputKind {
    ended(state, call, nth, ChildOutcome::Stopped, HandedBack::default())
}

fn ended(state: &State, call: CallId, nth: u16, outcome: ChildOutcome, handed: HandedBack) -> InputKind {
    let row = state.children.get(call, nth).expect("it has started");
    let mut handed = HandedBack { child: row.trace.clone(), answer: "found".into(), ..handed };
    if row.place == ChildPlace::Own && !handed.usage.input.is_multiple_of(3) {
        handed.files = vec!["src/made.rs".into()];
        handed.patch = format!("{:064x}", handed.usage.input % 7).try_into().ok();
    }
    InputKind::ChildEnded(ChildEnded { call, nth, of: row.of, outcome, handed })
}

/// What a child has used: up to all that it was given.
fn used(share: Share, rng: &mut Rng) -> HandedBack {
    let tokens = rng.u64(0..=share.tokens.unwrap_or(5_000).min(5_000));
    let usage = Usage { input: tokens, ..Usage::default() };
    let cost = rng.u64(0..=share.money.unwrap_or(500).min(500));
    let spent = Spent { usage, cost, about: false };
    let calls = rng.u32(0..=share.calls.unwrap_or(5).min(5));
    let children = rng.u16(0..=share.children.min(3));
    let active_ms = rng.u64(0..=share.time_ms.unwrap_or(300).min(300));
    HandedBack { usage, cost, spent, calls, children, active_ms, turns: 1, ..HandedBack::default() }
}
