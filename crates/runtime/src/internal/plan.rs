//! What an answer makes of the plan: the operations of its text and of its calls of `goal`, carried out against the plan as it is
//! when the answer is recorded.

use crate::internal::look_back::is_look_back;
use mainpath_core::{Goals, InputKind, LEGEND, Reply, State, estimate};
use mainpath_tools::{GoalArgs, GoalTool, Tool, Tools};
use mainpath_types::*;

/// Settles the plan of an answer: its operations are made of its text and its calls, and the calls are answered. An answer
/// whose text plans what cannot be is malformed, unless it is the last one. `task`: what the agent was first asked to do, in short, where there is no plan yet.
pub(crate) fn settle(kind: InputKind, state: &State, tools: &Tools, task: Option<String>) -> InputKind {
    let InputKind::ModelFinished(mut reply) = kind else { return kind };
    let task = task.filter(|task| !task.trim().is_empty());
    // Looking back is no work, and leaves nothing behind.
    let looks = |planned: &PlannedCall| planned.tool.as_deref().is_some_and(is_look_back);
    let works = reply.calls.iter().any(|planned| !is_goal(planned) && !looks(planned) && planned.ended().is_none());
    if task.is_none() && !works && reply.goals.is_empty() && !reply.calls.iter().any(is_goal) {
        return InputKind::ModelFinished(reply);
    }
    let (mut plan, head) = (state.goals.clone(), Some(state.tree.next_seq()));
    let mut ops = task.iter().filter(|_| plan.is_empty()).flat_map(|task| mission(&reply, task)).collect::<Vec<_>>();
    let begun = plan.change_all(&ops, head).and_then(|()| plan.change_all(&reply.goals, head));
    // A final answer is not lost for its plan: what cannot be carried out of it is left out of its event.
    if let Err(refusal) = begun
        && !reply.calls.is_empty()
    {
        let problem = format!("its plan cannot be: {refusal}.");
        let repair_tokens = estimate(&problem).saturating_add(20);
        reply.goals.clear();
        return InputKind::ModelMalformed { reply, problem, breach: Breach::Protocol, repair_tokens };
    }
    ops.append(&mut reply.goals);
    let is_ours = tools.doc(GoalTool::NAME).is_some_and(|doc| doc.internal);
    for call in reply.calls_mut().filter(|call| is_ours && is_goal(call.planned)) {
        match change(&mut plan, tools, call.arguments(), head) {
            Ok(more) => {
                ops.extend(more);
                call.planned.answer = Some(format!("{}\n({LEGEND})", plan.short_view()));
            }
            Err(problem) => call.planned.problem = Some(problem),
        }
    }
    if let Some(task) = task.filter(|_| works && plan.list().is_empty()) {
        ops.extend([
            GoalOp::Add { description: task, reason: String::new(), under: None, after: None },
            GoalOp::Focus { id: plan.next_id() },
        ]);
    }
    // A rewind has taken the focus away.
    if let [only] = plan.list()
        && works
        && plan.focus.is_none()
        && only.status == GoalStatus::Pending
    {
        ops.push(GoalOp::Focus { id: only.id });
    }
    reply.goals = ops;
    InputKind::ModelFinished(reply)
}

/// Whether an answer may begin a plan, so that what it begins with has to be known.
pub(crate) fn may_begin(kind: &InputKind, state: &State) -> bool {
    let begins = |reply: &Reply| !reply.calls.is_empty() || !reply.goals.is_empty();
    matches!(kind, InputKind::ModelFinished(reply) if begins(reply)) && state.goals.list().is_empty()
}

/// An agent that plans has the task for its mission. One that works without a goal works on the task itself.
fn mission(reply: &Reply, task: &str) -> Option<GoalOp> {
    let plans = !reply.goals.is_empty() || reply.calls.iter().any(is_goal);
    plans.then(|| GoalOp::Terms { mission: Some(task.into()), assumptions: None, constraints: None })
}

/// Whether a call is one of `goal` that is allowed and not answered yet.
fn is_goal(planned: &PlannedCall) -> bool {
    planned.tool.as_deref() == Some(GoalTool::NAME) && planned.ended().is_none()
}

/// Carries out a call of `goal`, and returns its operations. Errors: what is wrong, for the model; the plan is as it was.
fn change(plan: &mut Goals, tools: &Tools, arguments: &str, head: Option<Seq>) -> Result<Vec<GoalOp>, String> {
    let value = tools.arguments(GoalTool::NAME, arguments).map_err(|problem| problem.text)?;
    let args: GoalArgs =
        serde_json::from_value(value).map_err(|error| format!("The arguments cannot be read: {error}."))?;
    let ops = args.ops()?;
    plan.change_all(&ops, head)
        .map_err(|refusal| format!("The plan is unchanged: {refusal}.\n{}\n({LEGEND})", plan.short_view()))?;
    Ok(ops)
}
