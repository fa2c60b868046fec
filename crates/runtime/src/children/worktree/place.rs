//! Where worktrees and what is known of them lie.

use super::problem::{Problem, aside};
use crate::prompt::prefix::hex;
use mainpath_store::create_private_parent;
use mainpath_types::TraceId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Where the worktrees of children are.
#[derive(Clone, Debug)]
pub struct Worktrees {
    /// The folder of the worktrees. Tools may write in them, so it is none of Mainpath's own.
    pub trees: PathBuf,
    /// The folder of what is known of them, which no tool may touch.
    pub records: PathBuf,
}

/// Where the worktree of a child is.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The worktree. Its entry in the repository has the same name.
    pub tree: PathBuf,
    /// An index beside that of the parent.
    pub index: PathBuf,
    /// What is known of it.
    pub record: PathBuf,
    /// Its name.
    pub name: String,
}

/// What is known of a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    /// The folder of the repository, which has an entry for the worktree.
    pub common: PathBuf,
    /// The child's workspace in it, from its top on; empty if it is the top.
    pub below: PathBuf,
    /// The tree that the child began with; `None` until the worktree is whole.
    pub base: Option<String>,
    /// Whether it stays, as what was changed in it could not be handed back.
    #[serde(default)]
    pub kept: bool,
}

impl Worktrees {
    /// The place of a child's worktree.
    pub(crate) fn of(&self, child: &TraceId) -> Place {
        let mut name = hex(&Sha256::digest(child.as_str()));
        name.truncate(20);
        Place {
            tree: self.trees.join(&name),
            index: self.trees.join(format!("{name}.index")),
            record: self.records.join(format!("{name}.json")),
            name,
        }
    }
}

impl Place {
    /// What is known of the worktree, if there is one.
    pub async fn read(&self) -> Result<Option<Record>, Problem> {
        let file = self.record.clone();
        aside(move || match std::fs::read(&file) {
            Ok(text) => Ok(Some(serde_json::from_slice(&text).map_err(std::io::Error::other)?)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        })
        .await
    }

    /// Whether its folder is there.
    pub async fn is_there(&self) -> bool {
        let tree = self.tree.clone();
        aside(move || Ok(tree.is_dir())).await.unwrap_or(false)
    }

    /// Notes what is known of it, as a whole.
    pub async fn write(&self, record: &Record) -> Result<(), Problem> {
        let (file, text) = (self.record.clone(), serde_json::to_vec(record).map_err(std::io::Error::other)?);
        aside(move || {
            create_private_parent(&file)?;
            let part = file.with_extension("part");
            let options = &mut std::fs::OpenOptions::new();
            let mut new = options.write(true).create(true).truncate(true).mode(0o600).open(&part)?;
            std::io::Write::write_all(&mut new, &text)?;
            new.sync_all()?;
            std::fs::rename(&part, &file)
        })
        .await
    }

    /// The child's workspace.
    pub fn workspace(&self, record: &Record) -> PathBuf {
        if record.below == Path::new("") { self.tree.clone() } else { self.tree.join(&record.below) }
    }

    /// Its entry in the repository, while it is made or removed.
    pub fn part(&self, record: &Record) -> PathBuf {
        record.common.join(format!("mainpath-{}.part", self.name))
    }

    /// Its entry in the repository.
    pub fn entry(&self, record: &Record) -> PathBuf {
        record.common.join("worktrees").join(&self.name)
    }
}
