//! A trace: everything that can be done to an agent, whoever drives it.

use super::export::{Export, ExportFormat, ExportLayout};
use super::layouts::MessagePart;
use super::outcomes::{Compaction, Sent};
use super::read::{Read, ReadTrace, TraceState, spec_of};
use crate::Remedy;
use crate::agent::Recorded;
use crate::values::not_empty;
use crate::{Error, ErrorKind, Host};
use mainpath_core::{Call, CallState, State};
use mainpath_providers::history::HistoryFormat;
use mainpath_runtime::import::{Extent, conversation};
use mainpath_runtime::replay::{Replayed, replay};
use mainpath_runtime::run_stats::{RunStats, runs};
use mainpath_runtime::{Mail, Phase, RuntimeError, verify, views};
use mainpath_store::{Once, ReadLog, Report, StoreError};
use mainpath_types::{
    BlobHash, CallId, Event, EventId, EventKind, MailId, Message, MessageMode, RunCause, Spec, TraceId,
};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long whoever has a trace may take to read what was sent.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// A name has at most so many letters.
const LONGEST_NAME: usize = 80;
/// How often it is looked whether it was read.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// A handle on a trace. Cheap to clone. Words that are sent wait in its mailbox until whoever drives it, in this process or another,
/// reads them.
#[derive(Clone, Debug)]
pub struct Trace {
    host: Host,
    id: TraceId,
    /// The key of what is sent by this handle.
    once: Option<Once>,
}

impl Host {
    /// A trace that there is, be it one whose log cannot be read: it stands as `damaged`. Errors: there is none of this id.
    pub async fn trace(&self, id: &TraceId) -> Result<Trace, Error> {
        self.check_reachable(id)?;
        let log = &self.read(id).await?.log;
        match !log.events.is_empty() || log.read_only() || self.has_lost_its_end(id).await {
            true => Ok(Trace::new(self.clone(), id.clone())),
            false => {
                Err(Error::new(ErrorKind::NotFound, format!("there is no trace {id}")).with_remedy(Remedy::ListTraces))
            }
        }
    }

    /// Whether the views of a trace know of events that its log does not have any more.
    async fn has_lost_its_end(&self, id: &TraceId) -> bool {
        match self.logs() {
            Some(logs) => logs.has_lost_its_end(id).await,
            None => false,
        }
    }

    /// Errors: it is on a machine that nobody has set up.
    fn check_reachable(&self, id: &TraceId) -> Result<(), Error> {
        let Some(there) = id.elsewhere() else { return Ok(()) };
        match self.logs() {
            Some(logs) if !logs.reaches(there.host) => {
                let host = there.host;
                let problem = format!("there is no machine {host} here; add [peers.NAME] with its url and key");
                Err(Error::new(ErrorKind::NotFound, problem))
            }
            _ => Ok(()),
        }
    }

    /// The ids of all traces, those that changed last first.
    pub async fn traces(&self) -> Result<Vec<TraceId>, Error> {
        Ok(self.store().list(self.scope()).await?.into_iter().map(|entry| entry.trace).collect())
    }
}

/// Where a call stands, in words.
pub(super) fn stands(state: &CallState) -> &'static str {
    match state {
        CallState::Asked => "it waits for an approval",
        CallState::Ready => "it may start when its turn has come",
        CallState::Started => "it runs",
        CallState::Cancelling(_) => "it is being stopped",
        CallState::Probing => "it is looked whether it ran",
        CallState::Done(_) => "it has its result",
    }
}

impl Trace {
    pub(crate) fn new(host: Host, id: TraceId) -> Trace {
        Trace { host, id, once: None }
    }

    /// A handle by which one thing is sent or decided, under a key of the caller's: done again, be it by another process after a crash,
    /// it is done once and the answer is the same. Under the same key for something else it is refused
    /// ([`ErrorKind::Reused`]).
    pub fn once(&self, once: Once) -> Trace {
        Trace { once: Some(once), ..self.clone() }
    }

    /// Errors: it is on another machine, where this is done.
    pub(crate) fn here(&self) -> Result<(), Error> {
        match self.id.elsewhere() {
            None => Ok(()),
            Some(there) => {
                let problem = format!("{} is on another machine: this is done on {} itself", self.id, there.host);
                Err(Error::new(ErrorKind::Refused, problem))
            }
        }
    }

    /// The key of what is sent by this handle.
    pub(crate) fn key(&self) -> Option<&Once> {
        self.once.as_ref()
    }

