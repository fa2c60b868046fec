//! Following a run: its events as they happen, and how it ended.

mod advice;
mod bound;
#[cfg(feature = "home")]
mod continuing;
mod family;
mod feed;
mod following;
mod idle;
mod outcome;
mod pending;
mod record;
mod seen;
mod stopping;
mod telling;

pub use advice::{Advice, EndedRun, RequestLimit, RunEnd};
#[cfg(feature = "home")]
pub use continuing::{CheckedRun, Continuing, Next, PreparedRun};
pub use feed::TraceFeed;
pub(crate) use outcome::Ended;
pub use outcome::{Outcome, Status};
pub use pending::{Unasked, WaitingCalls};
pub use record::{RunRecord, SaidInTurn, is_turn};
pub(crate) use seen::Whole;

use crate::event::RunEvent;
use crate::skills::{is_loaded, said};
use crate::trace::{Point, Read};
use crate::values::not_empty;
use crate::watching::WatchFrom;
use crate::{Error, ErrorKind, Remedy, Trace, spec_of};
use bound::Bound;
use family::Family;
use following::{Finished, Follow, Followed, Following};
use futures_util::{Stream, StreamExt};
use mainpath_core::{Continuation, FINISH_ANSWER, State, how_to_continue};
use mainpath_runtime::{Mail, Phase};
use mainpath_types::{CallId, EventId, FinishReason, Part, Seq};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

/// A run that is followed: a stream of [`RunEvent`]s that ends when the run does. Dropping it does not end the run.
///
/// [`Agent::start`](crate::Agent::start), [`Trace::say`] and the like give the run that answers what was said, whatever else goes on in
/// the trace; [`Trace::watch`] gives all that happens, until nothing goes on any more, and [`Trace::watch_all`] also what happens in the
/// agents that it has started.
pub struct Run {
    trace: Trace,
    events: Pin<Box<dyn Stream<Item = Result<RunEvent, Error>> + Send>>,
    /// What its end is, and whether somebody looks at its events.
    followed: Arc<Followed>,
    /// Whether it is one run, or all that happens.
    is_one: bool,
}

impl Run {
    /// Follows what was begun for a trace, from an event on, 1 being the first.
    pub(crate) fn follow(trace: Trace, from: EventId, bound: Bound) -> Run {
        let watcher = trace.host().runtime().watch(trace.host().scope(), trace.id(), 1);
        Run::followed(trace, Follow { watcher, from, bound })
    }

    /// The first run of a trace that is begun after this.
    pub(crate) fn before_it_begins(trace: Trace) -> Run {
        let watcher = trace.host().runtime().watch_from_its_beginning(trace.host().scope(), trace.id());
        Run::followed(trace, Follow { watcher, from: 1, bound: Bound::Next })
    }

    fn followed(trace: Trace, follow: Follow) -> Run {
        let (followed, bound) = (Arc::new(Followed::default()), follow.bound);
        let following = Following::new(&trace, follow, Arc::clone(&followed));
        let next = |mut following: Following| async move { following.next().await.map(|event| (event, following)) };
        let events = futures_util::stream::unfold(following, next);
        Run { trace, events: Box::pin(events.fuse()), followed, is_one: bound != Bound::All }
    }

    /// Follows a trace and the agents that it has started.
    fn follow_all(trace: Trace, family: Family) -> Run {
        let next = |mut family: Family| async move { family.next().await.map(|event| (event, family)) };
        let events = futures_util::stream::unfold(family, next);
        Run { trace, events: Box::pin(events.fuse()), followed: Arc::default(), is_one: false }
    }

    /// The first run of a trace.
    pub(crate) fn first(trace: Trace) -> Run {
        Run::follow(trace, 1, Bound::Next)
    }

    /// The trace that it is a run of: everything that can be done to it.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The next event; `None` when the run has ended. While a call waits for an approval, so does this. An error is the last thing
    /// that comes. Cancel safe.
    pub async fn next(&mut self) -> Option<Result<RunEvent, Error>> {
        self.events.next().await
    }

    /// Waits until the run has ended, and gives how. It waits as long as calls wait for approvals: give those from the events, or
    /// from another task. Errors: what was said was refused, the run could not be driven on, or its log cannot be read.
    pub async fn outcome(self) -> Result<Outcome, Error> {
        self.followed.is_unseen.store(true, Ordering::Relaxed);
        self.outcome_with(|_| {}).await
    }

