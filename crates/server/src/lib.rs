//! Mainpath over HTTP: traces, runs, approvals and streams, for other programs and for people.
//!
//! **This crate owns** addresses, keys, the form of requests and answers, and the life of the process. **It does not own** what agents
//! do: a route parses, calls one method of the host library, and renders.

pub mod access;
mod address;
mod answer;
mod app;
mod call;
mod cut_off;
mod docs;
mod errors;
mod fields;
mod life;
mod lines;
mod log;
mod marks;
mod metrics;
mod observe;
mod openai;
mod packed;
mod people;
pub mod problem;
mod reply;
#[doc(hidden)]
pub mod route;
mod routes;
mod serve;
mod serving;
mod settings;
mod stream;
mod telemetry;
mod ui;

pub use access::audit::Audit;
pub use access::keys::{Keys, ListedKey, NewKey, OWNER};
pub use access::scope::{Scope, ScopeError};
pub use serve::Server;
pub use serving::served_at;
pub use settings::Settings;
pub use telemetry::otel_trace_id;
