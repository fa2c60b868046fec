//! Why a call of a tool for skills fails.

use mainpath_skills::{LoadError, NoSkill};
use mainpath_tools::{Problem, SkillDeskError};
use mainpath_types::{SELECT_SKILLS, ToolOutput};

/// Why a skill cannot be used, in words for the model.
#[derive(Debug, thiserror::Error)]
pub(super) enum SkillProblem {
    #[error("Name at least one skill.")]
    NoName,
    #[error("The skill {name:?} is not selected; {}. Select it first, with {SELECT_SKILLS}.", there(.selected))]
    NotSelected { name: String, selected: Vec<String> },
    #[error("a reason is missing: say why it fits the work")]
    NoReason,
    #[error("only a person can select it, by /{0}")]
    PersonOnly(String),
    #[error("it is not among the skills of this run")]
    NotOfRun,
    #[error(transparent)]
    NotFound(#[from] NoSkill),
    #[error(transparent)]
    Unreadable(#[from] LoadError),
    /// The trace refuses it.
    #[error(transparent)]
    Desk(#[from] SkillDeskError),
    #[error("An argument holds a NUL character, which no program can be given.")]
    NulArgument,
    #[error("The skill was changed since this call was judged; nothing was run.")]
    Changed,
    #[error("No copy of the skill can be made: {0}.")]
    NoCopy(std::io::Error),
    #[error("{0}")]
    CopyEnded(tokio::task::JoinError),
    #[error(
        "This machine cannot confine processes, so the script cannot be held to what its skill declares; nothing was run."
    )]
    Unconfined,
}

impl SkillProblem {
    /// The code of the outputs of such calls.
    pub const CODE: &str = "skill";
}

impl From<SkillProblem> for Problem {
    fn from(problem: SkillProblem) -> Problem {
        Problem::new(SkillProblem::CODE, problem.to_string())
    }
}

impl From<SkillProblem> for ToolOutput {
    fn from(problem: SkillProblem) -> ToolOutput {
        Problem::from(problem).into()
    }
}

fn there(selected: &[String]) -> String {
    match selected {
        [] => "none is".into(),
        names => format!("selected are: {}", names.join(", ")),
    }
}
