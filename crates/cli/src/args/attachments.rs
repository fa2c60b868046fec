//! What goes along with a task.

use clap::{Args, ValueEnum};
use std::ffi::OsString;

/// What is attached to the task.
#[derive(Args, Debug, Default)]
pub struct AttachArgs {
    /// Attach an image: a path, an http(s) URL that the model's server fetches, or a data: URL. May be repeated
    #[arg(long, value_name = "PATH")]
    pub image: Vec<OsString>,
    /// Attach a file: an image, a PDF, sound or text. May be repeated
    #[arg(long, value_name = "PATH")]
    pub file: Vec<OsString>,
    /// What happens to an attachment that the model does not accept
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    pub attachments: Attachments,
}

impl AttachArgs {
    /// The attachments, each with its flag: images first.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &OsString)> {
        let images = self.image.iter().map(|named| ("--image", named));
        images.chain(self.file.iter().map(|named| ("--file", named)))
    }
}

/// What happens to an attachment that the model does not take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Attachments {
    /// Do not start the run
    #[default]
    Refuse,
    /// Send the text of a PDF, and a line that names any other file
    Text,
}
