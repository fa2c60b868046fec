//! Presets: named sets of what an agent is, such as `explore`: the tools that it may use, its limits, its instructions.
//!
//! Some come with Mainpath (`builtin.rs`), others are files of the person or of a repository, in Mainpath's form or in those of other
//! programs. A preset only narrows what the person and the configuration allow: a tool that it names is not approved by that. A
//! repository's presets count only when a person has trusted their content, as its rules do.

mod apply;
mod builtin;
mod child;
mod fields;
mod formats;
pub(crate) mod host;
mod list;
mod narrow;
mod places;
mod preset;
mod read;
mod tool_words;
mod trust;

pub(crate) use apply::set_limits;
pub use apply::{Given, PresetNote, check_kept};
pub use list::{Presets, Standing};
pub(crate) use narrow::within;
pub use preset::{Layer, Listed, Preset, PresetLimits, Remark};
pub use trust::Distrust;
#[cfg(feature = "home")]
pub(crate) use trust::Trusted;
