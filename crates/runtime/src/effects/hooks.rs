//! What the owner wants asked or told at certain points of a run: a command, an address, a function.

use crate::effects::context_hooks::NamedContextHook;
use crate::effects::hook_error::HookError;
use crate::stream::notices::Notices;
use futures_util::FutureExt;
use mainpath_policy::ToolNames;
use mainpath_tools::{Fut, Workspace, panic_text};
use mainpath_types::{Decision, Principal, Spec, TraceId, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Where a hook is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookPoint {
    /// Before a call is judged for good. May deny it, or put other arguments in the place of the model's; those get a fresh
    /// verdict.
    BeforeTool,
    /// After a call, before its result is recorded. May withhold the result, or put another text in its place.
    AfterTool,
    /// Before a run's first request. May forbid the run.
    RunStart,
    /// After a run.
    RunEnd,
    /// Before the request of every turn. May forbid the run to go on.
    TurnStart,
    /// After a turn's calls have ended.
    TurnEnd,
}

/// What follows when a hook fails: it cannot be started, answers nonsense, panics or takes too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// As if it had denied.
    #[default]
    Closed,
    /// As if it had said nothing; watchers are told.
    Open,
}

/// A hook.
#[derive(Clone)]
pub struct Hook {
    /// Its name, which verdicts cite as `hook.NAME`.
    pub name: String,
    /// Where it is called.
    pub points: Vec<HookPoint>,
    /// The tools that it is called for; all, if there are none.
    pub tools: Vec<ToolNames>,
    /// How long it may take.
    pub timeout: Duration,
    /// What follows when it fails.
    pub on_failure: OnFailure,
    /// What it does.
    pub runner: Arc<dyn HookRunner>,
}

/// What a hook does. A dropped future ends it.
pub trait HookRunner: Send + Sync {
    /// Takes a JSON object that states what happens (`hook`, `trace_id`, `workspace`, …), and answers with one: `{}` for nothing, `{"decision": "deny",
    /// "reason": …}`, `{"arguments": {…}}` before a tool, `{"output": "…"}` after one. Errors: a line for people.
    fn run<'a>(&'a self, event: &'a Value) -> Fut<'a, Result<Value, HookError>>;
}

/// What a hook says.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Answer {
    decision: Option<HookDecision>,
    reason: Option<String>,
    pub arguments: Option<serde_json::Map<String, Value>>,
    pub output: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum HookDecision {
    Allow,
    Deny,
}

/// The hooks of a runtime, in the order in which they are called.
#[derive(Clone, Default)]
pub struct Hooks(Arc<[Hook]>, Arc<[NamedContextHook]>);

impl FromIterator<Hook> for Hooks {
    fn from_iter<I: IntoIterator<Item = Hook>>(hooks: I) -> Hooks {
        Hooks(hooks.into_iter().collect(), Arc::default())
    }
}

/// A hook said no, or failed and is to be taken for a no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Forbidden {
    pub hook: String,
    pub reason: String,
}

impl Forbidden {
    /// The hook, as one who acts.
    pub fn principal(&self) -> Principal {
        Principal::hook(&self.hook)
    }
}

impl From<Forbidden> for Verdict {
    fn from(no: Forbidden) -> Verdict {
        Verdict { decision: Decision::Deny, rule: format!("hook.{}", no.hook), reason: no.reason }
    }
}

impl Hooks {
    /// These, and hooks that have a word in reminders.
    pub fn with_context(self, hooks: impl IntoIterator<Item = NamedContextHook>) -> Hooks {
        Hooks(self.0, hooks.into_iter().collect())
    }

    /// The hooks that have a word in reminders.
    pub fn context(&self) -> &[NamedContextHook] {
        &self.1
    }

    /// Whether anything is called there.
    pub(crate) fn has(&self, point: HookPoint) -> bool {
        self.0.iter().any(|hook| hook.points.contains(&point))
    }
}

/// The folder that an agent works in, as hooks are given it.
#[derive(Clone, Copy)]
pub(crate) struct HookFolders<'a> {
    pub workspace: &'a Path,
    /// The folder that the workspace is a copy of.
    pub copy_of: Option<&'a Path>,
}

