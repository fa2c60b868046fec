//! Child agents: what they are, how they are begun and followed, and how what they came to is handed back.

pub(crate) mod copies;
pub(crate) mod follow;
pub(crate) mod hand_back;
mod narrowed;
mod specs;
pub(crate) mod worktree;

pub use narrowed::Narrowed;
pub use specs::{ChildAgent, ChildFolder, ChildSpecs, Parent};
pub use worktree::Worktrees;
