//! What is asked for of a new agent, and the agent that it makes.

use crate::access::scope::Scope;
use crate::call::Call;
use crate::problem::{Kind, Problem};
use mainpath::agent::{AgentOptions, LimitOptions, PromptOptions, Sampling, beyond};
use mainpath::providers::history::Loose;
use mainpath::types::{Access, ApprovalMode, Effort, GoalId, Relations, TenantId, TraceId};
use mainpath::{Agent, Error, Run};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// A new agent. One of `task` and `messages` is needed.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAgent {
    /// What it is to do.
    pub task: Option<String>,
    /// The same as a conversation in the form of any vendor, the last message being a user's.
    pub messages: Option<Vec<Map<String, Value>>>,
    /// The model, such as `anthropic:NAME`; without it the one that the server is configured for.
    pub model: Option<String>,
    /// The preset that it is made from.
    pub agent: Option<String>,
    /// The same under its other name.
    pub agent_type: Option<String>,
    /// The folder that it works in, within those that the server allows.
    pub workspace: Option<String>,
    /// The id of its trace, which must be new; without it one is made.
    pub trace_id: Option<TraceId>,
    /// A name for its trace: one line of at most 80 letters.
    #[schemars(length(min = 1, max = 80), regex(pattern = r"^[^\x00-\x1f\x7f]+$"))]
    pub name: Option<String>,
    /// For whom it works, as the caller knows them.
    pub uid: Option<String>,
    /// A system text in the place of Mainpath's own.
    pub system_prompt: Option<String>,
    /// The same by the name of a file of the server's.
    pub prompt_name: Option<String>,
    /// What is added to the system text.
    pub instructions: Option<String>,
    /// The sampling temperature.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub temperature: Option<f64>,
    /// How much the model thinks before it answers.
    pub effort: Option<Effort>,
    /// The tools that it may use: names, aliases and patterns.
    pub tools: Option<Vec<String>>,
    /// The only skills that it may use, which are loaded from the beginning.
    pub skills: Option<Vec<String>>,
    /// `call`: one call of the model, without tools.
    #[serde(default)]
    pub mode: Mode,
    /// Whether what earlier work says about its task is shown to it.
    #[serde(default = "yes")]
    pub enable_memory: bool,
    /// Whether calls that rules allow run unasked.
    #[serde(default = "yes")]
    pub auto_execute_tools: bool,
    /// What happens to calls that need a person. `yes` needs the scope `approve`.
    #[serde(default)]
    pub approvals: ApprovalMode,
    /// What it may do unasked. Anything but `ask` and `read-only` needs the scope `approve`.
    pub access: Option<Access>,
    /// Rules for it besides those of the server.
    #[serde(default)]
    pub rules: Rules,
    /// Its limits.
    #[serde(default)]
    pub limits: Limits,
    /// The JSON Schema that its final answer must match.
    pub output_schema: Option<Map<String, Value>>,
    /// The models to switch to when the first one fails for good.
    #[serde(default)]
    pub fallback: Vec<String>,
    /// The trace that it belongs to.
    pub parent_trace_id: Option<TraceId>,
    /// The goal of that trace that it serves.
    pub parent_goal_id: Option<u32>,
    /// What else is kept with it.
    #[serde(default)]
    pub context: Map<String, Value>,
}

fn yes() -> bool {
    true
}

/// Whether there are turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "NewAgentMode")]
pub enum Mode {
    /// As many as it takes.
    #[default]
    Agent,
    /// One call of the model.
    Call,
}

/// Rules for one agent, such as `bash(cargo test *)`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "NewAgentRules")]
pub struct Rules {
    /// What is allowed without asking. Needs the scope `approve`.
    pub allow: Vec<String>,
    /// What is always asked about.
    pub ask: Vec<String>,
    /// What is denied, whatever else allows it.
    pub deny: Vec<String>,
}

/// Limits of a run. 0 takes one away.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "NewAgentLimits")]
pub struct Limits {
    /// Model turns.
    pub max_iterations: Option<u32>,
    /// Tool calls.
    pub max_tool_calls: Option<u32>,
    /// Tool calls in one turn.
    pub max_calls_per_turn: Option<u32>,
    /// Scripts of skills.
    pub max_script_runs: Option<u32>,
    /// Tokens, input and output together.
    pub max_tokens: Option<u64>,
    /// Money, in millionths.
    pub max_cost_micros: Option<u64>,
    /// Seconds of the run, waiting for people excluded.
    pub timeout_s: Option<u64>,
    /// Seconds of one tool call.
    pub call_timeout_s: Option<u64>,
    /// Seconds that an approval is waited for.
    pub approval_timeout_s: Option<u64>,
    /// Turns in a row in which the same tool may fail.
    pub repeated_failures: Option<u32>,
}

