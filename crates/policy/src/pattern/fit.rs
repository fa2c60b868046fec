//! How patterns are read, and how well they fit.

/// The folders that patterns speak of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folders {
    /// The workspace, absolute.
    pub workspace: String,
    /// The user's home, absolute; empty if there is none.
    pub home: String,
    /// The folder that the workspace is a copy of, absolute; empty if it is none. What is said of it is said of the copy.
    pub copy_of: String,
    /// The folder above the workspace, absolute, in which the file of rules that is being read lies; empty if it lies elsewhere. Its
    /// relative patterns are from there.
    pub above: String,
}

/// How well a pattern fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fit {
    /// Not at all.
    No,
    /// It does, if what is unknown turns out so.
    Maybe,
    /// It does.
    Yes,
}

impl From<bool> for Fit {
    fn from(fits: bool) -> Fit {
        if fits { Fit::Yes } else { Fit::No }
    }
}

/// How a pattern is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// For a deny or an ask.
    Wide,
    /// For an allow.
    Strict,
}
