//! What the model is shown: which messages, and where their texts are.

pub mod bodies;
pub mod estimate;
pub mod pack;
pub mod rules;
