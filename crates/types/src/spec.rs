//! What an agent is: it enters a trace by event and changes only at a turn boundary.

use crate::{
    Access, AppliedPreset, Copied, Effort, Limits, ListedSkill, Price, Principal, Relations, RunMode, RunRules,
    SELECT_SKILLS, SkillShown, SkillTerms, SummaryMode, ToolSpec,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an agent is. Names of secrets appear here, secrets never.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spec {
    /// The model in Mainpath's notation, such as `openai-compatible:http://127.0.0.1:8080/v1#name` or `scripted`.
    pub model: String,
    /// The owner, if they named the model by its address: a key of this machine goes there for nobody else. Logs of older versions do not
    /// have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_by: Option<Principal>,
    /// The system text.
    #[serde(default)]
    pub instructions: String,
    /// The tools on offer.
    #[serde(default)]
    pub tools: Vec<ToolSpec>,
    /// The tools that the caller allows: names, aliases, and patterns such as `mcp__github__*`. Empty: all. Tools that come later, with a
    /// server, are held to it as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_tools: Vec<String>,
    /// Whether calls that rules allow run by themselves. Otherwise a person is asked about each.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub auto_execute_tools: bool,
    /// Whether it works with tools, or is one call of the model.
    #[serde(default, skip_serializing_if = "RunMode::is_default")]
    pub run_mode: RunMode,
    /// A name to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// For whom it works, as the caller knows them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// The name of the prompt that `system_prompt` came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_name: Option<String>,
    /// What stands in `instructions` in the place of Mainpath's own text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// How the model's output becomes a turn.
    #[serde(default)]
    pub protocol: Protocol,
    /// How a turn looks under the JSON protocol.
    #[serde(default, skip_serializing_if = "TextForm::is_default")]
    pub text: TextForm,
    /// The profile that the limits came from.
    #[serde(default)]
    pub profile: Profile,
    /// The limits of every run under this spec.
    pub limits: Limits,
    /// Sampling temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// How much the model should think before it answers; unset is the vendor's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// The JSON Schema that a final answer must match, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<serde_json::Value>,
    /// The model's window in tokens.
    pub context_window: u32,
    /// The part of the window kept free for the answer; also the most tokens that may come back.
    pub reserved_output: u32,
    /// By how much a request may be larger than it is estimated until a vendor has counted one, in hundredths. In specs of before:
    /// nothing.
    #[serde(default, skip_serializing_if = "is_none_of_it")]
    pub size_margin: u16,
    /// What the model costs.
    #[serde(default)]
    pub price: Price,
    /// The models to go on with, in order, when this one cannot be reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<Fallback>,
    /// What policy allows without asking.
    #[serde(default)]
    pub mode: ApprovalMode,
    /// The run, counted from 1, that `mode` is for; after it a person is asked. `None`: all runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode_for: Option<u32>,
    /// The rules that the caller gave, beside those of files.
    #[serde(default, skip_serializing_if = "RunRules::is_empty")]
    pub rules: RunRules,
    /// What it may do unasked.
    #[serde(default, skip_serializing_if = "Access::is_default")]
    pub access: Access,
    /// Whether its commands have a network.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
    /// Whether all files of the workspace are kept before a call that may change any of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub snapshots: bool,
    /// The folder that the tools work in, as the tool runtime knows it.
    #[serde(default)]
    pub workspace: String,
    /// Of which folder the workspace is a copy, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<Copied>,
    /// The names of the secrets whose handles may be resolved by tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// The names of the context hooks whose texts go into reminders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context_hooks: Vec<String>,
    /// What the owner adds to the system text; it is part of `instructions`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub own_instructions: String,
    /// Whether the workspace's AGENTS.md files are part of `instructions`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub agents_md: bool,
    /// What went into `instructions` from files and from the owner, in its order there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instruction_parts: Vec<InstructionPart>,
    /// The preset that it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<AppliedPreset>,
    /// What it is told of skills.
    #[serde(default, skip_serializing_if = "SkillTerms::is_empty")]
    pub skills: SkillTerms,
    /// What it belongs to.
    #[serde(default, skip_serializing_if = "Relations::is_empty")]
    pub relations: Relations,
}

impl Spec {
    /// The skills as a request tells of them: where none can be selected its system text lists none, whatever there is.
    pub fn told_skills(&self) -> impl Iterator<Item = &ListedSkill> {
        let is_told = self.tools.iter().any(|tool| tool.name == SELECT_SKILLS);
        let is_apart = |one: &&ListedSkill| matches!(one.shown, SkillShown::PersonOnly | SkillShown::Untrusted);
        self.skills.listed.iter().filter(move |one| is_told || is_apart(one))
    }

    /// What happens in a run, counted from 1, to calls that a rule wants a person to decide.
    pub fn mode_in(&self, run: u32) -> ApprovalMode {
        match self.mode_for {
            Some(only) if only != run => ApprovalMode::Ask,
            _ => self.mode,
        }
    }

    /// The folder that its workspace is a copy of, else the workspace: what is trusted there is trusted for it.
    pub fn source(&self) -> &str {
        self.copy.as_ref().map_or(&self.workspace, |copy| &copy.of)
    }
}

/// A part of the system text that did not come with Mainpath.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstructionPart {
    /// Where it came from: a file, or `owner`.
    pub source: String,
    /// Its size in bytes, as it is part of the text.
    pub bytes: u64,
    /// Its estimated size in tokens.
    pub tokens: u32,
    /// The SHA-256 of the part.
    pub hash: String,
}

