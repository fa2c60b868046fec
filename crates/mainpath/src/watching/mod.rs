//! A trace and the agents that it has started, and theirs, as one stream, whoever drives them: what the command's `watch` and
//! [`Trace::watch_all`](crate::Trace::watch_all) are made of.
//!
//! An agent is watched from its `sub_trace_started` until its `sub_trace_completed`, in whichever log of the family these are. No file
//! stays open meanwhile: a log is opened when it has grown, and closed once that is read. What is kept of an agent goes when it has ended.

mod lane;
mod order;

use crate::Error;
use futures_util::future::select_all;
use lane::Lane;
use mainpath_core::{EffectKey, State};
use mainpath_store::{Scope, Store, StoreError};
use mainpath_types::{Event, EventId, TraceId};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// So often it is looked whether the driver of a run that has ended is gone,
const BRIEF: Duration = Duration::from_millis(20);
/// and so many times.
const BRIEFLY: u32 = 50;

/// From where a trace and its agents are watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchFrom {
    /// The first event of the trace itself, 1 being the first. Agents that had ended before it are left out.
    pub event: EventId,
    /// The first event of agents that had not ended by then, for who has seen some of them already. Others are watched from the
    /// beginning of their work.
    pub agents: BTreeMap<TraceId, EventId>,
    /// Whether agents are watched at all.
    pub with_agents: bool,
}

impl From<EventId> for WatchFrom {
    fn from(event: EventId) -> WatchFrom {
        WatchFrom { event, agents: BTreeMap::new(), with_agents: true }
    }
}

/// What is seen of a trace and its agents.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// A trace is watched from here on: the one that was asked for, or an agent. All of its events come from the first on; those
    /// before `from` are history, without which the others are not understood.
    Opened {
        /// The trace.
        trace: TraceId,
        /// The first event that is news.
        from: EventId,
    },
    /// The next event of a trace. Each log keeps its order, and the logs are merged by time: no agent's event comes before what started the agent,
    /// or after what tells its end.
    Event {
        /// The trace.
        trace: TraceId,
        /// The event.
        event: Arc<Event>,
    },
    /// The log of an agent cannot be read any further.
    Damaged {
        /// The agent.
        trace: TraceId,
        /// Why, in one line.
        problem: String,
    },
    /// An agent has ended, and all of it was seen.
    Closed(TraceId),
    /// All that there is was seen, and nothing has come for a while.
    Quiet {
        /// Whether anybody drives the trace that was asked for. If not, everything that whoever did has written was seen.
        is_driven: bool,
    },
}

/// A trace and its agents, watched.
pub struct Watching {
    store: Arc<dyn Store>,
    scope: Scope,
    root: TraceId,
    /// After so long without news it is said that it is quiet.
    patience: Duration,
    with_agents: bool,
    /// From where agents are watched that were watched before.
    agents: BTreeMap<TraceId, EventId>,
    /// What is watched now, by trace.
    lanes: BTreeMap<TraceId, Lane>,
    ready: VecDeque<Seen>,
    /// How often it is looked soon after the root's run has ended.
    brief: u32,
    /// Whether everything was read again since nobody drives it.
    is_read_again: bool,
    /// Whether only what is there is seen: then all of it has been once there is nothing more.
    is_of_what_is_there: bool,
}

impl Watching {
    /// Watches a trace of a store. After `patience` without news [`Seen::Quiet`] is given.
    pub fn new(
        store: Arc<dyn Store>,
        scope: Scope,
        trace: &TraceId,
        from: impl Into<WatchFrom>,
        patience: Duration,
    ) -> Watching {
        let WatchFrom { event, agents, with_agents } = from.into();
        let ready = VecDeque::from([Seen::Opened { trace: trace.clone(), from: event }]);
        let lanes = BTreeMap::from([(trace.clone(), Lane::new(event))]);
        let root = trace.clone();
        Watching {
            store,
            scope,
            root,
            patience,
            with_agents,
            agents,
            lanes,
            ready,
            brief: 0,
            is_read_again: false,
            is_of_what_is_there: false,
        }
    }

    /// The same of what is there now: nothing is waited for, and [`Seen::Quiet`] comes at its end.
    pub(crate) fn of_what_is_there(self) -> Watching {
        Watching { is_of_what_is_there: true, ..self }
    }

    /// Whether it is known that there is more.
    pub fn has_more(&self) -> bool {
        !self.ready.is_empty() || self.lanes.values().any(Lane::has_more)
    }

    /// The next to see. Never ends by itself: [`Seen::Quiet`] comes again and again. Cancel safe. Errors: the log of the trace itself
    /// cannot be read, or is damaged; everything before that was given.
    pub async fn next(&mut self) -> Result<Seen, Error> {
        loop {
            if let Some(seen) = self.ready.pop_front() {
                return Ok(seen);
            }
            let unread = self.lanes.iter().find(|(_, lane)| lane.is_unread).map(|(trace, _)| trace.clone());
            if let Some(trace) = unread {
                self.read(&trace).await?;
            } else if !self.step() && !self.open_earlier() {
                self.tell_damage()?;
                if self.ready.is_empty() {
                    self.wait().await?;
                }
            }
        }
    }