impl Limits {
    fn options(&self) -> LimitOptions {
        LimitOptions {
            turns: self.max_iterations,
            calls: self.max_tool_calls,
            calls_per_turn: self.max_calls_per_turn,
            script_runs: self.max_script_runs,
            tokens: self.max_tokens,
            money: self.max_cost_micros,
            time: self.timeout_s.map(Duration::from_secs),
            call_time: self.call_timeout_s.map(Duration::from_secs),
            approval_time: self.approval_timeout_s.map(Duration::from_secs),
            repeated_failures: self.repeated_failures,
            ..LimitOptions::default()
        }
    }
}

impl NewAgent {
    fn options(&self) -> AgentOptions {
        AgentOptions {
            access: self.access,
            tools: self.tools.clone(),
            skills: self.skills.clone(),
            ask_always: !self.auto_execute_tools,
            single_call: self.mode == Mode::Call,
            sampling: Sampling {
                temperature: self.temperature,
                effort: self.effort,
                output_schema: self.output_schema.clone().map(Value::Object),
                fallback: self.fallback.clone(),
                ..Sampling::default()
            },
            prompt: PromptOptions {
                system: self.system_prompt.clone(),
                file: self.prompt_name.clone(),
                instructions: self.instructions.clone(),
                ..PromptOptions::default()
            },
            limits: self.limits.options(),
            name: self.name.clone(),
            uid: self.uid.clone(),
            relations: Relations {
                parent_trace: self.parent_trace_id.clone(),
                parent_goal: self.parent_goal_id.map(GoalId),
                context: self.context.clone(),
                ..Relations::default()
            },
            ..AgentOptions::default()
        }
    }

    /// What it may do without a person needs a key that may decide.
    fn check<Q, B>(&self, call: &Call<Q, B>) -> Result<(), Problem> {
        if self.approvals == ApprovalMode::Yes {
            call.needs(Scope::Approve, "approvals: yes")?;
        }
        if matches!(self.access, Some(Access::WorkspaceWrite | Access::Full)) {
            call.needs(Scope::Approve, "this access")?;
        }
        if !self.rules.allow.is_empty() {
            call.needs(Scope::Approve, "rules.allow")?;
        }
        self.model.iter().chain(&self.fallback).try_for_each(|model| check_model(call, model))?;
        let pointer = |name: &str| match name {
            "turns" => "/limits/max_iterations",
            "calls" => "/limits/max_tool_calls",
            "calls_per_turn" => "/limits/max_calls_per_turn",
            "script_runs" => "/limits/max_script_runs",
            "tokens" => "/limits/max_tokens",
            "money" => "/limits/max_cost_micros",
            "time" => "/limits/timeout_s",
            "call_time" => "/limits/call_timeout_s",
            "approval_time" => "/limits/approval_timeout_s",
            "observation_chars" => "/limits/observation_max_len",
            _ => "/limits/repeated_failures",
        };
        check_limits(call, &self.limits.options(), pointer)
    }

    /// The agent, ready to be started.
    pub async fn agent<Q, B>(&self, call: &Call<Q, B>) -> Result<Agent, Problem> {
        self.check(call)?;
        if let Some(parent) = &self.parent_trace_id
            && call.trace_of(parent).await.is_err()
        {
            return Err(Problem::field("/parent_trace_id", format!("there is no trace {parent}")));
        }
        let none = |_| {
            Problem::field(
                "/model",
                "is missing, and the server has none: name one, or set model in its config.toml, MAINPATH_MODEL or a provider's \
                 key where it runs (see GET /api/models)",
            )
        };
        let folder = call.app.workspace(&call.who, self.workspace.as_deref())?;
        let preset = self.agent.as_ref().or(self.agent_type.as_ref());
        let of_preset = match preset.filter(|_| self.model.is_none()) {
            Some(name) => call.host.presets(&folder)?.choose(name).ok().and_then(|preset| preset.model.clone()),
            None => None,
        };
        let named = self.model.as_deref().or(of_preset.as_deref());
        let model = call.host.choose_model(named).await.map_err(none)?;
        let mut agent = call.host.agent(model).options(self.options()).workspace(folder).approvals(self.approvals);
        if let Some(preset) = preset {
            agent = agent.preset(preset);
        }
        if !self.enable_memory {
            agent = agent.without_memory();
        }
        if let Some(id) = &self.trace_id {
            agent = agent.trace_id(own_id(id)?.clone());
        }
        agent = self.rules.allow.iter().fold(agent, |agent, rule| agent.allow(rule));
        agent = self.rules.ask.iter().fold(agent, |agent, rule| agent.ask(rule));
        agent = self.rules.deny.iter().fold(agent, |agent, rule| agent.deny(rule));
        Ok(match call.once()? {
            Some(once) => agent.once(once),
            None => agent,
        })
    }

