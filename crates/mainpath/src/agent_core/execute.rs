//! From a request to a run.

use super::request::{AgentCoreConfig, AgentCoreRequest, Conversation};
use super::wrong::{Refused, WrongField};
#[cfg(feature = "home")]
use crate::agent::time_limit;
use crate::agent::{AgentOptions, LimitOptions, Sampling, beyond};
use crate::{Error, ErrorKind, Host, Run};
use mainpath_policy::ToolNames;
use mainpath_providers::history::Loose;
use mainpath_store::Once;
use mainpath_types::{ApprovalMode, EffectClass, MCP_TOOLS, Profile, Protocol, Role};
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// What a run has besides its request.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The folder that it works in.
    pub workspace: PathBuf,
    /// The caller's own key: asked again under it, it is the same run.
    pub once: Option<Once>,
    /// True for the owner, and where the caller's rights have been checked: the request may name any model, and any limits. For others it
    /// names models of known providers and the configured ones, and stays within `[limits]` of the configuration.
    pub is_permitted: bool,
}

impl Host {
    /// Starts the run of a request to the agent core. Nobody is asked in it: a call that a rule wants a person to decide is denied.
    /// Errors: every field that cannot be used, or why the run cannot be started.
    pub async fn agent_core(&self, request: &AgentCoreRequest, terms: Terms) -> Result<Run, Refused> {
        let (mut wrong, task) = match task(request) {
            Ok(task) => (Vec::new(), Some(task)),
            Err(field) => (vec![field], None),
        };
        let config = &request.config;
        wrong.extend(wrong_tools(self, config.allowed_tools.iter().map(String::as_str).enumerate()));
        wrong.extend(match terms.is_permitted {
            true => wrong_model(self, &config.model).into_iter().collect(),
            false => not_permitted(self, config),
        });
        let Some(task) = task.filter(|_| wrong.is_empty()) else { return Err(Refused::Fields(wrong)) };
        let mut agent = self.agent(&config.model).options(options(config)).workspace(&terms.workspace);
        agent = agent.approvals(ApprovalMode::Deny).without_memory();
        // Patterns may mean tools that wait for a person, whom nobody would tell of it.
        for tool in asking(self) {
            agent = agent.deny(tool);
        }
        if let Some(once) = terms.once {
            agent = agent.once(once);
        }
        let run = match task {
            Task::Prompt(prompt) => agent.start(prompt).await,
            Task::Messages(messages) => agent.start_with(messages).await,
        };
        run.map_err(by_field)
    }

    /// A request from its JSON. Errors: every field that cannot be used, be it that its schema does not allow it or that this host cannot
    /// do what it says.
    pub fn read_agent_core(&self, value: Value) -> Result<AgentCoreRequest, Vec<WrongField>> {
        AgentCoreRequest::read(value.clone()).map_err(|mut wrong| {
            let mut more = self.wrong_in_agent_core(&value);
            more.retain(|more| wrong.iter().all(|known| known.pointer != more.pointer));
            wrong.append(&mut more);
            wrong
        })
    }

    /// Returns the time limit of a request's run, which also holds while MCP servers start. `None` without a limit.
    #[cfg(feature = "home")]
    pub fn agent_core_time_limit(&self, request: &AgentCoreRequest) -> Option<Duration> {
        time_limit(&options(&request.config), None, self.home())
    }

    /// What cannot be used of a request besides what its schema does not allow, as far as it can be read.
    pub fn wrong_in_agent_core(&self, value: &Value) -> Vec<WrongField> {
        let Value::Object(fields) = value else { return Vec::new() };
        let said = |name: &str| fields.get(name).filter(|said| !said.is_null());
        let task = match (said("prompt"), said("messages_json")) {
            (Some(_), Some(_)) => Some(WrongField::new("/messages_json", BOTH)),
            (None, None) => Some(WrongField::new("/prompt", NEITHER)),
            (Some(prompt), None) if prompt.as_str().is_some_and(|prompt| prompt.trim().is_empty()) => {
                Some(WrongField::new("/prompt", "is empty"))
            }
            _ => None,
        };
        let config = fields.get("config");
        let of = |name: &str| config.and_then(|config| config.get(name));
        let allowed = of("allowed_tools").and_then(Value::as_array).into_iter().flatten().enumerate();
        let allowed = allowed.filter_map(|(at, tool)| Some((at, tool.as_str()?)));
        let model = of("model").and_then(Value::as_str).filter(|model| !model.is_empty());
        // Who asks may not be permitted to name another: nothing is read, nor said of a file.
        let model = model.filter(|model| self.is_model_of_owner(model)).and_then(|model| wrong_model(self, model));
        task.into_iter().chain(wrong_tools(self, allowed)).chain(model).collect()
    }
}

/// What is wrong with a task that is given twice, or not at all.
const BOTH: &str = "give prompt or messages_json, not both";
const NEITHER: &str = "is missing: give prompt or messages_json";

/// What is to be done.
enum Task {
    Prompt(String),
    Messages(Loose),
}

