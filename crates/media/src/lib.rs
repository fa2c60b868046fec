//! What people attach to a message: images, sound, documents and text files.
//!
//! [`read`] turns what a person names (a path, a `data:` URL, base64 with its media type, an address on the web) into an
//! [`Attachment`]. [`Attachment::fit`] makes it what a vendor takes, [`Attachment::part`] makes it a part of a message, and
//! [`Attachment::describe`] makes it text for a model that takes nothing else.
//!
//! The crate owns: telling by the bytes what something is (never by its name), sizes, decoding with limits. Its caller owns:
//! which model is asked and what it can take, and what is done with the part.
//!
//! What is attached is hostile until it was looked at. So every read has a limit, only regular files are opened, nothing is
//! ever fetched from an address, and decoders work in a thread of their own that may fail or be late without harm.

mod attachment;
mod guard;
mod image;
mod kind;
mod pdf;
mod problem;
mod vendor;

pub use attachment::{Attachment, Content, MOST_BYTES, check, label, read};
pub use image::fit_image;
pub use kind::Kind;
pub use pdf::{MOST_PAGES, pdf_pages, pdf_text};
pub use problem::{Problem, shown_size};
pub use vendor::{Takes, Vendor};
