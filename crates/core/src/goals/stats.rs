//! What was spent on each goal, computed from the log.

use super::Goals;
use crate::{NodeKind, State};
use mainpath_types::*;
use serde::Serialize;
use std::collections::BTreeMap;

/// What was spent on a goal. Requests that failed or were lost serve no goal; the trace's own sums have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GoalStats {
    /// Messages, from anybody, also those that a rewind has left.
    pub messages: u32,
    /// Answers of the model.
    pub turns: u32,
    /// Calls that it made.
    pub calls: u32,
    /// Tokens, input and output together.
    pub tokens: u64,
    /// Money, in micro-units.
    pub cost_micros: Micros,
    /// How long model and tools worked, in milliseconds; calls that ran together count each.
    pub duration_ms: u64,
}

impl std::ops::AddAssign for GoalStats {
    fn add_assign(&mut self, other: GoalStats) {
        self.messages = self.messages.saturating_add(other.messages);
        self.turns = self.turns.saturating_add(other.turns);
        self.calls = self.calls.saturating_add(other.calls);
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.cost_micros = self.cost_micros.saturating_add(other.cost_micros);
        self.duration_ms = self.duration_ms.saturating_add(other.duration_ms);
    }
}

/// What was spent on each goal itself, by the log that made this state.
pub fn own_stats<'a>(state: &State, log: impl IntoIterator<Item = &'a Event>) -> BTreeMap<GoalId, GoalStats> {
    let mut stats: BTreeMap<GoalId, GoalStats> = BTreeMap::new();
    let goal_of = |seq: Seq| state.tree.node(seq).and_then(|node| node.goal);
    for (_, node) in state.tree.iter().filter(|(_, node)| node.kind != NodeKind::Cut) {
        if let Some(goal) = node.goal {
            *stats.entry(goal).or_default() += GoalStats { messages: 1, ..GoalStats::default() };
        }
    }
    for event in log {
        let (goal, spent) = match &event.kind {
            EventKind::ModelFinished(data) => {
                let calls = u32::try_from(data.calls.len()).unwrap_or(u32::MAX);
                let (tokens, cost_micros, duration_ms) = (data.usage.total(), data.cost, data.elapsed_ms);
                (goal_of(data.seq), GoalStats { messages: 0, turns: 1, calls, tokens, cost_micros, duration_ms })
            }
            EventKind::CallResolved(data) => {
                (goal_of(data.call.seq), GoalStats { duration_ms: data.elapsed_ms, ..GoalStats::default() })
            }
            _ => continue,
        };
        if let Some(goal) = goal {
            *stats.entry(goal).or_default() += spent;
        }
    }
    stats
}

/// What was spent on each goal and on all under it. A goal that is no longer in the plan counts nowhere.
pub fn cumulative_stats(goals: &Goals, own: &BTreeMap<GoalId, GoalStats>) -> BTreeMap<GoalId, GoalStats> {
    let mut sums: BTreeMap<GoalId, GoalStats> = BTreeMap::new();
    for goal in goals.list() {
        let spent = own.get(&goal.id).copied().unwrap_or_default();
        *sums.entry(goal.id).or_default() += spent;
        for above in goals.above(goal.id) {
            *sums.entry(above.id).or_default() += spent;
        }
    }
    sums
}
