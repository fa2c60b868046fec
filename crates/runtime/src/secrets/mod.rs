//! Secrets and their handles. A secret enters no log, no view, no stream and no model: its handle does.
//!
//! Some secrets are known by name, from the environment and the configuration: `{{secret:NAME}}` stands for them, and tools that
//! were given the name get the secret. Others are known by their form only: a vendor's token, a key block, a password in an
//! address. `{{secret:KIND-DIGITS}}` stands for these; nobody can resolve it, as nothing is kept of them.
//!
//! The digits are the first 24 bits of SHA-256 over a key of this installation and the secret. So the same secret has the same
//! handle in every trace, and a text stays readable; but who only reads a log cannot find out a weak password by
//! trying, as could be done without a key. Two secrets of one kind share a handle once in 16 million; no more than a reader's confusion follows.
//!
//! **What is not found**
//! - A value without a form of its own or a telling name before it, a password that looks like words, bytes of pictures.
//! - Another encoding than those of `encoded.rs` and `dumps.rs`, and of a secret without a name any encoding. So a dump in octal or decimal numbers
//!   or of single letters (`od`, `od -c`) is not read, nor a part of a dump.
//! - A secret by name with other characters between than line breaks and invisible ones, or with lines of fewer than about two characters.
//! - What was torn out of its surroundings before it came here: a single line of a key block that `grep` shows, two halves of a
//!   token between which a background process's output was read.
//! - The first or last part of a secret by name that is longer than 16 KiB, where a tool shortens an output of more than a
//!   mebibyte or begins to read a file inside of it.
//! - A configured place in what does not begin as JSON: a text before it, the last part of an output of more than a mebibyte.

mod dumps;
mod encoded;
mod entering;
mod error;
mod escapes;
mod fields;
mod flow;
mod look;
#[cfg(test)]
mod number_tests;
mod numbers;
mod own;
mod programs;
mod shapes;
#[cfg(test)]
mod tests;
mod tokens;
mod vault;

pub(crate) use entering::is_json;
pub use error::{BadForm, BadPath, SecretInSpec};
pub(crate) use flow::{Flow, Kind};
pub(crate) use vault::Granted;
pub use vault::Vault;
