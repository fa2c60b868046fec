//! What a model is told of skills: the list in the system text, under a budget, and how each is shown there.

use crate::skills::Shelf;
use mainpath_skills::{Catalogue, Location, Shown, Skill, Skills};
use mainpath_tools::Tools;
use mainpath_types::{ListedSkill, RunMode, SkillShown, SkillTerms, Spec};
use std::path::Path;

/// The most characters that the list may have, at about four a token; and its share of the window.
const MOST: usize = 8_000;
const SHARE: usize = 50;
/// A built-in skill that is of use only where a tool has one of these in its name.
const NEEDS: [(&str, &[&str]); 2] = [
    ("browser", &["browser", "playwright", "puppeteer", "chrome"]),
    ("research", &["web_search", "web_fetch", "search", "fetch", "browser"]),
];

/// What a model is told.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// The part of the system text; empty where there is nothing to tell.
    pub text: String,
    /// Whether a model needs the search: not all skills are shown whole.
    pub is_searched: bool,
    /// Whether there is any skill that it may use.
    pub has_skills: bool,
    /// Whether any of them has files.
    pub has_files: bool,
}

/// What an agent of this spec is told of the skills on a shelf; its terms list them from now on.
pub(crate) fn tell(spec: &mut Spec, shelf: Option<&Shelf>, tools: &Tools) -> Told {
    let has_none = spec.skills.off || spec.run_mode == RunMode::Call;
    let Some(shelf) = shelf.filter(|_| !has_none) else {
        spec.skills.listed.clear();
        return Told::default();
    };
    let found = shelf.read(Path::new(spec.source()));
    let names = tools.names();
    let told: Vec<&Skill> =
        found.for_models().filter(|skill| is_allowed(&spec.skills, skill) && is_of_use(skill, &names)).collect();
    let budget = MOST.min(spec.context_window as usize * 4 / SHARE);
    let catalogue = Catalogue::new(told.iter().copied(), budget);
    spec.skills.listed = listed(&found, &told, &catalogue, &spec.skills);
    // Those for people alone are for agents once they were named.
    let has_others =
        found.skills.iter().any(|skill| is_allowed(&spec.skills, skill) && skill.location.place().is_some());
    if told.is_empty() && !has_others {
        return Told::default();
    }
    let text = if told.is_empty() { String::new() } else { in_words(&catalogue) };
    // Also of one that only a person can name.
    let mut usable = found.skills.iter().filter(|skill| is_allowed(&spec.skills, skill));
    let has_files = usable.any(|skill| matches!(skill.location, Location::Folder { .. }));
    Told { text, is_searched: catalogue.is_searched, has_skills: true, has_files }
}

/// Whether the caller lets an agent use a skill.
pub(crate) fn is_allowed(terms: &SkillTerms, skill: &Skill) -> bool {
    !terms.off && terms.only.as_ref().is_none_or(|only| only.contains(&skill.card.name))
}

fn is_of_use(skill: &Skill, tools: &[String]) -> bool {
    if skill.location.place().is_some() {
        return true;
    }
    let Some((_, words)) = NEEDS.iter().find(|(name, _)| *name == skill.card.name) else { return true };
    tools.iter().any(|name| words.iter().any(|word| name.contains(word)))
}

fn listed(found: &Skills, told: &[&Skill], catalogue: &Catalogue, terms: &SkillTerms) -> Vec<ListedSkill> {
    let row =
        |skill: &Skill, shown| ListedSkill { skill: skill.card.name.clone(), source: skill.layer.name().into(), shown };
    let shown = told.iter().zip(&catalogue.skills).map(|(skill, listed)| {
        row(
            skill,
            match listed.shown {
                Shown::Whole => SkillShown::Whole,
                Shown::Shortened => SkillShown::Shortened,
                Shown::NameOnly => SkillShown::NameOnly,
                Shown::Counted => SkillShown::Counted,
            },
        )
    });
    let disabled = found.skills.iter().filter(|skill| skill.card.front.disable_model_invocation);
    let persons = disabled.filter(|skill| is_allowed(terms, skill)).map(|skill| row(skill, SkillShown::PersonOnly));
    let untrusted = found.untrusted.iter().map(|skill| row(skill, SkillShown::Untrusted));
    shown.chain(persons).chain(untrusted).collect()
}

fn in_words(catalogue: &Catalogue) -> String {
    let find = match catalogue.is_searched {
        true => " Not all of them fit here whole: find_skill searches all of them by what you want to do.",
        false => "",
    };
    format!(
        "Skills say how certain kinds of work are done well. Before you begin such work, select the skill with select_skills and \
         say why; it then stays in sight. If several fit, take the one for the way of working first, then the one for the subject; \
         for work with effects, prefer one that checks its result. Do not select one for a question that you can answer at \
         once.{find} The skills:\n{}",
        catalogue.text.trim_end()
    )
}
