//! Files put back to what they were.

use super::handle::Trace;
use super::point::Point;
use super::read::{Read, ReadTrace};
use crate::{Error, ErrorKind, spec_of};
use mainpath_runtime::Runtime;
use mainpath_runtime::files::{self, Fate, FilePlan, Then, plan_restore, ran_unseen};
use mainpath_tools::Workspace;
use mainpath_types::{EventKind, TraceId};
use std::path::PathBuf;

/// To what files are put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreTo {
    /// What they were at a point of the conversation.
    Point(Point),
    /// What they were before the last restore.
    BeforeLastRestore,
}

impl<P: Into<Point>> From<P> for RestoreTo {
    fn from(point: P) -> RestoreTo {
        RestoreTo::Point(point.into())
    }
}

/// What becomes of files, or would.
#[derive(Clone, Debug, PartialEq)]
pub struct Restored {
    /// Each file that is not known to be the same.
    pub files: Vec<FilePlan>,
    /// How many commands have run since of which nobody knows what they changed.
    pub unseen: usize,
}

impl Restored {
    /// Whether a file is left that is not as it was.
    pub fn is_partial(&self) -> bool {
        self.files.iter().any(|plan| !matches!(plan.fate, Fate::Restore | Fate::Same))
    }

    /// The files that are put back, or would be.
    pub fn restored_files(&self) -> Vec<String> {
        let restored = self.files.iter().filter(|plan| plan.fate == Fate::Restore);
        restored.map(|plan| plan.path.clone()).collect()
    }

    /// The files that are left as they are, each with why.
    pub fn left_files(&self) -> Vec<String> {
        let left = self.files.iter().filter_map(|plan| match &plan.fate {
            Fate::Foreign => Some(format!("{}: somebody else has changed it since", plan.path)),
            Fate::Lost(why) => Some(format!("{}: {why}", plan.path)),
            Fate::Restore | Fate::Same => None,
        });
        left.collect()
    }
}

/// Files of a trace that can be put back.
pub struct Restore<'a> {
    of: ReadTrace<'a>,
    workspace: Workspace,
    then: Then,
    unseen: usize,
}

impl<'a> Restore<'a> {
    /// Of this trace, to this. `protected`: Mainpath's own folders. `None`: it never had a workspace. Errors: there is no such point, or
    /// the workspace cannot be used.
    pub fn new(of: ReadTrace<'a>, to: RestoreTo, protected: Vec<PathBuf>) -> Result<Option<Restore<'a>>, Error> {
        let then = match to {
            RestoreTo::Point(point) => Then::After(of.reached(of.point(point)?)?),
            RestoreTo::BeforeLastRestore => {
                let is_restore = |kind: &EventKind| matches!(kind, EventKind::FilesRestored(_));
                let restore = of.log.events.iter().rev().find(|event| is_restore(&event.kind));
                let none = || Error::new(ErrorKind::Refused, format!("{} has no restore to undo", of.trace));
                Then::Before(restore.ok_or_else(none)?.id)
            }
        };
        let unseen = match then {
            Then::Before(_) => 0,
            Then::After(_) => ran_unseen(&of.log.events, then),
        };
        let Some(spec) = spec_of(of.log) else { return Ok(None) };
        let bad = |error: std::io::Error| Error::of_io(&error, format!("the workspace {}: {error}", spec.workspace));
        let workspace = Workspace::new(&spec.workspace, protected).map_err(bad)?;
        Ok(Some(Restore { of, workspace, then, unseen }))
    }

    /// What it would do. Changes nothing. Errors: a file or what was kept of it cannot be read.
    pub async fn plan(&self) -> Result<Restored, Error> {
        let files = plan_restore(self.of.at().scoped(), &self.workspace, &self.of.log.events, self.then).await?;
        Ok(Restored { files, unseen: self.unseen })
    }

    /// Does it, and records it in a trace: this one, or a fork of it. `force`: also files that somebody else has changed since.
    /// Errors: the trace is being driven, or its log cannot be written.
    pub async fn run(&self, runtime: &Runtime, on: &TraceId, force: bool) -> Result<Restored, Error> {
        let restore = files::Restore { then: self.then, force };
        let files = runtime.restore(self.of.scope, on, &self.workspace, &self.of.log.events, restore).await?;
        Ok(Restored { files, unseen: self.unseen })
    }
}

impl Trace {
    /// Puts the files that calls have changed back to what they were. What somebody else has changed since is left, unless that is
    /// forced. What is overwritten is kept: [`RestoreTo::BeforeLastRestore`] undoes it. Errors: the trace is being driven, it has no
    /// workspace, or there is no such point.
    pub async fn restore(&self, to: impl Into<RestoreTo>, force: bool) -> Result<Restored, Error> {
        self.here()?;
        self.let_go().await?;
        let read = self.look().await?;
        self.restoring(&read, to.into())?.run(self.host().runtime(), self.id(), force).await
    }

    /// What [`Trace::restore`] would do. Changes nothing.
    pub async fn plan_restore(&self, to: impl Into<RestoreTo>) -> Result<Restored, Error> {
        self.here()?;
        let read = self.look().await?;
        self.restoring(&read, to.into())?.plan().await
    }

    fn restoring<'a>(&'a self, read: &'a Read, to: RestoreTo) -> Result<Restore<'a>, Error> {
        let restore = Restore::new(self.of(read), to, self.host().home().protected())?;
        restore.ok_or_else(|| Error::new(ErrorKind::Refused, format!("trace {} has no workspace", self.id())))
    }
}
