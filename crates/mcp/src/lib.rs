//! MCP: the tools of servers for our agents, and our runs as a server for others.
//!
//! **This crate owns** the connections to servers (stdio and streamable HTTP, the revisions 2026-07-28 and 2025-11-25 of
//! the protocol, by `rmcp` 3.9), what of a server reaches a model and how, and the shape in which runs are served. **Its
//! caller owns** which files are read, whom the person trusts, how processes are started and confined, and the runs
//! themselves.
//!
//! A server is hostile. What never happens here:
//! - no server of a workspace's file starts before the person has approved that very entry;
//! - no secret reaches a server that its entry does not name;
//! - no tool of a server takes the place of another, and none counts as harmless because its server says so, unless the
//!   person said that it may be believed;
//! - no server gets a model's answer or a person's;
//! - nothing that a server sends, or fails to send, panics, grows without bounds, or ends a run: a call fails as data.
//!
//! Tools are called `mcp__SERVER__TOOL` and pass the same gate as all others; the origin of their results is `mcp`. From
//! more than a number of tools on, models get `find_tools` and `use_tool` instead; `use_tool` is checked, judged and run as
//! the tool that it names.
//!
//! The codes of failed outputs: `server_down` (it cannot be connected; nothing was done), `server_gone` (it died under the
//! call), `server_error` (it refused the call, or its answer is none), `tool_error` (the tool itself says that it failed).

mod bounded;
mod call;
mod clean;
mod config;
mod content;
mod entry;
mod error;
mod http;
mod hub;
mod link;
mod names;
mod preset;
mod probe;
mod search;
mod serve;
mod server;
mod start;
mod tools;
mod trust;
mod variables;

pub use config::{Configured, McpConfig, SEARCH_ABOVE, Servers};
pub use entry::Entry;
pub use error::{ConfigError, EntryError, EntryProblem, FileError, FileProblem};
pub use hub::{Mcp, ServerState, State};
pub use link::{Around, Redact, Times, Variables};
pub use serve::{CallError, OneTool, RunAnswer, RunDecision, RunStart, Runs, ServeError, Served, serve, serve_tool};
pub use start::{Process, Start, Started, Starter, Unconfined};
pub use trust::Trust;
