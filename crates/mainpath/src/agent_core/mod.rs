//! An agent as a tool that other systems call: one request, one run, and what came of it field by field.

mod execute;
mod outputs;
mod request;
mod wrong;

pub use execute::{Terms, limits, pointer_of};
pub use outputs::{Action, AgentCoreOutput, Executed, Outputs, Step, UsedTool};
pub use request::{AgentCoreConfig, AgentCoreRequest, Conversation, PrimaryOutput};
pub use wrong::{Refused, WrongField};
