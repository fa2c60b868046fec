//! Run LLM agents that are controlled, auditable, resumable and replayable.

pub mod agent;
mod error;
pub mod home;
mod installation;
mod logs;
pub mod rules;
pub mod servers;
pub mod sessions;
pub mod values;

pub use agent::{AgentOptions, LimitOptions};
pub use error::{Error, ErrorKind};
pub use home::Home;
pub use installation::Installation;
pub use logs::{Logs, spec_of};
