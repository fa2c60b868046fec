//! What context hooks are told, and what they say.

use crate::effects::context::EffectContext;
use crate::effects::hook_error::HookError;
use crate::effects::hooks::HookFolders;
use futures_util::future::join_all;
use mainpath_core::{InputKind, State};
use mainpath_tools::Workspace;
use mainpath_types::{HookText, Part, text_of};
use serde_json::{Value, json};

/// So many bytes of a hook's answer are looked at; the core takes in much less.
const MOST_BYTES: usize = 64 * 1024;

/// Where a trace stands, for its hooks.
pub(crate) fn standing(state: &State, task: &str, workspace: &Workspace) -> Value {
    let mut trace = json!({
        "trace_id": state.trace,
        "turn": state.counts.turns,
        "task": task,
        "plan": state.goals.short_view(),
        "goals": state.goals.list(),
        "current_goal_id": state.goals.focus,
        "usage": state.spent.usage,
        "cost_micros": state.spent.cost,
    });
    if let Value::Object(trace) = &mut trace {
        trace.extend(HookFolders::of(workspace).fields());
    }
    trace
}

/// Asks all hooks that the spec names, at once. None of them can do more than take its time.
pub(crate) async fn ask_hooks(context: EffectContext, turn: u32, trace: Value) -> InputKind {
    let config = &context.shared.config;
    let ask = async |name: &String| {
        let known = config.hooks.context().iter().find(|hook| hook.name == *name);
        let said = match known {
            Some(hook) => hook.ask(&trace).await,
            None => Err(HookError::Unknown),
        };
        let (text, problem) = match said {
            Ok(text) => (config.vault.redact(bounded(&text)), None),
            Err(problem) => (String::new(), Some(config.vault.redact(bounded(&problem.to_string())))),
        };
        if let Some(problem) = &problem {
            context.notices().tell(&format!("the context hook {name} failed: {problem}"));
        }
        HookText { hook: name.clone(), text, problem }
    };
    let texts = join_all(context.prepared.context_hooks.iter().map(ask)).await;
    InputKind::ContextTexts { turn, texts }
}

fn bounded(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MOST_BYTES)).unwrap_or_default()
}

/// What the agent was first asked to do, in short.
pub(crate) fn in_short(parts: &[Part]) -> String {
    const MOST: usize = 200;
    let text = text_of(parts).split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(MOST) {
        None => text,
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default().trim_end()),
    }
}
