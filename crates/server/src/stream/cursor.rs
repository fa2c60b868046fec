//! From where a stream goes on: the number of the last event that was seen. Several frames may share a number; the last of them bears it
//! alone (`12`), those before it say which they are (`12.1`). With agents in the stream, each that works has its own number after it
//! (`12;AGENT=7`).

use mainpath::RunEvent;
use mainpath::WatchFrom;
use mainpath::types::{EventId, TraceId};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// A place in one log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    /// The event.
    event: EventId,
    /// How many of its frames were seen; 0: all.
    part: u32,
}

impl Place {
    /// The first event that has frames which were not seen.
    fn from(self) -> EventId {
        if self.part > 0 { self.event } else { self.event.saturating_add(1) }
    }

    /// After the next frame of an event.
    fn next(self, event: EventId, has_more: bool) -> Place {
        let part = match (has_more, self.event == event && self.part > 0) {
            (false, _) => 0,
            (true, true) => self.part.saturating_add(1),
            (true, false) => 1,
        };
        Place { event, part }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            0 => write!(to, "{}", self.event),
            part => write!(to, "{}.{part}", self.event),
        }
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Place, ()> {
        let (event, part) = text.split_once('.').unwrap_or((text, "0"));
        Ok(Place { event: event.parse().map_err(drop)?, part: part.parse().map_err(drop)? })
    }
}

/// What was seen of a trace, and of the agents that it has started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    root: Place,
    agents: BTreeMap<TraceId, Place>,
}

impl Cursor {
    /// After an event.
    pub fn after(event: EventId) -> Cursor {
        Cursor { root: Place { event, part: 0 }, agents: BTreeMap::new() }
    }

    /// The last event of the trace itself that was seen, or begun to be.
    pub fn event(&self) -> EventId {
        self.root.event
    }

    /// How many of its frames were seen, where not all were; else 0.
    pub fn part(&self) -> usize {
        usize::try_from(self.root.part).unwrap_or(usize::MAX)
    }

    /// Returns true if all frames of an event of this trace or of an agent were sent.
    pub fn has(&self, root: &TraceId, of: &TraceId, event: EventId) -> bool {
        let place = if of == root { Some(&self.root) } else { self.agents.get(of) };
        place.is_some_and(|place| event < place.event || event == place.event && place.part == 0)
    }

    /// Whether all agents that it names are of this trace.
    pub fn is_of(&self, root: &TraceId) -> bool {
        self.agents.keys().all(|agent| agent.root() == root.root())
    }

    /// From where it is watched.
    pub fn from(&self, with_agents: bool) -> WatchFrom {
        let agents = self.agents.iter().map(|(agent, place)| (agent.clone(), place.from())).collect();
        WatchFrom { event: self.root.from(), agents, with_agents }
    }

    /// Takes a frame of this trace or an agent. `false`: it was seen before.
    pub fn take(&mut self, root: &TraceId, event: &RunEvent, skips: &mut Skips) -> bool {
        let Some(id) = event.id() else { return true };
        let trace = event.trace_id();
        if skips.skip(trace, id) {
            return false;
        }
        match trace == root {
            true => self.root = self.root.next(id, event.has_more()),
            false => {
                let place = self.agents.entry(trace.clone()).or_default();
                *place = place.next(id, event.has_more());
            }
        }
        if let RunEvent::SubTraceCompleted(done) = event
            && let Some(child) = &done.handed.child
        {
            self.agents.remove(child);
        }
        true
    }

    /// The frames that were seen of events that are read again.
    pub fn skips(&self, root: &TraceId) -> Skips {
        let places = self.agents.iter().map(|(agent, place)| (agent.clone(), *place));
        let begun = std::iter::once((root.clone(), self.root)).chain(places).filter(|(_, place)| place.part > 0);
        Skips { begun: begun.collect() }
    }
}

/// Frames that were seen before the stream broke off in the middle of an event.
#[derive(Clone, Debug, Default)]
pub struct Skips {
    begun: BTreeMap<TraceId, Place>,
}

impl Skips {
    fn skip(&mut self, trace: &TraceId, event: EventId) -> bool {
        let Some(place) = self.begun.get_mut(trace) else { return false };
        if place.event != event || place.part == 0 {
            self.begun.remove(trace);
            return false;
        }
        place.part -= 1;
        true
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}", self.root)?;
        self.agents.iter().try_for_each(|(agent, place)| write!(to, ";{agent}={place}"))
    }
}

impl FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Cursor, ()> {
        let mut parts = text.trim().split(';');
        let root = parts.next().unwrap_or_default().parse()?;
        let agent = |part: &str| {
            let (agent, place) = part.split_once('=').ok_or(())?;
            Ok((agent.parse().map_err(|_| ())?, place.parse()?))
        };
        Ok(Cursor { root, agents: parts.map(agent).collect::<Result<_, ()>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_as_it_is_written_and_nothing_else_is_one() {
        for text in ["0", "12", "12.1", "12;t@delegate-5-001=7", "3.2;a@explore-1-001=1.4;a@explore-2-001=9"] {
            assert_eq!(text.parse::<Cursor>().map(|cursor| cursor.to_string()), Ok(text.into()));
        }
        for text in ["", "x", "-1", "1;", "1;a", "1;a=", "1;/=3", "1.x", "99999999999999999999999"] {
            assert_eq!(text.parse::<Cursor>(), Err(()), "{text}");
        }
    }

    #[test]
    fn the_place_in_the_middle_of_an_event_is_counted() {
        let place = Place::default().next(4, true);
        assert_eq!((place.to_string(), place.from()), ("4.1".into(), 4));
        let place = place.next(4, true);
        assert_eq!(place.to_string(), "4.2");
        let place = place.next(4, false);
        assert_eq!((place.to_string(), place.from()), ("4".into(), 5));
        assert_eq!(place.next(5, false).to_string(), "5");
        assert_eq!(place.next(5, true).next(6, true).to_string(), "6.1");
    }
}
