//! What an agent has changed in a copy of a folder, and taking it into the folder.

use super::handle::Trace;
use super::read::ReadTrace;
use crate::{Error, launcher, spec_of};
use mainpath_sandbox::{Launcher, secret_variables};
use mainpath_tools::{Git, Patched, Workspace, try_patch, write_patched};
use mainpath_types::{ChildPatch, TraceId};
use std::path::PathBuf;
use std::sync::Arc;

/// What an agent that a trace has started has changed in a copy of the trace's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taking {
    /// The agent's trace.
    pub child: TraceId,
    /// The files.
    pub files: Vec<String>,
    /// A patch of git.
    pub patch: Vec<u8>,
    /// The folder that it is for.
    pub folder: String,
}

/// What came of taking it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Took {
    /// The files are changed.
    Taken,
    /// They were as they should be already.
    Already,
}

impl Taking {
    /// The changes of the agent whose id this is, or a unique part of it; of the only one with changes where nothing is said. Errors: there
    /// are none, or of several.
    pub async fn find(of: ReadTrace<'_>, child: Option<&str>) -> Result<Taking, Error> {
        let known = &of.state.children.patches;
        let fits = |patch: &&ChildPatch| child.is_none_or(|part| patch.child.as_str().contains(part));
        let found: Vec<&ChildPatch> = known.iter().filter(fits).collect();
        let list = |of: &[&ChildPatch]| of.iter().map(|patch| patch.child.as_str()).collect::<Vec<_>>().join(", ");
        let row = match (&found[..], child) {
            ([one], _) => *one,
            ([], _) if known.is_empty() => {
                return Err(Error::failed(format!("no agent of {} has changes to take", of.trace)));
            }
            ([], child) => {
                let all: Vec<&ChildPatch> = known.iter().collect();
                let child = child.unwrap_or_default();
                return Err(Error::failed(format!(
                    "no agent {child:?} of {} has changes to take; there are those of {}",
                    of.trace,
                    list(&all)
                )));
            }
            (several, _) => {
                return Err(Error::failed(format!(
                    "several agents have changes to take; name one of {}",
                    list(several)
                )));
            }
        };
        let patch = of.at().scoped().get_blob(&row.patch).await?;
        let folder = spec_of(of.log).map(|spec| spec.workspace.clone()).unwrap_or_default();
        Ok(Taking { child: row.child.clone(), files: row.files.clone(), patch, folder })
    }

    /// The patch as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.patch).into_owned()
    }

    /// Puts the changes into the folder: all of them or none. `protected`: Mainpath's own folders. Errors: they do not fit, or a file cannot
    /// be written.
    pub async fn run(&self, protected: Vec<PathBuf>) -> Result<Took, Error> {
        self.run_with(&launcher::own(), protected).await
    }

    async fn run_with(&self, launcher: &Launcher, protected: Vec<PathBuf>) -> Result<Took, Error> {
        let bad = |error: std::io::Error| Error::failed(format!("the workspace {}: {error}", self.folder));
        let workspace = Arc::new(Workspace::new(&self.folder, protected).map_err(bad)?);
        let git = Git::new(launcher, "take", secret_variables());
        let known = |problem: mainpath_tools::Problem| Error::failed(problem.text.trim_end_matches('.').to_string());
        match try_patch(&git, &workspace, &self.patch, &self.files).await.map_err(known)? {
            Patched::Already => Ok(Took::Already),
            Patched::Conflicts(names) => Err(Error::failed(format!(
                "the changes of {} do not fit these files as they are now: {}; nothing was changed",
                self.child,
                names.join(", ")
            ))),
            Patched::Fits(files) => {
                write_patched(&workspace, &files, &format!("take-{}", std::process::id())).map_err(known)?;
                Ok(Took::Taken)
            }
        }
    }
}

impl Trace {
    /// What an agent that it has started has changed in a copy of its folder, by the agent's id or a part of it. Errors: there is nothing.
    pub async fn changes_of(&self, child: Option<&str>) -> Result<Taking, Error> {
        let read = self.look().await?;
        Taking::find(self.of(&read), child).await
    }

    /// Takes such changes into its folder, all of them or none. The log says nothing of it: as with any other change by a person. Errors: they
    /// do not fit, or a file cannot be written.
    pub async fn take(&self, changes: &Taking) -> Result<Took, Error> {
        changes.run_with(&self.host().runtime().config().launcher, self.host().home().protected()).await
    }
}
