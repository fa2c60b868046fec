//! Where skills are looked for: in the project, in the person's home, and in what is built in.

use crate::trust::Trusted;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The folders of skills in a project and in a home, the first one first.
const NAMES: [&str; 4] = [".mainpath/skills", ".agents/skills", ".claude/skills", "skills"];
/// A further one in a home.
const MSGCODE: &str = ".config/msgcode/skills";

/// Whose skills they are. The smaller one wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// The project's: anybody may have written them, so they count only when trusted.
    Project,
    /// The person's own.
    User,
    /// Those that come with the program.
    Builtin,
}

impl Layer {
    /// Its name for people and in calls.
    pub fn name(self) -> &'static str {
        match self {
            Layer::Project => "project",
            Layer::User => "user",
            Layer::Builtin => "builtin",
        }
    }
}

/// Where to look. Nothing else is looked at: no environment, no current folder.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The folder that is worked in.
    pub workspace: Option<PathBuf>,
    /// The person's home.
    pub home: Option<PathBuf>,
    /// Texts of `SKILL.md` that come with the program, such as [`crate::BUILTIN`].
    pub builtin: Vec<String>,
    /// Which skills of projects the person has trusted.
    pub trusted: Trusted,
}

/// A folder with skills in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Whose it is.
    pub layer: Layer,
    /// Where it is, as it was named.
    pub path: PathBuf,
    /// The folder itself, behind every link.
    pub real: PathBuf,
}

/// A folder that is not read, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub path: PathBuf,
    pub why: &'static str,
}

/// The folders of skills that exist, the first one first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Roots {
    pub roots: Vec<Root>,
    pub refused: Vec<Refused>,
}

/// The folders of skills that exist, the first one first: from the workspace up to the repository's root, then the home.
pub fn roots(places: &Places) -> Vec<Root> {
    find(places).roots
}

pub(crate) fn find(places: &Places) -> Roots {
    let mut found = Roots::default();
    let workspace = places.workspace.as_ref().and_then(|workspace| workspace.canonicalize().ok());
    let home = places.home.as_ref().and_then(|home| home.canonicalize().ok());
    let in_home = home.iter().flat_map(|home| NAMES.into_iter().chain([MSGCODE]).map(|name| home.join(name)));
    let user: Vec<Root> = in_home.filter_map(|path| root(Layer::User, path)).collect();
    let folders = workspace.as_deref().map(project_folders).unwrap_or_default();
    for path in folders.iter().flat_map(|folder| NAMES.map(|name| folder.join(name))) {
        let Some(root) = root(Layer::Project, path) else { continue };
        // A home can lie in a repository, or be worked in: its skills stay the person's own.
        if user.iter().chain(&found.roots).any(|known| known.real == root.real) {
            continue;
        }
        if folders.last().is_some_and(|top| root.real.starts_with(top)) {
            found.roots.push(root);
        } else {
            found.refused.push(Refused { path: root.path, why: "it is a link that leads out of the project" });
        }
    }
    for root in user {
        if found.roots.iter().all(|known| known.real != root.real) {
            found.roots.push(root);
        }
    }
    found
}

fn root(layer: Layer, path: PathBuf) -> Option<Root> {
    // Most of them are not there, which is sooner known than where they lead.
    let real = path.is_dir().then(|| path.canonicalize().ok())??;
    Some(Root { layer, path, real })
}

/// The folders from the workspace up to the repository's root, which has a `.git`; without one, the workspace alone.
fn project_folders(workspace: &Path) -> Vec<PathBuf> {
    let top = workspace.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok()).unwrap_or(workspace);
    workspace.ancestors().take_while(|folder| folder.starts_with(top)).map(PathBuf::from).collect()
}
