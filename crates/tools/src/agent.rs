//! `agent` and `evaluate`: how a model hands work to other agents. Whoever drives the trace starts them; `run` is never asked.

use crate::{Fut, Tool, ToolContext, ToolDoc, Touches};
use mainpath_types::{BadName, ChildMode, EffectClass, ToolOutput, TraceId};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

/// Starts other agents.
#[derive(Clone, Debug, Default)]
pub struct AgentTool {
    servers: Arc<[AgentServer]>,
}

/// A server of another machine, where agents can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentServer {
    /// Its address.
    pub url: String,
    /// What there is, for models.
    pub about: String,
}

/// Has another agent judge whether a goal was reached.
#[derive(Clone, Copy, Debug, Default)]
pub struct EvaluateTool;

/// What other agents are to do.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentArgs {
    /// One task, or several to look into at once by agents that change nothing. Each is all that its agent knows.
    task: Tasks,
    /// A preset's name, such as explore or analyst.
    #[serde(default)]
    agent_type: Option<String>,
    /// The sub_trace_id of an agent that goes on with this task. Not with several.
    #[serde(default)]
    continue_from: Option<String>,
    /// The server of another machine, where the agents work with what is there.
    #[serde(default)]
    agent_url: Option<String>,
    /// The skills that it has.
    #[serde(default)]
    skills: Option<Vec<String>>,
    /// What else it should know.
    #[serde(default)]
    messages: Option<Vec<Value>>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Tasks {
    One(String),
    Several(Vec<String>),
}

/// What is to be judged.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvaluateArgs {
    /// The goal's number; the one in focus where it is not said.
    #[serde(default)]
    target_goal_id: Option<u32>,
    /// The results, and what else there is to know.
    #[serde(default)]
    messages: Option<Vec<Value>>,
    /// The sub_trace_id of an earlier evaluation that goes on.
    #[serde(default)]
    continue_from: Option<String>,
}

/// What a call asks of other agents.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentCall {
    /// What they are for.
    pub mode: ChildMode,
    /// Their tasks, one each. Empty for an evaluation: its goal is its task.
    pub tasks: Vec<String>,
    /// A preset's name.
    pub agent_type: Option<String>,
    /// The agent that goes on.
    pub continue_from: Option<TraceId>,
    /// The host, with its port if that is not the usual one, of the machine where they work, if that is another.
    pub host: Option<String>,
    /// The skills that they have.
    pub skills: Option<Vec<String>>,
    /// What else they should know: messages in OpenAI's form or plain texts.
    pub messages: Vec<Value>,
    /// The goal that is judged; the one in focus where it is not said.
    pub target_goal: Option<u32>,
}

/// So many tasks a call may have.
const MOST_TASKS: usize = 64;

/// Why a call for other agents cannot be carried out, in words for the model.
#[derive(Debug, thiserror::Error)]
pub enum AgentCallError {
    /// The arguments do not match the tool's schema.
    #[error("wrong arguments for {tool}: {source}")]
    Arguments {
        /// The tool.
        tool: String,
        /// The cause.
        source: serde_json::Error,
    },
    /// A task is empty, or there is none.
    #[error("an agent needs a task in words")]
    NoTask,
    /// It has this many tasks.
    #[error("{0} tasks are too many: give {MOST_TASKS} at most")]
    TooManyTasks(usize),
    /// It gives several tasks to one agent.
    #[error("several tasks begin new agents: give one task to continue one")]
    TasksForOne,
    /// `continue_from` is not the id of a trace.
    #[error("continue_from: {0}")]
    ContinueFrom(#[from] BadName),
    /// The agent to continue works on this host, which is not that of `agent_url`.
    #[error("the agent works at {0}: give its server as agent_url too")]
    WorksAt(String),
    /// The agent to continue works on this machine, and `agent_url` is given.
    #[error("the agent works on this machine: leave agent_url out")]
    WorksHere,
    /// `agent_url` is not the address of a server.
    #[error("agent_url: {0:?} is not the address of a server, such as https://agents.example.com")]
    Address(String),
    /// `agent_url` is given, and no server is configured.
    #[error("no other machine is set up here: leave agent_url out")]
    NoServers,
    /// The server of `agent_url` is not configured.
    #[error("agent_url: {host} is not set up here; there are {known}")]
    UnknownServer {
        /// The host of `agent_url`.
        host: String,
        /// The addresses that are configured.
        known: String,
    },
}

impl AgentCall {
    /// Reads the arguments of a call of either tool. Errors: what is wrong, for the model.
    pub fn read(tool: &str, arguments: &str) -> Result<AgentCall, AgentCallError> {
        let wrong = |source| AgentCallError::Arguments { tool: tool.into(), source };
        if tool == EvaluateTool::NAME {
            let args: EvaluateArgs = serde_json::from_str(arguments).map_err(wrong)?;
            return Ok(AgentCall {
                mode: ChildMode::Evaluate,
                tasks: Vec::new(),
                agent_type: None,
                continue_from: args.continue_from.as_deref().map(str::parse).transpose()?,
                host: None,
                skills: None,
                messages: args.messages.unwrap_or_default(),
                target_goal: args.target_goal_id,
            });
        }
        serde_json::from_str::<AgentArgs>(arguments).map_err(wrong)?.read()
    }

