//! Tests of what other crates use: real processes in real cages.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod ends;
mod support;
mod talking;
mod usage;
