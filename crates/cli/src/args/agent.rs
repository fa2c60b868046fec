//! What an agent is: its model, what it may do, its limits.

use crate::args::about::AboutArgs;
use crate::args::limits::LimitArgs;
use crate::args::relations::RelationArgs;
use crate::args::rules::RuleArgs;
use crate::exit::Failure;
use clap::{Args, ValueEnum};
use mainpath::agent::{PromptOptions, Sampling};
use mainpath::types::{Access, ApprovalMode, BudgetMode, Effort, Micros, Profile, Protocol, Recovery};
use mainpath::values::{dollars, time_limit};
use mainpath::{AgentOptions, LimitOptions};
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

/// What the agent is.
#[derive(Args, Debug, Default)]
pub struct AgentArgs {
    #[command(flatten)]
    pub relations: RelationArgs,
    /// The model: PROVIDER:NAME (see mainpath models), openai-compatible:URL#NAME, scripted, scripted:FILE, playback:TRACE,
    /// playback:TRACE#FILE
    #[arg(short, long)]
    pub model: Option<String>,
    /// Work as this agent: a preset with its tools, limits, model and instructions (see mainpath agents)
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// The folder to work in [default: the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Allow calls without asking, except those that a rule always asks about
    #[arg(short, long)]
    pub yes: bool,
    /// Run commands without a sandbox where none can be made, also with --yes
    #[arg(long)]
    pub no_sandbox: bool,
    /// What is allowed without asking, and what commands can reach [default: ask before changes]
    #[arg(long, value_enum)]
    pub mode: Option<ModeArg>,
    /// Whether the agent's commands can use the network [default: only in mode full]
    #[arg(long, value_enum, value_name = "HOW")]
    pub network: Option<NetworkArg>,
    #[command(flatten)]
    pub rules: RuleArgs,
    /// Stop before calls like this, such as 'tool=bash and args~deploy', and wait for your decision, whatever rules say (see mainpath
    /// query). May be repeated
    #[arg(long = "break", value_name = "PREDICATE")]
    pub breakpoints: Vec<String>,
    /// Remove the breakpoints of earlier runs of the trace
    #[arg(long)]
    pub no_break: bool,
    /// Copy all files that git would track before every command, so that you can restore them
    #[arg(long)]
    pub snapshots: bool,
    /// Non-interactive: wait for `mainpath approve` (exit code 5) instead of denying
    #[arg(long, conflicts_with = "yes")]
    pub park: bool,
    /// A named set of limits
    #[arg(long, value_enum)]
    pub profile: Option<ProfileArg>,
    /// How the model calls tools: natively, or with JSON text [default: by profile and model]
    #[arg(long, value_enum)]
    pub protocol: Option<ProtocolArg>,
    /// With the text protocol (json): accept code fences and text around the object
    #[arg(long)]
    pub tolerant: bool,
    /// A JSON Schema that the final answer must match
    #[arg(long, value_name = "FILE")]
    pub output_schema: Option<PathBuf>,
    /// How much the model should think before it answers [default: the vendor's]
    #[arg(long, value_enum)]
    pub effort: Option<EffortArg>,
    /// A model to switch to when the first one fails for good. May be repeated
    #[arg(long, value_name = "MODEL")]
    pub fallback: Vec<String>,
    /// Maximum model turns in the run [0: no limit, as for every limit here]
    #[arg(long, value_name = "N")]
    pub max_turns: Option<u32>,
    /// Maximum tool calls in the run
    #[arg(long, value_name = "N")]
    pub max_calls: Option<u32>,
    /// Maximum characters in one request (four per token); older messages are left out or summarised to fit
    #[arg(long, value_name = "N")]
    pub max_context_chars: Option<u32>,
    /// Maximum tokens in the run, input and output together
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u64>,
    /// Maximum cost of the run in dollars, such as 0.50; checked against an estimate before every model call
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    pub max_cost: Option<Micros>,
    /// Maximum time of the run, such as 90s or 10m; time spent waiting for you does not count
    #[arg(long, value_name = "TIME", value_parser = time_limit)]
    pub timeout: Option<Duration>,
    /// Maximum time of one tool call
    #[arg(long, value_name = "TIME", value_parser = time_limit)]
    pub call_timeout: Option<Duration>,
    /// Deny a call if nobody answers in this time [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = time_limit)]
    pub approval_timeout: Option<Duration>,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub about: AboutArgs,
    /// Your own instructions, added to the system prompt [default: those of the configuration]
    #[arg(long, value_name = "TEXT")]
    pub instructions: Option<String>,
    /// Ignore AGENTS.md files of the workspace
    #[arg(long)]
    pub no_agents_md: bool,
    /// Use this skill: its instructions are shown from the beginning, and no other skills can be used. May be repeated
    #[arg(long, value_name = "NAME", conflicts_with = "no_skills")]
    pub skill: Vec<String>,
    /// Use no skills
    #[arg(long)]
    pub no_skills: bool,
    /// More MCP servers for this run, in a file like .mcp.json
    #[arg(long, value_name = "FILE")]
    pub mcp_config: Option<PathBuf>,
}

