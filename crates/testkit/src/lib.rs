//! What the tests share: a seeded world for the core, the invariants as checks, a local model server, a Redis server, files to attach,
//! a collection of skills.
//!
//! Only tests and benches depend on this crate, so a failed expectation panics with its reason.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on must fail loudly")]

pub mod check;
pub mod files;
pub mod model_server;
mod plans;
pub mod prefix;
pub mod receiver;
pub mod redis;
pub mod secrets;
pub mod skills;
pub mod smtp;
pub mod world;
