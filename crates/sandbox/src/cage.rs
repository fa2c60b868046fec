//! What a process is shut into, as data.

use crate::error::BoundsError;
use crate::guard::{Guard, begin, of_reading};
use crate::planted::Watch;
use crate::sockets::names_in;
use mainpath_types::{Confinement, FileAccess};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What a process is shut into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cage {
    pub(crate) bounds: Option<Bounds>,
}

/// The bounds of a cage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub confinement: Confinement,
    pub workspace: PathBuf,
    /// Mainpath's own files and folders, by the names that it uses.
    pub own: Vec<PathBuf>,
    /// Further folders that are seen inside, read-only: where temporary folders are the cage's own, they are set into these.
    pub shown: Vec<PathBuf>,
    /// What of the workspace is guarded; found when a command is started.
    pub guards: Vec<Guard>,
}

impl Cage {
    /// A cage around `workspace`, an absolute path without links, in which Mainpath's `own` files and folders do not exist.
    /// The first of them keeps, in `aside/`, what a command has left that other programs would run; see [`Planted`](crate::Planted).
    pub fn new(confinement: Confinement, workspace: impl Into<PathBuf>, own: Vec<PathBuf>) -> Cage {
        let (shown, guards) = (Vec::new(), Vec::new());
        Cage { bounds: Some(Bounds { confinement, workspace: workspace.into(), own, shown, guards }) }
    }

    /// The same, in which this folder is seen as well, read-only: an absolute path without links.
    pub fn showing(mut self, folder: impl Into<PathBuf>) -> Cage {
        if let Some(bounds) = &mut self.bounds {
            bounds.shown.push(folder.into());
        }
        self
    }

    /// No cage: the process may do whatever its user may. Only for what policy has allowed on a machine that cannot confine.
    pub fn open() -> Cage {
        Cage { bounds: None }
    }

    /// The same with what is to be guarded now, and what to compare with after the command.
    pub(crate) fn guarded(&self) -> (Cage, Option<Watch>) {
        let mut cage = self.clone();
        let Some(Bounds { confinement, workspace, own, guards, .. }) = &mut cage.bounds else { return (cage, None) };
        // With a network, a command reaches programs of the machine anyway.
        let sockets = || if confinement.network { BTreeSet::new() } else { names_in(workspace) };
        let mut watch = None;
        *guards = match confinement.files {
            FileAccess::ReadOnly => of_reading(workspace, own, &sockets()),
            FileAccess::WorkspaceWrite => {
                let (begun, guards) = begin(workspace, own, &sockets());
                watch = Some(begun);
                guards
            }
            FileAccess::Full => Vec::new(),
        };
        (cage, watch)
    }

    /// Whether it confines anything.
    pub fn is_closed(&self) -> bool {
        self.bounds.is_some()
    }
}

/// Whether a folder belongs to the system, so that nothing can be shut into it with the right to write there.
pub fn is_system(folder: &Path) -> bool {
    let taken =
        ["/", "/dev", "/dev/shm", "/proc", "/sys", "/run", "/etc", "/usr", "/bin", "/sbin", "/lib", "/boot", "/var"];
    taken.iter().any(|path| folder == Path::new(path))
        || ["/proc", "/sys"].iter().any(|path| folder.starts_with(path))
        // In shared memory people keep files of their own.
        || folder.starts_with("/dev") && !folder.starts_with("/dev/shm")
}

impl Bounds {
    /// Checks that these bounds can be kept. Errors: they cannot.
    pub fn check(&self) -> Result<(), BoundsError> {
        if is_system(&self.workspace) && self.confinement.files == FileAccess::WorkspaceWrite {
            return Err(BoundsError::SystemFolder(self.workspace.clone()));
        }
        match self.own.iter().find(|own| self.workspace.starts_with(own)) {
            Some(own) => Err(BoundsError::OwnFolder { workspace: self.workspace.clone(), own: own.clone() }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_and_mainpath_itself_are_no_workspaces() {
        let problem = |workspace: &str, files| {
            let own = vec!["/home/u/mp".into()];
            let confinement = Confinement { files, network: false };
            let bounds =
                Bounds { confinement, workspace: workspace.into(), own, shown: Vec::new(), guards: Vec::new() };
            bounds.check().err().map(|error| error.to_string())
        };
        let write = FileAccess::WorkspaceWrite;
        assert_eq!(problem("/", write).unwrap(), "/ belongs to the system and cannot be a workspace");
        assert!(problem("/proc/1", write).is_some() && problem("/dev/pts", write).is_some());
        assert!(problem("/dev/shm", write).is_some() && problem("/dev/shm/work", write).is_none());
        assert_eq!(problem("/", FileAccess::ReadOnly), None);
        assert_eq!(problem("/home/u", write), None);
        let inside = "the workspace /home/u/mp/x lies in Mainpath's own /home/u/mp";
        assert_eq!(problem("/home/u/mp/x", FileAccess::Full).unwrap(), inside);
    }
}
