//! The presets that there are in a workspace.

use super::builtin::builtin;
use super::fields::Known;
use super::places::find;
use super::preset::{Layer, Listed, Preset};
use super::read::presets_of;
use super::trust::{AGENTS, Trusted};
use crate::Remedy;
use crate::{Error, ErrorKind, Home};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

/// Whether a preset can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "PresetStanding")]
pub enum Standing {
    /// It can.
    Ready,
    /// It is a repository's, and nobody has trusted it as it is.
    Untrusted,
    /// Something in it is wrong.
    Faulty,
}

impl Listed {
    /// Whether it can be used.
    pub fn standing(&self) -> Standing {
        match (self.distrust, self.faults.as_slice()) {
            (Some(_), _) => Standing::Untrusted,
            (None, []) => Standing::Ready,
            (None, _) => Standing::Faulty,
        }
    }

    /// The first thing in it that is wrong, with its place, and how many more there are.
    fn fault(&self) -> Option<String> {
        let (first, more) = self.faults.split_first()?;
        let more = if more.is_empty() { String::new() } else { format!(" (and {} more)", more.len()) };
        Some(format!("{}{more}", self.told(first)))
    }
}

/// The presets that there are in a workspace.
#[derive(Clone, Debug, Default)]
pub struct Presets {
    /// They: the first of a name counts, untrusted ones count for nothing.
    pub listed: Vec<Listed>,
    /// Files that hold none and were thought to, in a line each.
    pub passed_over: Vec<String>,
}

impl Presets {
    /// Looks for them. Errors: which ones are trusted cannot be read.
    pub(super) fn find(workspace: &Path, home: &Home, known: &Known<'_>) -> Result<Presets, Error> {
        let trusted = Trusted::read(home, AGENTS)?;
        let places = find(workspace, home);
        let mut presets = Presets { listed: Vec::new(), passed_over: places.passed_over };
        for place in &places.places {
            match presets_of(place, &trusted, known) {
                Ok(found) => found.into_iter().for_each(|listed| presets.add(listed)),
                Err(error) => presets.passed_over.push(error.to_string()),
            }
        }
        for preset in builtin() {
            let (hash, shadows, faults, notes) = Default::default();
            presets.add(Listed {
                preset,
                layer: Layer::Builtin,
                file: None,
                hash,
                distrust: None,
                faults,
                notes,
                shadows,
            });
        }
        Ok(presets)
    }

    fn add(&mut self, listed: Listed) {
        let counts = |known: &&mut Listed| known.distrust.is_none() && known.preset.name == listed.preset.name;
        match self.listed.iter_mut().find(counts).filter(|_| listed.distrust.is_none()) {
            Some(winner) => winner.shadows.push(listed.preset.source),
            None => self.listed.push(listed),
        }
    }

    /// What is known by a name, whether it can be used or not: the one that counts, else one that nobody has trusted. Errors: there is
    /// none.
    pub fn get(&self, name: &str) -> Result<&Listed, Error> {
        let named = || self.listed.iter().filter(|listed| listed.preset.name == name);
        let found = named().find(|listed| listed.distrust.is_none()).or_else(|| named().next());
        found.ok_or_else(|| {
            // A project's that nobody has trusted stands beside the one that counts.
            let mut names: Vec<&str> = self.listed.iter().map(|listed| listed.preset.name.as_str()).collect();
            let mut seen = BTreeSet::new();
            names.retain(|name| seen.insert(*name));
            let near = names.iter().map(|known| (strsim::damerau_levenshtein(known, name), *known)).min();
            let hint = match near.filter(|(far, known)| *far <= 2 && far * 2 <= known.len()) {
                Some((_, near)) => format!("did you mean {near:?}?"),
                None => format!("they are: {}", names.join(", ")),
            };
            Error::invalid(format!("there is no preset {name:?}; {hint}"))
        })
    }

    /// The preset of this name, to be used. Errors: there is none, nobody has trusted it, or something in it is wrong.
    pub fn choose(&self, name: &str) -> Result<&Preset, Error> {
        let listed = self.get(name)?;
        // Nobody trusts what is to be mended first.
        if let Some(fault) = listed.fault() {
            return Err(Error::invalid(format!("the preset {name} cannot be used: {fault}")));
        }
        if let Some(why) = listed.distrust {
            let source = &listed.preset.source;
            let line = format!("the preset {name} ({source}) comes with this repository, and {}", why.words());
            return Err(Error::new(ErrorKind::Refused, line).with_remedy(Remedy::TrustPreset(name.into())));
        }
        Ok(&listed.preset)
    }

    /// Trusts the file of a repository's preset, as it was read. Gives the presets that it holds. Errors: there is nothing to trust,
    /// something in the preset is wrong, or nothing can be written.
    pub fn trust(&self, home: &Home, name: &str) -> Result<Vec<&Listed>, Error> {
        let found = self.listed.iter().find(|listed| listed.preset.name == name && listed.distrust.is_some());
        let Some(preset @ Listed { file: Some(file), hash, .. }) = found else {
            let listed = self.get(name)?;
            let why = match listed.layer {
                Layer::Project => "it is trusted already",
                Layer::User | Layer::Builtin => "it is not a repository's",
            };
            return Err(Error::invalid(format!("there is nothing to trust in the preset {name}: {why}")));
        };
        // Once it is mended it is another text, which needs trust anew.
        if let Some(fault) = preset.fault() {
            return Err(Error::invalid(format!("the preset {name} is faulty; mend it before you trust it: {fault}")));
        }
        Trusted::read(home, AGENTS)?.add(file, hash)?;
        Ok(self.listed.iter().filter(|listed| listed.file.as_ref() == Some(file)).collect())
    }

    /// Trusts it no longer; whether it was trusted. Errors: there is no such preset of a repository, or nothing can be written.
    pub fn distrust(&self, home: &Home, name: &str) -> Result<bool, Error> {
        let listed = self.get(name)?;
        match (&listed.file, listed.layer) {
            (Some(file), Layer::Project) => Trusted::read(home, AGENTS)?.remove(file),
            _ => Err(Error::invalid(format!("the preset {name} is not a repository's; it needs no trust"))),
        }
    }
}
