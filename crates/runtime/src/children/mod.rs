//! Child agents: what they are, how they are begun and followed, and how what they came to is handed back.

pub(crate) mod asked;
mod below;
mod claims;
pub(crate) mod copies;
mod elsewhere;
mod error;
pub(crate) mod follow;
pub(crate) mod hand_back;
mod narrowed;
mod peers;
mod remote_clock;
mod remote_end;
mod remote_log;
mod seen;
mod specs;
mod undriven;
pub(crate) mod worktree;

pub use error::ChildError;
pub use narrowed::Narrowed;
pub use peers::{Peers, RemoteTask, Unbegun};
pub use specs::{ChildAgent, ChildFolder, ChildSpecs, Parent};
pub use worktree::Worktrees;
