//! The agents of a remote child, on its machine: one of them may be what waits for a person.

use super::seen::{Seen, look_in};
use mainpath_core::Child;
use mainpath_store::{Scope, Store, TraceStore};
use mainpath_types::{Millis, TraceId};

/// Agents are looked at down to this depth. A log of another machine may name any.
const DEPTH: usize = 8;
/// So many of them are looked at.
const MOST: usize = 64;

/// The state of the agents of a remote child.
#[derive(Default)]
pub(super) struct Below {
    /// The first that waits for a person.
    asks: Option<TraceId>,
    /// True if one of them does not wait for a person, or if this cannot be seen.
    works: bool,
    /// For how long they have worked, in milliseconds.
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

    /// Returns the agent that waits for a person, if none of them works.
    pub fn asks(self) -> Option<TraceId> {
        self.asks.filter(|_| !self.works)
    }
}
