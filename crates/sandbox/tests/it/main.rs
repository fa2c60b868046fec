//! Tests of what other crates use: real processes in real cages.

mod ends;
mod support;
mod talking;
mod usage;
