//! Child agents: what they are, how they are begun and followed, and how what they came to is handed back.

pub(crate) mod asked;
pub(crate) mod copies;
mod elsewhere;
pub(crate) mod follow;
pub(crate) mod hand_back;
mod narrowed;
mod peers;
mod seen;
mod specs;
pub(crate) mod worktree;

pub use narrowed::Narrowed;
pub use peers::{Peers, RemoteTask, Unbegun};
pub use specs::{ChildAgent, ChildFolder, ChildSpecs, Parent};
pub use worktree::Worktrees;
