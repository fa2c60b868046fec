//! What can be chosen of an agent besides its model, its limits and its rules.

use clap::Args;

/// What a run is like. `config.toml` has keys for what is the same in every run.
#[derive(Args, Clone, Debug, Default)]
pub struct AboutArgs {
    /// The tools that the agent may use: names, aliases and patterns with commas between, such as read,grep,mcp__github__*. May be
    /// repeated [default: all; key: allowed_tools]
    #[arg(long, value_name = "NAMES")]
    pub tools: Vec<String>,
    /// Have a person decide on every call, also on what rules allow [key: auto_execute_tools = false]
    #[arg(long)]
    pub no_auto_execute: bool,
    /// Make one call of the model, without tools
    #[arg(long, conflicts_with = "tools")]
    pub call: bool,
    /// The sampling temperature, 0 to 2 [default: the profile's; none for models that reason; key: temperature]
    #[arg(long, value_name = "T", value_parser = temperature)]
    pub temperature: Option<f64>,
    /// The system text in the place of Mainpath's own [key: system_prompt]
    #[arg(long, value_name = "TEXT", conflicts_with = "prompt")]
    pub system_prompt: Option<String>,
    /// The same from a file: prompts/NAME.md beside the configuration [key: prompt]
    #[arg(long, value_name = "NAME")]
    pub prompt: Option<String>,
    /// A name for the trace
    #[arg(long = "name", value_name = "TEXT")]
    pub trace_name: Option<String>,
    /// For whom the agent works, as you know them [key: uid]
    #[arg(long, value_name = "ID")]
    pub uid: Option<String>,
}

/// A sampling temperature.
pub fn temperature(text: &str) -> Result<f64, String> {
    let wrong = || "a number from 0 to 2 is wanted".to_string();
    text.parse().ok().filter(|wanted| (0.0..=2.0).contains(wanted)).ok_or_else(wrong)
}
