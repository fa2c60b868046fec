//! What is computed from a log, or made of one, without driving it.

pub mod artifacts;
pub mod erase;
pub mod files;
mod fork;
pub mod import;
pub mod replay;
pub mod run_stats;
pub mod sent;
pub mod telemetry;
mod untaken;
pub(crate) mod verify;
pub mod views;
