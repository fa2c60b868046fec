//! What is to be otherwise.

use super::held::StopWork;
use crate::{Error, ErrorKind};
use mainpath_runtime::Mail;
use mainpath_types::{Event, EventId, EventKind, Limits, Relations, RunRules, Seq, Spec};

/// What is to be otherwise.
#[derive(Clone, Debug)]
pub struct WhatIf {
    /// From which message on; 0 is before the first.
    pub at: Seq,
    /// The agent as it is to be. Its workspace is that of the run: what works there works in a copy of it.
    pub spec: Spec,
    /// Skills that are loaded before.
    pub skills: Vec<Mail>,
    /// Whether calls may reach others: a network, servers, people, other agents.
    pub live: bool,
    /// Whether calls that would be asked about are approved, as with `--yes`. Otherwise only those are that were in the run,
    /// and with `live` none.
    pub yes: bool,
    /// Who may stop it.
    pub stop: StopWork,
}

/// The spec that held when an event was written. Errors: there was none.
pub fn spec_at(events: &[Event], until: EventId) -> Result<&Spec, Error> {
    let specs = events.iter().take_while(|event| event.id <= until).filter_map(|event| match &event.kind {
        EventKind::SpecChanged(data) => Some(&*data.spec),
        _ => None,
    });
    specs.last().ok_or_else(|| Error::new(ErrorKind::Refused, "there is no agent at that message"))
}

/// Whether a model is asked the same under both, and its answers are so what they would be.
pub(super) fn asks_the_same(one: &Spec, other: &Spec) -> bool {
    let asked = |spec: &Spec| Spec {
        model_by: None,
        rules: RunRules::default(),
        mode: Default::default(),
        mode_for: None,
        limits: Limits::default(),
        relations: Relations::default(),
        access: Default::default(),
        network: false,
        snapshots: false,
        workspace: String::new(),
        copy: None,
        own_instructions: String::new(),
        instruction_parts: Vec::new(),
        ..spec.clone()
    };
    asked(one) == asked(other)
}
