//! What the model is shown: which messages, and where their texts are.

pub mod aside;
pub mod bodies;
pub mod compact;
pub mod cut;
pub mod demands;
pub mod estimate;
pub mod floor;
pub mod layout;
pub(crate) mod loss;
mod note;
pub mod pack;
pub(crate) mod pins;
pub mod rules;
pub mod scale;
pub mod sentences;
