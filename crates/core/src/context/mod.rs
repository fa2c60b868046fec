//! What the model is shown: which messages, and where their texts are.

pub mod aside;
pub mod bodies;
pub mod compact;
pub mod cut;
pub(crate) mod decide;
pub mod demands;
pub(crate) mod due;
pub mod estimate;
pub mod excerpt;
pub mod floor;
pub mod layout;
pub(crate) mod leaving;
pub mod log;
pub(crate) mod loss;
mod note;
pub mod pack;
pub(crate) mod pins;
pub(crate) mod room;
pub mod rules;
pub mod scale;
pub mod sentences;
pub mod shown;
mod size;
