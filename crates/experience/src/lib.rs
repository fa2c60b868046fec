//! What agents learned from their work: short Markdown entries with front matter, in a folder that people can read, edit and put under
//! version control.
//!
//! [`Experiences::open`] reads a folder. [`Experiences::find`] finds what fits a task, by tags and by words, through a cache in SQLite
//! that can be deleted at any time; [`Experiences::add`], [`change`](Experiences::change) and [`remove`](Experiences::remove) write.
//!
//! **This crate owns** how entries are written, read, found and changed. **Its caller owns** where the folder is, what a trace is, who may
//! write, and what a model is shown. It knows no agent, no log and no runtime.
//!
//! The files are the truth. What a person broke while editing is told with its line and skipped ([`Broken`]), and never written over.
//! Every read has a limit, only regular files are opened, and links are refused.

mod block;
mod cache;
mod entry;
mod error;
mod find;
mod folder;
mod read;
mod stamp;
mod vectors;
mod write;

pub use entry::{Broken, Draft, Entry, LONGEST_ID, LONGEST_TEXT, MOST_TAGS, Placed, Status, is_id};
pub use error::{EntryError, ExperienceError};
pub use find::{Found, Query};
pub use folder::{Change, Experiences, LARGEST_FILE};
pub use read::{Contents, read_text};
pub use stamp::MOST_FILES;
pub use vectors::{Near, Unembedded, Vector};
