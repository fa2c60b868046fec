//! `agent` and `evaluate`: how a model hands work to other agents. Whoever drives the trace starts them; `run` is never asked.

use crate::{Fut, Tool, ToolContext, ToolDoc};
use mainpath_types::{ChildMode, EffectClass, ToolOutput, TraceId};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// Starts other agents.
#[derive(Clone, Copy, Debug, Default)]
pub struct AgentTool;

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
    /// The skills that they have.
    pub skills: Option<Vec<String>>,
    /// What else they should know: messages in OpenAI's form or plain texts.
    pub messages: Vec<Value>,
    /// The goal that is judged; the one in focus where it is not said.
    pub target_goal: Option<u32>,
}

/// So many tasks a call may have.
const MOST_TASKS: usize = 64;

impl AgentCall {
    /// Reads the arguments of a call of either tool. Errors: what is wrong, for the model.
    pub fn read(tool: &str, arguments: &str) -> Result<AgentCall, String> {
        let wrong = |error: serde_json::Error| format!("wrong arguments for {tool}: {error}");
        if tool == EvaluateTool::NAME {
            let args: EvaluateArgs = serde_json::from_str(arguments).map_err(wrong)?;
            return Ok(AgentCall {
                mode: ChildMode::Evaluate,
                tasks: Vec::new(),
                agent_type: None,
                continue_from: args.continue_from.as_deref().map(trace).transpose()?,
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
    fn read(self) -> Result<AgentCall, String> {
        let (mode, tasks) = match self.task {
            Tasks::One(task) => (ChildMode::Delegate, vec![task]),
            Tasks::Several(tasks) => (ChildMode::Explore, tasks),
        };
        if tasks.is_empty() || tasks.iter().any(|task| task.trim().is_empty()) {
            return Err("an agent needs a task in words".into());
        }
        if tasks.len() > MOST_TASKS {
            return Err(format!("{} tasks are too many: give {MOST_TASKS} at most", tasks.len()));
        }
        if self.continue_from.is_some() && mode == ChildMode::Explore {
            return Err("several tasks begin new agents: give one task to continue one".into());
        }
        let continue_from = self.continue_from.as_deref().map(trace).transpose()?;
        let (agent_type, skills) = (self.agent_type, self.skills);
        let messages = self.messages.unwrap_or_default();
        Ok(AgentCall { mode, tasks, agent_type, continue_from, skills, messages, target_goal: None })
    }
}

fn trace(id: &str) -> Result<TraceId, String> {
    id.parse().map_err(|error| format!("continue_from: {error}"))
}

impl Tool for AgentTool {
    type Args = AgentArgs;
    const NAME: &'static str = "agent";

    fn describe(&self) -> ToolDoc {
        let text = "Hands work to other agents and returns what they report, with their sub_trace_id. One task: one agent with your \
                    tools does it. Several: agents that only read look into them at once. They know nothing of this conversation: say all \
                    that they need. They share your budgets.";
        ToolDoc::new(text, EffectClass::StartChild)
    }

    fn check(&self, args: &AgentArgs) -> Result<(), crate::Problem> {
        args.clone().read().map(drop).map_err(|problem| crate::Problem::new("invalid_arguments", problem))
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
        let read = |args: Value| AgentCall::read("agent", &args.to_string());
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
            assert_eq!(read(args), Err(problem.into()));
        }
        assert!(read(json!({"task": "x", "continue_from": "../x"})).unwrap_err().starts_with("continue_from: "));
        let judged = AgentCall::read("evaluate", r#"{"target_goal_id": 3}"#).unwrap();
        assert_eq!((judged.mode, judged.target_goal, judged.count()), (ChildMode::Evaluate, Some(3), 1));
    }
}
