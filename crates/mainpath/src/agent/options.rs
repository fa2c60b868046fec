//! What a caller can say of an agent. What is not said comes from the configuration, from the profile, or from the earlier run.

use crate::Home;
use crate::presets::Preset;
use mainpath_types::{Access, BudgetMode, Effort, Micros, Profile, Protocol, RateLimit, Recovery, Relations};
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// What a caller says of an agent.
#[derive(Clone, Debug, Default)]
pub struct AgentOptions {
    /// The model: `PROVIDER:NAME`, `openai-compatible:URL#NAME`, `scripted`, …
    pub model: Option<String>,
    /// The folder to work in.
    pub workspace: Option<PathBuf>,
    /// What it may do unasked, and what its commands can reach.
    pub access: Option<Access>,
    /// Whether its commands have a network.
    pub network: Option<bool>,
    /// Copy all files that git would track before every command.
    pub snapshots: bool,
    /// The tools that it may use: names, aliases and patterns. Empty: none but those that look back into its own conversation. `None`:
    /// as the configuration says, and all where that says nothing.
    pub tools: Option<Vec<String>>,
    /// The only skills that it may use, which are loaded from the beginning. Empty: none at all. `None`: all that there are, none of
    /// them loaded.
    pub skills: Option<Vec<String>>,
    /// Ask about every call, even if a rule allows it.
    pub ask_always: bool,
    /// Forget the breakpoints of earlier runs.
    pub no_breakpoints: bool,
    /// Make one call of the model, without tools.
    pub single_call: bool,
    /// Further MCP servers, in a file like `.mcp.json`.
    pub mcp_config: Option<PathBuf>,
    /// How the model is used.
    pub sampling: Sampling,
    /// What it is told.
    pub prompt: PromptOptions,
    /// A named set of defaults.
    pub profile: Option<Profile>,
    /// The limits of its runs, over those of the profile and the configuration.
    pub limits: LimitOptions,
    /// A name for the trace.
    pub name: Option<String>,
    /// For whom it works, as the caller knows them.
    pub uid: Option<String>,
    /// What it belongs to.
    pub relations: Relations,
    /// The preset that it is made from, below all that is said here; its rules are the caller's to add ([`Given`](crate::presets::Given)). An agent
    /// keeps the one that it began with.
    pub preset: Option<Preset>,
}

/// How a model is used.
#[derive(Clone, Debug, Default)]
pub struct Sampling {
    /// The sampling temperature, 0 to 2.
    pub temperature: Option<f64>,
    /// How much the model should think before it answers.
    pub effort: Option<Effort>,
    /// How the model calls tools.
    pub protocol: Option<Protocol>,
    /// With the text protocol (json): accept code fences and text around the object.
    pub tolerant: bool,
    /// The JSON Schema that the final answer must match.
    pub output_schema: Option<Value>,
    /// The models to switch to when the first one fails for good.
    pub fallback: Vec<String>,
}

/// What an agent is told before anything is said.
#[derive(Clone, Debug, Default)]
pub struct PromptOptions {
    /// A system text in the place of Mainpath's own.
    pub system: Option<String>,
    /// The same as the name of a file: `prompts/NAME.md` in the configuration folder. It comes before `system`.
    pub file: Option<String>,
    /// What is added to the system text.
    pub instructions: Option<String>,
    /// Ignore the AGENTS.md files of the workspace.
    pub ignore_agents_md: bool,
}

/// Limits of a run. `None`: as the configuration and the profile say. 0 takes a limit away.
#[derive(Clone, Debug, Default)]
pub struct LimitOptions {
    /// Model turns.
    pub turns: Option<u32>,
    /// Tool calls.
    pub calls: Option<u32>,
    /// Tool calls in one turn; further ones are skipped.
    pub calls_per_turn: Option<u32>,
    /// Scripts of skills.
    pub script_runs: Option<u32>,
    /// Characters in one request, at four a token.
    pub context_chars: Option<u32>,
    /// Tokens, input and output together.
    pub tokens: Option<u64>,
    /// Money in millionths.
    pub money: Option<Micros>,
    /// Wall time of the run, waiting for people excluded.
    pub time: Option<Duration>,
    /// Wall time of one tool call.
    pub call_time: Option<Duration>,
    /// How long an approval is waited for; then the call is denied.
    pub approval_time: Option<Duration>,
    /// Turns in a row in which the same tool may fail or be denied.
    pub repeated_failures: Option<u32>,
    /// Characters of a tool's output that the model sees.
    pub observation_chars: Option<u32>,
    /// What happens at a token or money budget.
    pub budget: Option<BudgetMode>,
    /// What happens after a crash to interrupted calls that are safe to repeat.
    pub recovery: Option<Recovery>,
    /// How often a failed model request is retried.
    pub model_retries: Option<u32>,
    /// Rates of tools, by names, aliases and patterns; further calls wait.
    pub rates: Vec<(String, RateLimit)>,
    /// How long a model's server may take to begin its answer.
    pub first_byte: Option<Duration>,
    /// How long it may be silent within its answer.
    pub idle: Option<Duration>,
}

/// Instructions with more at their end: the caller's own, else those of the configuration.
pub fn with_more(own: Option<String>, home: &Home, more: &[String]) -> String {
    let own = own.unwrap_or_else(|| home.config.instructions.clone());
    let texts = Some(own).filter(|own| !own.is_empty()).into_iter().chain(more.iter().cloned());
    texts.collect::<Vec<_>>().join("\n\n")
}

/// Puts what is given in the place of what was.
pub(super) fn relate(relations: &mut Relations, given: &Relations) {
    let Relations { agent_type, parent_trace, parent_goal, context, session, request, own_task: _ } = given.clone();
    relations.agent_type = agent_type.or(relations.agent_type.take());
    relations.session = session.or(relations.session.take());
    relations.request = request.or(relations.request.take());
    if parent_trace.is_some() {
        (relations.parent_trace, relations.parent_goal, relations.own_task) = (parent_trace, parent_goal, false);
    }
    relations.context.extend(context);
}
