//! Mainpath's data: ids, messages, events, tool specs, limits, usage and money.
//!
//! **This crate owns** the meaning and the serialised shape of everything that is written to a log, sent to a model or
//! shown to a person. **Its callers own** everything that happens: it reads no clock, draws no randomness and does no I/O.
//!
//! All times are milliseconds since the Unix epoch ([`Millis`]), all money is integer micro-units ([`Micros`]),
//! all token counts are vendor tokens. Every public type has a JSON Schema; [`schema::all`] lists them.

mod access;
mod applied_preset;
mod arrival;
mod call;
mod child;
mod context;
mod erasure;
mod event;
mod facts;
mod failing;
mod file;
mod finish;
mod goal;
mod guarded;
mod ids;
mod imported;
mod limits;
mod message;
mod model;
mod name;
mod question;
mod quotes;
mod relations;
mod run_mode;
mod run_rules;
pub mod schema;
mod skill;
mod spec;
mod tool;
mod tool_schema;
mod turning;
mod usage;

pub use access::*;
pub use applied_preset::*;
pub use arrival::{CHECK_MESSAGES, LONGEST_MESSAGE, MessageReceived};
pub use call::*;
pub use child::*;
pub use context::*;
pub use erasure::*;
pub use event::*;
pub use facts::*;
pub use failing::*;
pub use file::*;
pub use finish::*;
pub use goal::*;
pub use guarded::*;
pub use ids::*;
pub use imported::{MessageImported, Recorded};
pub use limits::*;
pub use message::*;
pub use model::*;
pub use name::{NameMade, TraceNamed};
pub use question::{Asking, QuestionSent};
pub use quotes::ERASED;
pub use relations::*;
pub use run_mode::*;
pub use run_rules::*;
pub use skill::*;
pub use spec::*;
pub use tool::*;
pub use tool_schema::ToolSchema;
pub use turning::*;
pub use usage::*;
