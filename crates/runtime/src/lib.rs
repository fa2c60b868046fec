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

mod builtin_rules;
mod children;
mod config;
mod driver;
mod effects;
mod error;
mod gate;
mod history;
mod internal;
mod mail;
mod messenger;
mod models;
mod observer;
mod prepared;
mod prompt;
mod runtime;
mod secrets;
mod shared;
mod stream;
mod unusable;

pub use builtin_rules::BuiltinRules;
pub use children::{
    ChildAgent, ChildError, ChildFolder, ChildSpecs, Narrowed, Parent, Peers, RemoteTask, Unbegun, Worktrees,
};
pub use config::{Config, Policies, StoreRetries};
pub use effects::context_hooks::{ContextHook, NamedContextHook};
pub use effects::hook_error::HookError;
pub use effects::hooks::{Hook, HookPoint, HookRunner, Hooks, OnFailure};
pub use error::{EraseError, RuntimeError};
pub use gate::schema::{BadSchema, check_schema};
pub use gate::terms::CallTerms;
pub use history::verify::verify;
pub use history::{artifacts, erase, files, import, replay, run_stats, sent, telemetry, views};
pub use internal::registry::{is_look_back, look_back_tools};
pub use mail::Mail;
pub use messenger::{Delivery, Messenger, OpenQuestion};
pub use models::{EnvModels, Models, NoModel};
pub use observer::{Observer, Taken, TraceObserver};
pub use prompt::notes::framed_notes;
pub use prompt::prompts::{PromptError, text_protocol_prompt};
pub use prompt::texts::{Events, Hydrated};
pub use runtime::{Runtime, TakenTrace, new_trace_id, post};
pub use secrets::{BadForm, BadPath, SecretInSpec, Vault};
pub use stream::hub::{Live, Phase, Waiting};
pub use stream::streamed::{Streamed, rest_of};
pub use stream::watcher::Watcher;
pub use stream::wire;
pub use unusable::{HostCause, Unusable};
