//! Putting files back to what they were, by what the log says of every change.

use crate::driver::log::writable;
use crate::effects::snapshots::may_change_any_file;
use crate::error::RuntimeError;
use crate::runtime::Runtime;
use mainpath_core::{Input, InputKind, Machine};
use mainpath_store::{Appended, Opened, Scope, ScopedStore, StoreError};
use mainpath_tools::{FileNow, Problem, Workspace};
use mainpath_types::{
    BlobHash, CallId, CallResolved, CallRetried, Event, EventId, EventKind, FileChange, FileState, FilesKept,
    FilesRestored, LateResult, Spec, TailCut, TraceId,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What becomes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlan {
    /// Which: the path from the workspace's root.
    pub path: String,
    /// What it is now.
    pub now: FileNow,
    /// What it was then.
    pub then: FileState,
    /// What is done about it.
    pub fate: Fate,
    /// Whether somebody else had changed it since, before a call did.
    pub otherwise: bool,
}

/// What is done about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is put back.
    Restore,
    /// It is as it was.
    Same,
    /// Somebody else has changed it since: it is left, unless that is forced.
    Foreign,
    /// It cannot be put back, for this reason.
    Lost(String),
}

/// To what files are put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// What they were after this event.
    After(EventId),
    /// What they were before this restore.
    Before(EventId),
}

impl Then {
    /// The last event that had happened.
    fn event(self) -> EventId {
        match self {
            Then::After(event) => event,
            Then::Before(event) => event.saturating_sub(1),
        }
    }
}

/// What a log says of a file.
#[derive(Debug, Default, PartialEq)]
struct Track {
    /// What the last change before the event made of it, unless a command that nobody watched ran since.
    known: Option<FileState>,
    /// What the first change after the event found.
    found: Option<FileState>,
    /// What it was after the last change of all.
    last: FileState,
    /// What it was before that, where it may not have come to that: a restore or a call may have been killed before it.
    undone: Option<FileState>,
}

/// The files under a workspace of which the log knows what they were then, or that were changed since.
fn tracks(events: &[Event], workspace: &str, then: Then) -> BTreeMap<String, Track> {
    let mut tracks: BTreeMap<String, Track> = BTreeMap::new();
    let mut here = false;
    let mut watch = Watch::default();
    for event in events {
        let later = event.id > then.event();
        if watch.ran_unseen(&event.kind) && !later {
            tracks.values_mut().for_each(|track| track.known = None);
        }
        let (changes, is_plan): (&[FileChange], bool) = match &event.kind {
            EventKind::SpecChanged(data) => {
                here = data.spec.workspace == workspace;
                continue;
            }
            EventKind::CallResolved(CallResolved { output: Some(output), .. })
            | EventKind::LateResult(LateResult { output, .. })
            | EventKind::CallRetried(CallRetried { output, .. }) => (&output.changes, false),
            EventKind::FilesRestored(FilesRestored { changes, .. })
            | EventKind::FilesKept(FilesKept { changes, .. }) => (changes, true),
            _ => continue,
        };
        let was_made = !matches!(event.kind, EventKind::FilesKept(_));
        for FileChange { path, before, after } in changes.iter().filter(|_| here) {
            let track = tracks.entry(path.clone()).or_default();
            match later {
                true => track.found = track.found.take().or_else(|| Some(before.clone())),
                false => track.known = Some(after.clone()).filter(|_| was_made),
            }
            track.last = after.clone();
            track.undone = is_plan.then(|| before.clone());
        }
    }
    tracks
}

impl Track {
    /// What it was then; `None` where nothing is known of it and nothing was changed since.
    fn then(&self, then: Then) -> Option<&FileState> {
        match then {
            Then::After(_) => self.known.as_ref().or(self.found.as_ref()),
            Then::Before(_) => self.found.as_ref(),
        }
    }

    /// Whether somebody who is not in the log changed it after the event and before the next change.
    fn was_changed_otherwise(&self) -> bool {
        let (Some(known), Some(found)) = (&self.known, &self.found) else { return false };
        *found != FileState::Unknown && !found.holds_same(known)
    }
}

/// How many commands ran after an event whose changes nobody watched: what they did to files is not known.
pub fn ran_unseen(events: &[Event], then: Then) -> usize {
    let mut watch = Watch::default();
    let ran = events.iter().map(|event| watch.ran_unseen(&event.kind) && event.id > then.event());
    ran.filter(|ran| *ran).count()
}

