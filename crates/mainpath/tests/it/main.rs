//! The host library, as an embedding program uses it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod children;
mod deciders;
mod documents;
mod embedding;
mod errors;
mod evaluation;
mod events;
#[allow(dead_code, reason = "each has a main of its own")]
mod examples;
mod experience;
mod families;
mod first_writes;
mod long_logs;
mod mcp;
mod misuse;
mod operations;
mod own_parts;
mod past;
mod presets;
mod recorded;
mod runs;
mod skills;
mod starting;
mod support;
mod tools_and_rules;
