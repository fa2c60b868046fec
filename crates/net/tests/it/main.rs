//! The client and the tools against real servers on this machine.

// Helpers of tests may unwrap as the tests themselves do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bodies;
mod client;
mod external;
mod feishu_bot;
mod http_request;
mod invoke_workflow;
mod redis_context;
mod server;
mod support;
mod web_fetch;
mod web_search;
