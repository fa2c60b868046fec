//! The core, driven from outside.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on must fail loudly")]

mod artifacts;
mod boundaries;
mod clearing;
mod compacting;
mod conversation;
mod cuts;
mod cycle;
mod demands;
mod erasures;
mod example;
mod floors;
mod forks;
mod golden;
mod imports;
mod limits;
mod loops;
mod mailbox;
mod odd_logs;
mod plan;
mod purity;
mod recovery;
mod remedies;
mod reminders;
mod reopened;
mod reports;
mod rewinds;
mod rule_summaries;
mod simulation;
mod sizes;
mod snapshots;
mod support;
mod text_turns;
mod tool_limits;
mod words;
