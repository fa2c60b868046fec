//! What happens in a trace, as frames: over server-sent events and WebSockets alike.

mod cursor;
mod feed;
pub mod socket;
pub mod sse;

pub use cursor::Cursor;
pub use feed::{Feed, Frame, May, Wanted, Watch};
