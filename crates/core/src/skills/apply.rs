//! A skill waits, joins, and joins again where it was not part of the conversation.

use crate::skills::SkillRow;
use crate::{NodeKind, State};
use mainpath_types::{EventId, SkillBy, SkillSelected};

impl State {
    pub(crate) fn skill_selected(&mut self, id: EventId, data: &SkillSelected) {
        self.skills.0.push(SkillRow::new(id, self.counts.turns, data));
    }

    /// Whether what joins is a skill; then it has joined.
    pub(crate) fn skill_joined(&mut self, of: EventId) -> bool {
        let Some(at) = self.skills.0.iter().position(|row| row.event == of && row.seq.is_none()) else { return false };
        let tokens = self.skills.0.get(at).map_or(0, |row| row.tokens);
        let seq = self.tree.push(self.tree.head, of, NodeKind::Skill, tokens, None);
        self.tree.head = Some(seq);
        if let Some(row) = self.skills.0.get_mut(at) {
            row.seq = Some(seq);
        }
        true
    }

    /// After the head has moved back: what is loaded for the agent as it was set up joins again, what else waits is dropped.
    pub(crate) fn reload_skills(&mut self) {
        if self.skills.is_empty() {
            return;
        }
        self.skills.0.retain(|row| row.seq.is_some() || row.by == SkillBy::Preset);
        let (tree, head) = (&self.tree, self.tree.head);
        let is_gone = |row: &&SkillRow| row.seq.is_some_and(|seq| !tree.is_on_path(head, seq));
        let mut again: Vec<SkillRow> = Vec::new();
        for row in self.skills.0.iter().filter(|row| row.by == SkillBy::Preset).filter(is_gone) {
            let is_there =
                |other: &SkillRow| other.event == row.event && other.seq.is_none_or(|seq| tree.is_on_path(head, seq));
            if !self.skills.0.iter().chain(&again).any(is_there) {
                again.push(SkillRow { seq: None, ..row.clone() });
            }
        }
        self.skills.0.append(&mut again);
    }
}
