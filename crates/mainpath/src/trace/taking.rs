//! What an agent has changed in a copy of a folder, and taking it into the folder.

use super::handle::Trace;
use super::read::ReadTrace;
use crate::{Error, ErrorKind, launcher, spec_of};
use mainpath_sandbox::{Launcher, secret_variables};
use mainpath_tools::{FileNow, Git, Patched, Problem, TakeChanges, Tool, Workspace, try_patch, write_patched};
use mainpath_types::{ChildPatch, TraceId};
use serde_json::Value;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Components, Path, PathBuf};
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
            ([_, _, ..], None) => return Taking::only_open(&of, &found).await,
            ([], _) if known.is_empty() => {
                return Err(Error::new(ErrorKind::Refused, format!("no agent of {} has changes to take", of.trace)));
            }
            ([], child) => {
                let all: Vec<&ChildPatch> = known.iter().collect();
                let child = child.unwrap_or_default();
                return Err(Error::new(
                    ErrorKind::Refused,
                    format!(
                        "no agent {child:?} of {} has changes to take; there are those of {}",
                        of.trace,
                        list(&all)
                    ),
                ));
            }
            (several, _) => {
                return Err(Error::new(
                    ErrorKind::Refused,
                    format!("several agents have changes to take; name one of {}", list(several)),
                ));
            }
        };
        Taking::of_row(&of, row).await
    }

    async fn of_row(of: &ReadTrace<'_>, row: &ChildPatch) -> Result<Taking, Error> {
        let patch = of.at().scoped().get_blob(&row.patch).await?;
        let folder = spec_of(of.log).map(|spec| spec.workspace.clone()).unwrap_or_default();
        Ok(Taking { child: row.child.clone(), files: row.files.clone(), patch, folder })
    }

    /// The one of several whose changes are not in the folder yet. Errors: those of several are not, or all are.
    async fn only_open(of: &ReadTrace<'_>, rows: &[&ChildPatch]) -> Result<Taking, Error> {
        let mut open = Vec::new();
        for row in rows {
            let taking = Taking::of_row(of, row).await?;
            // Where that cannot be worked out, it is said when they are taken.
            if !matches!(taking.tried(&launcher::own(), Vec::new()).await, Ok((_, Patched::Already))) {
                open.push(taking);
            }
        }
        if open.len() == 1
            && let Some(only) = open.pop()
        {
            return Ok(only);
        }
        let names: Vec<&str> = open.iter().map(|taking| taking.child.as_str()).collect();
        Err(Error::new(
            ErrorKind::Refused,
            match names.as_slice() {
                [] => format!("the changes of the agents of {} are in its folder already", of.trace),
                several => format!("several agents have changes to take; name one of {}", several.join(", ")),
            },
        ))
    }

    /// The patch as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.patch).into_owned()
    }

    /// The links that they would make and that lead out of the folder, a line each. `protected`: Mainpath's own folders. Errors: they cannot
    /// be worked out.
    pub async fn links_out(&self, protected: Vec<PathBuf>) -> Result<Vec<String>, Error> {
        let (workspace, patched) = self.tried(&launcher::own(), protected).await?;
        let Patched::Fits(files) = patched else { return Ok(Vec::new()) };
        let out = files.iter().filter_map(|file| match &file.after {
            FileNow::Link { target } => {
                let target = Path::new(OsStr::from_bytes(target));
                let is_in = stays_inside(Path::new(&file.path), target, workspace.root());
                (!is_in).then(|| format!("{} would be a link out of the folder, to {}", file.path, target.display()))
            }
            _ => None,
        });
        Ok(out.collect())
    }

    /// Puts the changes into the folder: all of them or none. `protected`: Mainpath's own folders. Errors: they do not fit, or a file cannot
    /// be written.
    pub async fn run(&self, protected: Vec<PathBuf>) -> Result<Took, Error> {
        self.run_with(&launcher::own(), protected).await
    }

    async fn run_with(&self, launcher: &Launcher, protected: Vec<PathBuf>) -> Result<Took, Error> {
        let (workspace, patched) = self.tried(launcher, protected).await?;
        match patched {
            Patched::Already => Ok(Took::Already),
            Patched::Conflicts(names) => Err(Error::new(
                ErrorKind::Refused,
                format!(
                    "the changes of {} do not fit these files as they are now: {}; nothing was changed",
                    self.child,
                    names.join(", ")
                ),
            )),
            Patched::Fits(files) => {
                write_patched(&workspace, &files, &format!("take-{}", std::process::id())).map_err(known)?;
                Ok(Took::Taken)
            }
        }
    }

    /// What they make of the files of the folder, which stay as they are.
    async fn tried(&self, launcher: &Launcher, protected: Vec<PathBuf>) -> Result<(Arc<Workspace>, Patched), Error> {
        let bad = |error: std::io::Error| Error::of_io(&error, format!("the workspace {}: {error}", self.folder));
        let workspace = Arc::new(Workspace::new(&self.folder, protected).map_err(bad)?);
        let git = Git::new(launcher, "take", secret_variables());
        let patched = try_patch(&git, &workspace, &self.patch, &self.files).await.map_err(known)?;
        Ok((workspace, patched))
    }
}

fn known(problem: Problem) -> Error {
    Error::failed(problem.text.trim_end_matches('.').to_string())
}

/// Whether a link at this place of a folder leads to a place in it, whatever other links there are: it may go up as far as the folder's
/// top and then only down.
fn stays_inside(link: &Path, target: &Path, folder: &Path) -> bool {
    let down =
        |parts: Components<'_>| parts.clone().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if let Ok(rest) = target.strip_prefix(folder) {
        return down(rest.components());
    }
    let above = target.components().take_while(|part| *part == Component::ParentDir).count();
    let mut rest = target.components();
    rest.by_ref().take(above).for_each(drop);
    above < link.components().count() && down(rest)
}

impl ReadTrace<'_> {
    /// Returns the changes that a call with these arguments takes. `None`: it is no call that takes changes, or there are none to take.
    pub async fn taken_by(&self, tool: &str, arguments: &str) -> Option<Taking> {
        if tool != TakeChanges::NAME {
            return None;
        }
        let arguments: Value = serde_json::from_str(arguments).ok()?;
        Taking::find(*self, Some(arguments.get("sub_trace_id")?.as_str()?)).await.ok()
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
