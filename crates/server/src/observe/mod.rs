//! What is found in the events that this process appends: for counts, and for traces of others.

pub mod finding;
mod reader;
mod told;

pub use told::Told;
