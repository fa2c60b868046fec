//! The parser from outside, beside `serde_json`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

mod cases;
mod errors;
mod limits;
mod news;
mod oracle;
mod paths;
mod pieces;
mod previews;
mod support;
mod verdicts;
