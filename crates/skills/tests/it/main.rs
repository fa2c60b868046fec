//! Skills on a real disk: what is found, what is valid, what is shown, and what is refused.

// Helpers of tests may unwrap as the tests themselves do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod builtin;
mod catalogue;
mod collections;
mod index;
mod known;
mod loading;
mod oracle;
mod scripts;
mod search;
mod support;
mod trust;
