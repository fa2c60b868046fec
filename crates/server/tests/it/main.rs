//! The server over real sockets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, reason = "these are tests")]

mod access;
mod agent_core;
mod bodies;
mod document;
mod files;
mod fuzz;
mod metrics;
mod misuse;
mod once;
mod openai;
mod openai_sdk;
mod peers;
mod standing;
mod streams;
mod support;
mod telemetry;
mod ui;
