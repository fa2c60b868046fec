//! A model server on this machine: the vendors' wire formats over a minimal HTTP/1.1, for tests and benches.
//!
//! It runs on a thread of its own, so that tests of processes and plain tests can use it alike, answers what a closure says,
//! and checks every request against the published rules of the format that its path names ([`Format`]). A request that
//! breaks one is answered with 400 and remembered in [`ModelServer::violations`].

mod answer;
pub mod anthropic;
mod behaviour;
mod cassette;
pub mod chat;
mod format;
pub mod gemini;
mod http;
pub mod responses;
mod schema;
mod server;

pub use answer::{Answer, Gate};
pub use behaviour::{Behaviour, RecordedRequest, Reply};
pub use cassette::{Cassette, Exchange};
pub use chat::{check_request, completion, events, render};
pub use format::Format;
pub use server::ModelServer;
