//! Between what a model writes and a turn. The machine never knows which protocol an agent speaks: an answer in JSON text
//! becomes the parts that a native answer has, and is shown to the model as text again.

mod error;
mod json;
mod plan;
mod words;

pub use error::TurnError;
pub use json::{Parsed, TEXT_ISSUER, parse, render};