/// Tells the commands of a log whose changes nobody watched.
#[derive(Default)]
struct Watch<'a> {
    spec: Option<&'a Spec>,
    /// The tool of each call so far.
    tools: HashMap<CallId, &'a str>,
}

impl<'a> Watch<'a> {
    /// Whether this event starts one.
    fn ran_unseen(&mut self, kind: &'a EventKind) -> bool {
        match kind {
            EventKind::SpecChanged(data) => self.spec = Some(&data.spec),
            EventKind::ModelFinished(data) => {
                let named = data.calls().filter_map(|call| Some((call.id, call.planned.tool.as_deref()?)));
                self.tools.extend(named);
            }
            EventKind::CallReopened(data) => {
                if let Some(name) = self.tools.get(&data.of).copied() {
                    self.tools.insert(data.made(), name);
                }
            }
            EventKind::ActionStarted(data) => {
                let (Some(spec), Some(name)) = (self.spec, self.tools.get(&data.call).copied()) else { return false };
                let tool = spec.tools.iter().find(|tool| tool.name == name);
                return !spec.snapshots && tool.is_some_and(|tool| may_change_any_file(name, tool.effect));
            }
            _ => {}
        }
        false
    }
}

/// What is to be put back.
#[derive(Clone, Copy, Debug)]
pub struct Restore {
    /// To what files were then.
    pub then: Then,
    /// Also those that somebody else has changed since.
    pub force: bool,
}

/// What putting files back to what they were then would do to each that is not known to be the same. Changes nothing.
pub async fn plan_restore(
    store: ScopedStore<'_>,
    workspace: &Workspace,
    events: &[Event],
    then: Then,
) -> Result<Vec<FilePlan>, StoreError> {
    let mut plans: Vec<FilePlan> = Vec::new();
    // A path comes after the folders that it lies in.
    for (path, track) in tracks(events, &workspace.root().display().to_string(), then) {
        let Some(was) = track.then(then).cloned() else { continue };
        let (now, seen) = match workspace.look(&path) {
            Ok(now) => (now, None),
            Err(problem) if problem.code == "link" && is_unlinked(&plans, &path) => (FileNow::Absent, None),
            Err(problem) => (FileNow::Large, Some(problem.text)),
        };
        let state = now.state();
        let in_log = |before: &FileState| state.holds_same(before);
        let is_ours = in_log(&track.last) || track.undone.as_ref().is_some_and(in_log);
        let is_untouched = track.found.is_none() && (state.holds_same(&was) || was == FileState::Unknown);
        let otherwise = matches!(then, Then::After(_)) && track.was_changed_otherwise();
        let fate = match (&was, seen) {
            // Two contents of which nothing is known are not therefore the same.
            (_, None) if is_untouched || state == was && was != FileState::Unknown => Fate::Same,
            (_, Some(why)) => Fate::Lost(why),
            (FileState::Unknown, None) => Fate::Lost("its content at that time was not kept".into()),
            (_, None) if now == FileNow::Large => Fate::Lost("its present content is too large to keep".into()),
            (_, None) if now == FileNow::Other => Fate::Lost("a device, pipe or socket is in its place now".into()),
            (_, None) if !is_kept(store, was.blob()).await? => {
                Fate::Lost("its content at that time is no longer kept".into())
            }
            _ if is_ours => Fate::Restore,
            _ => Fate::Foreign,
        };
        plans.push(FilePlan { path, now, then: was, fate, otherwise });
    }
    spare_folders(workspace, &mut plans);
    Ok(plans)
}

/// Whether the link on the way to a path is one that is replaced or removed.
fn is_unlinked(plans: &[FilePlan], path: &str) -> bool {
    let is_on_the_way = |plan: &&FilePlan| path.strip_prefix(&plan.path).is_some_and(|rest| rest.starts_with('/'));
    let mut links = plans.iter().filter(is_on_the_way).filter(|plan| matches!(plan.now, FileNow::Link { .. }));
    links.any(|plan| plan.fate == Fate::Restore)
}

