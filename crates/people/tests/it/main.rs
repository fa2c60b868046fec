//! Channels to people, over real sockets; replies, as they come and as somebody else would forge them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on must fail loudly")]

mod feishu;
mod listening;
mod replies;
mod sending;
mod signatures;
