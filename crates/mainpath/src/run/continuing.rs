//! Continuing a trace with other settings. The caller drives it from then on. Everything is checked before anything is sent.

use super::bound::Bound;
use crate::agent::{AgentOptions, ModeFor, Task, is_folder_unchosen, time_limit, workspace};
use crate::event::{PendingCall, Stamped};
use crate::presets::check_kept;
use crate::skills::{is_loaded, preloads};
use crate::trace::Read;
use crate::{Error, ErrorKind, Remedy, Run, Trace, spec_of};
use mainpath_core::State;
use mainpath_policy::{Policy, is_asked_by_default};
use mainpath_runtime::{Mail, TakenTrace};
use mainpath_store::StoreError;
use mainpath_types::{ApprovalMode, CallId, Event, EventKind, RunRules, Seq, Spec, TraceId};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What a trace continues with.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// What is left to do: an open run, an answer that is missing or was cut off at the output limit, or messages that nobody has read.
    Rest,
    /// A message.
    Message(Task),
    /// A message in place of everything after message `after`; 0 is before the first.
    Instead {
        /// The message before it.
        after: Seq,
        /// The new message.
        task: Task,
    },
    /// Another answer to this message.
    Again(Seq),
}

/// How a trace is to continue. Nothing happens until [`Continuing::check`].
pub struct Continuing {
    trace: Trace,
    next: Next,
    options: AgentOptions,
    preset: Option<String>,
    approvals: Option<ApprovalMode>,
    otherwise: ApprovalMode,
}

impl Trace {
    /// Continues the trace with other settings than it has. Calls that need a person are asked about, unless something else is said.
    pub fn continuing(&self, next: Next) -> Continuing {
        let (trace, options) = (self.clone(), AgentOptions::default());
        Continuing { trace, next, options, preset: None, approvals: None, otherwise: ApprovalMode::Ask }
    }

    /// What happened to calls that need a person in the run that answered this message, if that was to ask, or to approve them. Errors: the
    /// log cannot be read.
    pub async fn approvals_of(&self, message: Seq) -> Result<Option<ApprovalMode>, Error> {
        Ok(approvals_of(&*self.look().await?, message))
    }
}

impl Continuing {
    /// Sets the options that are to change. Options without a value stay as they are.
    pub fn given(self, options: AgentOptions) -> Continuing {
        Continuing { options, ..self }
    }

    /// Names the preset that the agent must have: an agent keeps its preset.
    pub fn preset(self, name: Option<String>) -> Continuing {
        Continuing { preset: name, ..self }
    }

    /// Says what happens to calls that need a person. `None`: [`Next::Rest`] and [`Next::Again`] keep what the owner said for the same run.
    pub fn approvals(self, mode: Option<ApprovalMode>) -> Continuing {
        Continuing { approvals: mode, ..self }
    }

    /// Says what happens to them if nothing is said and nothing is kept.
    pub fn or_else(self, mode: ApprovalMode) -> Continuing {
        Continuing { otherwise: mode, ..self }
    }

