//! The results of a play's calls: those that were recorded.

use super::playing::{CallAt, Playing};
use mainpath_tools::{Answers, AskedCall, DynTool, Fut, ToolContext};
use mainpath_types::ToolOutput;
use serde_json::Value;
use std::sync::Arc;

/// Gives the recorded result of the same call with the same arguments after all the same. Nothing else runs.
pub(super) struct RecordedResults(pub Arc<Playing>);

impl Answers for RecordedResults {
    fn answer<'a>(&'a self, ctx: &'a ToolContext, call: AskedCall<'a>) -> Fut<'a, Option<ToolOutput>> {
        Box::pin(async move {
            let recorded = match self.0.recorded_call(ctx.grant.call()).await {
                Ok(Some(CallAt { step, call, is_last_run, .. })) => {
                    // What was said while it ran: those after it were skipped.
                    if is_last_run && let Err(error) = self.0.steer(step).await {
                        return Some(ToolOutput::failed("not_recorded", error.message()));
                    }
                    call.output.clone()
                }
                Ok(None) => None,
                Err(error) => return Some(ToolOutput::failed("not_recorded", error.message())),
            };
            let none = || {
                let text =
                    format!("This call of {} was not recorded with what comes before it; nothing was run.", call.tool);
                ToolOutput::failed("not_recorded", text)
            };
            Some(recorded.unwrap_or_else(none))
        })
    }
}

/// Stands for a tool that is not here: a server's, say. Its results were recorded.
pub(super) struct AbsentTool;

impl DynTool for AbsentTool {
    fn run<'a>(&'a self, _: &'a ToolContext, _: Value) -> Fut<'a, ToolOutput> {
        Box::pin(async { ToolOutput::failed("not_recorded", "This tool is not here; nothing was run.") })
    }
}
