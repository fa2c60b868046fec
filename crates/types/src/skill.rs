//! What events say about skills: texts on how something is done, which a trace has loaded.

use crate::{CallId, EffectClass, Part, Principal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The tool that selects skills.
pub const SELECT_SKILLS: &str = "select_skills";
/// The tool that reads a file of a selected skill.
pub const LOAD_RESOURCE: &str = "load_resource";
/// The tool that runs a script of a selected skill.
pub const RUN_SCRIPT: &str = "run_script";
/// The tool that searches the skills, where not all are shown whole.
pub const FIND_SKILL: &str = "find_skill";

/// How a place begins that says what a file or folder holds, rather than where a path leads: with the algorithm of its hash.
pub const CONTENT: &str = "sha256:";

/// Who selected a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkillBy {
    /// The model, by a call.
    Model,
    /// A person, by its name.
    Person,
    /// Whoever set the agent up: it is loaded from the beginning.
    Preset,
}

/// `skill_selected`: a skill's text was loaded. It joins the conversation at the next turn, and no cut or summary leaves it out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SkillSelected {
    /// Its name.
    pub skill: String,
    /// Whose it is: `project`, `user` or `builtin`.
    pub source: String,
    /// Who selected it.
    pub by: SkillBy,
    /// The call that selects it, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// Who, where that is known and no model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<Principal>,
    /// Why.
    pub reason: String,
    /// The SHA-256 of the text as it was loaded.
    pub hash: String,
    /// Its folder, for its files and scripts; none for a skill without files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// What its scripts may do at most.
    pub effect: EffectClass,
    /// The text.
    pub parts: Vec<Part>,
    /// Its estimated size, frame included.
    pub tokens: u32,
}

/// `resource_loaded`: a file of a selected skill was read. What of it is shown is the call's result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceLoaded {
    /// The call that reads it.
    pub call: CallId,
    /// The skill.
    pub skill: String,
    /// The file, from the skill's folder.
    pub path: String,
    /// The heading of the section that is shown, if a part was asked for and found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// The SHA-256 of what is shown.
    pub hash: String,
    /// Whether that is not all of the file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

/// A skill that a trace has loaded, as its tools see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedSkill {
    /// Its name.
    pub skill: String,
    /// Whose it is.
    pub source: String,
    /// Its folder, if it has one.
    pub folder: Option<String>,
    /// What its scripts may do at most.
    pub effect: EffectClass,
}

/// How the catalogue of skills in the system text shows a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkillShown {
    /// With its whole description.
    Whole,
    /// With the beginning of its description.
    Shortened,
    /// By its name.
    NameOnly,
    /// Only in the number of those that are not listed.
    Counted,
    /// Not at all: a project's, and nobody has trusted it.
    Untrusted,
    /// Not at all: only a person may name it.
    PersonOnly,
}

/// A skill that was there when a spec was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedSkill {
    /// Its name.
    pub skill: String,
    /// Whose it is.
    pub source: String,
    /// How the model is told of it.
    pub shown: SkillShown,
}

/// What an agent is told of skills.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SkillTerms {
    /// The only skills that it may use, if it is held to some; these are loaded from the beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<Vec<String>>,
    /// The skills that were there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub listed: Vec<ListedSkill>,
    /// Whether it has none, whatever is there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub off: bool,
}

impl SkillTerms {
    /// Whether they say nothing.
    pub fn is_empty(&self) -> bool {
        *self == SkillTerms::default()
    }
}
