//! Tests with real folders, files and processes.

// Helpers of tests may unwrap as the tests themselves do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod files;
mod finding;
mod support;
mod writing;
