//! A skill that is loaded: its text, with what is on record of it.

use crate::skills::Shelf;
use crate::skills::catalogue::is_allowed;
use crate::{Error, ErrorKind};
use mainpath_core::{State, estimate};
use mainpath_runtime::Mail;
use mainpath_skills::{LoadError, Skill, Skills, list_files, load_body};
use mainpath_types::{AppliedPreset, LOAD_RESOURCE, Part, RUN_SCRIPT, SkillBy, SkillSelected, Spec};
use sha2::{Digest, Sha256};
use std::path::Path;

/// So many skills are named where there is none of a name.
const MOST_NAMED: usize = 12;

/// The most of a skill's text that is loaded, in characters.
const MOST: usize = 48_000;
/// So many of its files are named.
const NAMED: usize = 40;
/// The size of the frame around a skill's text.
const FRAME: u32 = 48;

/// A skill with its text as it is now. Errors: it cannot be read, or is not trusted as it is now.
pub fn selected(skill: &Skill, by: SkillBy, reason: &str) -> Result<SkillSelected, LoadError> {
    let mut text = load_body(skill, MOST)?.text;
    let files = list_files(skill)?;
    if !files.files.is_empty() {
        let rest = files.files.len().saturating_sub(NAMED);
        let more = match (rest, files.has_more) {
            (0, false) => String::new(),
            (0, true) => ", and more".into(),
            (rest, _) => format!(", and {rest} more"),
        };
        let names = files.files.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        let runs =
            if files.scripts.is_empty() { String::new() } else { format!("; {RUN_SCRIPT} runs those in scripts/") };
        text.push_str(&format!("\n\n[Its files, which {LOAD_RESOURCE} reads{runs}: {names}{more}]"));
    }
    let hash = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
    let folder = match &skill.location {
        mainpath_skills::Location::Folder { folder, .. } => Some(folder.display().to_string()),
        mainpath_skills::Location::File(_) | mainpath_skills::Location::Builtin(_) => None,
    };
    Ok(SkillSelected {
        skill: skill.card.name.clone(),
        source: skill.layer.name().into(),
        by,
        call: None,
        person: None,
        reason: reason.into(),
        hash,
        folder,
        effect: skill.card.front.effect,
        tokens: estimate(&text).saturating_add(estimate(reason)).saturating_add(FRAME),
        parts: vec![Part::text(text)],
    })
}

/// The mail that loads the skills that an agent of this spec has from the beginning. A preset may name built-in skills that are of no use
/// here: those are left out. Errors: there is none of a name, or it cannot be read, or there are no skills here at all.
pub fn preloads(spec: &Spec, shelf: Option<&Shelf>) -> Result<Vec<Mail>, Error> {
    let Some(only) = spec.skills.only.as_ref().filter(|only| !only.is_empty()) else { return Ok(Vec::new()) };
    let preset = said_by(spec);
    let wrong = |why: String| match preset {
        Some(preset) => Error::about("preset", format!("skills of the preset {}: {why}", preset.name)),
        None => Error::of_field("skills", format_args!(": {why}")),
    };
    let shelf = shelf.ok_or_else(|| wrong("there are no skills here".into()))?;
    let found = shelf.read(Path::new(spec.source()));
    let load = |name: &String| {
        let skill = found.choose(name, None).map_err(|why| wrong(with_help(&found, name, &why.to_string())))?;
        let skill = selected(skill, SkillBy::Preset, "").map_err(|why| wrong(why.to_string()))?;
        Ok(Mail::SelectSkill { skill: Box::new(skill) })
    };
    let of_preset = preset.is_some();
    let is_told = |name: &String| spec.skills.listed.iter().any(|listed| listed.skill == *name);
    let is_builtin = |name: &String| found.skills.iter().any(|s| s.card.name == *name && s.location.place().is_none());
    only.iter().filter(|name| !of_preset || is_told(name) || !is_builtin(name)).map(load).collect()
}

/// The preset that named the skills, if it was one.
fn said_by(spec: &Spec) -> Option<&AppliedPreset> {
    spec.preset.as_ref().filter(|preset| preset.skills == spec.skills.only)
}

/// What is wrong with a name, and what to do.
fn with_help(found: &Skills, name: &str, why: &str) -> String {
    if let Some(skill) = found.untrusted.iter().find(|skill| skill.card.name == name) {
        return match skill.distrust().filter(|because| !because.can_be_trusted()) {
            Some(because) => format!("the skill {name} cannot be trusted: {because}"),
            None => format!("{why}; look at it, then: mainpath skills trust {name}"),
        };
    }
    let near = found.skills.iter().map(|skill| (strsim::damerau_levenshtein(&skill.card.name, name), skill));
    match near.filter(|(far, _)| *far <= 2).min_by_key(|(far, _)| *far) {
        Some((_, skill)) => format!("{why}; did you mean {}?", skill.card.name),
        None => format!("{why}; mainpath skills list shows them"),
    }
}

