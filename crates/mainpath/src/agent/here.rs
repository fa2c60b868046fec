//! What the agents of an installation are: new ones, and those that go on otherwise than before.

use super::basis::Basis;
use super::options::AgentOptions;
use super::spec::{ModeFor, changed, spec};
use crate::presets::Given;
use crate::{Error, Installation};
use mainpath_policy::Policy;
use mainpath_types::{ApprovalMode, Spec};
use std::path::Path;

/// What a new agent of an installation is made from.
pub struct NewAgent<'a> {
    /// What its caller says, with its preset.
    pub given: &'a Given,
    /// Its model.
    pub model: String,
    /// The folder that it works in.
    pub workspace: &'a Path,
    /// All rules that hold for it.
    pub policy: &'a Policy,
    /// What happens to calls that need a person.
    pub mode: ApprovalMode,
}

impl Installation {
    /// The spec of a new agent. Errors: what cannot be used, in words for its author.
    pub fn spec(&self, new: NewAgent<'_>) -> Result<Spec, Error> {
        let NewAgent { given, model, workspace, policy, mode } = new;
        let basis = Basis { rules: &given.rules, ..self.basis() };
        spec(&given.options, basis, model, workspace, policy, mode)
    }

    /// The spec of an agent that goes on as its caller says now, under these rules; `None` where that changes nothing. Errors: what cannot
    /// be used.
    pub fn changed(
        &self,
        old: &Spec,
        given: &AgentOptions,
        policy: &Policy,
        mode: ModeFor,
    ) -> Result<Option<Spec>, Error> {
        changed(old, given, self.basis(), policy, mode)
    }
}
