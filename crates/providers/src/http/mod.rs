//! One attempt at one call over HTTP: connecting, sending, reading, the timeouts and the size limits.

mod client;
mod driver;
mod failure;
mod limiter;
mod local;
mod packed;

pub use client::HttpClient;
pub use driver::HttpProvider;
pub use local::{LocalLimits, LocalServer, local_servers, local_servers_within};