impl Spec {
    /// An agent on this model with a profile's defaults: no tools, no system text, and the window that is assumed where a
    /// model's is not known.
    pub fn new(model: impl Into<String>, profile: Profile) -> Spec {
        Spec {
            model: model.into(),
            model_by: None,
            instructions: String::new(),
            tools: Vec::new(),
            allowed_tools: Vec::new(),
            auto_execute_tools: true,
            run_mode: RunMode::default(),
            name: None,
            uid: None,
            prompt_name: None,
            system_prompt: None,
            protocol: profile.protocol(),
            text: TextForm {
                dialect: if profile == Profile::Skills { Dialect::Skills } else { Dialect::AgentCore },
                tolerant: false,
            },
            profile,
            limits: profile.limits(),
            temperature: profile.temperature(),
            effort: None,
            output_schema: None,
            context_window: 16_384,
            reserved_output: 2_048,
            size_margin: 0,
            price: Price::default(),
            fallback: Vec::new(),
            mode: ApprovalMode::default(),
            mode_for: None,
            rules: RunRules::default(),
            access: Access::default(),
            network: false,
            snapshots: false,
            workspace: String::new(),
            copy: None,
            secrets: Vec::new(),
            context_hooks: Vec::new(),
            own_instructions: String::new(),
            agents_md: false,
            instruction_parts: Vec::new(),
            preset: None,
            skills: SkillTerms::default(),
            relations: Relations::default(),
        }
    }

    /// The spec with one of its models in the first place: 0 is the first as it is, 1 the first to fall back to. Past the
    /// last, the first.
    pub fn on_model(&self, which: usize) -> Spec {
        let mut spec = self.clone();
        if let Some(other) = which.checked_sub(1).and_then(|which| self.fallback.get(which)) {
            spec.model.clone_from(&other.model);
            spec.model_by.clone_from(&other.model_by);
            spec.context_window = other.context_window;
            spec.reserved_output = other.reserved_output;
            spec.price = other.price;
            spec.temperature = other.temperature;
        }
        spec
    }
}

fn yes() -> bool {
    true
}

fn is_yes(flag: &bool) -> bool {
    *flag
}

fn is_none_of_it(n: &u16) -> bool {
    *n == 0
}

/// How a model's output becomes a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// The vendor's own tool calls.
    #[default]
    Native,
    /// One JSON object of text per turn.
    Json,
}

/// The form of a turn under [`Protocol::Json`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TextForm {
    /// The object's fields.
    pub dialect: Dialect,
    /// Whether fences and prose around the object are put up with, which is recorded. Otherwise an answer is one bare JSON
    /// object.
    pub tolerant: bool,
}

impl TextForm {
    fn is_default(&self) -> bool {
        *self == TextForm::default()
    }
}

/// The fields of a turn under [`Protocol::Json`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// `{"type":"action","tool":…,"args":{…}}` or `{"type":"final","answer":…}`.
    #[default]
    AgentCore,
    /// `{"plan" or "plan_update":…, "action":{"type":…,…,"reason":…}, "final_answer":{"content":…}}`.
    Skills,
}

/// A model to go on with when the first one fails for good, with what a spec says of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fallback {
    /// The model in Mainpath's notation.
    pub model: String,
    /// As of the spec: see [`Spec::model_by`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_by: Option<Principal>,
    /// Its window in tokens.
    pub context_window: u32,
    /// The part of the window kept free for the answer.
    pub reserved_output: u32,
    /// What it costs.
    #[serde(default)]
    pub price: Price,
    /// Its sampling temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
}

/// What happens to calls that a rule wants a person to decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// A person is asked.
    #[default]
    Ask,
    /// Nobody can be asked: denied.
    Deny,
    /// The owner said yes beforehand.
    Yes,
}

/// A named set of defaults for [`Limits`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// The controlled tool for workflows.
    AgentCore,
    /// The skills agent.
    Skills,
    /// The trace platform; the default of `mainpath run`.
    #[default]
    Trace,
    /// The minimal kernel.
    Kernel,
}

impl Profile {
    /// The profile's limits.
    pub fn limits(self) -> Limits {
        let base = Limits { model_retries: 10, call_retries: 1, inject_every: Some(10), ..Limits::default() };
        match self {
            Profile::AgentCore => Limits {
                turns: Some(5),
                calls: Some(10),
                calls_per_turn: Some(1),
                run_timeout_ms: Some(120_000),
                call_timeout_ms: Some(30_000),
                repeated_failures: Some(2),
                observation_chars: Some(256),
                summary: SummaryMode::Rules,
                ..base
            },
            Profile::Skills => Limits {
                turns: Some(12),
                calls: Some(30),
                calls_per_turn: Some(1),
                script_runs: Some(6),
                repeated_failures: Some(3),
                standing: true,
                ..base
            },
            Profile::Trace => {
                Limits { turns: Some(200), repeated_failures: Some(5), summary: SummaryMode::Agent, ..base }
            }
            Profile::Kernel => Limits {
                turns: Some(6),
                calls_per_turn: Some(3),
                repeated_failures: Some(3),
                window_messages: Some(20),
                summary: SummaryMode::Rules,
                ..base
            },
        }
    }

    /// The profile's sampling temperature.
    pub fn temperature(self) -> Option<f64> {
        match self {
            Profile::AgentCore => Some(0.7),
            Profile::Trace => Some(0.3),
            Profile::Skills | Profile::Kernel => None,
        }
    }

    /// The profile's action protocol.
    pub fn protocol(self) -> Protocol {
        match self {
            Profile::AgentCore | Profile::Skills => Protocol::Json,
            Profile::Trace | Profile::Kernel => Protocol::Native,
        }
    }
}
