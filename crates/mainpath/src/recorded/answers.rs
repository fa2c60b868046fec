//! The results of a play's calls: those that were recorded.

use super::playing::{CallAt, Playing, was_run};
use mainpath_tools::{Answers, AskedCall, DynTool, Fut, ToolContext};
use mainpath_types::{Resolution, ToolOutput};
use serde_json::Value;
use std::sync::Arc;

/// Gives the recorded result of the same call with the same arguments after all the same. Nothing else runs.
pub(super) struct RecordedResults(pub Arc<Playing>);

impl Answers for RecordedResults {
    fn answer<'a>(&'a self, ctx: &'a ToolContext, call: AskedCall<'a>) -> Fut<'a, Option<ToolOutput>> {
        Box::pin(async move {
            let recorded = match self.0.recorded_call(ctx.grant.call()).await {
                Ok(Some(CallAt { step, call: recorded, is_last_run, is_cut, .. })) if was_run(recorded) || is_cut => {
                    // What was said while it ran, or who stopped the run: those after it were not made.
                    let ended = match is_last_run {
                        true if is_cut => self.0.stop().await,
                        true => self.0.steer(step).await,
                        false => Ok(()),
                    };
                    if let Err(error) = ended {
                        return Some(ToolOutput::failed("not_recorded", error.message()));
                    }
                    let has_result = matches!(recorded.resolution, Some(Resolution::Ok | Resolution::Error));
                    if !has_result || recorded.output.is_none() {
                        self.0.end_as_recorded(ctx.grant.call());
                    }
                    let none = || ToolOutput::failed("interrupted", "It ended without a result.");
                    Some(recorded.output.clone().unwrap_or_else(none))
                }
                Ok(Some(_)) => None,
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
