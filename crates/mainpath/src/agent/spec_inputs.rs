//! What specs are made from.

use crate::Home;
use crate::skills::Shelf;
use mainpath_providers::Registry;
use mainpath_runtime::EnvModels;
use mainpath_tools::Tools;
use mainpath_types::RunRules;

/// What an agent's spec is made from, besides what its caller says.
#[derive(Clone, Copy)]
pub(crate) struct SpecInputs<'a> {
    /// The configuration, and the folders that are Mainpath's own.
    pub home: &'a Home,
    /// The tools that there are.
    pub tools: &'a Tools,
    /// The skills, if this host has any.
    pub skills: Option<&'a Shelf>,
    /// What is known of models.
    pub models: &'a Registry,
    /// The rules that the caller gives.
    pub rules: &'a RunRules,
    /// Whose the models are that are named by their address.
    pub keys: &'a EnvModels,
}