    /// What was sent under this handle's key already. Errors: something else was.
    pub(crate) async fn sent(&self) -> Result<Option<MailId>, Error> {
        let Some(once) = &self.once else { return Ok(None) };
        let mail = self.host.at(&self.id).mail(0).await?;
        let known = mail.into_iter().find(|mail| mail.once.as_ref().is_some_and(|known| known.key == once.key));
        match known {
            Some(known) if known.once.as_ref() != Some(once) => {
                let error = StoreError::Reused { trace: self.id.clone(), key: once.key.clone() };
                Err(error.into())
            }
            known => Ok(known.map(|known| known.id)),
        }
    }

    /// Prepares what driving it takes. Errors: no process drives it, and its rules of now cannot be read or its model cannot be used.
    pub(crate) async fn check_ready(&self, read: &Read) -> Result<(), Error> {
        let is_here = self.id.elsewhere().is_none() && !self.host.sends_only();
        let Some(spec) = spec_of(&read.log).filter(|_| is_here) else { return Ok(()) };
        if let Err(problem) = (self.host.runtime().config().policies)(spec) {
            return match self.host.at(&self.id).driver().await? {
                Some(_) => Ok(()),
                None => Err(problem.into()),
            };
        }
        self.prepare_model(read).await
    }

    /// Prepares the model of its spec if that is a recording: a process that has just started has none.
    pub(crate) async fn prepare_model(&self, read: &Read) -> Result<(), Error> {
        match spec_of(&read.log).map(|spec| &spec.model) {
            Some(model) if Recorded::of(model)?.is_some() && !self.host.models().has(model) => {
                self.host.prepare_model(model).await
            }
            _ => Ok(()),
        }
    }

    /// Errors: its log is damaged or newer, so that nothing comes of what is sent.
    pub(crate) async fn check_writable(&self) -> Result<(), Error> {
        // That of another machine is checked there.
        if self.id.elsewhere().is_some() || !self.look().await?.log.read_only() {
            return Ok(());
        }
        let then = match self.look().await?.log.events.is_empty() {
            true => "restore it from a copy",
            false => "fork the trace to go on in a copy of what can be read",
        };
        let problem =
            format!("the log of trace {} is damaged or newer than this program, and can only be read; {then}", self.id);
        Err(Error::new(ErrorKind::Refused, problem))
    }

    /// Sends mail, under the handle's key if it has one. Errors: nobody can read it, or it cannot be written.
    pub(crate) async fn put(&self, mail: &Mail) -> Result<MailId, Error> {
        self.check_writable().await?;
        Ok(self.host.runtime().send_once(self.host.scope(), &self.id, mail, self.once.clone()).await?)
    }

    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    /// Its id.
    pub fn id(&self) -> &TraceId {
        &self.id
    }

    /// Redirects a run: it waits for the running call and skips those after it. Errors: the text is empty, or nothing can be written.
    pub async fn steer(&self, text: impl Into<String>) -> Result<(), Error> {
        self.send(Mail::say(MessageMode::Steer, not_empty("text", text)?)).await
    }

    /// Queues a message for after the current run. Errors: as [`Trace::steer`]'s.
    pub async fn next(&self, text: impl Into<String>) -> Result<(), Error> {
        self.send(Mail::say(MessageMode::FollowUp, not_empty("text", text)?)).await
    }

    /// Ends the run at its next checkpoint; where nobody drives it, as soon as it is resumed. Also ends hooks that are called at its end.
    pub async fn stop(&self) -> Result<(), Error> {
        self.send(Mail::Stop).await
    }

    /// Ends one running call; the agent goes on. Errors: it does not run.
    pub async fn interrupt(&self, call: CallId) -> Result<(), Error> {
        let runs =
            |call: &Call| matches!(call.state, CallState::Started | CallState::Cancelling(_) | CallState::Probing);
        self.decide(call, "does not run", runs, Mail::Interrupt { call }).await
    }

