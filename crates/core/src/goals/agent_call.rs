//! Goals that were handed to other agents: they follow from the calls that start these.

use super::{Goals, blank};
use crate::context::sentences::in_brief;
use mainpath_types::{AgentCallGoal, CallId, ChildOutcome, Goal, GoalStatus, Seq, SubTraceCompleted, SubTraceStarted};

/// So many characters of what an agent said are the summary of its goal.
const SUMMARY: usize = 600;

impl Goals {
    /// An agent was started: what it is for serves what is worked on. Where nothing is planned there is nothing to serve.
    /// Whether that changes the plan.
    pub(crate) fn hand_on(&mut self, data: &SubTraceStarted, head: Option<Seq>) -> bool {
        if let Some(at) = self.handed_on(data.call) {
            if let Some(agents) = self.list.get_mut(at).and_then(|goal| goal.agent_call.as_mut()) {
                agents.sub_trace_ids.push(data.child.clone());
            }
            return true;
        }
        if self.list.is_empty() {
            return false;
        }
        let open = |id: &_| self.get(*id).is_some_and(|goal| !goal.is_finished());
        let parent = self.focus.filter(open).or(self.root.filter(open));
        let more = if data.of > 1 { format!(" (and {} more at once)", data.of - 1) } else { String::new() };
        let description = format!("{}{more}", data.task);
        let agent_call =
            Some(AgentCallGoal { call: data.call, mode: data.mode, sub_trace_ids: vec![data.child.clone()] });
        let status = GoalStatus::InProgress;
        // A plan that is full, or too deep, goes on without.
        let goal = Goal { parent, description, status, made_after: head, agent_call, ..blank() };
        self.insert(self.list.len(), goal).is_ok()
    }

    /// An agent has ended; `outcomes` of all of its call, if it was the last. Whether that changes the
    /// plan.
    pub(crate) fn take_back(&mut self, data: &SubTraceCompleted, outcomes: Option<&[ChildOutcome]>) -> bool {
        let Some(goal) = self.handed_on(data.call).and_then(|at| self.list.get_mut(at)) else { return false };
        let answer = data.handed.problem.as_deref().unwrap_or(&data.handed.answer);
        let said = in_brief(answer.trim(), SUMMARY);
        let summary = match goal.summary.take() {
            Some(before) if !said.is_empty() => in_brief(&format!("{before}; {said}"), SUMMARY),
            Some(before) => before,
            None => said,
        };
        goal.summary = Some(summary).filter(|summary| !summary.is_empty());
        if let Some(outcomes) = outcomes.filter(|_| !goal.is_finished()) {
            let is_reached = outcomes.contains(&ChildOutcome::Result);
            goal.status = if is_reached { GoalStatus::Completed } else { GoalStatus::Abandoned };
        }
        true
    }

    fn handed_on(&self, call: CallId) -> Option<usize> {
        self.list.iter().rposition(|goal| goal.agent_call.as_ref().is_some_and(|agents| agents.call == call))
    }
}