/// A folder in the place of a file is left if it holds anything that is not removed as well.
fn spare_folders(workspace: &Workspace, plans: &mut [FilePlan]) {
    let goes = |plan: &&FilePlan| plan.fate == Fate::Restore && plan.then == FileState::Absent;
    let removed: BTreeSet<String> = plans.iter().filter(goes).map(|plan| plan.path.clone()).collect();
    let comes = |plan: &&mut FilePlan| matches!(plan.fate, Fate::Restore | Fate::Foreign);
    for plan in plans.iter_mut().filter(|plan| plan.now == FileNow::Folder).filter(comes) {
        match workspace.inside(&plan.path) {
            Ok(inside) => {
                if let Some(left) = inside.iter().find(|path| !removed.contains(*path)) {
                    plan.fate = Fate::Lost(format!("a folder is in its place now, with {left} in it: move that away"));
                }
            }
            Err(problem) => plan.fate = Fate::Lost(problem.text),
        }
    }
}

async fn is_kept(store: ScopedStore<'_>, hash: Option<&BlobHash>) -> Result<bool, StoreError> {
    let Some(hash) = hash else { return Ok(true) };
    match store.get_blob(hash).await {
        Ok(_) => Ok(true),
        Err(StoreError::NoBlob { .. } | StoreError::Damaged(_)) => Ok(false),
        Err(other) => Err(other),
    }
}

impl Runtime {
    /// Puts files back to what they were by `log`: the trace's own, or that of the trace that it is a fork of.
    /// What is overwritten is kept, and recorded in the trace, before anything is written; each file is replaced in one step.
    /// What a crash has left undone is done by asking again.
    ///
    /// Gives what became of every file; a failure to write one does not keep the others from being put back. Errors: the trace
    /// is being driven, or its log cannot be written.
    pub async fn restore(
        &self,
        scope: &Scope,
        trace: &TraceId,
        workspace: &Workspace,
        log: &[Event],
        restore: Restore,
    ) -> Result<Vec<FilePlan>, RuntimeError> {
        let config = self.config();
        let store = ScopedStore::new(&*config.store, scope);
        let Opened { lease, log: own } = config.store.lease(scope, trace, false).await?;
        writable(&own)?;
        let Restore { then, force } = restore;
        let mut plans = plan_restore(store, workspace, log, then).await?;
        let mut changes = Vec::new();
        for plan in plans.iter_mut().filter(|plan| plan.fate == Fate::Restore || force && plan.fate == Fate::Foreign) {
            plan.fate = Fate::Restore;
            if let Some(content) = plan.now.clone().into_content() {
                store.put_blob(content).await?;
            }
            changes.push(FileChange { path: plan.path.clone(), before: plan.now.state(), after: plan.then.clone() });
        }
        if changes.is_empty() {
            return Ok(plans);
        }
        let mut machine = Machine::fold(trace.clone(), &own.events);
        let cut = own.tail_cut.as_ref().map(|cut| TailCut { bytes: cut.bytes, kept: cut.kept.clone() });
        let recovered = InputKind::Recovered { lost: false, tail_cut: cut };
        let restore = InputKind::RestoreFiles { to: then.event(), changes, by: scope.principal.clone() };
        let mut head = own.head;
        for kind in [recovered, restore] {
            let input = Input::new((config.clock)(), kind);
            let batch = machine.handle(&input).map_err(RuntimeError::Refused)?;
            let Some(last) = batch.last().map(|event| event.id) else { continue };
            match config.store.append(&lease, head, batch).await {
                Appended::Committed { .. } => machine.commit(last),
                Appended::Refused(refused) => return Err(refused.into()),
                Appended::Unknown { problem, cause } => {
                    let problem = format!("the log cannot be written: {problem}; no file was changed");
                    return Err(RuntimeError::Unwritable { problem, cause });
                }
            }
            head = last;
        }
        let tag = format!("restore-{trace}");
        // What is removed goes first: a folder may have to be empty, or a link gone, for a file to come back.
        let (goes, comes): (Vec<_>, Vec<_>) =
            plans.iter_mut().filter(|plan| plan.fate == Fate::Restore).partition(|plan| plan.then == FileState::Absent);
        for plan in goes.into_iter().rev().chain(comes) {
            if let Err(why) = put_back(store, workspace, plan, &tag).await {
                plan.fate = Fate::Lost(why.to_string());
            }
        }
        Ok(plans)
    }
}

