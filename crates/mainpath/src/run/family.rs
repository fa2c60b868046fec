//! What happens in a trace and in the agents that it has started, as one stream, whoever drives them.

use super::telling::Telling;
use crate::event::RunEvent;
use crate::watching::{Seen, WatchFrom, Watching, goes_on};
use crate::{Error, ErrorKind, Trace};
use futures_util::future::select_all;
use mainpath_core::pending;
use mainpath_runtime::{Live, Phase, Waiting, Watcher};
use mainpath_store::StoreError;
use mainpath_types::{EventId, TraceId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// So often it is looked whether anybody still drives a trace of which nothing new is heard.
const PATIENCE: Duration = Duration::from_millis(250);

pub(super) struct Family {
    trace: Trace,
    watching: Watching,
    members: BTreeMap<TraceId, Member>,
    /// Those of which events were seen since it was last looked whom they wait for.
    moved: BTreeSet<TraceId>,
    queue: VecDeque<Result<RunEvent, Error>>,
    /// Whether it goes on when nobody drives the trace any more,
    is_lasting: bool,
    /// and whether that is so now.
    rests: bool,
    ended: bool,
}

struct Member {
    telling: Telling,
    /// Tells of pieces, once there is a log; events come from there.
    pieces: Option<Watcher>,
    /// Pieces of what has not begun, as far as the log was read.
    early: Vec<Live>,
}

/// A piece of what is still coming.
struct Heard {
    trace: TraceId,
    piece: Live,
}

impl Family {
    pub fn new(trace: &Trace, from: WatchFrom) -> Family {
        let host = trace.host();
        let store = Arc::clone(&host.runtime().config().store);
        Family {
            trace: trace.clone(),
            watching: Watching::new(store, host.scope().clone(), trace.id(), from, PATIENCE),
            members: BTreeMap::new(),
            moved: BTreeSet::new(),
            queue: VecDeque::new(),
            is_lasting: false,
            rests: false,
            ended: false,
        }
    }

    /// The same, but when nothing goes on any more it waits for what comes later.
    pub fn lasting(self) -> Family {
        Family { is_lasting: true, ..self }
    }

    /// See [`Run::next`](super::Run::next).
    pub async fn next(&mut self) -> Option<Result<RunEvent, Error>> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some(event);
            }
            if self.ended {
                return None;
            }
            if let Err(error) = self.look().await {
                self.ended = true;
                self.queue.push_back(Err(error));
            }
        }
    }

    async fn look(&mut self) -> Result<(), Error> {
        if self.rests {
            self.watching.rest().await?;
            self.rests = false;
        }
        tokio::select! {
            biased;
            seen = self.watching.next() => self.see(seen?).await,
            heard = heard(&mut self.members) => {
                let Heard { trace, piece } = heard?;
                if let Some(member) = self.members.get_mut(&trace) {
                    member.hear(piece).await?;
                    self.queue.extend(std::iter::from_fn(|| member.telling.pop()));
                }
                Ok(())
            }
        }
    }

    async fn see(&mut self, seen: Seen) -> Result<(), Error> {
        match seen {
            Seen::Opened { trace, from } => {
                let of = Trace::new(self.trace.host().clone(), trace.clone());
                let telling = Telling::new(&of, from, false);
                self.members.insert(trace, Member { telling, pieces: None, early: Vec::new() });
            }
            Seen::Event { trace, event } => {
                if let Some(member) = self.members.get_mut(&trace) {
                    let host = self.trace.host();
                    let pieces = || host.runtime().watch(host.scope(), &trace, EventId::MAX);
                    member.pieces.get_or_insert_with(pieces);
                    member.telling.take(&Live::Event(event)).await?;
                    for piece in std::mem::take(&mut member.early) {
                        member.hear(piece).await?;
                    }
                    self.queue.extend(std::iter::from_fn(|| member.telling.pop()));
                }
                self.moved.insert(trace);
                if !self.watching.has_more() {
                    self.ask();
                }
            }
            Seen::Closed(trace) => drop(self.members.remove(&trace)),
            Seen::Damaged { trace, problem } => {
                self.queue.push_back(Err(Error::new(ErrorKind::Damaged, format!("{trace}: {problem}"))));
                self.ended = true;
            }
            Seen::Quiet { is_driven } => {
                self.ask();
                let waits = self.members.values().any(|member| waits_for_others(&member.waiting()));
                if is_driven || waits || !self.queue.is_empty() {
                    return Ok(());
                }
                let host = self.trace.host();
                let failed = match &*host.runtime().phase(host.scope(), self.trace.id()).borrow() {
                    Phase::Failed(problem) => Some(Err(Error::failed(problem.clone()))),
                    _ => None,
                };
                (self.rests, self.ended) = (self.is_lasting, !self.is_lasting || failed.is_some());
                self.queue.extend(failed);
            }
        }
        Ok(())
    }

    /// Tells what people are waited for.
    fn ask(&mut self) {
        for trace in std::mem::take(&mut self.moved) {
            let Some(member) = self.members.get_mut(&trace) else { continue };
            let waiting = member.waiting();
            member.telling.ask(&waiting);
            self.queue.extend(std::iter::from_fn(|| member.telling.pop()));
        }
    }
}

impl Member {
    fn waiting(&self) -> Vec<Waiting> {
        Waiting::among(&pending(self.telling.state()))
    }

    async fn hear(&mut self, piece: Live) -> Result<(), Error> {
        let of = match &piece {
            Live::Delta { of, .. } => of,
            Live::Notice(_) => return self.telling.take(&piece).await,
            Live::Event(_) => return Ok(()),
        };
        match goes_on(self.telling.state(), of) {
            Some(true) => self.telling.take(&piece).await,
            Some(false) => Ok(()),
            None => {
                self.early.push(piece);
                Ok(())
            }
        }
    }
}

/// Whether something other than an agent is waited for: that is one of those that are looked at.
fn waits_for_others(waiting: &[Waiting]) -> bool {
    waiting.iter().any(|one| !matches!(one, Waiting::Child(_)))
}

/// The next piece of any of them.
async fn heard(members: &mut BTreeMap<TraceId, Member>) -> Result<Heard, StoreError> {
    let told = members.iter_mut().filter_map(|(trace, member)| Some((trace, member.pieces.as_mut()?)));
    let pieces = told.map(|(trace, pieces)| {
        Box::pin(async move { pieces.next().await.map(|piece| Heard { trace: trace.clone(), piece }) })
    });
    let pieces: Vec<_> = pieces.collect();
    if pieces.is_empty() {
        return std::future::pending().await;
    }
    select_all(pieces).await.0
}
