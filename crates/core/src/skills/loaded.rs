//! The skills that are loaded, by the path of the conversation.

use crate::{SkillRow, State};
use mainpath_types::LoadedSkill;

impl State {
    /// The skills that are loaded: on the main path, or about to join it.
    pub fn loaded_skills(&self) -> impl Iterator<Item = &SkillRow> {
        self.skills.iter().filter(|row| row.seq.is_none_or(|seq| self.tree.is_on_path(self.tree.head, seq)))
    }

    /// The same, as their tools see them; of those with one name the newest.
    pub fn skills_for_tools(&self) -> Vec<LoadedSkill> {
        let mut found: Vec<LoadedSkill> = Vec::new();
        for row in self.loaded_skills() {
            found.retain(|known| known.skill != *row.skill);
            found.push(LoadedSkill {
                skill: row.skill.to_string(),
                source: row.source.to_string(),
                folder: row.folder.as_deref().map(String::from),
                effect: row.effect,
            });
        }
        found
    }
}
