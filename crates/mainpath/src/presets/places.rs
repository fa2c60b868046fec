//! Where presets are looked for: from the workspace up to the repository's root, in the person's home, beside the configuration.

use super::formats::Form;
use super::preset::Layer;
use crate::Home;
use crate::agent::repository_root;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The folders of presets, the first one first.
const FOLDERS: [(&str, Form); 3] =
    [(".mainpath/agents", Form::Own), (".claude/agents", Form::Claude), (".codex/agents", Form::Codex)];
/// The files with several presets.
const TABLES: [&str; 3] = ["presets.json", "config/agents.yaml", "config/agents.yml"];
/// The most files of one folder that are read.
const MOST_FILES: usize = 1_000;

/// A file that may hold presets.
pub(super) struct Place {
    pub layer: Layer,
    pub file: PathBuf,
    pub form: Form,
}

/// The files, the first one first, and what is passed over, in a line each.
#[derive(Default)]
pub(super) struct Places {
    pub places: Vec<Place>,
    pub passed_over: Vec<String>,
    seen: BTreeSet<PathBuf>,
}

/// Looks for them. `workspace`: its real path.
pub(super) fn find(workspace: &Path, home: &Home) -> Places {
    // A home can lie in a repository: what is in it stays the person's own.
    let protected = home.protected();
    let is_protected = |real: &Path| protected.iter().any(|folder| real.starts_with(folder));
    let mut own = Places::default();
    if let Some(person) = &home.person {
        own.look_in(Layer::User, person);
    }
    own.look_at_folder(Layer::User, &home.config_dir().join("agents"), Form::Own);
    // Where a home is worked in, tools can write there: that is trusted like what a repository brings.
    for place in &mut own.places {
        let is_written =
            place.file.canonicalize().is_ok_and(|real| real.starts_with(workspace) && !is_protected(&real));
        place.layer = if is_written { Layer::Project } else { Layer::User };
    }
    let top = repository_root(workspace);
    let mut all = Places { seen: own.seen.clone(), ..Places::default() };
    for folder in workspace.ancestors().take_while(|folder| folder.starts_with(top)) {
        all.look_in(Layer::Project, folder);
    }
    let (inside, outside): (Vec<Place>, Vec<Place>) = all.places.into_iter().partition(|place| {
        let real = place.file.canonicalize().unwrap_or_default();
        place.layer != Layer::Project || real.starts_with(top) && !is_protected(&real)
    });
    let leads = |place: &Place| format!("{}: it is a link that leads out of the project", place.file.display());
    all.passed_over.extend(outside.iter().map(leads));
    all.places = inside;
    all.places.append(&mut own.places);
    all.passed_over.append(&mut own.passed_over);
    all
}

impl Places {
    fn look_in(&mut self, layer: Layer, folder: &Path) {
        for (name, form) in FOLDERS {
            self.look_at_folder(layer, &folder.join(name), form);
        }
        for name in TABLES {
            self.look_at_file(layer, folder.join(name), Form::Table);
        }
    }

    fn look_at_folder(&mut self, layer: Layer, folder: &Path, form: Form) {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            Err(error) => return self.passed_over.push(format!("{}: {error}", folder.display())),
        };
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|file| {
            let end = file.extension().and_then(|end| end.to_str());
            end == Some("md") || form == Form::Codex && end == Some("toml")
        });
        files.sort();
        if files.len() > MOST_FILES {
            self.passed_over.push(format!(
                "{}: of {} files the first {MOST_FILES} are read",
                folder.display(),
                files.len()
            ));
            files.truncate(MOST_FILES);
        }
        files.into_iter().for_each(|file| self.look_at_file(layer, file, form));
    }

    fn look_at_file(&mut self, layer: Layer, file: PathBuf, form: Form) {
        let Ok(real) = file.canonicalize() else { return };
        if self.seen.insert(real) {
            self.places.push(Place { layer, file, form });
        }
    }
}
