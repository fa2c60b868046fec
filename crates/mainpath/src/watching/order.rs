//! Which event is the next of all that were read, and which traces are watched because of it.

use super::lane::{Lane, Started, unreadable};
use super::{BRIEFLY, Seen, Watching};
use mainpath_types::{Event, EventKind, TraceId};
use std::sync::Arc;

impl Watching {
    /// Takes one step: an event is given, or a trace is watched, or not any more. Whether there was one to take.
    pub(super) fn step(&mut self) -> bool {
        match self.earliest(self.lanes.iter()) {
            Some(trace) => self.step_of(&trace),
            None => false,
        }
    }

    /// The trace whose next event comes first. Of those of one moment that is the one that has started the others.
    fn earliest<'a>(&self, lanes: impl Iterator<Item = (&'a TraceId, &'a Lane)>) -> Option<TraceId> {
        lanes.filter_map(|(trace, lane)| Some((lane.at()?, trace))).min().map(|(_, trace)| trace.clone())
    }

    /// The same with the next event of one trace. What has to come before it does.
    fn step_of(&mut self, trace: &TraceId) -> bool {
        let Some(lane) = self.lanes.get_mut(trace) else { return false };
        let Some(event) = lane.unseen.front().cloned() else { return false };
        if event.id >= lane.from
            && let Some(earlier) = lane.earlier.take()
            && !earlier.is_empty()
        {
            self.open_all(trace, earlier);
            return true;
        }
        let ended = match &event.kind {
            EventKind::SubTraceCompleted(data) => lane.open.iter().position(|one| one.is_ended_by(data)),
            _ => None,
        };
        if let Some(at) = ended
            && let Some(child) = lane.open.get(at).map(|one| one.child.clone())
        {
            if !self.is_all_seen(&child) {
                return true;
            }
            if let Some(lane) = self.lanes.get_mut(trace) {
                lane.open.remove(at);
            }
            self.close(&child);
        }
        self.give(trace, event);
        true
    }

    /// Gives the next event of a trace.
    fn give(&mut self, trace: &TraceId, event: Arc<Event>) {
        let (is_root, with_agents) = (*trace == self.root, self.with_agents);
        let Some(lane) = self.lanes.get_mut(trace) else { return };
        lane.unseen.pop_front();
        let mut started = None;
        match &event.kind {
            EventKind::SubTraceStarted(data) if with_agents => match &mut lane.earlier {
                Some(earlier) => earlier.push(Started::new(data)),
                None => started = Some(Started::new(data)),
            },
            EventKind::SubTraceCompleted(data) => {
                lane.earlier.iter_mut().for_each(|earlier| earlier.retain(|one| !one.is_ended_by(data)));
            }
            EventKind::RunFinished(_) if is_root => self.brief = BRIEFLY,
            EventKind::RunStarted(_) if is_root => self.brief = 0,
            _ => {}
        }
        self.ready.push_back(Seen::Event { trace: trace.clone(), event });
        if let Some(started) = started {
            self.open(trace, started);
        }
    }

    /// Where the history of traces is all that there is: what they had started then goes on. Whether there was any.
    pub(super) fn open_earlier(&mut self) -> bool {
        let lanes = self.lanes.iter_mut().filter(|(_, lane)| lane.unseen.is_empty() && lane.last > 0);
        let found = lanes.filter_map(|(trace, lane)| Some((trace.clone(), lane.earlier.take()?)));
        let found: Vec<_> = found.filter(|(_, earlier)| !earlier.is_empty()).collect();
        let is_any = !found.is_empty();
        found.into_iter().for_each(|(trace, earlier)| self.open_all(&trace, earlier));
        is_any
    }

    fn open_all(&mut self, parent: &TraceId, started: Vec<Started>) {
        started.into_iter().for_each(|one| self.open(parent, one));
    }

    fn open(&mut self, parent: &TraceId, started: Started) {
        let child = started.child.clone();
        if self.lanes.contains_key(&child) {
            return;
        }
        let from = self.agents.remove(&child).unwrap_or(0).max(started.after + 1);
        if let Some(lane) = self.lanes.get_mut(parent) {
            lane.open.push(started);
        }
        self.ready.push_back(Seen::Opened { trace: child.clone(), from });
        self.lanes.insert(child, Lane::new(from));
    }

    /// An agent has ended: what is left of it, and of those that it has started, comes before that is told. Whether nothing is left.
    fn is_all_seen(&mut self, child: &TraceId) -> bool {
        let below = self.below(child);
        let mut is_read = true;
        for trace in &below {
            if let Some(lane) = self.lanes.get_mut(trace)
                && !lane.is_read_to_the_end
            {
                lane.is_read_to_the_end = true;
                lane.is_unread = !lane.is_damaged;
                is_read &= !lane.is_unread;
            }
        }
        if !is_read {
            return false;
        }
        let next = self.earliest(self.lanes.iter().filter(|(trace, _)| below.contains(trace)));
        match next {
            Some(trace) => {
                self.step_of(&trace);
                false
            }
            // What it had started before the news begin, where it has no news itself.
            None => !self.open_earlier(),
        }
    }

    /// An agent and those below it, the agent first.
    fn below(&self, child: &TraceId) -> Vec<TraceId> {
        let mut found = vec![child.clone()];
        let mut at = 0;
        while let Some(parent) = found.get(at).cloned() {
            found.extend(self.lanes.get(&parent).into_iter().flat_map(|lane| &lane.open).map(|one| one.child.clone()));
            at += 1;
        }
        found
    }

    fn close(&mut self, child: &TraceId) {
        for trace in self.below(child).into_iter().rev() {
            let Some(lane) = self.lanes.remove(&trace) else { continue };
            if let Some(problem) = lane.damage {
                let problem = unreadable(&trace, &problem);
                self.ready.push_back(Seen::Damaged { trace: trace.clone(), problem });
            }
            self.ready.push_back(Seen::Closed(trace));
        }
    }
}
