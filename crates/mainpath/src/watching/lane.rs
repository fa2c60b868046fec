//! One trace of those that are watched.

use crate::{Error, ErrorKind};
use mainpath_store::ReadLog;
use mainpath_types::{CallId, Event, EventId, SubTraceCompleted, SubTraceStarted, TraceId};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::watch;

/// What is known of a trace that is watched.
pub(super) struct Lane {
    /// The first event that is news.
    pub from: EventId,
    /// The last event that was read.
    pub last: EventId,
    /// What was read and not seen.
    pub unseen: VecDeque<Arc<Event>>,
    /// The agents that it had started before the news begin, and that had not ended; `None` once they are watched.
    pub earlier: Option<Vec<Started>>,
    /// The agents that are watched.
    pub open: Vec<Started>,
    /// Where its log ends, as the store tells.
    pub heads: Option<watch::Receiver<EventId>>,
    /// Whether its log is to be read.
    pub is_unread: bool,
    /// Whether its log was asked for again since its end is known.
    pub is_read_to_the_end: bool,
    /// Why its log cannot be read any further, until that is told.
    pub damage: Option<Error>,
    /// Whether that was told.
    pub is_damaged: bool,
}

/// An agent that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Started {
    call: CallId,
    nth: u16,
    /// The agent.
    pub child: TraceId,
    /// The event after which its work begins.
    pub after: EventId,
}

impl Started {
    pub fn new(data: &SubTraceStarted) -> Started {
        Started { call: data.call, nth: data.nth, child: data.child.clone(), after: data.after }
    }

    /// Whether it is this one that has ended.
    pub fn is_ended_by(&self, data: &SubTraceCompleted) -> bool {
        (self.call, self.nth) == (data.call, data.nth)
    }
}

impl Lane {
    pub fn new(from: EventId) -> Lane {
        Lane {
            from,
            last: 0,
            unseen: VecDeque::new(),
            earlier: Some(Vec::new()),
            open: Vec::new(),
            heads: None,
            is_unread: true,
            is_read_to_the_end: false,
            damage: None,
            is_damaged: false,
        }
    }

    /// Takes what was read.
    pub fn take(&mut self, log: ReadLog) {
        self.unseen.extend(log.events.into_iter().map(Arc::new));
        self.last = self.unseen.back().map_or(self.last, |event| event.id);
        self.damage = log.damage.map(|damage| Error::new(ErrorKind::Damaged, damage.to_string()));
    }

    /// Notes whether its log has grown.
    pub fn hear(&mut self) {
        let Some(heads) = &mut self.heads else { return };
        self.is_unread |= *heads.borrow_and_update() > self.last && !self.is_damaged;
        if heads.has_changed().is_err() {
            self.heads = None;
        }
    }

    /// Whether it is known that there is more.
    pub fn has_more(&self) -> bool {
        self.is_unread || !self.unseen.is_empty() || self.damage.is_some()
    }

    /// Where the next event stands in time; history comes first.
    pub fn at(&self) -> Option<u64> {
        let next = self.unseen.front()?;
        Some(if next.id < self.from { 0 } else { next.ts })
    }
}

/// Why a log cannot be read any further, in a line. One of another machine may only be out of reach.
pub(super) fn unreadable(trace: &TraceId, error: &Error) -> String {
    let problem = error.message();
    match trace.elsewhere() {
        Some(_) => format!("{problem}; what comes after that is not seen here"),
        None => format!("the log is damaged: {problem}; everything before that was read"),
    }
}
