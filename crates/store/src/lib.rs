//! Where traces live: append, read, subscribe, mailbox, blobs, views, leases, and the scheduler that wakes them.
//!
//! **This crate owns** the bytes. It says what a log line looks like ([`mod@line`]), keeps one writer per trace, makes a
//! batch durable before it answers, tells a torn end from damage, and keeps tenants apart. It draws the salts of the
//! lines and knows the time only to stamp mail.
//!
//! **Its caller owns** the meaning. It decides what an event is, numbers its events, keeps an input until the append of
//! its events was answered, authenticates whom it names in a [`Scope`], and drops the [`Lease`] and takes a new one after
//! [`Appended::Unknown`].
//!
//! What never happens here:
//! - No write to a log but [`Store::append`], and none without the lease, its epoch and the expected id.
//! - No acknowledged event is lost, neither by a killed process nor by a power cut.
//! - No line is skipped: a log is read up to its first bad line, which is reported with file and line, and no further.
//! - No complete line is ever cut off; only an incomplete last one is, and its bytes are kept beside the log.
//!
//! | implementation | for |
//! |---|---|
//! | [`FilesStore`] | the default: plain files, many processes on one machine |
//! | [`MemoryStore`] | tests and throw-away runs: the same bytes in maps |
//! | `Faulty` (feature `faults`) | tests: wraps another store and breaks it by plan |
//!
//! Every implementation passes the suite in `conformance` (feature of the same name).

mod append;
mod checks;
#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
#[cfg(feature = "faults")]
pub mod faulty;
pub mod files;
pub mod line;
pub mod log;
pub mod memory;
mod memory_log;
mod private;
#[cfg(any(feature = "faults", feature = "conformance"))]
mod raw;
mod regular;
mod report;
pub mod scheduler;
mod scoped;
mod store;
mod strict;
mod verify;
mod wake;

#[cfg(feature = "faults")]
pub use faulty::Faulty;
pub use files::{FilesStore, Following, JournalTimes, Options};
pub use line::{HeadHash, Salts};
pub use log::read_file;
pub use memory::MemoryStore;
pub use private::{create_private, create_private_parent, put_private, write_private};
#[cfg(any(feature = "faults", feature = "conformance"))]
pub use raw::Raw;
pub use regular::{open_regular, read_regular, read_regular_text};
pub use report::Report;
pub use scheduler::{LocalScheduler, Scheduler};
pub use scoped::{ScopedStore, TraceStore};
pub use store::*;
pub use verify::{verify_bytes, verify_file};
pub use wake::Wake;
