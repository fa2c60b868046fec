//! Context hooks: what the owner's own programs want the model to know, asked for whenever it is reminded of its plan.

use crate::effects::hook_error::HookError;
use futures_util::FutureExt;
use mainpath_tools::{Fut, panic_text};
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

/// Something that has a word in the reminders of the traces whose spec names it. A dropped future ends it.
pub trait ContextHook: Send + Sync {
    /// Takes a JSON object that says where the trace stands (`trace_id`, `turn`, `task`, `plan`, `goals`, `usage`, `cost_micros`,
    /// `workspace`) and answers with what the model should know; an empty text is nothing. Errors: a line for people; the model is
    /// told nothing then.
    fn text<'a>(&'a self, trace: &'a Value) -> Fut<'a, Result<String, HookError>>;
}

/// A context hook with its name and its bounds.
#[derive(Clone)]
pub struct NamedContextHook {
    /// The name by which specs know it.
    pub name: String,
    /// How long it may take; then it has said nothing.
    pub timeout: Duration,
    /// What it does.
    pub hook: Arc<dyn ContextHook>,
}

impl NamedContextHook {
    /// What it says, and why it says nothing where it failed.
    pub(crate) async fn ask(&self, trace: &Value) -> Result<String, HookError> {
        let asked = AssertUnwindSafe(self.hook.text(trace)).catch_unwind();
        match tokio::time::timeout(self.timeout, asked).await {
            Ok(Ok(answered)) => answered,
            Ok(Err(panic)) => Err(HookError::Panicked(panic_text(&*panic).to_string())),
            Err(_) => Err(HookError::TimedOut(self.timeout)),
        }
    }
}
