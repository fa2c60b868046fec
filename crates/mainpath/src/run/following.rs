//! What happens in a trace, as it happens, whoever drives it.

use super::bound::Bound;
use super::feed::TraceFeed;
use super::pending::first_open;
use super::seen::{Seen, Whole};
use super::telling::Telling;
use crate::event::RunEvent;
use crate::{Error, ErrorKind, Trace};
use mainpath_core::{State, pending};
use mainpath_runtime::{Live, Phase, Waiting, Watcher};
use mainpath_types::{CallId, EventId, TraceId};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::watch;

/// So often it is looked whether another program still drives a trace of which nothing new is heard.
const LOOK: Duration = Duration::from_millis(250);

/// From so many events on it is looked first which of them are needed.
const LONG: EventId = 500;

/// A call of a child.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct ChildCall {
    trace: TraceId,
    call: CallId,
}

/// What who holds a run and who follows it know of one another.
#[derive(Default)]
pub(super) struct Followed {
    /// How the run ended; nothing while it has not, and where it never began.
    pub finished: OnceLock<Finished>,
    /// Whether nobody looks at its events any more: only its end counts.
    pub is_unseen: AtomicBool,
}

/// A run that has ended.
pub(super) struct Finished {
    /// The event with which it did.
    pub event: EventId,
    /// The log up to there, if nobody looked at it.
    pub seen: Option<Seen>,
}

impl Finished {
    /// What was seen of the log with all of its events, if nobody looked at it and all were kept.
    pub fn whole(&self) -> Option<Whole<'_>> {
        self.seen.as_ref().and_then(Seen::whole)
    }
}

/// What is followed.
pub(super) struct Follow {
    /// Who is told of everything from the first event on.
    pub watcher: Watcher,
    /// The first event that is told.
    pub from: EventId,
    /// Which run.
    pub bound: Bound,
}

pub(super) struct Following {
    trace: Trace,
    feed: TraceFeed,
    from: EventId,
    telling: Telling,
    /// The calls of children that wait for an approval of which that was told.
    told_of_children: BTreeSet<ChildCall>,
    /// Where the log ends, as its store tells: for what another program drives.
    heads: Option<watch::Receiver<EventId>>,
    /// Whether it has begun.
    begun: bool,
    /// Which run is followed.
    bound: Bound,
    /// True once the trace was woken because the driver ended before it read the message that is followed.
    woken: bool,
    /// How it ended, and whether somebody looks.
    followed: Arc<Followed>,
    /// What was seen, as long as nobody looks: then nothing is told, and this is in the place of it.
    seen: Option<Seen>,
    ended: bool,
}

impl Following {
    /// From an event on, until what is bound has ended; that is noted in `followed`.
    pub fn new(trace: &Trace, follow: Follow, followed: Arc<Followed>) -> Following {
        let Follow { watcher, from, bound } = follow;
        Following {
            trace: trace.clone(),
            feed: TraceFeed::new(trace, watcher),
            from,
            telling: Telling::new(trace, from, bound != Bound::All),
            told_of_children: BTreeSet::new(),
            heads: None,
            begun: false,
            bound,
            woken: false,
            followed,
            seen: Some(Seen::new(trace.id().clone())),
            ended: false,
        }
    }

    /// See [`Run::next`](super::Run::next).
    pub async fn next(&mut self) -> Option<Result<RunEvent, Error>> {
        loop {
            if let Some(event) = self.telling.pop() {
                return Some(event);
            }
            if self.ended {
                return None;
            }
            if let Err(error) = self.step().await {
                self.ended = true;
                return Some(Err(error));
            }
        }
    }

    async fn step(&mut self) -> Result<(), Error> {
        if !std::mem::replace(&mut self.begun, true) && self.from > LONG {
            let read = self.trace.look().await?;
            let known = read.log.head + 1;
            self.telling.need_from(first_open(&read.state).map_or(known, |first| first.min(known)));
        }
        let phase = self.feed.phase();
        match phase {
            Phase::Running => {}
            Phase::Idle | Phase::Elsewhere(_) => {
                // Most often the end is among what was told already, and nobody need be asked.
                self.take_told().await?;
                if self.ended || !self.telling.is_empty() {
                    return Ok(());
                }
                return self.elsewhere(phase).await;
            }
            Phase::Full(problem) => return self.broken_off(Error::new(ErrorKind::ReadOnly, problem)).await,
            Phase::Failed(problem) => return self.broken_off(Error::failed(problem)).await,
            Phase::Parked(waiting) => {
                self.catch_up().await?;
                self.telling.ask(&waiting);
                self.ask_of_children(&waiting).await?;
                if !self.telling.is_empty() {
                    return Ok(());
                }
            }
        }
        match self.feed.next().await? {
            Some(live) => self.take(live).await,
            None => Ok(()),
        }
    }

    /// It is driven on no more, for this reason.
    async fn broken_off(&mut self, why: Error) -> Result<(), Error> {
        self.catch_up().await?;
        self.telling.push(Err(why));
        self.ended = true;
        Ok(())
    }

