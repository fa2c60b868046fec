//! What can be attached and what cannot: real files, made here.

// Helpers of tests may unwrap as the tests themselves do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod hostile;
mod images;
mod pdfs;
mod reading;
mod support;
