//! Which entries of workspaces the person has approved. A repository is hostile: its `.mcp.json` names programs that would
//! run with the person's own rights.

use crate::config::Configured;
use crate::error::{FileError, FileProblem};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The entries that were approved, in a file beside the person's configuration, which no tool may touch.
#[derive(Clone, Debug)]
pub struct Trust {
    file: PathBuf,
}

#[derive(Default, Serialize, Deserialize)]
struct Approvals {
    approved: Vec<Approval>,
}

#[derive(Serialize, Deserialize)]
struct Approval {
    /// Of the workspace, the name and the whole entry: what was changed is not approved.
    hash: String,
    /// For people.
    workspace: PathBuf,
    server: String,
}

impl Trust {
    /// The approvals beside a configuration.
    pub fn new(config_dir: &Path) -> Trust {
        Trust { file: config_dir.join("mcp-trust.json") }
    }

    /// Whether a server may start in this workspace: it is the person's own, or was approved as it is. Errors: the file
    /// cannot be read.
    pub fn has(&self, workspace: &Path, server: &Configured) -> Result<bool, FileError> {
        if !server.foreign {
            return Ok(true);
        }
        let hash = hash(workspace, server);
        Ok(self.read()?.approved.iter().any(|approval| approval.hash == hash))
    }

    /// Approves a server for this workspace, as it is. Errors: the file cannot be written.
    pub fn add(&self, workspace: &Path, server: &Configured) -> Result<(), FileError> {
        let mut approvals = self.read()?;
        let hash = hash(workspace, server);
        if approvals.approved.iter().any(|approval| approval.hash == hash) {
            return Ok(());
        }
        approvals.approved.push(Approval { hash, workspace: workspace.into(), server: server.name.clone() });
        let folder = self.file.parent().unwrap_or(Path::new("."));
        let write = || -> Result<(), FileProblem> {
            let text = serde_json::to_string_pretty(&approvals)?;
            std::fs::create_dir_all(folder)?;
            // Whole or not at all.
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(text.as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(&self.file).map_err(std::io::Error::from)?;
            Ok(())
        };
        write().map_err(|problem| self.unusable(problem))
    }

    fn read(&self) -> Result<Approvals, FileError> {
        match std::fs::read_to_string(&self.file) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| self.unusable(error)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Approvals::default()),
            Err(error) => Err(self.unusable(error)),
        }
    }

    fn unusable(&self, problem: impl Into<FileProblem>) -> FileError {
        FileError { file: self.file.clone(), problem: problem.into() }
    }
}

fn hash(workspace: &Path, server: &Configured) -> String {
    let entry = serde_json::to_string(&server.entry).unwrap_or_default();
    let mut digest = Sha256::new();
    for piece in [workspace.as_os_str().as_encoded_bytes(), server.name.as_bytes(), entry.as_bytes()] {
        digest.update((piece.len() as u64).to_le_bytes());
        digest.update(piece);
    }
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
