//! What `GET /metrics` counts.

mod counts;
mod held;
mod text;

pub use counts::{Levels, Metrics};
pub use held::Held;
