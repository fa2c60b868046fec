//! What tests came to against models before: `baseline.toml` in the folder of the tests. People read it, and a repository keeps it.

use super::folder::{text, toml_problem};
use super::names::{BASELINE, tests_folder};
use crate::Error;
use crate::intervals::Share;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The version of the file that this code writes and reads.
const FORMAT: u32 = 1;
/// How it begins.
const HEAD: &str = "\
# How often tests passed against models: `mainpath test run --live` is held to it, and fails where a test passes less often than chance
# explains. Written by --save-baseline.

";

/// What tests came to before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    format: u32,
    /// By model.
    #[serde(default, rename = "model", skip_serializing_if = "Vec::is_empty")]
    models: Vec<ModelBaseline>,
}

/// What tests came to with a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelBaseline {
    model: String,
    /// When it was written last.
    saved: String,
    /// How often each test passed.
    #[serde(default)]
    tests: BTreeMap<String, Share>,
}

impl Default for Baseline {
    fn default() -> Baseline {
        Baseline { format: FORMAT, models: Vec::new() }
    }
}

impl Baseline {
    /// That of a project; an empty one where there is none. Errors: file, line, what is wrong.
    pub fn read(project: &Path) -> Result<Baseline, Error> {
        let folder = tests_folder(project)?;
        let file = folder.join(BASELINE);
        if file.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
            return Ok(Baseline::default());
        }
        let text = text(&folder, BASELINE)?;
        let read: Baseline = toml::from_str(&text).map_err(|error| toml_problem(&file, &text, &error))?;
        let bad = |what: String| Error::failed(format!("{}: {what}", file.display()));
        if read.format != FORMAT {
            return Err(bad(format!("it has the format {}, and this Mainpath reads {FORMAT}", read.format)));
        }
        for (at, ModelBaseline { model, tests, .. }) in read.models.iter().enumerate() {
            if read.models.iter().take(at).any(|other| other.model == *model) {
                return Err(bad(format!("it has the model {model} twice")));
            }
            if let Some((name, _)) = tests.iter().find(|(_, share)| share.of == 0) {
                return Err(bad(format!("the test {name} with {model} was run 0 times: remove it")));
            }
            if let Some((name, share)) = tests.iter().find(|(_, share)| share.passed > share.of) {
                let Share { passed, of } = share;
                return Err(bad(format!("the test {name} with {model} cannot have passed {passed} times of {of}")));
            }
        }
        Ok(read)
    }

    /// How often a test passed with a model; `None`: that is not known.
    pub fn of(&self, model: &str, test: &str) -> Option<Share> {
        let of = self.models.iter().find(|of| of.model == model)?;
        of.tests.get(test).copied()
    }

    /// Notes how often a test passed with a model, in the place of what was known.
    pub fn note(&mut self, model: &str, test: &str, share: Share, now: &str) {
        let at = self.models.iter().position(|of| of.model == model);
        let at = at.unwrap_or_else(|| {
            self.models.push(ModelBaseline { model: model.into(), saved: String::new(), tests: BTreeMap::new() });
            self.models.len() - 1
        });
        if let Some(of) = self.models.get_mut(at) {
            of.saved = now.into();
            of.tests.insert(test.into(), share);
        }
    }

    /// Writes it. Gives the file. Errors: it cannot be written.
    pub fn write(&self, project: &Path) -> Result<PathBuf, Error> {
        let folder = tests_folder(project)?;
        let file = folder.join(BASELINE);
        let bad =
            |error: &dyn std::fmt::Display| Error::failed(format!("{} cannot be written: {error}", file.display()));
        let text = toml::to_string_pretty(self).map_err(|error| bad(&error))?;
        let mut part = tempfile::Builder::new().prefix(".part-").tempfile_in(&folder).map_err(|error| bad(&error))?;
        std::io::Write::write_all(&mut part, format!("{HEAD}{text}").as_bytes()).map_err(|error| bad(&error))?;
        // A file of a repository, which others read as well.
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        part.as_file().set_permissions(mode).map_err(|error| bad(&error))?;
        part.persist(&file).map_err(|error| bad(&error.error))?;
        Ok(file)
    }
}