    /// Waits until the run has ended. Gives the log up to there, if all of it was kept. Errors: as [`Run::outcome`]'s.
    pub(crate) async fn wait_for_end(&mut self) -> Result<Option<Whole<'_>>, Error> {
        self.followed.is_unseen.store(true, Ordering::Relaxed);
        while let Some(event) = self.next().await {
            event?;
        }
        Ok(self.followed.finished.get().and_then(Finished::whole))
    }

    /// The same as [`Run::outcome`]; each event is given to `on_event` as it happens.
    pub async fn outcome_with(mut self, mut on_event: impl FnMut(&RunEvent)) -> Result<Outcome, Error> {
        while let Some(event) = self.next().await {
            on_event(&event?);
        }
        match self.followed.finished.get() {
            Some(finished) => self.trace.outcome_of(finished).await,
            None if self.is_one => Err(self.trace.unfinished().await?),
            None => self.trace.outcome().await,
        }
    }
}

impl Stream for Run {
    type Item = Result<RunEvent, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.as_mut().poll_next(context)
    }
}

impl Trace {
    /// Says something and follows what comes of it: a new run, or the one that goes on, which reads it when it is done. Errors: the text is
    /// empty, or nothing can be written.
    pub async fn say(&self, text: impl Into<String>) -> Result<Run, Error> {
        let read = self.look().await?;
        let (skill, text) = self.read_said(&read, not_empty("text", text)?)?;
        self.load_first(&read, skill).await?;
        self.go_on(Mail::message(text)).await
    }

    /// Reads what a person says: the mail that loads the skill that it names, and the text without that. Errors: as [`said`]'s.
    fn read_said(&self, read: &Read, text: String) -> Result<(Option<Mail>, String), Error> {
        match spec_of(&read.log).filter(|_| self.id().elsewhere().is_none()) {
            Some(spec) => said(text, spec, self.host().skills()),
            None => Ok((None, text)),
        }
    }

    /// Has a skill loaded before a message is read. Errors: nothing can be written.
    async fn load_first(&self, read: &Read, skill: Option<Mail>) -> Result<(), Error> {
        if let Some(skill) = skill.filter(|skill| !is_loaded(&read.state, skill))
            && self.sent().await?.is_none()
        {
            self.check_ready(read).await?;
            // The key stands for the message: this is done again without effect.
            self.host().runtime().send(self.host().scope(), self.id(), &skill).await?;
        }
        Ok(())
    }

    /// Continues after a crash, a stop, a limit or an approval, and follows that. An answer that was cut off at the output limit is
    /// finished. A stopped run that no process drives is ended first. Errors: nothing is left to do, which may be since another has continued it meanwhile; [`Trace::outcome`] says how that
    /// ended.
    pub async fn resume(&self) -> Result<Run, Error> {
        self.end_stopped().await?;
        let read = self.look().await?;
        let Read { log, state, .. } = &*read;
        self.check_ready(&read).await?;
        if state.run.is_some() {
            return self.driven_on(log.head + 1, Bound::Run(state.counts.runs)).await;
        }
        // Looked for after the log was read: what comes of it comes after that.
        if let Some(last) = self.host().at(self.id()).mail(state.log.mail.upto).await?.last() {
            return self.driven_on(log.head + 1, Bound::Mail(last.id)).await;
        }
        match self.left_to_do(state) {
            Ok(None) => self.driven_on(log.head + 1, Bound::Next).await,
            Ok(Some(mail)) => self.go_on(mail).await,
            // The same request, made again: what it began has ended.
            Err(_) if self.sent().await?.is_some() => self.go_on(Mail::Continue).await,
            Err(nothing) => Err(nothing),
        }
    }

    /// The mail that does what is left to do; `None` if the trace only has to be driven. Errors: nothing is left to do.
    fn left_to_do(&self, state: &State) -> Result<Option<Mail>, Error> {
        let why = match (how_to_continue(state), state.ended.reason) {
            (Continuation::Continue, _) => return Ok(Some(Mail::Continue)),
            (Continuation::FinishAnswer, _) => return Ok(Some(Mail::message(FINISH_ANSWER))),
            (Continuation::Drive, _) => return Ok(None),
            (Continuation::Empty, _) => "has no message yet",
            (Continuation::Answered, Some(FinishReason::Final)) => "ended with its final answer",
            (Continuation::Answered, _) => "has answered its last message",
        };
        let error = Error::new(ErrorKind::Refused, format!("trace {} {why}", self.id()));
        Err(error.with_remedy(Remedy::SayMore(self.id().clone())))
    }