    /// Checks everything but the tools, which may still have to be connected, and sends nothing. A stopped run that no process drives is ended
    /// first. Errors: another process drives the trace ([`ErrorKind::Busy`]), nothing is left to do ([`ErrorKind::Refused`]), or something cannot be
    /// used.
    pub async fn check(self) -> Result<CheckedRun, Error> {
        let Continuing { trace, next, options, preset, approvals, otherwise } = self;
        let (host, id) = (trace.host(), trace.id());
        trace.end_stopped().await?;
        let driver = match host.logs() {
            // Also if a user is being asked there: that decision counts.
            Some(logs) => logs.driver(id)?,
            None => host.at(id).driver().await?,
        };
        if let Some(by) = driver {
            return Err(StoreError::Held { trace: id.clone(), by }.into());
        }
        let read = trace.look().await?;
        if let Some(damage) = &read.log.damage {
            let problem = format!("the log is damaged: {damage}; everything before that can be read");
            return Err(Error::new(ErrorKind::Refused, problem).with_remedy(Remedy::ForkTrace(id.clone())));
        }
        let no_task = || Error::new(ErrorKind::Refused, format!("trace {id} has no task; start a new one"));
        let spec = spec_of(&read.log).ok_or_else(no_task)?.clone();
        if let Some(named) = &preset {
            check_kept(&spec, named)?;
        }
        host.prepare_model(options.model.as_deref().unwrap_or(&spec.model)).await?;
        // What another program recorded names a folder that nobody here has chosen: whoever continues works where they are.
        let own = (!is_folder_unchosen(&spec)).then(|| Path::new(&spec.workspace));
        let folder = workspace(options.workspace.as_deref().or(own))?;
        let rules = spec.rules.clone().with(&host.sources().run);
        let policy = Arc::new(host.sources().load(&folder.display().to_string(), &rules)?);
        host.check_usable()?;
        let kept = || match &next {
            Next::Rest => open_approvals(&spec, &read.state),
            Next::Again(message) => approvals_of(&read, *message),
            Next::Message(_) | Next::Instead { .. } => None,
        };
        let mode = approvals.or_else(kept).unwrap_or(otherwise);
        let open = read.state.run.as_ref().map(|_| read.state.counts.runs);
        let run = spec.mode_for.filter(|run| mode == ApprovalMode::Yes && open == Some(*run));
        let (skill, mail) = match next {
            // What waits in the mailbox is read first.
            Next::Rest if has_unread_mail(&trace, &read.state).await? => {
                (None, trace.left_to_do(&read.state).unwrap_or(None))
            }
            Next::Rest => (None, trace.left_to_do(&read.state)?),
            Next::Message(task) => {
                let (skill, task) = host.read_task(task, &spec)?;
                (skill, Some(task.message()))
            }
            Next::Instead { after, task } => {
                let (skill, task) = host.read_task(task, &spec)?;
                (skill, Some(Mail::Rewind { after, parts: Some(task.parts()) }))
            }
            Next::Again(after) => (None, Some(Mail::Rewind { after, parts: None })),
        };
        let mode = ModeFor { mode, run };
        Ok(CheckedRun { trace, read, spec, options, folder, rules, policy, mode, skill, mail })
    }
}

async fn has_unread_mail(trace: &Trace, state: &State) -> Result<bool, Error> {
    let mail = trace.host().at(trace.id()).mail(state.log.mail.upto).await?;
    Ok(mail.iter().any(|entry| !state.log.mail.has(entry.id)))
}

/// What the owner said for calls that need a person: for the whole trace, or for the run that is open.
fn open_approvals(spec: &Spec, state: &State) -> Option<ApprovalMode> {
    kept(spec, state.run.as_ref().map(|_| state.counts.runs))
}

fn approvals_of(read: &Read, message: Seq) -> Option<ApprovalMode> {
    let events = &read.log.events;
    let said = read.state.tree.node(message)?.event;
    let finished = |event: &Event| matches!(event.kind, EventKind::RunFinished(_));
    let run = events.iter().filter(|event| finished(event) && event.id < said).count() + 1;
    let until = events.iter().position(|event| finished(event) && event.id > said).unwrap_or(events.len());
    let spec = events.iter().take(until).rev().find_map(|event| match &event.kind {
        EventKind::SpecChanged(data) => Some(&*data.spec),
        _ => None,
    });
    kept(spec?, u32::try_from(run).ok())
}

fn kept(spec: &Spec, run: Option<u32>) -> Option<ApprovalMode> {
    let holds = spec.mode_for.is_none_or(|only| run == Some(only));
    match spec.mode {
        ApprovalMode::Yes if holds => Some(ApprovalMode::Yes),
        ApprovalMode::Ask => Some(ApprovalMode::Ask),
        ApprovalMode::Yes | ApprovalMode::Deny => None,
    }
}

/// A trace that can continue. Its tools are connected now, if they are not yet; see [`CheckedRun::prepare`].
pub struct CheckedRun {
    trace: Trace,
    read: Arc<Read>,
    spec: Spec,
    options: AgentOptions,
    folder: PathBuf,
    rules: RunRules,
    policy: Arc<Policy>,
    mode: ModeFor,
    skill: Option<Mail>,
    mail: Option<Mail>,
}

impl CheckedRun {
    /// The folder in which the agent will work.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The settings that it has now.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Whether anything is sent, and not only what is open continued.
    pub fn sends(&self) -> bool {
        self.mail.is_some()
    }

    /// The rules of the trace and of the caller.
    pub fn rules(&self) -> &RunRules {
        &self.rules
    }

    /// All rules that will hold.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// The time limit of its runs.
    pub fn time_limit(&self) -> Option<Duration> {
        time_limit(&self.options, Some(&self.spec.limits), self.trace.host().home())
    }