    /// Starts it. Errors: it has neither a task nor messages, or both, or cannot be started.
    pub async fn start<Q, B>(&self, call: &Call<Q, B>) -> Result<Run, Problem> {
        match (&self.task, &self.messages) {
            (Some(_), Some(_)) => Err(Problem::field("/messages", "give task or messages, not both")),
            (None, None) => Err(Problem::field("/task", "is missing: give task or messages")),
            (Some(task), None) if task.trim().is_empty() => Err(Problem::field("/task", "is empty")),
            (Some(task), None) => self.agent(call).await?.start(task).await.map_err(|error| self.placed(error)),
            (None, Some(messages)) => {
                let messages = conversation(messages)?;
                self.agent(call).await?.start_with(messages).await.map_err(|error| self.placed(error))
            }
        }
    }

    /// The problem with the field of the request that an error is about.
    fn placed(&self, error: Error) -> Problem {
        let pointer = match error.field() {
            Some("preset") if self.agent.is_some() => "/agent",
            Some("preset") => "/agent_type",
            Some("prompt.file") => "/prompt_name",
            Some("limits.money") => "/limits/max_cost_micros",
            _ => return error.into(),
        };
        Problem::field(pointer, error.problem().trim_start_matches([':', ' ']))
    }
}

/// An id that a caller may give a new trace. Errors: it is one of another machine, or says that the trace belongs to another.
fn own_id(id: &TraceId) -> Result<&TraceId, Problem> {
    if id.elsewhere().is_some() || id.as_str().contains('@') {
        return Err(Problem::field("/trace_id", "must be letters, digits and -_. alone"));
    }
    match id.as_str() {
        "running" => Err(Problem::field("/trace_id", "is the name of a list")),
        _ => Ok(id),
    }
}

/// The model sees what the agent reads, and a script is a file: whoever only runs agents chooses among providers that are known, and what
/// the configuration names. Errors: the key may not choose this one.
pub fn check_model<Q, B>(call: &Call<Q, B>, model: &str) -> Result<(), Problem> {
    if call.host.is_model_of_owner(model) {
        return Ok(());
    }
    call.needs(Scope::Approve, "a model by its address, a script or a recording")?;
    match call.who.tenant == TenantId::local() {
        true => Ok(()),
        false => {
            Err(Problem::new(Kind::FORBIDDEN, "tenants use models of known providers, or those of their config.toml"))
        }
    }
}

/// What a run may use at most is set by `[limits]` of the home that it runs in; only the server's owner goes beyond. `pointer`: the field of
/// a limit. Errors: a limit goes beyond.
pub fn check_limits<Q, B>(
    call: &Call<Q, B>,
    given: &LimitOptions,
    pointer: impl FnOnce(&str) -> &'static str,
) -> Result<(), Problem> {
    let is_owner = call.who.tenant == TenantId::local() && call.who.may(Scope::Admin);
    match beyond(given, call.host.home()).first().filter(|_| !is_owner) {
        None => Ok(()),
        Some(name) => {
            let why = "is beyond [limits] of the configuration, which a key of the owner with the scope admin may change alone";
            Err(Problem::new(Kind::FORBIDDEN, why).of_field(pointer(name)))
        }
    }
}

/// Messages in the form of any vendor. Errors: they are in none.
pub fn conversation(messages: &[Map<String, Value>]) -> Result<Loose, Problem> {
    let text = json!(messages).to_string();
    Loose::read(None, &text).map_err(|error| Problem::field("/messages", error.to_string()))
}

/// Something that is said. Errors: nothing is.
pub fn said(message: &str) -> Result<&str, Problem> {
    if message.trim().is_empty() { Err(Problem::field("/message", "is empty")) } else { Ok(message) }
}
