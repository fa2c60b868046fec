//! The agents that a remote child has started on its machine. One of them may be waiting for a person.

use super::seen::{Seen, look_in};
use mainpath_core::Child;
use mainpath_store::{Scope, Store, TraceStore};
use mainpath_types::{Millis, TraceId};

/// Agents are read down to this depth: a log from another machine is not trusted and may name any number of them.
const DEPTH: usize = 8;
/// The largest number of agents that are read.
const MOST: usize = 64;

/// The state of the agents of a remote child.
#[derive(Default)]
pub(super) struct Below {
    /// The first agent that waits for a person.
    asks: Option<TraceId>,
    /// True if an agent is working, or if its log cannot be read.
    works: bool,
    /// The total time that the agents have worked, in milliseconds.
    pub worked: Millis,
}

impl Below {
    /// Reads the logs of the agents that a remote child waits for.
    pub async fn look(store: &dyn Store, scope: &Scope, trace: &TraceId, seen: &Seen) -> Below {
        let host = |trace: &TraceId| trace.elsewhere().map(|remote| remote.host.to_string());
        let at = |child: &Child| child.trace.clone().filter(|agent| host(agent) == host(trace));
        let mut below = Below::default();
        let (mut level, mut looked) = (seen.agents.clone(), 0);
        for _ in 0..DEPTH {
            let mut next = Vec::new();
            for child in std::mem::take(&mut level) {
                looked += 1;
                let Some(agent) = at(&child).filter(|_| looked <= MOST) else {
                    below.works = true;
                    continue;
                };
                match look_in(TraceStore::new(store, scope, &agent), child.after).await {
                    Ok(seen) => {
                        below.worked = below.worked.saturating_add(seen.worked());
                        match seen.ended.is_none() {
                            true if seen.asks => below.asks = below.asks.or(Some(agent)),
                            true if !seen.agents.is_empty() => next.extend(seen.agents),
                            _ => below.works = true,
                        }
                    }
                    Err(_) => below.works = true,
                }
            }
            level = next;
        }
        below.works |= !level.is_empty();
        below
    }

    /// Returns the agent that waits for a person, unless another one is working.
    pub fn asks(self) -> Option<TraceId> {
        self.asks.filter(|_| !self.works)
    }
}
