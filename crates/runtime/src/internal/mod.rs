//! Internal tools: calls without an effect outside the trace, answered when the answer that makes them is recorded.

mod goal;
mod inbox;
mod look_back;
pub(crate) mod plan;
mod problem;
pub(crate) mod registry;
pub(crate) mod settle;
mod tool;
