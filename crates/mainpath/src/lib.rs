//! Run LLM agents that are controlled, auditable, resumable and replayable.
//!
//! **This crate owns** the composition: a [`Host`] has everything that agents are run with, an [`Agent`] is what one is to be, a
//! [`Run`] is followed as a stream of [`RunEvent`]s, and a [`Trace`] is everything that can be done to one, at any time and from any
//! process. **Its caller owns** the tokio runtime and what people see.
//!
//! ```no_run
//! use mainpath::prelude::*;
//!
//! # async fn example() -> Result<(), Error> {
//! let host = Host::builder().data_dir("./data").build().await?;
//! let mut run = host.agent("anthropic:claude-sonnet-4-5").workspace(".").start("Count the words of README.md").await?;
//! while let Some(event) = run.next().await {
//!     match event? {
//!         RunEvent::Text(delta) => print!("{delta}"),
//!         RunEvent::ApprovalRequired(call) => call.approve().await?,
//!         RunEvent::ModelFailed(failed) => eprintln!("{}", failed.error.message), // it is tried again
//!         _ => {}
//!     }
//! }
//! let outcome = run.outcome().await?;
//! println!("{} turns", outcome.turns);
//! # Ok(())
//! # }
//! ```

pub mod agent;
pub mod agent_core;
pub mod backtest;
mod bounds;
mod builder;
mod children;
mod error;
#[cfg(feature = "home")]
pub mod evaluation;
pub mod event;
#[cfg(feature = "home")]
pub mod experience;
pub mod home;
mod host;
#[cfg(feature = "home")]
pub mod imported;
mod inbox;
pub mod intervals;
mod launcher;
#[cfg(feature = "home")]
pub mod listing;
mod logs;
mod naming;
#[cfg(feature = "home")]
pub mod peers;
#[cfg(feature = "people")]
pub mod people;
pub mod playback;
pub mod policy_tests;
pub mod presets;
#[cfg(feature = "home")]
pub mod proof;
#[cfg(feature = "home")]
pub mod query;
#[cfg(feature = "home")]
pub mod recorded;
#[cfg(feature = "home")]
mod reflection;
mod remedy;
#[cfg(feature = "home")]
mod rule_names;
pub mod rules;
pub mod rules_asked;
mod run;
#[cfg(feature = "mcp")]
pub mod servers;
pub mod sessions;
mod set_aside;
pub mod skills;
pub mod standing;
#[cfg(feature = "home")]
pub mod testing;
pub mod text;
pub mod trace;
mod trial;
pub mod values;
pub mod watching;
#[cfg(feature = "home")]
pub mod what_if;

pub use agent::{Agent, AgentOptions, LimitOptions};
pub use bounds::bounded;
pub use builder::HostBuilder;
pub use error::{Error, ErrorKind};
pub use event::{PendingCall, PendingQuestion, RunEvent, Stamped};
pub use home::Home;
#[cfg(feature = "home")]
pub use host::HomeOptions;
pub use host::Host;
pub use inbox::{AgentMessage, Left};
pub use launcher::launcher_main;
pub use logs::Logs;
pub use presets::{Preset, Presets};
pub use remedy::Remedy;
#[cfg(feature = "home")]
pub use rule_names::RuleNames;
pub use run::{
    Advice, EndedRun, Outcome, RequestLimit, Run, RunEnd, RunRecord, SaidInTurn, Status, TraceFeed, Unasked,
    WaitingCalls, is_turn,
};
#[cfg(feature = "home")]
pub use run::{CheckedRun, Continuing, Next, PreparedRun};
pub use trace::{Trace, spec_of};
pub use watching::{Seen, WatchFrom, Watching};

// What the library is made of, so that a program needs no other crate of it.
pub use mainpath_core as core;
#[cfg(feature = "home")]
pub use mainpath_index as index;
pub use mainpath_json as json;
#[cfg(feature = "mcp")]
pub use mainpath_mcp as mcp;
#[cfg(feature = "mcp")]
pub use mainpath_media as media;
pub use mainpath_policy as policy;
pub use mainpath_providers as providers;
pub use mainpath_runtime as runtime;
pub use mainpath_sandbox as sandbox;
pub use mainpath_schema as schema;
pub use mainpath_sessions as named_sessions;
pub use mainpath_skills as agent_skills;
pub use mainpath_store as store;
pub use mainpath_tools as tools;
pub use mainpath_types as types;

/// What most programs need.
pub mod prelude {
    pub use crate::agent::{PromptOptions, Sampling};
    #[cfg(feature = "mcp")]
    pub use crate::servers::McpServer;
    pub use crate::trace::{Erase, ExportFormat, ExportLayout, Point, Restore, RestoreTo, What};
    pub use crate::{
        Agent, AgentOptions, Error, ErrorKind, Host, HostBuilder, LimitOptions, Outcome, PendingCall, PendingQuestion,
        Run, RunEvent, Status, Trace, WatchFrom, launcher_main,
    };
    pub use mainpath_policy::{Folders, Policy};
    pub use mainpath_providers::Provider;
    pub use mainpath_runtime::{Hook, HookError, HookPoint, HookRunner, OnFailure};
    pub use mainpath_store::Once;
    pub use mainpath_tools::{Fut, IntoTool, Json, Tool, ToolContext, ToolDoc, Tools, Touches, tool_fn, tool_fn_with};
    pub use mainpath_types::{
        Access, ApprovalMode, CallId, Decision, EffectClass, EventId, FinishReason, GoalOp, Message, Part, RateLimit,
        Seq, ToolOutput, TraceId,
    };
}