impl<'a> HookFolders<'a> {
    pub fn of(workspace: &'a Workspace) -> HookFolders<'a> {
        let copy_of = Some(workspace.source()).filter(|source| *source != workspace.root());
        HookFolders { workspace: workspace.root(), copy_of }
    }

    pub fn of_spec(spec: &'a Spec) -> HookFolders<'a> {
        let copy_of = spec.copy.as_ref().map(|copy| Path::new(&copy.of));
        HookFolders { workspace: Path::new(&spec.workspace), copy_of }
    }

    /// The fields `workspace` and `copy_of` of an event.
    pub fn fields(self) -> impl Iterator<Item = (String, Value)> {
        let field = |name: &str, folder: &Path| (name.to_string(), Value::from(folder.to_string_lossy()));
        [field("workspace", self.workspace)].into_iter().chain(self.copy_of.map(|folder| field("copy_of", folder)))
    }
}

/// The hooks as one trace calls them.
#[derive(Clone, Copy)]
pub(crate) struct TraceHooks<'a> {
    pub hooks: &'a Hooks,
    pub trace: &'a TraceId,
    pub folders: HookFolders<'a>,
    /// Who is told when one fails.
    pub notices: Notices<'a>,
    /// Fires when what the hooks are called for is to end.
    pub cancel: Option<&'a CancellationToken>,
}

/// How long something that is asked once may still take after the run is to end.
const PARTING: Duration = Duration::from_secs(1);

/// Returns when the time is over that is left after an end was asked for.
pub(crate) async fn late(cancel: &CancellationToken) {
    cancel.cancelled().await;
    tokio::time::sleep(PARTING).await;
}

impl TraceHooks<'_> {
    async fn late(&self) {
        match self.cancel {
            Some(cancel) => late(cancel).await,
            None => std::future::pending().await,
        }
    }

    /// Calls the hooks of a point one after the other. `change` takes what one wants changed, by its name, into the object that the
    /// next one sees. Errors: the first that says no; the others are not called.
    pub async fn call(
        &self,
        point: HookPoint,
        tool: Option<&str>,
        event: &mut Value,
        mut change: impl FnMut(&mut Value, &str, Answer),
    ) -> Result<(), Forbidden> {
        let concerns = |hook: &&Hook| {
            let names =
                tool.is_none_or(|tool| hook.tools.is_empty() || hook.tools.iter().any(|names| names.matches(tool)));
            hook.points.contains(&point) && names
        };
        // One time for all of them: after it no other hook starts.
        let late = self.late().shared();
        for hook in self.hooks.0.iter().filter(concerns) {
            if let Value::Object(event) = &mut *event {
                event.insert("hook".into(), serde_json::to_value(point).unwrap_or_default());
                event.extend(self.folders.fields());
            }
            // Also what it does before it waits for anything is its author's code.
            let asked = AssertUnwindSafe(async { hook.runner.run(event).await }).catch_unwind();
            let asked = async {
                tokio::select! {
                    biased;
                    () = late.clone() => Err(HookError::Cancelled),
                    asked = tokio::time::timeout(hook.timeout, asked) => asked.map_err(|_| HookError::TimedOut(hook.timeout)),
                }
            };
            let answered = match asked.await {
                Ok(Ok(Ok(Value::Null))) => Ok(Answer::default()),
                Ok(Ok(Ok(answer))) => Answer::deserialize(answer).map_err(HookError::from),
                Ok(Err(panic)) => Err(HookError::Panicked(panic_text(&*panic).to_string())),
                Ok(Ok(Err(problem))) | Err(problem) => Err(problem),
            };
            let no =
                |reason: String| Err(Forbidden { hook: hook.name.clone(), reason: self.notices.vault.redact(&reason) });
            match (answered, hook.on_failure) {
                (Ok(answer), _) if answer.decision == Some(HookDecision::Deny) => {
                    return no(answer.reason.unwrap_or_else(|| format!("The hook {} denied it.", hook.name)));
                }
                (Ok(answer), _) => change(event, &hook.name, answer),
                (Err(problem), OnFailure::Closed) => return no(format!("The hook {} failed: {problem}.", hook.name)),
                (Err(problem), OnFailure::Open) => {
                    self.notices.tell(&format!("the hook {} failed: {problem}", hook.name));
                }
            }
        }
        Ok(())
    }
}