    /// How many agents it asks for.
    pub fn count(&self) -> u16 {
        u16::try_from(self.tasks.len()).unwrap_or(u16::MAX).max(1)
    }
}

impl AgentArgs {
    fn read(self) -> Result<AgentCall, AgentCallError> {
        let (mode, tasks) = match self.task {
            Tasks::One(task) => (ChildMode::Delegate, vec![task]),
            Tasks::Several(tasks) => (ChildMode::Explore, tasks),
        };
        if tasks.is_empty() || tasks.iter().any(|task| task.trim().is_empty()) {
            return Err(AgentCallError::NoTask);
        }
        if tasks.len() > MOST_TASKS {
            return Err(AgentCallError::TooManyTasks(tasks.len()));
        }
        if self.continue_from.is_some() && mode == ChildMode::Explore {
            return Err(AgentCallError::TasksForOne);
        }
        let continue_from: Option<TraceId> = self.continue_from.as_deref().map(str::parse).transpose()?;
        let host = self.agent_url.as_deref().map(host_of).transpose()?;
        let there = continue_from.as_ref().and_then(TraceId::elsewhere).map(|there| there.host);
        if continue_from.is_some() && there != host.as_deref() {
            return Err(match there {
                Some(there) => AgentCallError::WorksAt(there.to_string()),
                None => AgentCallError::WorksHere,
            });
        }
        let (agent_type, skills) = (self.agent_type, self.skills);
        let messages = self.messages.unwrap_or_default();
        Ok(AgentCall { mode, tasks, agent_type, continue_from, host, skills, messages, target_goal: None })
    }
}

/// The host in an address, with its port if that is not the usual one. Errors: it is no address of a server.
pub fn host_of(url: &str) -> Result<String, AgentCallError> {
    let wrong = || AgentCallError::Address(url.into());
    let (scheme, rest) = url.split_once("://").ok_or_else(wrong)?;
    let usual = match scheme.to_ascii_lowercase().as_str() {
        "http" => ":80",
        "https" => ":443",
        _ => return Err(wrong()),
    };
    let host = rest.split('/').next().unwrap_or_default().to_ascii_lowercase();
    let host = host.strip_suffix(usual).unwrap_or(&host);
    // What can be the host of a trace's id can be one here.
    TraceId::remote(host, "x").map_err(|_| wrong())?;
    Ok(host.into())
}

impl AgentTool {
    /// The same tool, which also starts agents at these servers. Errors: an address that cannot be one.
    pub fn with_servers(servers: Vec<AgentServer>) -> Result<AgentTool, AgentCallError> {
        servers.iter().try_for_each(|server| host_of(&server.url).map(drop))?;
        Ok(AgentTool { servers: servers.into() })
    }

    fn check_server(&self, host: &str) -> Result<(), AgentCallError> {
        if self.servers.iter().any(|server| host_of(&server.url).is_ok_and(|known| known == host)) {
            return Ok(());
        }
        let known: Vec<&str> = self.servers.iter().map(|server| server.url.as_str()).collect();
        Err(match known.as_slice() {
            [] => AgentCallError::NoServers,
            known => AgentCallError::UnknownServer { host: host.into(), known: known.join(", ") },
        })
    }
}

impl Tool for AgentTool {
    type Args = AgentArgs;
    const NAME: &'static str = "agent";

    fn describe(&self) -> ToolDoc {
        let mut text = "Hands work to other agents and returns what they report, with their sub_trace_id. One task: one agent with your \
                        tools does it. Several: agents that only read look into them at once. They know nothing of this conversation: say \
                        all that they need. They share your budgets."
            .to_string();
        for AgentServer { url, about } in self.servers.iter() {
            text.push_str(&format!("\nagent_url {url}: {}", about.trim()));
        }
        ToolDoc::new(text, EffectClass::StartChild)
    }

