//! `goal`: changes of the plan, carried out against the plan as it is when the answer is recorded.

use crate::internal::tool::{Desk, InternalTool, Purpose};
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

    fn answer<'a>(&'a self, arguments: &'a str, desk: &'a mut Desk<'_>) -> Fut<'a, Result<String, String>> {
        Box::pin(async move { change(desk, arguments) })
    }
}

/// Carries out a call. Errors: what is wrong, for the model; the plan is as it was.
fn change(desk: &mut Desk<'_>, arguments: &str) -> Result<String, String> {
    let ops = desk.read::<GoalArgs>(GoalTool::NAME, arguments)?.ops()?;
    desk.plan
        .change_all(&ops, desk.head)
        .map_err(|refusal| format!("The plan is unchanged: {refusal}.\n{}\n({LEGEND})", desk.plan.short_view()))?;
    desk.ops.extend(ops);
    Ok(format!("{}\n({LEGEND})", desk.plan.short_view()))
}