impl AgentArgs {
    /// What they say of the agent. Errors: the output schema cannot be read.
    pub fn options(&self) -> Result<AgentOptions, Failure> {
        let (about, limits) = (&self.about, &self.limits);
        Ok(AgentOptions {
            model: self.model.clone(),
            workspace: self.workspace.clone(),
            access: self.mode.map(Access::from),
            network: self.network.map(|network| network == NetworkArg::Allow),
            snapshots: self.snapshots,
            tools: (!about.tools.is_empty()).then(|| about.tools.iter().flat_map(|list| names(list)).collect()),
            skills: match (self.no_skills, self.skill.is_empty()) {
                (true, _) => Some(Vec::new()),
                (false, true) => None,
                (false, false) => Some(self.skill.clone()),
            },
            ask_always: about.no_auto_execute,
            no_breakpoints: self.no_break,
            single_call: about.call,
            mcp_config: self.mcp_config.clone(),
            sampling: Sampling {
                temperature: about.temperature,
                effort: self.effort.map(Effort::from),
                protocol: self.protocol.map(Protocol::from),
                tolerant: self.tolerant,
                output_schema: self.output_schema.as_deref().map(schema).transpose()?,
                fallback: self.fallback.clone(),
            },
            prompt: PromptOptions {
                system: about.system_prompt.clone(),
                file: about.prompt.clone(),
                instructions: self.instructions.clone(),
                ignore_agents_md: self.no_agents_md,
            },
            profile: self.profile.map(Profile::from),
            limits: LimitOptions {
                turns: self.max_turns,
                calls: self.max_calls,
                calls_per_turn: limits.max_calls_per_turn,
                script_runs: limits.max_script_runs,
                context_chars: self.max_context_chars,
                tokens: self.max_tokens,
                money: self.max_cost,
                time: self.timeout,
                call_time: self.call_timeout,
                approval_time: self.approval_timeout,
                repeated_failures: limits.repeated_failure_limit,
                observation_chars: limits.observation_max_len,
                budget: limits.budget.map(BudgetMode::from),
                recovery: limits.recovery.map(Recovery::from),
                model_retries: limits.model_retries,
                rates: limits.rate.clone(),
                first_byte: limits.first_byte_timeout,
                idle: limits.idle_timeout,
            },
            name: about.trace_name.clone(),
            uid: about.uid.clone(),
            relations: self.relations.relations(),
            // Whoever starts an agent puts it in: what it is depends on the folder.
            preset: None,
        })
    }
}

/// What happens to calls that need a person.
pub fn mode(args: &AgentArgs, attended: bool) -> ApprovalMode {
    named_mode(args).unwrap_or(if attended { ApprovalMode::Ask } else { ApprovalMode::Deny })
}

/// What happens to them, as the command line says.
pub fn named_mode(args: &AgentArgs) -> Option<ApprovalMode> {
    match (args.yes, args.park) {
        (true, _) => Some(ApprovalMode::Yes),
        (false, true) => Some(ApprovalMode::Ask),
        (false, false) => None,
    }
}

/// A JSON Schema from a file. Errors: file, place and what is wrong.
fn schema(file: &Path) -> Result<serde_json::Value, Failure> {
    let bad = |why: String| Failure::usage(format!("the output schema {} cannot be used: {why}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| bad(error.to_string()))?;
    let schema = serde_json::from_str(&text).map_err(|error| bad(format!("it is not JSON: {error}")))?;
    mainpath::runtime::check_schema(&schema).map_err(|error| bad(error.to_string()))?;
    Ok(schema)
}

/// `--mode`
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeArg {
    /// Read files; everything else is asked
    Ask,
    /// Read files, and run commands that cannot change anything
    ReadOnly,
    /// Change files in the workspace, and run commands that cannot change anything else
    WorkspaceWrite,
    /// Everything that no rule denies; commands run without a sandbox
    Full,
}

impl From<ModeArg> for Access {
    fn from(arg: ModeArg) -> Access {
        match arg {
            ModeArg::Ask => Access::Ask,
            ModeArg::ReadOnly => Access::ReadOnly,
            ModeArg::WorkspaceWrite => Access::WorkspaceWrite,
            ModeArg::Full => Access::Full,
        }
    }
}

/// `--network`
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NetworkArg {
    #[default]
    /// No network, except a loopback of their own
    None,
    /// This machine's network
    Allow,
}

/// `--protocol`
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolArg {
    /// The vendor's native tool calls
    Native,
    /// One JSON object per turn, as text
    Json,
}

impl From<ProtocolArg> for Protocol {
    fn from(arg: ProtocolArg) -> Protocol {
        match arg {
            ProtocolArg::Native => Protocol::Native,
            ProtocolArg::Json => Protocol::Json,
        }
    }
}

/// `--effort`, in the words that vendors use.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffortArg {
    Low,
    Medium,
    High,
}

impl From<EffortArg> for Effort {
    fn from(arg: EffortArg) -> Effort {
        match arg {
            EffortArg::Low => Effort::Low,
            EffortArg::Medium => Effort::Medium,
            EffortArg::High => Effort::High,
        }
    }
}

/// The names of the profiles.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ProfileArg {
    /// The controlled tool for workflows
    #[value(name = "agent_core")]
    AgentCore,
    /// The skills agent
    Skills,
    /// The trace platform (the default)
    Trace,
    /// The minimal kernel
    Kernel,
}

impl From<ProfileArg> for Profile {
    fn from(profile: ProfileArg) -> Profile {
        match profile {
            ProfileArg::AgentCore => Profile::AgentCore,
            ProfileArg::Skills => Profile::Skills,
            ProfileArg::Trace => Profile::Trace,
            ProfileArg::Kernel => Profile::Kernel,
        }
    }
}

/// The names of a list: parts between commas, but for commas between braces.
fn names(list: &str) -> Vec<String> {
    let (mut names, mut depth) = (vec![String::new()], 0u32);
    for letter in list.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match (letter, names.last_mut()) {
            (',', _) if depth == 0 => names.push(String::new()),
            (_, Some(name)) => name.push(letter),
            (_, None) => {}
        }
    }
    names.iter().map(|name| name.trim().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_part_names_but_not_within_braces() {
        assert_eq!(names("read, {edit,write}_text_file,mcp__x__*"), ["read", "{edit,write}_text_file", "mcp__x__*"]);
        assert_eq!(names("bash,"), ["bash", ""]);
    }
}
