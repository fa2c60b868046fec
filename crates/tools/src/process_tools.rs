//! `process_list`, `process_output`, `process_stop`: what `bash` has started in the background.

use crate::processes::Background;
use crate::show::show;
use crate::words::count;
use crate::{Fut, Tool, ToolContext, ToolDoc};
use mainpath_types::{CallId, EffectClass, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

/// Seconds to wait at most.
const WAIT_S: u32 = 600;
/// Characters of a command that a list shows.
const COMMAND_CHARS: usize = 100;

/// Lists the background processes.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessList;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessListArgs {}

impl Tool for ProcessList {
    type Args = ProcessListArgs;
    const NAME: &'static str = "process_list";

    fn describe(&self) -> ToolDoc {
        let text = "Lists the background processes that bash has started: id, state, bytes not read yet, command.";
        ToolDoc::new(text, EffectClass::ReadOnly)
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, _: ProcessListArgs) -> Fut<'a, ToolOutput> {
        let line = |(id, one): (CallId, std::sync::Arc<Background>)| {
            let unread = count(one.unread(), "unread byte");
            let command = ctx.secrets.redact(one.command.lines().next().unwrap_or_default());
            let command: String = command.chars().take(COMMAND_CHARS).collect();
            format!("{id} ({}, {unread}): {command}", one.state())
        };
        let lines: Vec<String> = ctx.processes.all().into_iter().map(line).collect();
        let text = if lines.is_empty() { "[no background processes]".into() } else { lines.join("\n") };
        Box::pin(async move { ToolOutput::text(text) })
    }
}

/// Reads what a background process has written.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessOutput;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputArgs {
    /// The id that bash gave.
    id: CallId,
    /// Seconds to wait for new output or the end, at most; 0 by default.
    #[schemars(range(max = 600))]
    wait_s: Option<u32>,
}

impl Tool for ProcessOutput {
    type Args = OutputArgs;
    const NAME: &'static str = "process_output";

    fn describe(&self) -> ToolDoc {
        let text = "Shows what a background process has written since it was last looked at, and whether it still runs. Can \
                    wait for news.";
        ToolDoc::new(text, EffectClass::ReadOnly)
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: OutputArgs) -> Fut<'a, ToolOutput> {
        Box::pin(async move {
            let one = match ctx.processes.find(args.id) {
                Ok(one) => one,
                Err(problem) => return problem.into(),
            };
            let wanted = Duration::from_secs(args.wait_s.unwrap_or(0).min(WAIT_S).into());
            // The call's own time is not to be up while it waits.
            let limit = [ctx.timeout, ctx.within].into_iter().flatten().min();
            let wait = limit.map_or(wanted, |limit| wanted.min(limit * 9 / 10));
            // No news in that time is an answer too.
            let Some(news) = ctx.until_stopped(tokio::time::timeout(wait, one.news())).await else {
                return ctx.stopped();
            };
            let still_waiting = news.is_err() && !wait.is_zero();
            ToolOutput { still_waiting, ..report(ctx, args.id, &one).await }
        })
    }
}

/// Ends a background process.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessStop;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopArgs {
    /// The id that bash gave.
    id: CallId,
}

impl Tool for ProcessStop {
    type Args = StopArgs;
    const NAME: &'static str = "process_stop";

    fn describe(&self) -> ToolDoc {
        let text = "Ends a background process and everything that it started, and shows what it has written since it was last \
                    looked at.";
        ToolDoc::new(text, EffectClass::ProcessControl)
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: StopArgs) -> Fut<'a, ToolOutput> {
        Box::pin(async move {
            let one = match ctx.processes.find(args.id) {
                Ok(one) => one,
                Err(problem) => return problem.into(),
            };
            one.end();
            // Quick, and it must not be left half-way: a stop of the call does not shorten it.
            one.ended().await;
            report(ctx, args.id, &one).await
        })
    }
}

async fn report(ctx: &ToolContext, id: CallId, one: &Background) -> ToolOutput {
    let (unread, state) = one.take();
    let mut shown = show(ctx, "output", unread).await;
    if shown.text.is_empty() {
        shown.notes.push("no new output".into());
    }
    shown.notes.push(format!("process {id}: {state}"));
    let artifacts = std::mem::take(&mut shown.artifacts);
    let title = Some(format!("process {id}: {state}"));
    ToolOutput { title, artifacts, ..ToolOutput::text(shown.with_notes()) }
}
