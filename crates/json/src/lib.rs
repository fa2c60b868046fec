//! JSON that comes in pieces: what a model is still writing, seen while it writes. Pure, and built on nothing.
//!
//! **This crate owns** the grammar of JSON (RFC 8259), telling subscribers about the values they asked for, and refusing
//! what is too deep or too big. **Its caller owns** the bytes, what the values mean, and where in a prose answer an
//! object begins.
//!
//! ```
//! use mainpath_json::{Limits, News, Parser, Paths};
//!
//! let paths = Paths::new(["$.type", "$.answer", "$.plan.steps[*].title"])?;
//! let mut parser = Parser::new(paths, Limits::default());
//! let mut seen = Vec::new();
//! let mut each = |news: News<'_>| match news {
//!     News::Text { path, text, .. } => seen.push(format!("{path} + {text}")),
//!     News::Value { path, json, .. } => seen.push(format!("{path} = {json}")),
//! };
//! for piece in [r#"{"plan":{"steps":[{"title":"Lo"#, r#"ok"}]}, "answer":"caf\u00"#, r#"e9"}"#] {
//!     parser.push(piece.as_bytes(), &mut each)?;
//! }
//! parser.finish(&mut each)?;
//! assert_eq!(
//!     seen,
//!     [
//!         "$.plan.steps[0].title + Lo",
//!         "$.plan.steps[0].title + ok",
//!         "$.plan.steps[0].title = \"Look\"",
//!         "$.answer + caf",
//!         "$.answer + é",
//!         "$.answer = \"caf\\u00e9\"",
//!     ]
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What holds for every text
//!
//! - **The pieces do not matter.** Values, their order, and the error with its offset are the same however the bytes were
//!   cut; text comes in other portions, but put together it is the same text.
//! - **The time is linear.** A character moves a finite automaton by one step and is never looked at again; those that only
//!   carry on a string are found and then copied as one. A value that begins is compared with the subscriptions that are
//!   still possible there, so a byte costs at most what the paths cost.
//! - **The memory is bounded** by the depth and by what is subscribed: nothing else is kept, however long it is.
//! - **It accepts what `serde_json` 1.0.154 accepts** as a `Value` with its recursion limit, and refuses what that
//!   refuses: lone surrogates, control characters in strings, leading zeros, a byte order mark. One thing differs: a
//!   number may have any size, for it stays text.
//! - **Keys that come twice bring news twice**, in their order. Whoever wants what `serde_json` would keep takes the last
//!   whole value of a path.

mod decoder;
mod error;
mod grammar;
mod parser;
mod paths;
mod preview;
mod watch;

pub use error::{Error, Problem};
pub use parser::{Limits, Parser};
pub use paths::{Path, PathError, Paths};
pub use preview::preview;
pub use watch::News;
