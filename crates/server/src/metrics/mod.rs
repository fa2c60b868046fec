//! What `GET /metrics` counts.

mod counts;
mod text;

pub use counts::{Levels, Metrics};
