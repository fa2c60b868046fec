//! The one place where the core meets I/O.
//!
//! **This crate owns** the driving of traces: it reads the mailbox, appends what the core decides, starts and cancels
//! what the state demands ([`Runtime`]), and tells whoever watches ([`Watcher`]). It also owns what is computed from a log for
//! people: [`views`], [`replay`] and the events on the wire ([`wire`]).
//!
//! **Its caller owns** the composition: which store, tools, models, secrets and folders there are, and the tokio runtime.
//!
//! The rules of a driver, one per trace, in one task:
//! - One rule for effects, reconcile: start `pending − in flight`, cancel `in flight − pending`.
//! - No effect starts before the batch that requests it is durable.
//! - When an append has no known outcome, the log is read again and the input offered again. An input is kept until then.
//! - A trace that only waits has no driver: it is parked, and its next mail or its timer wakes it.
//! - What a model or a tool says is redacted before anything is decided on it.

pub mod artifacts;
mod context_hooks;
mod destinations;
mod driver;
mod effects;
pub mod erase;
pub mod files;
mod fork;
mod hooks;
mod hub;
pub mod import;
mod judge;
mod live;
pub mod look_back;
mod mail;
mod media;
mod models;
mod notes;
mod origins;
mod pieces;
mod plan;
mod prefix;
mod prompts;
pub mod replay;
mod request;
pub mod run_stats;
mod runtime;
mod schema;
mod secrets;
pub mod telemetry;
mod terms;
mod texts;
mod verify;
pub mod views;
pub mod wire;

pub use context_hooks::{ContextHook, NamedContextHook};
pub use hooks::{Hook, HookPoint, HookRunner, Hooks, OnFailure};
pub use hub::{Live, Phase, Waiting, Watcher};
pub use mail::Mail;
pub use models::{EnvModels, Models};
pub use notes::framed_notes;
pub use prompts::{PromptError, text_protocol_prompt};
pub use runtime::{Config, Policies, Runtime, RuntimeError, new_trace_id, post};
pub use schema::check_schema;
pub use secrets::Vault;
pub use texts::Whole;
pub use verify::verify;
