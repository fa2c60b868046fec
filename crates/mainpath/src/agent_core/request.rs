//! What is asked for: the configuration of the agent, and a prompt or a conversation.

use super::wrong::WrongField;
use mainpath_schema::{Schema, Violation};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A request. It has `prompt` or `messages_json`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentCoreRequest {
    /// What the agent is like.
    pub config: AgentCoreConfig,
    /// What it is to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The same as a conversation that is kept elsewhere, the last message being a user's: a list, or its JSON text, in Mainpath's own
    /// form or that of any vendor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages_json: Option<Conversation>,
}

/// What an agent is like. What is not said comes from the profile `agent_core` and the configuration of the host.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentCoreConfig {
    /// The model, such as `openai:gpt-4o-mini`.
    #[schemars(length(min = 1))]
    pub model: String,
    /// The sampling temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 2.0))]
    pub temperature: Option<f64>,
    /// Seconds of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub timeout: Option<u32>,
    /// Answers of the model.
    #[schemars(range(min = 1))]
    pub max_steps: u32,
    /// Tool calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_tool_calls: Option<u32>,
    /// The tools that it may use: names, aliases and patterns. Empty: none.
    pub allowed_tools: Vec<String>,
    /// Seconds of one tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub single_call_timeout: Option<u32>,
    /// Tokens of the run, input and output together; 0: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_token_budget: Option<u64>,
    /// Characters of a tool's result that the model is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub observation_max_len: Option<u32>,
    /// Which output is the primary one.
    #[serde(default)]
    pub primary_output: PrimaryOutput,
}

/// The primary output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PrimaryOutput {
    /// The final answer.
    #[default]
    FinalAnswer,
}

/// A conversation.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Conversation {
    /// As JSON text.
    Text(String),
    /// As a list of messages.
    List(Vec<Map<String, Value>>),
}

impl Conversation {
    /// As JSON text.
    pub fn text(&self) -> String {
        match self {
            Conversation::Text(text) => text.clone(),
            Conversation::List(messages) => serde_json::to_string(messages).unwrap_or_default(),
        }
    }
}

impl AgentCoreRequest {
    /// The JSON Schema of requests.
    pub fn schema() -> Value {
        SchemaSettings::draft2020_12()
            .with_transform(crate::bounded)
            .into_generator()
            .into_root_schema_for::<AgentCoreRequest>()
            .to_value()
    }

    /// A request from its JSON. Errors: every field that its schema does not allow.
    pub fn read(value: Value) -> Result<AgentCoreRequest, Vec<WrongField>> {
        let rules = Schema::new(&Self::schema()).map_err(|why| vec![WrongField::new("", why.to_string())])?;
        let wrong = rules.wrong_fields(&value).into_iter();
        let told = |wrong: Violation| match wrong.is_missing() {
            true => WrongField::new(wrong.field, "is missing"),
            false => WrongField::new(wrong.field, wrong.problem),
        };
        let wrong: Vec<WrongField> = wrong.map(told).collect();
        if !wrong.is_empty() {
            return Err(wrong);
        }
        serde_json::from_value(value).map_err(|error| vec![WrongField::new("", error.to_string())])
    }
}
