//! The tools that find, select and read skills.

use crate::skills::Shelf;
use crate::skills::catalogue::is_allowed;
use crate::skills::problem::SkillProblem;
use crate::skills::selected::selected;
use mainpath_skills::{Layer, Search, Skill, Skills, load_resource};
use mainpath_tools::{Fut, Problem, SkillDeskError, Tool, ToolContext, ToolDoc};
use mainpath_types::{
    EffectClass, FIND_SKILL, LOAD_RESOURCE, LoadedSkill, ResourceLoaded, SELECT_SKILLS, SkillBy, ToolOutput,
};
use schemars::JsonSchema;
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// So many skills are found.
const FOUND: usize = 5;
/// The most of a file that is shown, in characters.
const MOST: usize = 24_000;

/// The skills for a call.
fn read(shelf: &Shelf, ctx: &ToolContext) -> Skills {
    shelf.read(ctx.workspace.source())
}

/// The skill that was loaded under a name.
pub(super) fn loaded<'s>(skills: &'s [LoadedSkill], name: &str) -> Result<&'s LoadedSkill, SkillProblem> {
    skills.iter().find(|loaded| loaded.skill == name).ok_or_else(|| {
        let selected = skills.iter().map(|loaded| loaded.skill.clone()).collect();
        SkillProblem::NotSelected { name: name.into(), selected }
    })
}

/// Nothing of a skill is used without a word why.
pub(super) fn check_reason(reason: &str) -> Result<(), Problem> {
    match reason.trim() {
        "" => Err(Problem::new("invalid_arguments", "A reason is missing: say why it is needed.")),
        _ => Ok(()),
    }
}

/// The layer of a name.
pub(super) fn layer(name: &str) -> Option<Layer> {
    [Layer::Project, Layer::User, Layer::Builtin].into_iter().find(|layer| layer.name() == name)
}

/// `select_skills`
pub(super) struct SelectSkills(pub Shelf);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SelectArgs {
    /// The skills, at most two in a turn: one for the way of working before one for the subject.
    skills: Vec<Wanted>,
    /// Why, where that is the same for all of them.
    reason: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// Its name.
    name: String,
    /// Whose it is, where several have this name.
    source: Option<Source>,
    /// Why it fits the work.
    reason: Option<String>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Source {
    Project,
    User,
    Builtin,
}

impl From<Source> for Layer {
    fn from(source: Source) -> Layer {
        match source {
            Source::Project => Layer::Project,
            Source::User => Layer::User,
            Source::Builtin => Layer::Builtin,
        }
    }
}

impl Tool for SelectSkills {
    type Args = SelectArgs;
    const NAME: &'static str = SELECT_SKILLS;

    fn describe(&self) -> ToolDoc {
        let text = "Loads skills: their instructions are shown from the next turn on and stay in sight. Each needs a reason; at \
                    most two in a turn.";
        ToolDoc::new(text, EffectClass::ReadOnly)
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: SelectArgs) -> Fut<'a, ToolOutput> {
        Box::pin(async move {
            if args.skills.is_empty() {
                return SkillProblem::NoName.into();
            }
            let found = read(&self.0, ctx);
            let (mut lines, mut done) = (Vec::new(), Vec::new());
            for wanted in &args.skills {
                match select(ctx, &found, wanted, args.reason.as_deref()).await {
                    Ok(line) => {
                        done.push(wanted.name.as_str());
                        lines.push(line);
                    }
                    Err(problem) => lines.push(format!("{}: not loaded: {problem}", wanted.name)),
                }
            }
            let text = lines.join("\n");
            match done.is_empty() {
                true => ToolOutput::failed(SkillProblem::CODE, text),
                false => ToolOutput { title: Some(done.join(", ")), ..ToolOutput::text(text) },
            }
        })
    }
}

