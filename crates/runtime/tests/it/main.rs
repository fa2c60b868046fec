//! The runtime, driven as its users drive it: real stores, custom tools, a model that answers by what it is shown.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on must fail loudly")]

mod blobs;
mod cancelling;
mod children;
mod context_hooks;
mod crashes;
mod end_hooks;
mod foreign;
mod full_disk;
mod held;
mod hooks;
mod lying_store;
mod mailbox;
mod many;
mod parking;
mod redaction;
mod replays;
mod simulation;
mod summaries;
mod support;
mod waits;
mod watching;
