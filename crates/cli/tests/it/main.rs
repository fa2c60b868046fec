//! The command, as a process: real files, real tools, a model server on this machine.

// Helpers of tests may unwrap as the tests themselves do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod agents_md;
mod approvals;
mod attachments;
mod background;
mod bad_input;
mod chat;
mod commands;
mod context;
mod crash;
mod destinations;
mod elsewhere;
mod every_model;
mod forks;
mod hardening;
mod helping;
mod hooks;
mod injections;
mod integrity;
mod kept_rules;
mod lists;
mod long_texts;
mod looking;
mod looks;
mod mcp;
mod mcp_serve;
mod messages;
mod models;
mod optional_tools;
mod plan;
mod policy;
mod pty;
mod recordings;
mod redirects;
mod refused;
mod removal;
mod restores;
mod run_config;
mod secrets;
mod sessions;
mod signals;
mod statistics;
mod steering;
mod stopping;
mod support;
mod swaps;
mod terminal;
mod tool_limits;
mod tools;
mod typing;
mod unheard;
mod watches;
mod wire;
mod wrong_configuration;
