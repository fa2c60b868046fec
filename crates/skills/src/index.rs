//! All skills that can be found, without their bodies.

use crate::builtin::BUILTIN;
use crate::open::{Problem, open_file_in, open_folder, open_folder_in, open_regular, read_start};
use crate::roots::{self, Layer, Places, Root};
use crate::skill::{Card, Location, Named, Shadowed, Skill, Standing, read_card};
use crate::trust::{Trusted, Untrusted, content_hash, stamp};
use crate::walk::{Found, Skipped, Stamp, Walk};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The most skills that are listed.
pub const MOST_SKILLS: usize = 10_000;
/// How much of each file is read to list it, in bytes.
pub const METADATA_BYTES: u64 = 64 << 10;

/// The skills that were found, each list with the first place first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skills {
    /// Those that count, one of each name.
    pub skills: Vec<Skill>,
    /// Those that one of the same name hides.
    pub shadowed: Vec<Skill>,
    /// Those of the project that the person has not trusted. They hide nothing.
    pub untrusted: Vec<Skill>,
    /// What looked like a skill and could not be read.
    pub skipped: Vec<Skipped>,
}

/// What was read before, so that what has not changed is not read again. Keep it where no tool may write: trusted hashes are in
/// it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Known {
    files: HashMap<PathBuf, KnownFile>,
    hashes: HashMap<PathBuf, KnownHash>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct KnownFile {
    stamp: Stamp,
    read: Result<Card, Option<String>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct KnownHash {
    stamp: String,
    hash: String,
}

/// Why no skill of a name can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSkill {
    /// None has this name.
    #[error("there is no skill {name:?}")]
    Unknown {
        /// The name.
        name: String,
    },
    /// None of this source has this name.
    #[error("there is no skill {name:?} of the source {}; it is there from {}", .source_asked.name(), names(.possible))]
    NotFromThere {
        /// The name.
        name: String,
        /// The source that was asked for.
        source_asked: Layer,
        /// The sources that have one.
        possible: Vec<Layer>,
    },
    /// It is a project's, and not trusted.
    #[error("the skill {name:?} of this project cannot be used: {why}")]
    Untrusted {
        /// The name.
        name: String,
        /// Why.
        why: Untrusted,
    },
}

fn names(layers: &[Layer]) -> String {
    layers.iter().map(|layer| layer.name()).collect::<Vec<_>>().join(", ")
}

impl Skills {
    /// Looks for skills. It never fails: what cannot be read is among the skipped.
    pub fn read(places: &Places) -> Skills {
        Skills::read_known(places, &mut Known::default())
    }

    /// The same, with what is known from before. Afterwards it knows what was found now, and nothing else.
    pub fn read_known(places: &Places, known: &mut Known) -> Skills {
        let mut reading = Reading {
            trusted: &places.trusted,
            before: std::mem::take(known),
            now: Known::default(),
            walk: Walk::new(),
            found: Skills::default(),
            names: HashMap::new(),
        };
        let roots = roots::find(places);
        for refused in roots.refused {
            reading.skip(&refused.path, refused.why);
        }
        roots.roots.iter().for_each(|root| reading.read_root(root));
        places.builtin.iter().for_each(|text| reading.read_builtin(text));
        let Reading { now, walk, mut found, .. } = reading;
        found.skipped.extend(walk.skipped);
        *known = now;
        found
    }

    /// The skill of a name; with a source, that source's, also where another one hides it. Errors: there is none, or it does not
    /// count.
    pub fn choose(&self, name: &str, source: Option<Layer>) -> Result<&Skill, NoSkill> {
        let has_name = |skill: &&Skill| skill.card.name == name;
        let mut of_name = self.skills.iter().chain(&self.shadowed).filter(has_name);
        let is_asked = |layer: Layer| source.is_none_or(|source| source == layer);
        if let Some(skill) = of_name.clone().find(|skill| is_asked(skill.layer)) {
            return Ok(skill);
        }
        let untrusted = self.untrusted.iter().filter(has_name).find(|skill| is_asked(skill.layer));
        if let Some(Skill { standing: Standing::Untrusted(why), .. }) = untrusted {
            return Err(NoSkill::Untrusted { name: name.into(), why: why.clone() });
        }
        match (source, of_name.next()) {
            (Some(source_asked), Some(first)) => {
                let mut possible: Vec<Layer> =
                    [first.layer].into_iter().chain(of_name.map(|skill| skill.layer)).collect();
                possible.sort_unstable();
                possible.dedup();
                Err(NoSkill::NotFromThere { name: name.into(), source_asked, possible })
            }
            _ => Err(NoSkill::Unknown { name: name.into() }),
        }
    }

    /// Those that a model may choose by itself.
    pub fn for_models(&self) -> impl Iterator<Item = &Skill> {
        self.skills.iter().filter(|skill| !skill.card.front.disable_model_invocation)
    }
}

/// One reading of all places.
struct Reading<'p> {
    trusted: &'p Trusted,
    before: Known,
    now: Known,
    walk: Walk,
    found: Skills,
    /// Which skill has a name.
    names: HashMap<String, usize>,
}