    /// Takes the trace for this process and makes its new settings from the tools that are there now. Sends nothing yet. Errors: another process
    /// has taken it, or has written to it ([`ErrorKind::Busy`]); an option cannot be used.
    pub async fn prepare(self) -> Result<PreparedRun, Error> {
        let CheckedRun { trace, read, spec, options, policy, mode, skill, mail, .. } = self;
        let host = trace.host();
        let approvals = mode.mode;
        let changed = host.changed(&spec, &options, &policy, mode)?;
        // Those that the caller names, and that are not loaded yet.
        let named = match options.skills.as_deref() {
            None | Some([]) => Vec::new(),
            Some(_) => preloads(changed.as_ref().unwrap_or(&spec), host.skills())?,
        };
        let skills = named.into_iter().chain(skill).filter(|mail| !is_loaded(&read.state, mail)).collect();
        let taken = host.runtime().take(host.scope(), trace.id(), read.log.head).await?;
        let undecided = undecided(&trace).await?;
        Ok(PreparedRun { trace, read, taken, changed, skills, mail, undecided, approvals })
    }
}

/// The calls that wait for an approval, here and in agents on this machine, and that nobody has decided on. Another machine has owners of its own.
async fn undecided(trace: &Trace) -> Result<Vec<Stamped<PendingCall>>, Error> {
    let mut waiting = trace.approvals().await?;
    waiting.retain(|call| call.trace_id.elsewhere().is_none());
    let mut undecided = Vec::new();
    for call in waiting {
        let of = Trace::new(trace.host().clone(), call.trace_id.clone());
        let cursor = of.look().await?.state.log.mail.clone();
        let mail = of.host().at(of.id()).mail(cursor.upto).await?;
        if !mail.iter().any(|entry| !cursor.has(entry.id) && decides(&entry.body, call.call)) {
            undecided.push(call);
        }
    }
    Ok(undecided)
}

/// Returns true for a message that decides on a waiting call.
fn decides(body: &str, of: CallId) -> bool {
    matches!(serde_json::from_str(body), Ok(Mail::Approve { call, .. } | Mail::Deny { call, .. }) if call == of)
}

/// A trace that this process has taken. Nothing is sent until [`PreparedRun::start`].
pub struct PreparedRun {
    trace: Trace,
    read: Arc<Read>,
    taken: TakenTrace,
    changed: Option<Spec>,
    skills: Vec<Mail>,
    mail: Option<Mail>,
    undecided: Vec<Stamped<PendingCall>>,
    approvals: ApprovalMode,
}

impl PreparedRun {
    /// The number of events whose content was erased.
    pub fn erased(&self) -> usize {
        self.read.log.erased.len()
    }

    /// The number of the last event before it continues.
    pub fn head(&self) -> u64 {
        self.read.log.head
    }

    /// The new settings, if they change.
    pub fn changed(&self) -> Option<&Spec> {
        self.changed.as_ref()
    }

    /// What will happen to calls that need a person.
    pub fn approvals(&self) -> ApprovalMode {
        self.approvals
    }

    /// The waiting calls that nobody has decided on.
    pub fn undecided(&self) -> &[Stamped<PendingCall>] {
        &self.undecided
    }

    /// Those that it approves: they would not have been asked about if all calls had been approved beforehand, as they are now.
    pub fn covered(&self) -> impl Iterator<Item = &Stamped<PendingCall>> {
        let is_yes = self.approvals == ApprovalMode::Yes;
        let is_covered = |call: &&Stamped<PendingCall>| call.verdict.as_ref().is_some_and(is_asked_by_default);
        self.undecided.iter().filter(move |call| is_yes && is_covered(call))
    }

    /// Sends everything, and drives the trace. Errors: nothing can be written.
    pub async fn start(self) -> Result<Run, Error> {
        let covered: Vec<(TraceId, CallId)> = self.covered().map(|call| (call.trace_id.clone(), call.call)).collect();
        let PreparedRun { trace, read, taken, changed, skills, mail, .. } = self;
        let (host, id) = (trace.host().clone(), trace.id().clone());
        let spec = changed.map(|spec| Mail::SetSpec { spec: Arc::new(spec) });
        for mail in spec.iter().chain(&skills) {
            host.runtime().send(host.scope(), &id, mail).await?;
        }
        let bound = match &mail {
            Some(mail) => Bound::Mail(host.runtime().send(host.scope(), &id, mail).await?),
            None if read.state.run.is_some() => Bound::Run(read.state.counts.runs),
            None => Bound::Next,
        };
        for (of, call) in &covered {
            host.runtime().send(host.scope(), of, &Mail::approve(*call)).await?;
        }
        let run = Run::follow(trace, read.log.head + 1, bound);
        taken.drive();
        Ok(run)
    }
}