/// Loads a skill; what to say of it. Errors: why not.
async fn select(
    ctx: &ToolContext,
    found: &Skills,
    wanted: &Wanted,
    reason: Option<&str>,
) -> Result<String, SkillProblem> {
    let name = &wanted.name;
    let reason = wanted.reason.as_deref().or(reason).map(str::trim).filter(|reason| !reason.is_empty());
    let reason = reason.ok_or(SkillProblem::NoReason)?;
    let skill = found.choose(name, wanted.source.map(Layer::from))?;
    if skill.card.front.disable_model_invocation {
        return Err(SkillProblem::PersonOnly(name.clone()));
    }
    if !is_allowed(ctx.skills.terms(), skill) {
        return Err(SkillProblem::NotOfRun);
    }
    let chosen = selected(skill, SkillBy::Model, reason)?;
    match ctx.skills.select(chosen).await {
        Ok(()) => Ok(format!("{name} ({}): loaded; its instructions follow.", skill.layer.name())),
        Err(SkillDeskError::AlreadyLoaded(_)) => {
            Ok(format!("{name}: it is loaded already; its instructions are above."))
        }
        Err(error) => Err(error.into()),
    }
}

/// `load_resource`
pub(super) struct LoadResource(pub Shelf);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ResourceArgs {
    /// A selected skill.
    skill: String,
    /// The file, from the skill's folder, such as references/forms.md.
    path: String,
    /// What it is wanted for, in the words of a heading: of a long file that section is shown.
    section: Option<String>,
    /// Why.
    reason: String,
}

impl Tool for LoadResource {
    type Args = ResourceArgs;
    const NAME: &'static str = LOAD_RESOURCE;

    fn describe(&self) -> ToolDoc {
        let text =
            "Reads a text file of a selected skill: all of it, the section that a hint leads to, or as much as fits.";
        ToolDoc::new(text, EffectClass::ReadOnly)
    }

    fn check(&self, args: &ResourceArgs) -> Result<(), Problem> {
        check_reason(&args.reason)
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: ResourceArgs) -> Fut<'a, ToolOutput> {
        Box::pin(async move { resource(&self.0, ctx, args).await.unwrap_or_else(ToolOutput::from) })
    }
}

async fn resource(shelf: &Shelf, ctx: &ToolContext, args: ResourceArgs) -> Result<ToolOutput, SkillProblem> {
    let ResourceArgs { skill: name, path, section, reason: _ } = args;
    let known = loaded(ctx.skills.loaded(), &name)?;
    let found = read(shelf, ctx);
    let skill = found.choose(&name, layer(&known.source))?;
    let excerpt = load_resource(skill, &path, section.as_deref(), MOST)?;
    let hash = Sha256::digest(&excerpt.text).iter().map(|byte| format!("{byte:02x}")).collect();
    let loaded = ResourceLoaded {
        call: ctx.grant.call(),
        skill: name.clone(),
        path: path.clone(),
        section: excerpt.section.clone(),
        hash,
        partial: excerpt.is_partial,
    };
    ctx.skills.note_resource(loaded).await?;
    let at = excerpt.section.map(|section| format!(", section {section:?}")).unwrap_or_default();
    Ok(ToolOutput {
        title: Some(format!("{name}/{path}{at}")),
        long_term_memory: Some(format!("{path}{at} of the skill {name} was read; {LOAD_RESOURCE} shows it again.")),
        ..ToolOutput::text(excerpt.text)
    })
}

/// `find_skill`
pub(super) struct FindSkill(pub Shelf);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FindArgs {
    /// What is to be done, in a few words.
    query: String,
}

impl Tool for FindSkill {
    type Args = FindArgs;
    const NAME: &'static str = FIND_SKILL;

    fn describe(&self) -> ToolDoc {
        let text = "Finds skills by what you want to do, also those that the list shows by name only or not at all.";
        ToolDoc::new(text, EffectClass::ReadOnly)
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: FindArgs) -> Fut<'a, ToolOutput> {
        Box::pin(async move {
            let found = read(&self.0, ctx);
            let usable: Vec<&Skill> =
                found.for_models().filter(|skill| is_allowed(ctx.skills.terms(), skill)).collect();
            let hits = Search::new(usable.iter().copied()).find(&args.query, FOUND);
            if hits.is_empty() {
                return ToolOutput::text(
                    "No skill has anything in common with that. Try other words, or go on without one.",
                );
            }
            let line = |name: &str| {
                let skill = usable.iter().find(|skill| skill.card.name == name)?;
                let description = skill.card.description.split_whitespace().collect::<Vec<_>>().join(" ");
                Some(format!("- {name} ({}): {description}", skill.layer.name()))
            };
            let lines: Vec<String> = hits.iter().filter_map(|hit| line(&hit.name)).collect();
            ToolOutput::text(lines.join("\n"))
        })
    }
}