    fn touches(&self, args: &AgentArgs) -> Touches {
        // Only servers that the owner has configured can be asked at all.
        args.agent_url.as_deref().map(|url| Touches::asking("POST", url).named(true)).unwrap_or_default()
    }

    fn check(&self, args: &AgentArgs) -> Result<(), crate::Problem> {
        let known = args.clone().read().and_then(|call| match &call.host {
            Some(host) => self.check_server(host),
            None => Ok(()),
        });
        known.map_err(|problem| crate::Problem::new("invalid_arguments", problem.to_string()))
    }

    fn run<'a>(&'a self, _: &'a ToolContext, _: AgentArgs) -> Fut<'a, ToolOutput> {
        Box::pin(async { not_here() })
    }
}

impl Tool for EvaluateTool {
    type Args = EvaluateArgs;
    const NAME: &'static str = "evaluate";

    fn describe(&self) -> ToolDoc {
        let text = "Has another agent, which only reads, judge whether a goal of your plan was reached. Give the results in messages.";
        ToolDoc::new(text, EffectClass::StartChild)
    }

    fn run<'a>(&'a self, _: &'a ToolContext, _: EvaluateArgs) -> Fut<'a, ToolOutput> {
        Box::pin(async { not_here() })
    }
}

fn not_here() -> ToolOutput {
    ToolOutput::failed("unavailable", "Agents are started by whoever drives the trace.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn one_task_is_delegated_several_are_explored_and_what_does_not_fit_is_told() {
        let read = |args: Value| AgentCall::read("agent", &args.to_string()).map_err(|error| error.to_string());
        let one = read(json!({"task": "Fix it.", "continue_from": "t@delegate-5-001"})).unwrap();
        assert_eq!((one.mode, one.count()), (ChildMode::Delegate, 1));
        assert_eq!(one.continue_from.unwrap().as_str(), "t@delegate-5-001");
        let several = read(json!({"task": ["A?", "B?"], "agent_type": "analyst"})).unwrap();
        assert_eq!((several.mode, several.count()), (ChildMode::Explore, 2));
        for (args, problem) in [
            (json!({"task": " "}), "an agent needs a task in words"),
            (json!({"task": []}), "an agent needs a task in words"),
            (
                json!({"task": ["a", "b"], "continue_from": "t"}),
                "several tasks begin new agents: give one task to continue one",
            ),
            (json!({"task": vec!["x"; 65]}), "65 tasks are too many: give 64 at most"),
        ] {
            assert_eq!(read(args).unwrap_err(), problem);
        }
        assert!(read(json!({"task": "x", "continue_from": "../x"})).unwrap_err().starts_with("continue_from: "));
        for (url, host) in [
            ("https://Agents.example.com/", Some("agents.example.com")),
            ("https://agents.example.com:443", Some("agents.example.com")),
            ("http://127.0.0.1:8000/x", Some("127.0.0.1:8000")),
            ("ftp://agents.example.com", None),
            ("https://user@agents.example.com", None),
            ("https://agents.example.com?x", None),
            ("https://", None),
            ("agents.example.com", None),
        ] {
            let read = read(json!({"task": "x", "agent_url": url}));
            assert_eq!(read.map(|call| call.host).ok().flatten().as_deref(), host, "{url}");
        }
        let continued = |url: Option<&str>, from: &str| {
            let read = read(json!({"task": "x", "agent_url": url, "continue_from": from}));
            read.map(|call| call.host.unwrap_or_default())
        };
        let (there, url) = ("agent://127.0.0.1:8000/t.delegate-5-001", Some("http://127.0.0.1:8000"));
        assert_eq!(continued(url, there).as_deref(), Ok("127.0.0.1:8000"));
        assert!(continued(None, there).unwrap_err().contains("give its server as agent_url too"));
        assert!(continued(Some("http://127.0.0.1:8001"), there).is_err());
        assert!(continued(url, "t@delegate-5-001").unwrap_err().contains("leave agent_url out"));
        let judged = AgentCall::read("evaluate", r#"{"target_goal_id": 3}"#).unwrap();
        assert_eq!((judged.mode, judged.target_goal, judged.count()), (ChildMode::Evaluate, Some(3), 1));
    }
}
