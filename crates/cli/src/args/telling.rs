//! Commands that say or decide something in a trace, whichever process runs it.

use clap::{Args, ValueEnum};
use mainpath_types::CallId;

/// `mainpath steer` and `mainpath next`
#[derive(Args, Debug)]
pub struct SayArgs {
    /// The trace (its id or a unique part of it)
    pub trace: String,
    /// The message; `-` reads it from standard input
    pub text: String,
}

/// `mainpath pin`
#[derive(Args, Debug)]
pub struct PinArgs {
    /// The trace (its id or a unique part of it)
    pub trace: String,
    /// The sentence [default: list the pins]
    #[arg(conflicts_with_all = ["message", "remove"])]
    pub text: Option<String>,
    /// Pin the text of this message
    #[arg(long, value_name = "N")]
    pub message: Option<u32>,
    /// Remove the pin with this number
    #[arg(long, value_name = "N", conflicts_with = "message")]
    pub remove: Option<u32>,
}

/// `mainpath interrupt`
#[derive(Args, Debug)]
pub struct InterruptArgs {
    /// The trace (its id or a unique part of it) [default: the latest]
    pub trace: Option<String>,
    /// The call, such as 4.0 [default: the only running one]
    pub call: Option<CallId>,
}

/// `mainpath compact`
#[derive(Args, Debug)]
pub struct CompactArgs {
    /// The trace (its id or a unique part of it)
    pub trace: Option<String>,
    /// What the summary should keep
    pub hint: Option<String>,
}

/// `mainpath approve`
#[derive(Args, Debug)]
pub struct ApproveArgs {
    /// The trace (its id or a unique part of it)
    pub trace: Option<String>,
    /// The call, such as 4.0; approving a denied call runs it after all [default: the only pending call, or the only denied one]
    #[arg(long)]
    pub call: Option<CallId>,
    /// Replace the model's arguments with this JSON object; the rules are checked again
    #[arg(long, value_name = "JSON")]
    pub arguments: Option<String>,
    /// Do not ask for confirmation (a terminal asks for calls of more than one line)
    #[arg(short, long)]
    pub yes: bool,
    /// How long the approval holds; trace and always add the narrowest rule that allows such calls
    #[arg(long = "for", value_enum, value_name = "REACH", default_value_t, conflicts_with = "arguments")]
    pub reach: Reach,
}

/// How long an approval holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Reach {
    /// This call
    #[default]
    Once,
    /// Calls like this one in this trace
    Trace,
    /// Calls like this one from now on, in every trace
    Always,
}

/// `mainpath deny`
#[derive(Args, Debug)]
pub struct DenyArgs {
    /// The trace (its id or a unique part of it)
    pub trace: Option<String>,
    /// The call, such as 4.0 [default: the only pending one]
    #[arg(long)]
    pub call: Option<CallId>,
    /// The reason; the model sees it
    #[arg(value_name = "REASON")]
    pub why: Option<String>,
    /// The same as an option
    #[arg(long, conflicts_with = "why")]
    pub reason: Option<String>,
}
