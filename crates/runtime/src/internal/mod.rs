//! Internal tools: calls without an effect outside the trace, answered when the answer that makes them is recorded.

pub mod look_back;
pub(crate) mod plan;
