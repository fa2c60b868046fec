//! Sessions: named pointers to traces. A session holds no messages of its own; what was said is in its trace.
//!
//! **This crate owns** the pointers (one small file each), what waits for the results of its calls, [`prepare()`] and [`persist()`] for systems that do their own model
//! calls, and the places where a session's messages are mirrored for them: a file, a SQLite database, a Redis server.
//! **Its caller owns** what an agent is (the spec of a new trace), the identity of who asks, and the clock.
//!
//! A mirror is a view: it may be deleted, it says up to which event it was written, and it is never read where that is not
//! the trace's last one.

mod calls;
mod file_place;
mod place;
mod pointers;
#[cfg(feature = "mirrors")]
mod redis_place;
#[cfg(feature = "mirrors")]
mod sqlite_place;
mod turn;
mod waiting;

pub use calls::{Added, Adopted, Around, Prepared, adopt, persist, prepare, settle, summary};
pub use file_place::FilePlace;
pub use place::{Fut, Kept, Known, Listed, PlaceError, SessionPlace};
pub use pointers::{Session, SessionError, Sessions};
#[cfg(feature = "mirrors")]
pub use redis_place::{RedisPlace, RedisServer};
#[cfg(feature = "mirrors")]
pub use sqlite_place::SqlitePlace;
pub use turn::Turn;
