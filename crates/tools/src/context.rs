//! What a running call has at hand.

use crate::ports::{
    BlobSink, Changing, FoundCheck, MemoryBlobs, NoPatches, NoSecrets, NoSkills, Notice, Offered, PatchDesk,
    RedirectCheck, Secrets, SkillDesk,
};
use crate::workspace::{Place, moved};
use crate::{Problem, Processes, Resolved, Workspace};
use mainpath_policy::Grant;
use mainpath_sandbox::{Cage, Launcher};
use mainpath_types::{Decision, Origin, ToolOutput, TraceId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What a running call has at hand. It cannot be made without a grant, so nothing runs without one.
#[derive(Clone)]
pub struct ToolContext {
    /// The files that the call may touch.
    pub workspace: Arc<Workspace>,
    /// The permission under which it runs.
    pub grant: Grant,
    /// The trace that the call is of, where there is one.
    pub trace: Option<TraceId>,
    /// Where what the trace has read came from, as far as it came from outside: a page, a server, somebody's message. What a tool keeps
    /// of the model's words may rest on that.
    pub foreign: BTreeSet<Origin>,
    /// Fires when the call is to end: somebody stopped it, or its time is up.
    pub cancel: CancellationToken,
    /// How long it may take; the registry fires `cancel` when this has passed.
    pub timeout: Option<Duration>,
    /// How long whoever started the call lets it take before firing `cancel`, where that is known: for a tool that waits, to have said so by then.
    pub within: Option<Duration>,
    /// Where outputs too large to show are kept.
    pub blobs: Arc<dyn BlobSink>,
    /// Says whether the rules let the call ask another address, to which an answer has sent it on. Policy judged the address that
    /// was asked for; it knows nothing of this one.
    pub check_redirect: RedirectCheck,
    /// Says whether a file may be read that the call comes upon, besides the paths that it names. What it denies is left out of every
    /// list and search.
    pub check_found: FoundCheck,
    /// Says whether the model may call a tool at all. What finds tools for it names no others.
    pub offered: Offered,
    /// Takes what the call is about to do to files of which it has kept what they hold. Nothing is to be changed before it has
    /// answered: then the change is on record, and can be undone whatever becomes of the process.
    pub changing: Changing,
    /// Takes output while the call runs, as it comes: whoever takes it hides secrets in it, since only they see the whole
    /// stream. Ephemeral: nothing depends on anybody listening.
    pub progress: Arc<dyn Fn(&str) + Send + Sync>,
    /// Tells people something at once, a sentence: what a process in the background has left, as no result may follow.
    pub notice: Notice,
    /// Resolves secrets in arguments and hides them in output.
    pub secrets: Arc<dyn Secrets>,
    /// The skills of the trace.
    pub skills: Arc<dyn SkillDesk>,
    /// What agents have changed in copies.
    pub patches: Arc<dyn PatchDesk>,
    /// How processes are started.
    pub launcher: Launcher,
    /// What they are shut into.
    pub cage: Cage,
    /// What the trace's calls have started in the background.
    pub processes: Arc<Processes>,
    pub(crate) timed_out: Arc<AtomicBool>,
    pub(crate) is_trusted: Arc<AtomicBool>,
    /// Where the call's paths lead, as it was judged, by how they are written.
    pub(crate) places: Arc<BTreeMap<String, Resolved>>,
}

impl ToolContext {
    /// A context with no limits, no rules and no secrets, which drops progress, records nothing and keeps blobs in memory. Set the fields that
    /// matter. Its cage is that of the grant.
    pub fn new(workspace: Arc<Workspace>, grant: Grant, launcher: Launcher) -> ToolContext {
        let cage = workspace.cage(grant.confinement());
        ToolContext {
            workspace,
            grant,
            trace: None,
            foreign: BTreeSet::new(),
            cancel: CancellationToken::new(),
            timeout: None,
            within: None,
            blobs: Arc::new(MemoryBlobs::default()),
            check_redirect: Arc::new(|_| Ok(())),
            check_found: Arc::new(|_| Decision::Allow),
            offered: Arc::new(|_, _| true),
            changing: Arc::new(|_| Box::pin(std::future::ready(Ok(())))),
            progress: Arc::new(|_| {}),
            notice: Arc::new(|_| {}),
            secrets: Arc::new(NoSecrets),
            skills: Arc::new(NoSkills::default()),
            patches: Arc::new(NoPatches),
            launcher,
            cage,
            processes: Arc::default(),
            timed_out: Arc::default(),
            is_trusted: Arc::default(),
            places: Arc::default(),
        }
    }

    /// Where a call's paths lead now, if these are the places that the grant names. `paths`: as the call has them, with handles of
    /// secrets, which is how they were judged.
    pub(crate) fn judged(&self, paths: Vec<String>) -> Result<BTreeMap<String, Resolved>, Problem> {
        let places = self.grant.places();
        if !places.is_empty() && places.len() != paths.len() {
            return Err(Problem::new("no_grant", "The grant is for other paths than the call's; nothing was run."));
        }
        let judge = |(at, path): (usize, String)| {
            let judged = places.get(at).cloned().unwrap_or_else(|| self.workspace.as_written(&path));
            let path = self.secrets.reveal(&path);
            let resolved = self.workspace.resolve(&path)?;
            let now = resolved.absolute.to_string_lossy();
            let is_same = self.secrets.redact(&now) == self.secrets.redact(&judged);
            if is_same { Ok((path, resolved)) } else { Err(moved(&path)) }
        };
        paths.into_iter().enumerate().map(judge).collect()
    }

    /// Whether what the call runs still has the content that it was judged with.
    pub(crate) fn has_content(&self, content: &[String]) -> Result<(), Problem> {
        match self.grant.places() == content {
            true => Ok(()),
            false => Err(Problem::new(
                "path_changed",
                "What this call would run has changed since it was judged; nothing was run. Make the call again.",
            )),
        }
    }

    /// The place of a path that the call was judged by, if it may be touched. Nothing else is to be opened.
    pub(crate) fn place(&self, path: &str) -> Result<Place, Problem> {
        match self.places.get(path) {
            Some(resolved) => self.workspace.place(path, resolved),
            None => Err(Problem::new("no_grant", format!("The call was not judged for {path:?}; nothing was done."))),
        }
    }

    /// What the rules say of reading the file at a path that an answer names. A path that leads nowhere is no file here.
    pub fn judge_found(&self, path: &str) -> Decision {
        match self.workspace.resolve(path) {
            Ok(resolved) => (self.check_found)(&self.workspace.fact(path, &resolved)),
            Err(_) => Decision::Allow,
        }
    }

    /// Marks the result as the owner's own: its words do not count as text from outside.
    pub fn trust(&self) {
        self.is_trusted.store(true, Ordering::Release);
    }

    /// The code of an output that ends because `cancel` fired: `timeout` or `interrupted`.
    pub fn stop_code(&self) -> &'static str {
        if self.timed_out.load(Ordering::Acquire) { "timeout" } else { "interrupted" }
    }

    /// The failed output of a call that was ended with nothing to show.
    pub fn stopped(&self) -> ToolOutput {
        let text = match (self.stop_code(), self.timeout) {
            ("timeout", Some(limit)) => format!("The call was ended: it took longer than {limit:?}."),
            _ => "The call was interrupted.".to_string(),
        };
        ToolOutput::failed(self.stop_code(), text)
    }

    /// Waits for `work`, or drops it when the call is to end and gives `None`.
    pub async fn until_stopped<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => None,
            done = work => Some(done),
        }
    }
}
