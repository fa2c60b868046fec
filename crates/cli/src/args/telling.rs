//! Commands that say or decide something in a trace, whichever process runs it.

use clap::{Args, ValueEnum};
use mainpath_types::CallId;

/// `mainpath steer` and `mainpath next`
#[derive(Args, Debug)]
pub struct SayArgs {
    /// The trace (its id, or a part that no other id has)
    pub trace: String,
    /// What to say; `-` reads it from standard input
    pub text: String,
}

/// `mainpath pin`
#[derive(Args, Debug)]
pub struct PinArgs {
    /// The trace (its id, or a part that no other id has)
    pub trace: String,
    /// What to keep in sight; without it the pins are listed
    #[arg(conflicts_with_all = ["message", "remove"])]
    pub text: Option<String>,
    /// Pin the text of this message
    #[arg(long, value_name = "N")]
    pub message: Option<u32>,
    /// Take off the pin with this number
    #[arg(long, value_name = "N", conflicts_with = "message")]
    pub remove: Option<u32>,
}

/// `mainpath interrupt`
#[derive(Args, Debug)]
pub struct InterruptArgs {
    /// The trace (its id, or a part that no other id has) [default: the one that changed last]
    pub trace: Option<String>,
    /// The call, such as 4.0 [default: the only one that runs]
    pub call: Option<CallId>,
}

/// `mainpath compact`
#[derive(Args, Debug)]
pub struct CompactArgs {
    /// The trace (its id, or a part that no other id has)
    pub trace: Option<String>,
    /// What the summary should keep in mind
    pub hint: Option<String>,
}

/// `mainpath approve`
#[derive(Args, Debug)]
pub struct ApproveArgs {
    /// The trace (its id, or a part that no other id has)
    pub trace: Option<String>,
    /// The call, such as 4.0; also one that was denied, which is then made after all [default: the only one that waits, or that was
    /// denied]
    #[arg(long)]
    pub call: Option<CallId>,
    /// Other arguments than the model's, as a JSON object; rules judge them afresh
    #[arg(long, value_name = "JSON")]
    pub arguments: Option<String>,
    /// Approve at once: a terminal is asked about a call of more than one line
    #[arg(short, long)]
    pub yes: bool,
    /// How far the approval reaches: for more than once it becomes the narrowest rule that allows such calls
    #[arg(long = "for", value_enum, value_name = "REACH", default_value_t, conflicts_with = "arguments")]
    pub reach: Reach,
}

/// How far an approval reaches.
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
    /// The trace (its id, or a part that no other id has)
    pub trace: Option<String>,
    /// The call, such as 4.0 [default: the only one that waits]
    #[arg(long)]
    pub call: Option<CallId>,
    /// Why; the model is told
    #[arg(long)]
    pub reason: Option<String>,
}
