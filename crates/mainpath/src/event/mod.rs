//! What a run tells its host while it goes on: events under their published names, typed.

mod data;
mod kinds;
mod pending;
mod stamped;

pub use data::*;
pub use kinds::RunEvent;
pub use pending::{PendingCall, PendingQuestion};
pub use stamped::Stamped;