/// Why a file was not put back.
#[derive(Debug, thiserror::Error)]
enum NotRestored {
    #[error("it changed during the restore")]
    Changed,
    #[error("its content at that time was not kept")]
    NotKept,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Workspace(#[from] Problem),
}

async fn put_back(
    store: ScopedStore<'_>,
    workspace: &Workspace,
    plan: &FilePlan,
    tag: &str,
) -> Result<(), NotRestored> {
    // Between the look and now somebody may have written to it: what is not kept is not overwritten.
    let now = workspace.look(&plan.path)?;
    if now != plan.now {
        return Err(NotRestored::Changed);
    }
    let content = match plan.then.blob() {
        Some(hash) => store.get_blob(hash).await?,
        None => Vec::new(),
    };
    let then = match plan.then {
        FileState::Absent => FileNow::Absent,
        FileState::File { mode, .. } => FileNow::File { content, mode },
        FileState::Link { .. } => FileNow::Link { target: content },
        FileState::Unknown => return Err(NotRestored::NotKept),
    };
    Ok(workspace.put_back(&plan.path, &then, tag)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainpath_types::{
        ActionStarted, CallReopened, EffectClass, ModelFinished, PlannedCall, Principal, Profile, Seq, SpecChanged,
        StopReason, ToolOutput, ToolSpec, Usage,
    };
    use std::sync::Arc;

    fn state(digit: &str) -> FileState {
        FileState::File { hash: digit.repeat(64).try_into().unwrap(), bytes: 1, mode: 0o644 }
    }

    fn change(path: &str, before: FileState, after: FileState) -> FileChange {
        FileChange { path: path.into(), before, after }
    }

    fn log(kinds: Vec<EventKind>) -> Vec<Event> {
        (1..).zip(kinds).map(|(id, kind)| Event { id, ts: 0, turn: 0, mail: None, kind }).collect()
    }

    fn spec(workspace: &str) -> EventKind {
        let spec = Spec { workspace: workspace.into(), ..Spec::new("m", Profile::Trace) };
        SpecChanged { spec: Arc::new(spec), by: None }.into()
    }

    fn late(changes: Vec<FileChange>) -> EventKind {
        let output = ToolOutput { changes, ..ToolOutput::text("done") };
        LateResult { call: CallId { seq: Seq(2), index: 0 }, attempt: 1, output }.into()
    }

    fn restored(changes: Vec<FileChange>) -> EventKind {
        FilesRestored { to: 1, changes, by: Principal::local_user() }.into()
    }

    /// What it was then, at last, and where it may not have come to that.
    fn of(log: &[Event], then: Then) -> Option<(FileState, FileState, Option<FileState>)> {
        let track = tracks(log, "/here", then).remove("f")?;
        Some((track.then(then)?.clone(), track.last, track.undone))
    }

    #[test]
    fn a_file_goes_back_to_what_it_was_by_the_changes_before_and_after_the_event() {
        let [a, b, c] = ["a", "b", "c"].map(state);
        let log = log(vec![
            spec("/here"),
            late(vec![change("f", FileState::Absent, a.clone())]),
            late(vec![change("f", a.clone(), b.clone())]),
            late(vec![change("f", b.clone(), c.clone())]),
        ]);
        let then = |after| of(&log, Then::After(after));
        assert_eq!(then(4), Some((c.clone(), c.clone(), None)));
        assert_eq!(then(3), Some((b, c.clone(), None)));
        assert_eq!(then(2), Some((a, c.clone(), None)));
        assert_eq!(then(1), Some((FileState::Absent, c, None)));
    }

    fn answer(seq: u32, call: PlannedCall) -> ModelFinished {
        ModelFinished {
            request: 1,
            seq: Seq(seq),
            parts: Vec::new(),
            calls: vec![call],
            goals: Vec::new(),
            stop: StopReason::ToolCalls,
            tolerated: false,
            tokens: 1,
            usage: Usage::default(),
            counted: false,
            cost: 0,
            elapsed_ms: 0,
            sent: None,
            aside: false,
            expand: None,
        }
    }

    #[test]
    fn what_a_change_made_counts_unless_a_command_that_nobody_watched_ran_since() {
        let [a, b, c] = ["a", "b", "c"].map(state);
        let tool = |name: &str, effect| ToolSpec { name: name.into(), effect, ..ToolSpec::default() };
        let of = |snapshots: bool, name: &str| {
            let tools =
                vec![tool("bash", EffectClass::ProcessControl), tool("write_text_file", EffectClass::LocalWrite)];
            let spec = Spec { workspace: "/here".into(), snapshots, tools, ..Spec::new("m", Profile::Trace) };
            let planned = PlannedCall { tool: Some(name.into()), ..PlannedCall::default() };
            let answer = answer(2, planned);
            let call = CallId { seq: Seq(2), index: 0 };
            // Somebody made `b` of what was `a`, and a call made `c` of that.
            let log = log(vec![
                SpecChanged { spec: Arc::new(spec), by: None }.into(),
                late(vec![change("f", FileState::Absent, a.clone())]),
                answer.into(),
                ActionStarted { call, attempt: 1, rule: String::new() }.into(),
                late(vec![change("f", b.clone(), c.clone())]),
            ]);
            let then = |after| {
                let track = tracks(&log, "/here", Then::After(after)).remove("f").unwrap();
                (track.then(Then::After(after)).cloned(), track.was_changed_otherwise())
            };
            (then(3), then(4), ran_unseen(&log, Then::After(3)), ran_unseen(&log, Then::After(4)))
        };
        let sure = (Some(a.clone()), true);
        assert_eq!(of(false, "bash"), (sure.clone(), (Some(b.clone()), false), 1, 0));
        assert_eq!(of(true, "bash"), (sure.clone(), sure.clone(), 0, 0));
        assert_eq!(of(false, "write_text_file"), (sure.clone(), sure, 0, 0));
    }

    #[test]
    fn a_command_that_was_denied_and_is_made_later_is_one_that_nobody_watched() {
        let tools = vec![ToolSpec { name: "bash".into(), effect: EffectClass::ProcessControl, ..ToolSpec::default() }];
        let spec = Spec { workspace: "/here".into(), tools, ..Spec::new("m", Profile::Trace) };
        let planned = |tool: &str| PlannedCall { tool: Some(tool.into()), ..PlannedCall::default() };
        let reopened = CallReopened { of: CallId { seq: Seq(2), index: 0 }, seq: Seq(6), grant: 1 };
        let started = ActionStarted { call: reopened.made(), attempt: 1, rule: String::new() };
        let log = log(vec![
            SpecChanged { spec: Arc::new(spec), by: None }.into(),
            answer(2, planned("bash")).into(),
            answer(4, planned("goal")).into(),
            reopened.into(),
            started.into(),
        ]);
        assert_eq!([ran_unseen(&log, Then::After(4)), ran_unseen(&log, Then::After(5))], [1, 0]);
    }

    #[test]
    fn a_restore_may_not_have_come_to_a_file_and_what_was_done_elsewhere_is_left() {
        let [a, b, c] = ["a", "b", "c"].map(state);
        let log = log(vec![
            spec("/here"),
            late(vec![change("f", a.clone(), b.clone())]),
            restored(vec![change("f", b.clone(), a.clone())]),
            spec("/there"),
            late(vec![change("f", c.clone(), b.clone()), change("g", c, FileState::Absent)]),
        ]);
        assert_eq!(tracks(&log, "/here", Then::After(1)).len(), 1);
        assert_eq!(of(&log, Then::After(1)), Some((a.clone(), a.clone(), Some(b.clone()))));
        assert_eq!(of(&log, Then::Before(3)), Some((b.clone(), a, Some(b))), "to undo it");
    }

    #[test]
    fn a_change_that_was_announced_counts_whether_it_was_made_or_not() {
        let [a, b] = ["a", "b"].map(state);
        let kept = |changes| FilesKept { call: CallId { seq: Seq(2), index: 0 }, attempt: 1, changes }.into();
        let unsure = change("f", FileState::Unknown, b.clone());
        let announced = [spec("/here"), kept(vec![change("f", a.clone(), b.clone())])];
        let then = |more: Vec<EventKind>| of(&log(announced.iter().cloned().chain(more).collect()), Then::After(1));
        assert_eq!(then(vec![]), Some((a.clone(), b.clone(), Some(a.clone()))));
        // A probe found the change and knows nothing of before.
        assert_eq!(then(vec![late(vec![unsure])]), Some((a.clone(), b.clone(), None)));
        assert_eq!(then(vec![late(vec![change("f", a.clone(), b.clone())])]), Some((a, b, None)));
        // What was announced is not known to have been made.
        assert_eq!(of(&log(announced.to_vec()), Then::After(2)), None);
    }
}
