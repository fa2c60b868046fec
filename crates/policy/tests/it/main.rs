//! Rules and verdicts, from the outside.

// Helpers of tests may unwrap as the tests themselves do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod against_bash;
mod bounds;
mod breakpoints;
mod builtin_rules;
mod by_name;
mod bypasses;
mod command_bounds;
mod copies;
mod details;
mod files;
mod found;
mod generated;
mod hostile;
mod interface;
mod other_names;
mod outputs;
mod own_tools;
mod possible;
mod predicates;
mod reading;
mod reads;
mod real_bash;
mod support;
mod verdicts;