/// What there is instead of a `/NAME` that words begin with: `None` where they begin with none, or it is a skill's. What is in the file
/// system is a path, and what no skill could be called is text.
pub fn no_such_name(text: &str, workspace: &Path, shelf: Option<&Shelf>) -> Option<String> {
    let name = text.trim_start().strip_prefix('/').and_then(|words| words.split(char::is_whitespace).next())?;
    let fits = |letter: char| letter.is_alphanumeric() || letter == '-' || letter == '_';
    if name.is_empty() || !name.chars().all(fits) || is_path(name) {
        return None;
    }
    let found = shelf.map(|shelf| shelf.read(workspace)).unwrap_or_default();
    if found.skills.iter().chain(&found.untrusted).any(|skill| skill.card.name == name) {
        return None;
    }
    let names: Vec<String> = found.skills.iter().map(|skill| format!("/{}", skill.card.name)).collect();
    let more = names.len().saturating_sub(MOST_NAMED);
    let shown = names.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    Some(match (names.len(), more) {
        (0, _) => format!("there is no skill or command /{name}, and no skills here"),
        (_, 0) => format!("there is no skill or command /{name}; the skills are {shown}"),
        (_, more) => {
            format!(
                "there is no skill or command /{name}; the skills are {shown} and {more} more (mainpath skills list)"
            )
        }
    })
}

/// Whether a word after a slash names something at the top of the file system, such as `/tmp`.
fn is_path(name: &str) -> bool {
    Path::new("/").join(name).symlink_metadata().is_ok()
}

/// Returns true if mail selects a skill that is loaded already, with the same text.
pub fn is_loaded(state: &State, mail: &Mail) -> bool {
    let Mail::SelectSkill { skill } = mail else { return false };
    state.loaded_skills().any(|row| *row.skill == *skill.skill && *row.hash == *skill.hash)
}

/// Reads what a person says for an agent of this spec: the mail that loads the skill whose `/NAME` it begins with, and the text without
/// that. Errors: the skill cannot be used, or nothing has this name: a slip of the pen is not worth a run.
pub fn said(text: String, spec: &Spec, shelf: Option<&Shelf>) -> Result<(Option<Mail>, String), Error> {
    if let Some((skill, rest)) = select_named(&text, spec, shelf)? {
        return Ok((Some(skill), rest));
    }
    match no_such_name(&text, Path::new(spec.source()), shelf.filter(|_| !spec.skills.off)) {
        Some(why) => Err(Error::about("task", format!("{why}; put another word before it if the agent is to read it"))),
        None => Ok((None, text)),
    }
}

/// What a person says who begins with `/NAME` of a skill: the mail that loads it, and what is said besides. `None`: the words name no
/// skill. Errors: it cannot be read, or may not be used.
pub fn select_named(text: &str, spec: &Spec, shelf: Option<&Shelf>) -> Result<Option<(Mail, String)>, Error> {
    let text = text.trim_start();
    let Some(words) = text.strip_prefix('/') else { return Ok(None) };
    let (name, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let Some(shelf) = shelf.filter(|_| !name.is_empty() && !name.contains('/') && !spec.skills.off) else {
        return Ok(None);
    };
    let refused = |why: String| Error::new(ErrorKind::Refused, why);
    let found = shelf.read(Path::new(spec.source()));
    let is_known = |skill: &&Skill| skill.card.name == name;
    if !found.skills.iter().chain(&found.untrusted).any(|skill| is_known(&skill)) {
        return Ok(None);
    }
    let skill = found.choose(name, None).map_err(|why| refused(with_help(&found, name, &why.to_string())))?;
    if !is_allowed(&spec.skills, skill) {
        let of = match said_by(spec) {
            Some(preset) => format!("the preset {}", preset.name),
            None => "this run (--skill)".into(),
        };
        return Err(refused(format!("the skill {name} is not among those of {of}")));
    }
    let rest = rest.trim();
    let reason = if rest.is_empty() { "asked for by its name" } else { rest };
    let reason: String = reason.chars().take(200).collect();
    let skill = selected(skill, SkillBy::Person, &reason).map_err(|why| refused(why.to_string()))?;
    let said = if rest.is_empty() { format!("Follow the skill {name} now.") } else { rest.into() };
    Ok(Some((Mail::SelectSkill { skill: Box::new(skill) }, said)))
}
