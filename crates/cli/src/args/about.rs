//! What can be chosen of an agent besides its model, its limits and its rules.

use clap::Args;
use mainpath::values::temperature;

/// What a run is like. `config.toml` has keys for what is the same in every run.
#[derive(Args, Clone, Debug, Default)]
pub struct AboutArgs {
    /// The tools that the agent may use: names, aliases or patterns, separated by commas, such as read,grep,mcp__github__*. May be
    /// repeated [default: all; key: allowed_tools]
    #[arg(long, value_name = "NAMES")]
    pub tools: Vec<String>,
    /// Ask about every call, even if a rule allows it [key: auto_execute_tools = false]
    #[arg(long)]
    pub no_auto_execute: bool,
    /// Make one call of the model, without tools
    #[arg(long, conflicts_with = "tools")]
    pub call: bool,
    /// The sampling temperature, 0 to 2 [default: the profile's; not sent to reasoning models; key: temperature]
    #[arg(long, value_name = "T", value_parser = temperature)]
    pub temperature: Option<f64>,
    /// Replace Mainpath's system prompt with this text [key: system_prompt]
    #[arg(long, value_name = "TEXT", conflicts_with = "prompt")]
    pub system_prompt: Option<String>,
    /// The same from a file: prompts/NAME.md in the configuration folder [key: prompt]
    #[arg(long, value_name = "NAME")]
    pub prompt: Option<String>,
    /// A name for the trace
    #[arg(long = "name", value_name = "TEXT")]
    pub trace_name: Option<String>,
    /// Your own id of the user that the agent works for [key: uid]
    #[arg(long, value_name = "ID")]
    pub uid: Option<String>,
}
