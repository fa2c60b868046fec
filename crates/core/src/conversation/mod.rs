//! What was said: the tree of messages, what waits to enter it, and going back in it.

pub(crate) mod apply;
pub(crate) mod clear;
pub(crate) mod decide;
pub(crate) mod fork;
pub(crate) mod import;
pub(crate) mod inbox;
pub(crate) mod name;
pub(crate) mod opening;
pub(crate) mod queues;
pub(crate) mod received;
pub(crate) mod tree;