    async fn read(&mut self, trace: &TraceId) -> Result<(), Error> {
        let Some(last) = self.lanes.get(trace).map(|lane| lane.last) else { return Ok(()) };
        let read = self.store.read(&self.scope, trace, last + 1).await;
        let is_root = *trace == self.root;
        let Some(lane) = self.lanes.get_mut(trace) else { return Ok(()) };
        lane.is_unread = false;
        match read {
            Ok(log) => {
                if !log.events.is_empty() {
                    self.is_read_again = false;
                }
                lane.take(log);
            }
            Err(error) if is_root => return Err(error.into()),
            // It was only just started.
            Err(StoreError::NotFound { .. }) => {}
            Err(error) => lane.damage = Some(error.into()),
        }
        Ok(())
    }

    /// Tells which logs cannot be read any further, once all before that was seen.
    fn tell_damage(&mut self) -> Result<(), Error> {
        for (trace, lane) in &mut self.lanes {
            let Some(error) = lane.damage.take() else { continue };
            lane.is_damaged = true;
            let problem = lane::unreadable(trace, &error);
            if *trace == self.root {
                return Err(Error::new(error.kind(), problem));
            }
            self.ready.push_back(Seen::Damaged { trace: trace.clone(), problem });
        }
        Ok(())
    }

    /// Waits for news, or says that there is none.
    async fn wait(&mut self) -> Result<(), Error> {
        if self.is_of_what_is_there {
            self.ready.push_back(Seen::Quiet { is_driven: false });
            return Ok(());
        }
        if self.is_read_again {
            self.is_read_again = false;
            self.ready.push_back(Seen::Quiet { is_driven: false });
            return Ok(());
        }
        self.listen()?;
        if self.lanes.values().any(|lane| lane.is_unread) {
            return Ok(());
        }
        let patience = if self.brief > 0 { BRIEF.min(self.patience) } else { self.patience };
        let news = self.news();
        if tokio::time::timeout(patience, news).await.is_ok() {
            self.lanes.values_mut().for_each(Lane::hear);
            return Ok(());
        }
        self.brief = self.brief.saturating_sub(1);
        let is_driven = self.store.driver(&self.scope, &self.root).await?.is_some();
        // Of one that has no log yet nobody hears; and what was written before its driver went is read before that is said.
        for lane in self.lanes.values_mut().filter(|lane| !lane.is_damaged) {
            lane.is_unread = lane.heads.is_none() || !is_driven;
        }
        match is_driven {
            true => self.ready.push_back(Seen::Quiet { is_driven }),
            false => {
                // Nobody's going is waited for any more.
                self.brief = 0;
                self.is_read_again = true;
            }
        }
        Ok(())
    }

    /// Waits for news, however long, of what nobody drives. Cancel safe. Errors: the store tells of none.
    pub async fn rest(&mut self) -> Result<(), Error> {
        self.listen()?;
        if !self.lanes.values().any(|lane| lane.is_unread) {
            self.news().await;
            self.lanes.values_mut().for_each(Lane::hear);
        }
        Ok(())
    }

    /// Until any of the logs has grown.
    fn news(&mut self) -> impl Future<Output = ()> {
        let changes = self.lanes.values_mut().filter_map(|lane| lane.heads.as_mut());
        let changes: Vec<_> = changes.map(|heads| Box::pin(heads.changed())).collect();
        async move {
            match changes.is_empty() {
                true => std::future::pending().await,
                false => drop(select_all(changes).await),
            }
        }
    }

    /// Has the store tell of all that is watched. Errors: it does not.
    fn listen(&mut self) -> Result<(), Error> {
        for (trace, lane) in self.lanes.iter_mut().filter(|(_, lane)| lane.heads.is_none() && !lane.is_damaged) {
            match self.store.subscribe(&self.scope, trace) {
                Ok(heads) => {
                    lane.heads = Some(heads);
                    lane.hear();
                }
                Err(StoreError::NotFound { .. }) if *trace != self.root => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Whether what pieces come from goes on, in a trace that stands so; `None` if it has not begun there: the log is to be read first.
pub fn goes_on(state: &State, of: &EffectKey) -> Option<bool> {
    match of {
        EffectKey::Model(request) if *request > state.counts.requests => None,
        EffectKey::Model(request) => Some(state.model.is_some_and(|model| model.request == *request)),
        EffectKey::Tool(call, attempt) => {
            let call = state.calls.get(*call)?;
            let (is_done, has_begun) = (call.state.is_done(), call.attempt >= *attempt);
            (is_done || has_begun).then_some(!is_done && call.attempt == *attempt)
        }
        _ => Some(false),
    }
}
