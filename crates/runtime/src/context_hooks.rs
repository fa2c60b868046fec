//! Context hooks: what the owner's own programs want the model to know, asked for whenever it is reminded of its plan.

use crate::effects::Around;
use crate::hub::Live;
use futures_util::FutureExt;
use futures_util::future::join_all;
use mainpath_core::{InputKind, State};
use mainpath_tools::Fut;
use mainpath_types::{HookText, text_of};
use serde_json::{Value, json};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

/// So many bytes of a hook's answer are looked at; the core takes in much less.
const MOST_BYTES: usize = 64 * 1024;

/// Something that has a word in the reminders of the traces whose spec names it. A dropped future ends it.
pub trait ContextHook: Send + Sync {
    /// Takes a JSON object that says where the trace stands (`trace_id`, `turn`, `task`, `plan`, `goals`, `usage`, `cost_micros`,
    /// `workspace`) and answers with what the model should know; an empty text is nothing. Errors: a line for people; the model is
    /// told nothing then.
    fn text<'a>(&'a self, trace: &'a Value) -> Fut<'a, Result<String, String>>;
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
    async fn ask(&self, trace: &Value) -> Result<String, String> {
        let asked = AssertUnwindSafe(self.hook.text(trace)).catch_unwind();
        match tokio::time::timeout(self.timeout, asked).await {
            Ok(Ok(answered)) => answered,
            Ok(Err(_)) => Err("it panicked".into()),
            Err(_) => Err(format!("it took longer than {:?}", self.timeout)),
        }
    }
}

/// Where a trace stands, for its hooks.
pub(crate) fn summary(state: &State, task: &str, workspace: &str) -> Value {
    json!({
        "trace_id": state.trace,
        "turn": state.turn_number,
        "task": task,
        "plan": state.goals.short_view(),
        "goals": state.goals.list(),
        "current_goal_id": state.goals.focus,
        "usage": state.usage,
        "cost_micros": state.cost,
        "workspace": workspace,
    })
}

/// Asks all hooks that the spec names, at once. None of them can do more than take its time.
pub(crate) async fn ask_hooks(around: Around, turn: u32, trace: Value) -> InputKind {
    let config = &around.shared.config;
    let ask = async |name: &String| {
        let known = config.hooks.context().iter().find(|hook| hook.name == *name);
        let said = match known {
            Some(hook) => hook.ask(&trace).await,
            None => Err("there is no such hook here".into()),
        };
        let (text, problem) = match said {
            Ok(text) => (config.vault.redact(bounded(&text)), None),
            Err(problem) => (String::new(), Some(config.vault.redact(bounded(&problem)))),
        };
        if let Some(problem) = &problem {
            around.handle.tell(Live::Notice(format!("the context hook {name} failed: {problem}")));
        }
        HookText { hook: name.clone(), text, problem }
    };
    let texts = join_all(around.prepared.context_hooks.iter().map(ask)).await;
    InputKind::ContextTexts { turn, texts }
}

fn bounded(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MOST_BYTES)).unwrap_or_default()
}

/// What the agent was first asked to do, in short.
pub(crate) fn in_short(parts: &[mainpath_types::Part]) -> String {
    const MOST: usize = 200;
    let text = text_of(parts).split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(MOST) {
        None => text,
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default().trim_end()),
    }
}
