//! What happens in a trace, as frames: over server-sent events and WebSockets alike.

mod cursor;
mod feed;
mod frame;
mod position;
pub mod socket;
pub mod sse;
mod together;

pub use cursor::Cursor;
pub use feed::{Feed, May, Wanted, Watch};
pub use frame::Frame;
pub use together::Together;
