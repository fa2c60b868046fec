//! What an answer makes of the plan, beside its calls of `goal`: the operations of its text, and a plan's beginning and focus.

use crate::internal::registry::{is_look_back, purpose};
use crate::internal::tool::Purpose;
use mainpath_core::{Goals, InputKind, Refusal, Reply, State};
use mainpath_types::{GoalOp, GoalStatus, PlannedCall, Seq};

/// Whether an answer may begin a plan, so that what it begins with has to be known.
pub(crate) fn may_begin(kind: &InputKind, state: &State) -> bool {
    let begins = |reply: &Reply| !reply.calls.is_empty() || !reply.goals.is_empty();
    matches!(kind, InputKind::ModelFinished(reply) if begins(reply)) && state.goals.list().is_empty()
}

/// The plan while an answer is settled.
pub(super) struct Planning {
    /// What the agent was first asked to do, in short, where there is no plan yet.
    task: Option<String>,
    /// Whether a call works: it does more than plan and look back.
    works: bool,
}

impl Planning {
    /// Begins with an answer. `None`: it has nothing to do with the plan.
    pub fn of(reply: &Reply, task: Option<String>) -> Option<Planning> {
        let task = task.filter(|task| !task.trim().is_empty());
        // Looking back is no work, and leaves nothing behind.
        let looks = |planned: &PlannedCall| planned.tool.as_deref().is_some_and(is_look_back);
        let works = |planned: &PlannedCall| !plans(planned) && !looks(planned) && planned.ended().is_none();
        let works = reply.calls.iter().any(works);
        let concerns = task.is_some() || works || is_planned(reply);
        concerns.then_some(Planning { task, works })
    }

    /// Carries out what the text plans. Gives the operations that were added before those; errors where these cannot be.
    pub fn begin(&self, reply: &Reply, plan: &mut Goals, head: Option<Seq>) -> (Vec<GoalOp>, Result<(), Refusal>) {
        let mission = self.task.iter().filter(|_| plan.is_empty() && is_planned(reply));
        let mission = mission
            .map(|task| GoalOp::Terms { mission: Some(task.clone()), assumptions: None, constraints: None })
            .collect::<Vec<_>>();
        let begun = plan.change_all(&mission, head).and_then(|()| plan.change_all(&reply.goals, head));
        (mission, begun)
    }

    /// What follows once all calls are settled: one that works without a goal works on the task itself.
    pub fn finish(self, plan: &Goals) -> Vec<GoalOp> {
        let mut ops = Vec::new();
        if !self.works {
            return ops;
        }
        if let Some(task) = self.task.filter(|_| plan.list().is_empty()) {
            ops.extend([
                GoalOp::Add { description: task, reason: String::new(), under: None, after: None },
                GoalOp::Focus { id: plan.next_id() },
            ]);
        }
        // A rewind has taken the focus away.
        if let [only] = plan.list()
            && plan.focus.is_none()
            && only.status == GoalStatus::Pending
        {
            ops.push(GoalOp::Focus { id: only.id });
        }
        ops
    }
}

/// Whether an answer plans, in its text or by a call.
fn is_planned(reply: &Reply) -> bool {
    !reply.goals.is_empty() || reply.calls.iter().any(plans)
}

/// Whether a call changes the plan, is allowed and not answered yet.
fn plans(planned: &PlannedCall) -> bool {
    planned.tool.as_deref().and_then(purpose) == Some(Purpose::Plan) && planned.ended().is_none()
}
