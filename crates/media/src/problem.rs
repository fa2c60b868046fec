//! Why something cannot be attached.

use crate::kind::POSSIBLE;

/// Why something cannot be attached: one line for people each. Whoever shows it says before it what was named.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// No such file.
    #[error("there is no such file")]
    Missing,
    /// Something else than a regular file: reading it could wait for ever, or never end.
    #[error("it is {0}, not a file")]
    NotAFile(&'static str),
    /// The system does not let it be read.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// Nothing in it.
    #[error("it is empty")]
    Empty,
    /// More bytes than may be attached.
    #[error("it is larger than {}, the most that can be attached; make it smaller", shown_size(*.0))]
    TooLarge(u64),
    /// Bytes of no known kind.
    #[error("it is of a kind that no model takes; possible are {POSSIBLE}")]
    Unknown,
    /// Bytes of another type than they are said to be.
    #[error("its media type is {said}, but its bytes are {found}")]
    OtherType {
        /// The type that they are said to be of.
        said: String,
        /// What they are.
        found: &'static str,
    },
    /// An address that cannot be one.
    #[error("it is not an address that a model's server could fetch; write http://HOST/… or https://HOST/…")]
    BadAddress,
    /// Base64 that is none.
    #[error("its base64 cannot be decoded: {0}")]
    BadBase64(String),
    /// A `data:` URL in another encoding.
    #[error("only base64 is understood in a data: URL: data:image/png;base64,…")]
    BadData,
    /// An image that cannot be decoded.
    #[error("the image is damaged: {0}")]
    BadImage(String),
    /// An image with too many pixels to be decoded.
    #[error("the image has {width} × {height} pixels, which is more than can be decoded; make it smaller")]
    HugeImage {
        /// Its width.
        width: u32,
        /// Its height.
        height: u32,
    },
    /// Sound in a format that the vendor does not take.
    #[error("this model's vendor takes no {0}; possible are {1}: convert it")]
    NotTaken(&'static str, String),
    /// More pages than the vendor takes.
    #[error("it has {0} pages and this model's vendor takes {1}; split it, or have its text sent")]
    TooManyPages(u32, u32),
    /// A document that cannot be parsed.
    #[error("the PDF cannot be read: {0}")]
    BadPdf(String),
    /// A document that needs a password.
    #[error("the PDF is encrypted; attach it without its password")]
    EncryptedPdf,
    /// A document of pictures.
    #[error("the PDF has no text: its pages may be scans")]
    NoText,
    /// A decoder came to no end.
    #[error("it could not be decoded within {0} seconds")]
    TooSlow(u64),
}

/// What a decoder says, on one line.
pub(crate) fn one_line(error: &dyn std::fmt::Display) -> String {
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A size for people: `812 B`, `34 kB`, `1.2 MB`.
pub fn shown_size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..999_500 => format!("{} kB", (bytes + 500) / 1_000),
        _ if bytes.is_multiple_of(1_000_000) => format!("{} MB", bytes / 1_000_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}
