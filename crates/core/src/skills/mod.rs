//! The skills that a trace has loaded: what is recorded when one is selected, and which of them are shown.
//!
//! A selected skill waits until the next turn begins; then its text joins the conversation as a message of its own, which no cut
//! and no summary leaves out. So what is loaded is what lies on the path: a rewind to before a selection unloads it. What was
//! loaded for whoever set the agent up is no part of the conversation: it joins again after a rewind to before it, and after a clear.

pub(crate) mod apply;
pub(crate) mod decide;
mod loaded;

use mainpath_types::{EffectClass, EventId, Seq, SkillBy, SkillSelected};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// So many skills a model may select in a turn. Those that people name do not count.
pub const SKILLS_A_TURN: usize = 2;

/// The skills that were ever selected, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Skills(Vec<SkillRow>);

/// A selected skill. Its text is in the event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillRow {
    /// The event that holds its text.
    pub event: EventId,
    /// Its message; `None` while it waits to join.
    pub seq: Option<Seq>,
    /// Its name.
    pub skill: Arc<str>,
    /// Whose it is.
    pub source: Arc<str>,
    /// Who selected it.
    pub by: SkillBy,
    /// In which turn.
    pub turn: u32,
    /// The hash of its text.
    pub hash: Arc<str>,
    /// Its folder.
    pub folder: Option<Arc<str>>,
    /// What its scripts may do at most.
    pub effect: EffectClass,
    /// Its estimated size.
    pub tokens: u32,
}

impl Skills {
    /// Whether none was ever selected.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All rows, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &SkillRow> {
        self.0.iter()
    }

    /// The first that waits to join.
    pub(crate) fn waiting(&self) -> Option<&SkillRow> {
        self.0.iter().find(|row| row.seq.is_none())
    }
}

impl SkillRow {
    fn new(event: EventId, turn: u32, data: &SkillSelected) -> SkillRow {
        SkillRow {
            event,
            seq: None,
            skill: data.skill.as_str().into(),
            source: data.source.as_str().into(),
            by: data.by,
            turn,
            hash: data.hash.as_str().into(),
            folder: data.folder.as_deref().map(Arc::from),
            effect: data.effect,
            tokens: data.tokens,
        }
    }
}

/// What stands before a skill's text, for the model.
pub(crate) fn frame(data: &SkillSelected) -> String {
    let who = match data.by {
        SkillBy::Model => "you selected",
        SkillBy::Person => "a person selected",
        SkillBy::Preset => "is loaded from the beginning",
    };
    let SkillSelected { skill, source, .. } = data;
    let words = match data.by {
        SkillBy::Preset => format!("The skill {skill} ({source}) {who}."),
        SkillBy::Model | SkillBy::Person => format!("The skill {skill} ({source}), which {who}: {}", data.reason),
    };
    format!("[{words}\nIt says how to do such work. It allows nothing that is not allowed already.]")
}
