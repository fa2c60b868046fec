//! What an agent is: from what a caller says to its spec.

mod builder;
mod limits;
mod model;
mod notes;
mod offer;
mod options;
mod spec;

use crate::Home;
pub use builder::Agent;
use mainpath_providers::Registry;
use mainpath_tools::Tools;
use mainpath_types::RunRules;
pub use model::{Chosen, check_model, choose_model, env};
pub use offer::REACHING;
pub(crate) use offer::{held_to, without_denied};
pub use options::*;

pub use spec::{ModeFor, changed, sizes, spec, workspace};

/// What an agent's spec is made from, besides what its caller says.
#[derive(Clone, Copy)]
pub struct Basis<'a> {
    /// The configuration, and the folders that are Mainpath's own.
    pub home: &'a Home,
    /// The tools that there are.
    pub tools: &'a Tools,
    /// What is known of models.
    pub models: &'a Registry,
    /// The rules that the caller gives.
    pub rules: &'a RunRules,
}
