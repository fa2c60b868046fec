//! The client against real servers and hostile ones.

// Helpers of tests may unwrap as the tests themselves do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod browser;
mod config;
mod conformance;
mod hostile;
mod reference;
mod search;
mod support;
