//! A skill as it is listed: its metadata, and where its body is.

use crate::finding::Finding;
use crate::front::{Front, line_feeds, read_text};
use crate::markdown::{first_paragraph, headings};
use crate::names::{normalize, strip};
use crate::roots::Layer;
use crate::trust::{Untrusted, content_hash};
use crate::validate::{LONGEST_DESCRIPTION, LONGEST_NAME};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The most headings that are kept of a body, for the search.
const MOST_HEADINGS: usize = 40;

/// A skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// What it says about itself.
    pub card: Card,
    /// Whose it is.
    pub layer: Layer,
    /// The folder of skills that it was found in; nothing for one that is built in.
    pub root: Option<PathBuf>,
    /// Where its text is.
    pub location: Location,
    /// Whether it counts.
    pub standing: Standing,
    /// The skills of the same name that it hides.
    pub shadows: Vec<Shadowed>,
}

/// What is known of a skill without its body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// Its name: on one line, not empty, at most [`LONGEST_NAME`] characters.
    pub name: String,
    /// What it does and when to use it: not empty, at most [`LONGEST_DESCRIPTION`] characters.
    pub description: String,
    /// Its front matter, as it was read.
    pub front: Front,
    /// Headings of its body, as far as it was read.
    pub headings: Vec<String>,
    /// What is off.
    pub findings: Vec<Finding>,
}

/// Where a skill's text is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A folder with a file in it.
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The name of the file.
        file: String,
    },
    /// A file by itself.
    File(PathBuf),
    /// In the program.
    Builtin(String),
}

impl Location {
    /// The skill's folder, or the file of one that has none: what is trusted.
    pub fn place(&self) -> Option<&Path> {
        match self {
            Location::Folder { folder, .. } => Some(folder),
            Location::File(file) => Some(file),
            Location::Builtin(_) => None,
        }
    }
}

/// Whether a skill counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The person's own, or built in.
    Own,
    /// A project's, and what is in it has this hash, which the person trusts.
    Trusted {
        /// See [`crate::content_hash`].
        hash: String,
    },
    /// A project's, and not trusted.
    Untrusted(Untrusted),
}

impl Skill {
    /// Why a project's skill does not count, looked at closely: one that nobody has trusted may be such that it cannot be.
    pub fn distrust(&self) -> Option<Untrusted> {
        let Standing::Untrusted(known) = &self.standing else { return None };
        let found = self.location.place().map(content_hash);
        Some(match found {
            Some(Err(why)) => why,
            Some(Ok(_)) | None => known.clone(),
        })
    }
}

/// A skill that is hidden by one of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shadowed {
    /// Whose it is.
    pub layer: Layer,
    /// Its folder or file; nothing for one that is built in.
    pub place: Option<PathBuf>,
}

/// What the beginning of a skill's file says. Errors: name or description cannot be known; why, or `None` if it was never meant to
/// be a skill.
pub(crate) fn read_card(text: &str, named: Named<'_>, is_whole: bool) -> Result<Card, Option<String>> {
    let text = line_feeds(text);
    let read = read_text(&text);
    let mut findings = read.findings;
    let is_flat = matches!(named, Named::File(_));
    // Any Markdown may lie there, a README most often.
    if is_flat && !text.trim_start_matches('\u{feff}').starts_with("---") {
        return Err(None);
    }
    let place = named.text().unwrap_or_default();
    let name = match &read.front.name {
        Some(name) => normalize(name),
        None if place.is_empty() => return Err(Some("it has no name".into())),
        None => {
            let of = if is_flat { "file" } else { "folder" };
            findings.push(Finding::warning(None, format!("it has no name; it is called as its {of}, {place}")));
            normalize(place)
        }
    };
    if name.chars().any(|c| c.is_control() || matches!(c, '/' | '\u{2028}' | '\u{2029}')) {
        return Err(Some(format!("the name {name:?} cannot be used")));
    }
    let length = name.chars().count();
    if length > LONGEST_NAME {
        return Err(Some(format!("its name has {length} characters; the most is {LONGEST_NAME}")));
    }
    if let Named::Folder(folder) = named
        && normalize(folder) != name
    {
        findings.push(Finding::warning(None, format!("the name {name:?} is not that of its folder, {folder:?}")));
    }
    let mut description = match &read.front.description {
        Some(description) => description.clone(),
        None => {
            let first = first_paragraph(read.body);
            if first.is_empty() || is_flat {
                let end = if is_whole { "" } else { " in its first 64 KiB" };
                return Err(Some(format!("it has no description{end}")));
            }
            findings.push(Finding::warning(None, "it has no description; its first paragraph is taken"));
            first
        }
    };
    let length = description.chars().count();
    if length > LONGEST_DESCRIPTION {
        let text = format!("the description has {length} characters; the first {LONGEST_DESCRIPTION} are used");
        findings.push(Finding::warning(None, text));
        description = strip(&description.chars().take(LONGEST_DESCRIPTION).collect::<String>()).into();
    }
    let headings = headings(read.body).iter().take(MOST_HEADINGS).map(|heading| heading.text.to_string()).collect();
    // Kept once: the card has them.
    let front = Front { name: read.front.name.filter(|own| *own != name), description: None, ..read.front };
    Ok(Card { name, description, front, headings, findings })
}

/// What a skill is called by its place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Named<'n> {
    /// The name of its folder.
    Folder(&'n str),
    /// The name of its file, without `.md`.
    File(&'n str),
    /// It has no place.
    Nothing,
}

impl<'n> Named<'n> {
    fn text(self) -> Option<&'n str> {
        match self {
            Named::Folder(name) | Named::File(name) => Some(name),
            Named::Nothing => None,
        }
    }
}
