//! Sessions over real logs, with mirrors in files, in SQLite and on a real Redis server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

mod calls;
mod places;
mod pointers;
