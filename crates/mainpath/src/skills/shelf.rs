//! The skills that there are: found anew for each run, with what was read before kept beside the traces.

use crate::{Error, ErrorKind};
use mainpath_skills::{BUILTIN, Known, Places, Skill, Skills, Standing, Trusted, Untrusted};
use mainpath_store::{read_regular_text, write_private};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The skills of a host. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Shelf {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Where trust and what was read before are kept: no tool may write there.
    data: PathBuf,
    /// The person's home.
    home: Option<PathBuf>,
    /// Mainpath's own folders: no skill is read from there.
    builtin: Vec<String>,
    /// What was read before in this process, by workspace.
    known: Mutex<HashMap<PathBuf, Known>>,
}

/// Of so many workspaces it is remembered.
const MOST_KNOWN: usize = 16;

impl Shelf {
    /// The skills of workspaces, of this home, and those that come with Mainpath. `data`: Mainpath's own folder.
    pub fn new(data: &Path, home: Option<PathBuf>) -> Shelf {
        let builtin = BUILTIN.map(String::from).into();
        Shelf { inner: Arc::new(Inner { data: data.into(), home, builtin, known: Mutex::default() }) }
    }

    /// All skills for a workspace. It never fails: what cannot be read is among the skipped, and what is kept of earlier is not needed.
    pub fn read(&self, workspace: &Path) -> Skills {
        let Inner { home, builtin, .. } = &*self.inner;
        let trusted = self.trusted().unwrap_or_default();
        let places =
            Places { workspace: Some(workspace.into()), home: home.clone(), builtin: builtin.clone(), trusted };
        let known = self.known().get(workspace).cloned();
        let before = known.or_else(|| {
            let text = read_regular_text(&self.known_file(workspace)).ok()?;
            serde_json::from_str::<Known>(&text).ok()
        });
        let mut known = before.clone().unwrap_or_default();
        let found = Skills::read_known(&places, &mut known);
        if before.as_ref() != Some(&known) {
            // Only time is lost without it.
            let _ = serde_json::to_string(&known).map(|text| write(&self.known_file(workspace), &text));
        }
        let mut kept = self.known();
        if kept.len() >= MOST_KNOWN {
            kept.clear();
        }
        kept.insert(workspace.into(), known);
        drop(kept);
        found
    }

    fn known(&self) -> MutexGuard<'_, HashMap<PathBuf, Known>> {
        self.inner.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Trusts a project's skill as it is now. Errors: it is such that it cannot be trusted, or nothing can be written.
    pub fn trust(&self, skill: &Skill) -> Result<(), Error> {
        let mut trusting = self.trusting()?;
        trusting.trust(skill)?;
        trusting.save()
    }

    /// For trust in several at once. Errors: what is trusted cannot be read.
    pub fn trusting(&self) -> Result<Trusting<'_>, Error> {
        Ok(Trusting { shelf: self, trusted: self.trusted()? })
    }

    /// Trusts it no longer; whether it was trusted. Errors: nothing can be written.
    pub fn distrust(&self, skill: &Skill) -> Result<bool, Error> {
        let mut trusted = self.trusted()?;
        let known = skill.location.place().is_some_and(|place| trusted.distrust(place));
        self.save(&trusted)?;
        Ok(known)
    }

    fn trusted(&self) -> Result<Trusted, Error> {
        let file = self.trust_file();
        match read_regular_text(&file) {
            Ok(text) => {
                serde_json::from_str(&text).map_err(|error| Error::failed(format!("{}: {error}", file.display())))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Trusted::default()),
            Err(error) => Err(Error::of_io(&error, format!("{} cannot be read: {error}", file.display()))),
        }
    }

    fn save(&self, trusted: &Trusted) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(trusted).map_err(|error| Error::failed(error.to_string()))?;
        Ok(write(&self.trust_file(), &format!("{text}\n"))?)
    }

    fn trust_file(&self) -> PathBuf {
        self.inner.data.join("trusted-skills.json")
    }

    fn known_file(&self, workspace: &Path) -> PathBuf {
        let hash = Sha256::digest(workspace.as_os_str().as_encoded_bytes());
        let name: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        self.inner.data.join("skills").join(format!("{name}.json"))
    }
}

/// Trust that is being given.
pub struct Trusting<'a> {
    shelf: &'a Shelf,
    trusted: Trusted,
}

impl Trusting<'_> {
    /// Trusts a project's skill as it is now, once this is saved. Errors: it is such that it cannot be trusted.
    pub fn trust(&mut self, skill: &Skill) -> Result<(), Error> {
        let name = &skill.card.name;
        let Some(place) = skill.location.place().filter(|_| skill.standing != Standing::Own) else {
            return Err(Error::new(ErrorKind::Refused, format!("the skill {name} is no project's: it needs no trust")));
        };
        self.trusted.trust(place).map_err(|why: Untrusted| {
            Error::new(ErrorKind::Refused, format!("the skill {name} in {} cannot be trusted: {why}", place.display()))
        })
    }

    /// Makes it last. Errors: nothing can be written.
    pub fn save(self) -> Result<(), Error> {
        self.shelf.save(&self.trusted)
    }
}

/// Writes a file as a whole: whoever reads it meanwhile sees what was there before.
fn write(file: &Path, text: &str) -> std::io::Result<()> {
    write_private(file, text.as_bytes())
}