impl Reading<'_> {
    fn read_root(&mut self, root: &Root) {
        for found in self.walk.look(root) {
            // Two links may lead to one file.
            if self.now.files.contains_key(&found.file) {
                continue;
            }
            if self.now.files.len() >= MOST_SKILLS {
                self.skip(&root.path, format!("there are more than {MOST_SKILLS} skills; the rest was not read"));
                return;
            }
            let card = match self.card(root, &found) {
                Ok(card) => card,
                Err(None) => continue,
                Err(Some(why)) => {
                    self.skip(&found.file, why);
                    continue;
                }
            };
            let location = match found.folder {
                Some(folder) => Location::Folder { folder, file: file_name(&found.file).into() },
                None => Location::File(found.file),
            };
            let standing = match (root.layer, location.place()) {
                (Layer::Project, Some(place)) => self.standing(place),
                _ => Standing::Own,
            };
            let root_path = Some(root.path.clone());
            self.add(Skill { card, layer: root.layer, root: root_path, location, standing, shadows: Vec::new() });
        }
    }

    fn read_builtin(&mut self, text: &str) {
        // Those that come with Mainpath are read once.
        static CARDS: LazyLock<Vec<Result<Card, Option<String>>>> =
            LazyLock::new(|| BUILTIN.iter().map(|text| read_card(text, Named::Nothing, true)).collect());
        let known = BUILTIN.iter().position(|own| *own == text).and_then(|at| CARDS.get(at)).cloned();
        match known.unwrap_or_else(|| read_card(text, Named::Nothing, true)) {
            Ok(card) => self.add(Skill {
                card,
                layer: Layer::Builtin,
                root: None,
                location: Location::Builtin(text.into()),
                standing: Standing::Own,
                shadows: Vec::new(),
            }),
            Err(why) => self.skip(Path::new("built-in skill"), why.unwrap_or_default()),
        }
    }

    fn add(&mut self, skill: Skill) {
        if let Standing::Untrusted(_) = skill.standing {
            self.found.untrusted.push(skill);
            return;
        }
        match self.names.get(&skill.card.name).and_then(|place| self.found.skills.get_mut(*place)) {
            Some(winner) => {
                winner.shadows.push(Shadowed { layer: skill.layer, place: skill.location.place().map(PathBuf::from) });
                self.found.shadowed.push(skill);
            }
            None => {
                self.names.insert(skill.card.name.clone(), self.found.skills.len());
                self.found.skills.push(skill);
            }
        }
    }

    /// What the file says, read again only if it has changed.
    fn card(&mut self, root: &Root, found: &Found) -> Result<Card, Option<String>> {
        let before = self.before.files.remove(&found.file).filter(|known| known.stamp == found.stamp);
        let known = before.unwrap_or_else(|| KnownFile { stamp: found.stamp, read: read_metadata(root, found) });
        let card = known.read.clone();
        self.now.files.insert(found.file.clone(), known);
        card
    }

    fn standing(&mut self, place: &Path) -> Standing {
        let Some(trusted) = self.trusted.hash(place) else { return Standing::Untrusted(Untrusted::NotYet) };
        match self.hash(place) {
            Ok(hash) if hash == trusted => Standing::Trusted { hash },
            Ok(_) => Standing::Untrusted(Untrusted::Changed),
            Err(why) => Standing::Untrusted(why),
        }
    }

    fn hash(&mut self, place: &Path) -> Result<String, Untrusted> {
        // Before the bytes are read: what changes meanwhile is read again next time.
        let stamp = stamp(place)?;
        let known = self.before.hashes.remove(place).filter(|known| known.stamp == stamp);
        let known = match known {
            Some(known) => known,
            None => KnownHash { stamp, hash: content_hash(place)? },
        };
        let hash = known.hash.clone();
        self.now.hashes.insert(place.into(), known);
        Ok(hash)
    }

    fn skip(&mut self, path: &Path, why: impl Into<String>) {
        self.found.skipped.push(Skipped { path: path.into(), why: why.into() });
    }
}

fn read_metadata(root: &Root, found: &Found) -> Result<Card, Option<String>> {
    let bytes = open_found(root, found).and_then(|file| read_start(file, METADATA_BYTES));
    let bytes = bytes.map_err(|problem| Some(problem.to_string()))?;
    let is_whole = (bytes.len() as u64) < METADATA_BYTES;
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        // The last character was cut.
        Err(error) if !is_whole && error.error_len().is_none() => {
            let whole = bytes.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(whole).map_err(|_| Some(Problem::NotText.to_string()))?
        }
        Err(_) => return Err(Some(Problem::NotText.to_string())),
    };
    let named = match &found.folder {
        Some(folder) => Named::Folder(file_name(folder)),
        None => Named::File(file_name(&found.file).strip_suffix(".md").unwrap_or_default()),
    };
    read_card(text, named, is_whole)
}

/// In a project nothing is opened through a link that was not looked at: it could have been made since.
fn open_found(root: &Root, found: &Found) -> Result<File, Problem> {
    if root.layer != Layer::Project {
        return open_regular(&found.file);
    }
    let inside = found.file.strip_prefix(&root.real).map_err(|_| Problem::Outside)?;
    let mut here = open_folder(&root.real)?;
    let mut steps = inside.iter();
    let last = steps.next_back().ok_or(Problem::Outside)?;
    for step in steps {
        here = open_folder_in(&here, step)?;
    }
    open_file_in(&here, last)
}

/// The last part of a path; every path here is text.
fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}