    pub(super) fn call<'a>(&self, read: &'a Read, call: CallId) -> Result<&'a Call, Error> {
        let none = || Error::new(ErrorKind::NotFound, format!("there is no call {call} in trace {}", self.id));
        read.state.calls.get(call).ok_or_else(none)
    }

    /// Calls the trace by a name: now, or when the process that drives it reads the request. Errors: the name is empty, longer than 80
    /// letters or more than one line.
    pub async fn rename(&self, name: impl Into<String>) -> Result<Sent, Error> {
        let (name, from) = (name.into(), self.look().await?.log.head + 1);
        let bare = name.trim();
        if bare.is_empty() || bare.chars().count() > LONGEST_NAME || bare.chars().any(char::is_control) {
            return Err(Error::invalid("a name has 1 to 80 letters and is one line"));
        }
        let id = self.settle(Mail::Rename { name, made: None }).await?;
        Ok(if self.is_decided(id, from).await? { Sent::Applied } else { Sent::Queued })
    }

    /// Replaces older messages with a summary: now if no run is active, else before the run's next turn. Errors: there is nothing to
    /// summarise, a summary would not be shorter, or the run that makes it ended first.
    pub async fn compact(&self, hint: Option<String>) -> Result<Compaction, Error> {
        let refused = |why: &str| Err(Error::new(ErrorKind::Refused, format!("{} {why}", self.id)));
        self.check_writable().await?;
        let before = self.look().await?;
        let (state, from) = (&before.state, before.log.head + 1);
        if state.tree.head.is_none() {
            return refused("has no messages yet, so there is nothing to summarise");
        }
        let is_later = state.run.is_some() || !state.queues.is_empty() && !state.queues.held;
        let is_repeated = self.sent().await?.is_some();
        self.settle(Mail::Compact { hint }).await?;
        if is_later || is_repeated {
            return Ok(Compaction::Later);
        }
        let tokens = |state: &State| state.tree.shown_tokens(state.tree.head);
        let after = self.look().await?;
        for event in after.log.events.iter().filter(|event| event.id >= from) {
            match &event.kind {
                EventKind::Compacted(data) => {
                    let by_model = data.text.is_none();
                    return Ok(Compaction::Done { by_model, before: tokens(state), after: tokens(&after.state) });
                }
                EventKind::RunClosing(data) => {
                    return refused(&format!("was not summarised: the run ended first ({})", data.reason.words()));
                }
                _ => {}
            }
        }
        refused("was not summarised: a summary would not be shorter")
    }

    /// Waits until what drove it in this host has let go of it, where its last run has ended: that takes a moment longer than the run. A
    /// run that goes on is not waited for.
    pub(crate) async fn let_go(&self) -> Result<(), Error> {
        let mut phases = self.host.runtime().phase(self.host.scope(), &self.id);
        loop {
            let is_driven = *phases.borrow_and_update() == Phase::Running;
            if !is_driven || self.look().await?.state.run.is_some() || phases.changed().await.is_err() {
                return Ok(());
            }
        }
    }

    /// All events from one on. Errors: the log cannot be read.
    pub async fn events(&self, from: EventId) -> Result<Vec<Event>, Error> {
        Ok(self.host.store().read(self.host.scope(), &self.id, from).await?.events)
    }

    /// The log from an event on, and how far it goes, as it is at one moment. Errors: it cannot be read.
    pub async fn log(&self, from: EventId) -> Result<ReadLog, Error> {
        Ok(self.host.store().read(self.host.scope(), &self.id, from).await?)
    }

    /// A long text that the log names. `None`: it names no such text; what files were before they were changed is none. Errors: it
    /// cannot be read.
    pub async fn long_text(&self, hash: &BlobHash) -> Result<Option<Vec<u8>>, Error> {
        match self.look().await?.log.events.iter().any(|event| event.kind.long_texts().contains(hash)) {
            true => Ok(Some(self.host.store().get_blob(self.host.scope(), hash).await?)),
            false => Ok(None),
        }
    }

    /// Whether somebody drives it, in this process or another. Errors: that cannot be told.
    pub async fn is_driven(&self) -> Result<bool, Error> {
        Ok(self.host.at(&self.id).driver().await?.is_some())
    }

    /// Puts something into its mailbox, as mailboxes hold it: for programs that hand on what others say. Errors: it cannot be sent.
    pub async fn post(&self, mail: &Mail) -> Result<MailId, Error> {
        self.put(mail).await
    }

    /// Waits until the log has grown beyond an event, whoever appends. Errors: it is gone.
    pub async fn grown(&self, beyond: EventId) -> Result<(), Error> {
        let mut heads = self.host.store().subscribe(self.host.scope(), &self.id)?;
        let gone = |_| Error::from(StoreError::NotFound { trace: self.id.clone() });
        heads.wait_for(|head| *head > beyond).await.map(drop).map_err(gone)
    }

    /// What was said on the main path, whole.
    pub async fn messages(&self) -> Result<Vec<Message>, Error> {
        let (messages, _) = conversation(self.host.at(&self.id), Extent::Said, false).await?;
        Ok(messages)
    }

    /// The messages as other programs know them: an object each with `message_id`, `sequence`, `parent_sequence`, `role`,
    /// `content`, `goal_id`, ….
    pub async fn said(&self, part: MessagePart) -> Result<Vec<Map<String, Value>>, Error> {
        let read = self.look().await?;
        Export::new(self.of(&read), Extent::Said).rows(part).await
    }

    /// What it was last said to be; `None` where that was never said.
    pub async fn spec(&self) -> Result<Option<Spec>, Error> {
        Ok(spec_of(&self.look().await?.log).cloned())
    }

    /// The state that the log makes.
    pub async fn state(&self) -> Result<TraceState, Error> {
        Ok(TraceState(self.look().await?))
    }

    /// What each run took.
    pub async fn stats(&self) -> Result<Vec<RunStats>, Error> {
        Ok(runs(&self.id, &self.look().await?.log.events))
    }

    /// The trace in a format for people or other programs. Errors: the log or a blob cannot be read.
    pub async fn export(&self, format: ExportFormat) -> Result<String, Error> {
        let read = self.look().await?;
        let export = Export::new(self.of(&read), Extent::Said);
        match format {
            ExportFormat::Markdown => export.markdown("").await,
            ExportFormat::Html => export.page().await,
            ExportFormat::Json => Ok(format!("{:#}\n", export.whole().await?)),
            ExportFormat::Neutral => export.neutral().await,
            ExportFormat::OpenAi => export.conversation(HistoryFormat::OpenAi).await,
            ExportFormat::Anthropic => export.conversation(HistoryFormat::Anthropic).await,
            ExportFormat::Gemini => export.conversation(HistoryFormat::Gemini).await,
        }
    }

    /// The trace as a folder of files, below this one. Gives it. Errors: it is there already, or it cannot be written.
    pub async fn export_folder(&self, layout: ExportLayout, below: impl AsRef<Path>) -> Result<PathBuf, Error> {
        let read = self.look().await?;
        let export = Export::new(self.of(&read), Extent::Said);
        match layout {
            ExportLayout::AgentRun => export.agent_run(below.as_ref()).await,
            ExportLayout::TraceDir => export.trace_dir(below.as_ref()).await,
        }
    }

    /// Checks that the log is complete and unchanged.
    pub async fn verify(&self) -> Result<Report, Error> {
        self.here()?;
        Ok(verify(self.host.at(&self.id)).await?)
    }

    /// Computes views and requests anew and compares them with the record. Nothing is written.
    pub async fn replay(&self) -> Result<Replayed, Error> {
        Ok(replay(self.host.at(&self.id), &**self.host.models(), true).await?)
    }

    async fn send(&self, mail: Mail) -> Result<(), Error> {
        self.put(&mail).await?;
        Ok(())
    }

    /// Sends what takes effect also while no run goes on.
    pub(crate) async fn settle(&self, mail: Mail) -> Result<MailId, Error> {
        let is_driven = self.is_driven().await?;
        // Of what is sent to an open run that nobody drives, only a clear ends it; everything else waits until it continues.
        let is_running = self.look().await?.state.run.is_some() && (is_driven || mail != Mail::Clear);
        if !is_running && !is_driven {
            self.host.check_usable()?;
        }
        let (runtime, scope) = (self.host.runtime(), self.host.scope());
        let id = self.put(&mail).await?;
        if is_running {
            return Ok(id);
        }
        let until = Instant::now() + PATIENCE;
        loop {
            match runtime.settle(scope, &self.id, id).await {
                // Whoever has it reads what was sent: the driver that was woken by it in this process, or another process.
                Err(RuntimeError::Store(StoreError::Held { .. })) if Instant::now() < until => {
                    if self.look().await?.state.log.mail.has(id) {
                        self.come_to_rest().await?;
                        return Ok(id);
                    }
                    tokio::time::sleep(LOOK).await;
                }
                done => {
                    done?;
                    views::write(self.host.at(&self.id)).await?;
                    return Ok(id);
                }
            }
        }
    }

    /// Waits until this host has done what was asked for while no run went on, such as a summary; another run that has begun meanwhile is not
    /// waited for.
    async fn come_to_rest(&self) -> Result<(), Error> {
        let mut phases = self.host.runtime().phase(self.host.scope(), &self.id);
        while *phases.borrow_and_update() == Phase::Running {
            if self.look().await?.state.run.as_ref().is_some_and(|run| run.cause != RunCause::Compact) {
                break;
            }
            let _ = tokio::time::timeout(LOOK, phases.changed()).await;
        }
        Ok(())
    }

    pub(crate) async fn look(&self) -> Result<Arc<Read>, Error> {
        self.host.read(&self.id).await
    }

    pub(super) fn of<'a>(&'a self, read: &'a Read) -> ReadTrace<'a> {
        read.at(self.host.at(&self.id))
    }
}
