//! MCP servers: those of a host by hand, and those of an installation.

mod by_hand;
mod caged;
#[cfg(feature = "home")]
mod configured;

pub(crate) use by_hand::{ByHand, start_all};
#[cfg(feature = "home")]
pub use configured::*;
pub use mainpath_mcp::Entry as McpServer;
