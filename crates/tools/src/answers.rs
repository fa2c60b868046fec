//! Calls that are answered by something else than their tool: by a recording, or with a refusal.

use crate::{Fut, ToolContext};
use mainpath_types::{EffectClass, Origin, ToolOutput};
use serde_json::Value;

/// A call that a rule has allowed, before its tool is asked.
#[derive(Clone, Copy, Debug)]
pub struct AskedCall<'a> {
    /// The own name of the tool.
    pub tool: &'a str,
    /// What the tool can do to the world.
    pub effect: EffectClass,
    /// Where its results come from.
    pub origin: Origin,
    /// The arguments, which match the tool's schema, with the secrets in them.
    pub arguments: &'a Value,
}

/// Answers calls in the place of tools. What a call may do was judged before, by the tool's own words.
pub trait Answers: Send + Sync + 'static {
    /// The answer; `None`: the tool itself is asked.
    fn answer<'a>(&'a self, ctx: &'a ToolContext, call: AskedCall<'a>) -> Fut<'a, Option<ToolOutput>>;
}
