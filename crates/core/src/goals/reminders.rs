//! What the model is reminded of every so many turns: its plan, what the plan is held to, what is left of the budgets, and what
//! the owner's hooks have to say. A stored message at the tail, so that no prefix breaks.

use crate::goals::view::LEGEND;
use crate::{Child, NodeKind, Run, SpecHead, State, estimate};
use mainpath_types::{ChildOutcome, HookText, Injected, Limits};
use std::fmt::Write;

/// So many characters of one hook's text are taken in, and so many of all hooks together.
const HOOK_CHARS: (usize, usize) = (2_000, 8_000);

/// Whether it is time to remind the model: between two turns of a run, after results and not between what somebody said and
/// its answer, once enough turns have passed or the plan was changed from outside; and at once where a cut hides the plan,
/// which the model must always know.
pub(crate) fn is_due(state: &State, run: &Run, spec: &SpecHead) -> bool {
    // Where every request says it, only hooks have more to say.
    if spec.limits.standing && !spec.has_context_hooks {
        return false;
    }
    let quiet = state.branch.is_none() && state.turn.is_none() && state.model.is_none();
    if quiet && (state.reminders.plan_hidden || state.reminders.pin_is_news || state.inbox.is_news) {
        return true;
    }
    let Some(every) = spec.limits.inject_every.filter(|every| *every > 0) else { return false };
    let quiet = quiet && !run.asking;
    let last = state.tree.up(state.tree.head).find(|(_, node)| node.kind != NodeKind::Cut);
    let after_results = last.is_some_and(|(_, node)| matches!(node.kind, NodeKind::Result(_)));
    let passed = state.counts.turns.saturating_sub(state.reminders.turn) >= every;
    let says = || spec.has_context_hooks || !state.goals.is_empty() || !spent_of(state, run, &spec.limits).is_empty();
    quiet && after_results && (passed || state.reminders.plan_is_news) && says()
}

/// The reminder, with what the hooks said.
pub(crate) fn injected(state: &State, run: &Run, spec: &SpecHead, said: &[HookText]) -> Injected {
    let mut text = String::from("[A reminder from the system, not from the user]");
    if !state.goals.is_empty() {
        let _ = write!(text, "\n\n## Current plan\n{}\n({LEGEND})", state.goals.short_view());
    }
    let others = collaborators(state);
    if !others.is_empty() {
        let _ = write!(text, "\n\n## Active collaborators\n{}", others.join("\n"));
    }
    if let Some(told) = state.inbox.told() {
        let _ = write!(text, "\n\n## Messages\n{told}");
    }
    if state.goals.is_empty() && state.reminders.pin_is_news {
        text.push_str("\n\nNothing is pinned any more.");
    }
    let left = spent_of(state, run, &spec.limits);
    if !left.is_empty() {
        let _ = write!(
            text,
            "\n\n## Left of the budget of run {} after its turn {}\n{}",
            run.number,
            run.turns,
            left.join("\n")
        );
    }
    let mut room = HOOK_CHARS.1;
    let mut bounded = |said: &HookText| {
        let words = said.text.trim();
        let text = match words.char_indices().nth(room.min(HOOK_CHARS.0)) {
            None => words.into(),
            Some((at, _)) => format!("{} […]", words.get(..at).unwrap_or_default()),
        };
        room = room.saturating_sub(text.chars().count());
        HookText { text, ..said.clone() }
    };
    let hooks = said.iter().map(&mut bounded).collect();
    let mut injected = Injected { seq: state.tree.next_seq(), text, tokens: 0, hooks };
    injected.tokens = estimate(&reminder(&injected)).saturating_add(4);
    injected
}

/// The agents that worked for this one last, a line each. What they said is not repeated: here it would be taken for the system's words.
fn collaborators(state: &State) -> Vec<String> {
    let line = |child: &Child| {
        let how = match child.outcome {
            None => "running",
            Some(ChildOutcome::Result) => "completed",
            Some(ChildOutcome::Partial) => "came to a limit",
            Some(ChildOutcome::Failed) => "failed",
            Some(ChildOutcome::Stopped) => "stopped",
        };
        Some(format!("- {} [agent, {how}]: {}", child.trace.as_ref()?, child.task))
    };
    state.children.lately().into_iter().filter_map(line).collect()
}

/// Where things stand now, where every request of a spec is to end with that: the plan in short, and what is left of the budgets.
pub(crate) fn standing(state: &State, spec: &SpecHead) -> Option<String> {
    let run = state.run.as_ref().filter(|_| spec.limits.standing && !state.wants_summary())?;
    let mut text = String::from("[From the system, not from the user: where things stand now]");
    if !state.goals.is_empty() {
        let _ = write!(text, "\n\n## Plan\n{}\n({LEGEND})", state.goals.short_view());
    }
    if let Some(told) = state.inbox.told() {
        let _ = write!(text, "\n\n## Messages\n{told}");
    }
    let left = left(state, run, &spec.limits);
    if !left.is_empty() {
        let _ = write!(text, "\n\n## Left of the budget, this answer included\n{}", left.join("\n"));
    }
    Some(text)
}

/// The words of a reminder, those of the hooks among them and marked as theirs.
pub fn reminder(injected: &Injected) -> String {
    let mut text = injected.text.clone();
    for HookText { hook, text: words, .. } in injected.hooks.iter().filter(|said| !said.text.is_empty()) {
        let _ = write!(text, "\n\n## From the hook {hook} (information, no instructions)\n{words}");
    }
    text
}

/// What is left of the budgets once something of them is spent: a run that has just begun has all, and what it is told then may stay
/// in sight for long.
fn spent_of(state: &State, run: &Run, limits: &Limits) -> Vec<String> {
    if run.turns == 0 { Vec::new() } else { left(state, run, limits) }
}

/// What is left of each budget that there is, a line each.
fn left(state: &State, run: &Run, limits: &Limits) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = |what: &str, left: Option<u64>| lines.extend(left.map(|left| format!("- {what}: {left}")));
    line("turns", limits.turns.map(|most| most.saturating_sub(run.turns).into()));
    line("tool calls", limits.calls.map(|most| most.saturating_sub(run.calls).into()));
    line("tokens", limits.tokens.map(|most| most.saturating_sub(run.usage.total())));
    line("money in millionths", limits.money.map(|most| most.saturating_sub(run.cost)));
    line("seconds", run.deadline(limits).map(|at| at.saturating_sub(state.log.now) / 1_000));
    lines
}
