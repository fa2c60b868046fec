//! From a tool call, rules and facts to a verdict, and from a verdict to a grant. Pure.
//!
//! **This crate owns** who may do what. **Its caller owns** the facts: it resolves paths and symlinks, and says whether
//! anybody can be asked. Nothing here reads a file, a clock or the environment.
//!
//! Two invariants: a call with no matching rule is asked or denied, never allowed; and a [`Grant`] cannot be made from
//! anything but a verdict that allows, or one that asks together with somebody's approval.

mod grant;
mod judge;

pub use grant::Grant;
pub use judge::{CallFacts, PathFact, Rules, UrlFact, judge};
