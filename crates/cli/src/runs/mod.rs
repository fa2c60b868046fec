//! Runs that this process drives, from what was typed to the last word.

pub mod attach;
pub mod demo;
pub mod driven;
pub mod follow;
pub mod given;
pub mod go_on;
pub mod held;
pub mod reflect;
pub mod rules;
pub mod signals;
pub mod signed;
pub mod start;
pub mod task;
