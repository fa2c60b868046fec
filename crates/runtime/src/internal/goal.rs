//! `goal`: changes of the plan, carried out against the plan as it is when the answer is recorded.

use crate::internal::problem::BadCall;
use crate::internal::tool::{InternalContext, InternalTool, Purpose};
use mainpath_core::LEGEND;
use mainpath_tools::{Fut, GoalArgs, GoalTool, Tool};

/// The tool `goal`.
pub(super) struct Goal;

impl InternalTool for Goal {
    fn name(&self) -> &'static str {
        GoalTool::NAME
    }

    fn purpose(&self) -> Purpose {
        Purpose::Plan
    }

    fn answer<'a>(
        &'a self,
        arguments: &'a str,
        context: &'a mut InternalContext<'_>,
    ) -> Fut<'a, Result<String, BadCall>> {
        Box::pin(async move { change(context, arguments) })
    }
}

/// Carries out a call. Errors: what is wrong, for the model; the plan is as it was.
fn change(context: &mut InternalContext<'_>, arguments: &str) -> Result<String, BadCall> {
    let ops = context.read::<GoalArgs>(GoalTool::NAME, arguments)?.ops();
    let ops = ops.map_err(|problem| BadCall::Operations { problem: problem.to_string() })?;
    let changed = context.plan.change_all(&ops, context.head);
    changed.map_err(|refusal| BadCall::Plan { refusal, plan: context.plan.short_view() })?;
    context.ops.extend(ops);
    Ok(format!("{}\n({LEGEND})", context.plan.short_view()))
}
