//! What watchers see: durable events, pieces of what is still coming, and both under their published names.

pub(crate) mod audience;
pub(crate) mod hub;
pub(crate) mod live;
pub(crate) mod notices;
pub(crate) mod pieces;
pub(crate) mod so_far;
pub(crate) mod streamed;
pub(crate) mod watcher;
pub mod wire;
