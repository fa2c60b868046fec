//! The tools against real files and real processes.

// Helpers of tests may unwrap as the tests themselves do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bash;
mod edit;
mod files;
mod json_transform;
mod kept;
mod launcher;
mod processes;
mod registry;
mod sandbox;
mod search;
mod snapshots;
mod support;
mod swaps;
mod workspace;
