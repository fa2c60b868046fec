//! What was spent on each goal, computed from the log.

use super::Goals;
use crate::{NodeKind, State};
use mainpath_types::{Event, EventKind, Goal, GoalId, Micros, Seq};
use serde::Serialize;
use std::collections::BTreeMap;

/// What was spent on a goal. Requests that failed or were lost serve no goal; the trace's own sums have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GoalStats {
    /// Messages, from anybody, also those that a rewind has left.
    pub messages: u32,
    /// Answers of the model.
    pub turns: u32,
    /// Calls that it made and that were started; trying one again is none.
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

/// The goal that a message served. What served none, as nothing was in focus or its goal was dropped, served the goal that the
/// plan began with; `None`: the plan as a whole, or a plan that is not there. So a goal that is added later takes nothing from
/// another.
pub fn serves(state: &State, seq: Seq) -> Option<GoalId> {
    let goals = &state.goals;
    let node = state.tree.node(seq).filter(|_| seq > state.tree.cleared)?;
    let known = |id: &GoalId| goals.get(*id).is_some();
    node.goal.filter(known).or(goals.root.filter(known))
}

/// What was spent on each goal itself, by the log that made this state: see [`serves`]. What was cleared serves nothing.
pub fn own_stats<'a>(state: &State, log: impl IntoIterator<Item = &'a Event>) -> BTreeMap<Option<GoalId>, GoalStats> {
    let mut stats: BTreeMap<Option<GoalId>, GoalStats> = BTreeMap::new();
    let goal_of = |seq: Seq| (seq > state.tree.cleared).then(|| serves(state, seq));
    for (seq, _) in state.tree.iter().filter(|(_, node)| node.kind != NodeKind::Cut) {
        if let Some(goal) = goal_of(seq) {
            *stats.entry(goal).or_default() += GoalStats { messages: 1, ..GoalStats::default() };
        }
    }
    for event in log {
        let (goal, spent) = match &event.kind {
            EventKind::ModelFinished(data) => {
                let (tokens, cost_micros, duration_ms) = (data.usage.total(), data.cost, data.elapsed_ms);
                let spent = GoalStats { turns: 1, tokens, cost_micros, duration_ms, ..GoalStats::default() };
                (goal_of(data.seq), spent)
            }
            EventKind::ActionStarted(data) if data.attempt == 1 => {
                (goal_of(data.call.seq), GoalStats { calls: 1, ..GoalStats::default() })
            }
            EventKind::CallResolved(data) => {
                (goal_of(data.call.seq), GoalStats { duration_ms: data.elapsed_ms, ..GoalStats::default() })
            }
            // What agents used that it was handed to.
            EventKind::SubTraceCompleted(data) => {
                let handed = &data.handed;
                let (tokens, cost_micros) = (handed.usage.total(), handed.cost);
                let (turns, calls, duration_ms) = (handed.turns, handed.calls, handed.active_ms);
                let is_it = |goal: &&Goal| goal.agent_call.as_ref().is_some_and(|agents| agents.call == data.call);
                let own = state.goals.list().iter().find(is_it).map(|goal| Some(goal.id));
                let spent = GoalStats { turns, calls, tokens, cost_micros, duration_ms, ..GoalStats::default() };
                (own.or_else(|| goal_of(data.call.seq)), spent)
            }
            _ => continue,
        };
        if let Some(goal) = goal {
            *stats.entry(goal).or_default() += spent;
        }
    }
    stats
}

/// What was spent on each goal and on all under it, and on the plan as a whole.
pub fn cumulative_stats(
    goals: &Goals,
    own: &BTreeMap<Option<GoalId>, GoalStats>,
) -> BTreeMap<Option<GoalId>, GoalStats> {
    let mut sums: BTreeMap<Option<GoalId>, GoalStats> = BTreeMap::new();
    for (goal, spent) in own {
        *sums.entry(None).or_default() += *spent;
        let above = goal.iter().flat_map(|id| goals.above(*id)).map(|goal| goal.id);
        for id in goal.iter().copied().chain(above) {
            *sums.entry(Some(id)).or_default() += *spent;
        }
    }
    sums
}