    /// Follows what this host does not drive, until nobody does.
    async fn elsewhere(&mut self, phase: Phase) -> Result<(), Error> {
        let host = self.trace.host().clone();
        // Asked first: what was written before its driver went is read.
        let is_driven = host.at(self.trace.id()).driver().await?.is_some();
        self.catch_up().await?;
        let waiting = Waiting::among(&pending(self.state()));
        self.telling.ask(&waiting);
        self.ask_of_children(&waiting).await?;
        if !self.telling.is_empty() {
            return Ok(());
        }
        if !is_driven && waiting.is_empty() {
            // A driver that had read its mail for the last time when this was sent leaves it to the next one.
            let is_unread = matches!(self.bound, Bound::Mail(_)) && !std::mem::replace(&mut self.woken, true);
            match self.bound != Bound::All && (phase != Phase::Idle || is_unread) {
                true => host.runtime().resume(host.scope(), self.trace.id()),
                false => self.ended = true,
            }
            return Ok(());
        }
        let heads = match &mut self.heads {
            Some(heads) => heads,
            None => self.heads.insert(host.store().subscribe(host.scope(), self.trace.id())?),
        };
        if *heads.borrow_and_update() > self.telling.last {
            return Ok(());
        }
        let is_closed = tokio::select! {
            changed = self.feed.changed() => {
                changed?;
                false
            }
            changed = heads.changed() => changed.is_err(),
            () = tokio::time::sleep(LOOK) => false,
        };
        if is_closed {
            // The trace was removed: the next look at it says so.
            self.heads = None;
        }
        Ok(())
    }

    /// Takes what was told already.
    async fn take_told(&mut self) -> Result<(), Error> {
        while let Some(live) = self.feed.told() {
            self.take(live).await?;
        }
        Ok(())
    }

    /// Takes what the log has beyond what was seen.
    async fn catch_up(&mut self) -> Result<(), Error> {
        self.take_told().await?;
        if self.ended {
            return Ok(());
        }
        for live in self.feed.missed().await? {
            self.take(live).await?;
        }
        Ok(())
    }

    async fn take(&mut self, live: Live) -> Result<(), Error> {
        // What comes after the run that is followed is somebody else's.
        if self.ended {
            return Ok(());
        }
        let is_unseen = self.followed.is_unseen.load(Ordering::Relaxed);
        // Who looked once has all told, also when only its end counts from then on.
        self.seen = self.seen.take().filter(|_| is_unseen);
        match (&mut self.seen, &live) {
            (Some(seen), Live::Event(event)) => {
                self.telling.last = event.id;
                seen.note(event);
            }
            (Some(_), _) => {}
            (None, live) if is_unseen => self.telling.pass(live),
            (None, live) => self.telling.take(live).await?,
        }
        if let Live::Event(event) = &live
            && event.id >= self.from
            && self.bound.see(event, self.state().counts.runs)?
        {
            self.ended = true;
            let _ = self.followed.finished.set(Finished { event: event.id, seen: self.seen.take() });
        }
        Ok(())
    }

    /// The state after what was seen.
    fn state(&self) -> &State {
        self.seen.as_ref().map_or_else(|| self.telling.state(), Seen::state)
    }

    /// What children wait for is asked here, under their own names.
    async fn ask_of_children(&mut self, waiting: &[Waiting]) -> Result<(), Error> {
        if !waiting.iter().any(|one| matches!(one, Waiting::Child(_))) {
            return Ok(());
        }
        let children: Vec<TraceId> = self.state().children.open().filter_map(|child| child.trace.clone()).collect();
        for child in children {
            for pending in Trace::new(self.trace.host().clone(), child).approvals().await? {
                if self.told_of_children.insert(ChildCall { trace: pending.trace_id.clone(), call: pending.call }) {
                    self.telling.push(Ok(RunEvent::ApprovalRequired(pending)));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Host, Run};
    use mainpath_runtime::Mail;
    use mainpath_store::Letter;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_message_that_the_last_driver_did_not_read_is_answered() {
        let folder = tempfile::tempdir().unwrap();
        let (work, script) = (folder.path().join("work"), folder.path().join("script.toml"));
        std::fs::create_dir(&work).unwrap();
        std::fs::write(&script, "[[turn]]\nfinal = \"One.\"\n[[turn]]\nfinal = \"Two.\"\n").unwrap();
        let host = async || Host::builder().data_dir(folder.path().join("data")).build().await.unwrap();
        let first = host().await;
        let run = first.agent(format!("scripted:{}", script.display())).workspace(&work).start("Begin.").await.unwrap();
        let id = run.trace().id().clone();
        run.outcome().await.unwrap();
        // No wake reaches this trace: the second host does not know it yet.
        let second = host().await;
        let trace = second.trace(&id).await.unwrap();
        let (body, from) =
            (serde_json::to_string(&Mail::message("More.")).unwrap(), trace.log(1).await.unwrap().head + 1);
        let letter = Letter { urgent: false, body, once: None };
        let sent = second.store().send(second.scope(), &id, letter).await.unwrap();
        let outcome = Run::follow(trace, from, Bound::Mail(sent)).outcome().await.unwrap();
        assert_eq!(outcome.answer, "Two.");
    }
}
