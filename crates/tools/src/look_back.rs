//! What a model looks back with: messages and results that are no longer shown. Internal tools: their driver answers them from the
//! log, what they say is in the next request only, and nothing of them is counted as work.

use crate::{Fut, Tool, ToolContext, ToolDoc};
use mainpath_types::{CallId, EffectClass, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;

/// Shows older messages again.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadOlderMessages;

/// How many.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OlderArgs {
    /// How many of those that are left out, the newest of them; 20 where nothing is said.
    #[schemars(range(min = 1, max = 200))]
    pub count: Option<u16>,
    /// Only those in which all these words stand, in any order and case, such as "port staging".
    pub search: Option<String>,
    /// Only those before this one, such as 12: to go on from the oldest that was shown.
    pub before: Option<u32>,
}

/// Lists past calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListCalls;

/// Which.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListCallsArgs {
    /// Of this tool only.
    pub tool: Option<String>,
    /// The newest so many; 50 where nothing is said.
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u16>,
}

/// Shows a past result again.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecallResult;

/// Which.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecallArgs {
    /// The call, such as 4.0.
    #[schemars(with = "String")]
    pub call: CallId,
    /// From this character on; 0 is the first.
    #[serde(default)]
    pub from: u32,
}

/// Shows more messages from here on.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExpandWindow;

/// How many.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpandArgs {
    /// How many more.
    #[schemars(range(min = 1, max = 500))]
    pub by: u16,
}

fn doc(text: &str) -> ToolDoc {
    ToolDoc { internal: true, ..ToolDoc::new(text, EffectClass::ReadOnly) }
}

fn nobody<'a>() -> Fut<'a, ToolOutput> {
    let text = "The conversation belongs to the trace: nothing but the trace's own driver can look it up.";
    Box::pin(async move { ToolOutput::failed("internal", text) })
}

impl Tool for LoadOlderMessages {
    type Args = OlderArgs;
    const NAME: &'static str = "load_older_messages";
    fn describe(&self) -> ToolDoc {
        doc(
            "Shows earlier messages of this conversation that are no longer shown: those with certain words (search), or the \
             newest of them. For the next answer only; long ones in short. Call it alone.",
        )
    }
    fn run<'a>(&'a self, _: &'a ToolContext, _: OlderArgs) -> Fut<'a, ToolOutput> {
        nobody()
    }
}

impl Tool for ListCalls {
    type Args = ListCallsArgs;
    const NAME: &'static str = "list_calls";
    fn describe(&self) -> ToolDoc {
        doc("Lists past calls with ids, ends, sizes and arguments, for the next answer only. Call it alone.")
    }
    fn run<'a>(&'a self, _: &'a ToolContext, _: ListCallsArgs) -> Fut<'a, ToolOutput> {
        nobody()
    }
}

impl Tool for RecallResult {
    type Args = RecallArgs;
    const NAME: &'static str = "recall_result";
    fn describe(&self) -> ToolDoc {
        doc("Shows the result of a past call, as much as there is room for, for the next answer only. Call it alone.")
    }
    fn run<'a>(&'a self, _: &'a ToolContext, _: RecallArgs) -> Fut<'a, ToolOutput> {
        nobody()
    }
}

impl Tool for ExpandWindow {
    type Args = ExpandArgs;
    const NAME: &'static str = "expand_window";
    fn describe(&self) -> ToolDoc {
        doc("Shows more of the messages that are no longer shown, from now on, as far as there is room.")
    }
    fn run<'a>(&'a self, _: &'a ToolContext, _: ExpandArgs) -> Fut<'a, ToolOutput> {
        nobody()
    }
}