fn task(request: &AgentCoreRequest) -> Result<Task, WrongField> {
    let wrong = |pointer: &str, detail: &str| Err(WrongField::new(pointer, detail));
    match (&request.prompt, &request.messages_json) {
        (Some(_), Some(_)) => wrong("/messages_json", BOTH),
        (None, None) => wrong("/prompt", NEITHER),
        (Some(prompt), None) if prompt.trim().is_empty() => wrong("/prompt", "is empty"),
        (Some(prompt), None) => Ok(Task::Prompt(prompt.clone())),
        (None, Some(messages)) => conversation(messages),
    }
}

fn conversation(messages: &Conversation) -> Result<Task, WrongField> {
    let wrong = |detail: String| WrongField::new("/messages_json", detail);
    let read = |text: &str| Loose::read(None, text).map_err(|error| wrong(error.to_string()));
    let text = messages.text();
    let mut tried = read(&text)?;
    drop(tried.take_system());
    match tried.heal(false).messages.last() {
        None => Err(wrong("has no message to answer".into())),
        Some(last) if last.role != Role::User => {
            Err(wrong("the last message is not a user's: there is nothing to answer".into()))
        }
        Some(_) => Ok(Task::Messages(read(&text)?)),
    }
}

fn wrong_tools<'a>(host: &Host, allowed: impl Iterator<Item = (usize, &'a str)>) -> Vec<WrongField> {
    let names = host.tools().names();
    let known = || names.iter().map(String::as_str);
    let asking = asking(host);
    let mut seen: Vec<String> = Vec::new();
    let mut problem = |text: &str| {
        let read: ToolNames = match text.parse::<ToolNames>() {
            Ok(read) => read,
            Err(why) => return Some(why.to_string()),
        };
        if let Err(why) = read.check(known()) {
            return Some(why.to_string());
        }
        let own = read.one().unwrap_or(text).to_string();
        if asking.contains(&own) {
            return Some(format!("{own} waits for a person, and nobody can be asked here"));
        }
        if seen.contains(&own) {
            return Some(format!("{own} is named twice"));
        }
        if read.one().is_some() && !own.starts_with(MCP_TOOLS) && !known().any(|tool| tool == own) {
            return Some(format!("{own} is off here"));
        }
        seen.push(own);
        None
    };
    allowed
        .filter_map(|(at, text)| Some(WrongField::new(format!("/config/allowed_tools/{at}"), problem(text)?)))
        .collect()
}

/// The tools that wait for a person.
fn asking(host: &Host) -> Vec<String> {
    host.tools().with_effect(EffectClass::AskPerson)
}

fn wrong_model(host: &Host, model: &str) -> Option<WrongField> {
    let error = host.check_model(model).err().filter(|error| error.kind() != ErrorKind::Auth)?;
    Some(WrongField::new("/config/model", error.message()))
}

/// The fields that only the owner may set in this way. The caller's own model may have written the request.
fn not_permitted(host: &Host, config: &AgentCoreConfig) -> Vec<WrongField> {
    let model = match host.is_model_of_owner(&config.model) {
        true => wrong_model(host, &config.model),
        false => {
            let why = "is not permitted: name a model of a known provider, or one of config.toml";
            Some(WrongField::new("/config/model", why))
        }
    };
    let limits = beyond(&limits(config), host.home()).into_iter().map(|name| {
        WrongField::new(pointer_of(name), "is beyond [limits] of config.toml, which only its owner may change")
    });
    model.into_iter().chain(limits).collect()
}

/// The JSON pointer of the field that sets a limit. `name`: a field of [`LimitOptions`].
pub fn pointer_of(name: &str) -> &'static str {
    match name {
        "turns" => "/config/max_steps",
        "calls" => "/config/max_tool_calls",
        "tokens" => "/config/total_token_budget",
        "time" => "/config/timeout",
        "observation_chars" => "/config/observation_max_len",
        _ => "/config/single_call_timeout",
    }
}

/// The limits that a request sets.
pub fn limits(config: &AgentCoreConfig) -> LimitOptions {
    let seconds = |seconds: u32| Duration::from_secs(seconds.into());
    LimitOptions {
        turns: Some(config.max_steps),
        calls: config.max_tool_calls,
        tokens: config.total_token_budget,
        time: config.timeout.map(seconds),
        call_time: config.single_call_timeout.map(seconds),
        observation_chars: config.observation_max_len,
        ..LimitOptions::default()
    }
}

fn options(config: &AgentCoreConfig) -> AgentOptions {
    AgentOptions {
        profile: Some(Profile::AgentCore),
        tools: Some(config.allowed_tools.clone()),
        sampling: Sampling {
            temperature: config.temperature,
            // One bare JSON object a turn, on every model.
            protocol: Some(Protocol::Json),
            tolerant: false,
            ..Sampling::default()
        },
        limits: limits(config),
        ..AgentOptions::default()
    }
}

/// What the host says of a field of an agent, as the field of the request.
fn by_field(error: Error) -> Refused {
    let pointer = match error.field() {
        Some("tools" | "limits.rates") => "/config/allowed_tools",
        Some("messages") => "/messages_json",
        _ => return Refused::Failed(error),
    };
    Refused::Fields(vec![WrongField::new(pointer, error.problem().trim_start_matches([':', ' ']))])
}