    /// Drives it on in this host, if there is anything to do and nobody does it; whoever is waited for wakes it from then on. Whether it is
    /// driven here now. Errors: the log cannot be read.
    pub async fn drive(&self) -> Result<bool, Error> {
        let read = self.look().await?;
        let state = &read.state;
        let has_mail =
            || async { Ok::<bool, Error>(!self.host().at(self.id()).mail(state.log.mail.upto).await?.is_empty()) };
        let is_waiting = !state.queues.is_empty() && !state.queues.held;
        if state.run.is_none() && !is_waiting && !has_mail().await? {
            return Ok(false);
        }
        if self.host().at(self.id()).driver().await?.is_some() {
            let phase = self.host().runtime().phase(self.host().scope(), self.id());
            let is_here = matches!(&*phase.borrow(), Phase::Running | Phase::Parked(_));
            return Ok(is_here);
        }
        self.prepare_model(&read).await?;
        self.host().runtime().resume(self.host().scope(), self.id());
        Ok(true)
    }

    /// Has a call that was denied made after all, as [`Trace::approve`] does, and follows the run that this begins. Errors: there is no
    /// such call, or it was not denied.
    pub async fn reopen(&self, call: CallId) -> Result<Run, Error> {
        self.go_on(Mail::Reopen { call, arguments: None }).await
    }

    /// Goes back to a message and says something else from there. 0 is before the first. Errors: as [`Trace::say`]'s, and there is no such
    /// message.
    pub async fn rewind(&self, after: Seq, text: impl Into<String>) -> Result<Run, Error> {
        let read = self.look().await?;
        let (skill, text) = self.read_said(&read, not_empty("text", text)?)?;
        self.point(Point::Message(after)).await?;
        self.load_first(&read, skill).await?;
        self.go_on(Mail::Rewind { after, parts: Some(vec![Part::text(text)]) }).await
    }

    /// Goes back to a message and has it answered again.
    pub async fn regenerate(&self, after: Seq) -> Result<Run, Error> {
        self.point(Point::Message(after)).await?;
        self.go_on(Mail::Rewind { after, parts: None }).await
    }

    /// Follows the trace from an event on, 1 being the first, whoever drives it: this host, or another program on the same store.
    /// Ends when nobody does and it waits for nobody. Pieces of what is still coming are seen of what this host drives; of another, what its log says.
    pub fn watch(&self, from: EventId) -> Run {
        Run::follow(self.clone(), from, Bound::All)
    }

    /// The same together with the agents that the trace has started, and theirs, as one stream: [`RunEvent::trace_id`] says whose an event
    /// is. An agent's events come after the `sub_trace_started` that began its work, and before the `sub_trace_completed` that tells its end;
    /// otherwise they come in the order of time. What agents ask people comes as their events too.
    ///
    /// To go on later, give for each trace the last [`RunEvent::id`] plus 1. An agent that is not named there is watched from the beginning of its
    /// work, and one that had ended before [`WatchFrom::event`] is left out.
    pub fn watch_all(&self, from: impl Into<WatchFrom>) -> Run {
        Run::follow_all(self.clone(), Family::new(self, from.into()))
    }

    /// The same, but when nothing goes on any more it waits for what comes later: it ends with an error or not at all.
    pub fn watch_on(&self, from: impl Into<WatchFrom>) -> Run {
        Run::follow_all(self.clone(), Family::new(self, from.into()).lasting())
    }

    pub(crate) async fn go_on(&self, mail: Mail) -> Result<Run, Error> {
        let before = self.look().await?;
        self.check_ready(&before).await?;
        let before = &before.log;
        let again = self.sent().await?;
        let sent = self.put(&mail).await?;
        // What was read already is followed from there.
        let read = before.events.iter().find(|event| again.is_some() && event.mail == again);
        let from = read.map_or(before.head + 1, |event| event.id);
        self.driven_on(from, Bound::Mail(sent)).await
    }

    /// Follows what another drives, or this host does from now on.
    async fn driven_on(&self, from: EventId, bound: Bound) -> Result<Run, Error> {
        self.check_writable().await?;
        // Whoever else drives it reads what was sent.
        if self.host().at(self.id()).driver().await?.is_none() {
            self.host().runtime().resume(self.host().scope(), self.id());
        }
        Ok(Run::follow(self.clone(), from, bound))
    }
}
