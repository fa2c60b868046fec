//! What the checks work with: a trace, its events, and a store that has them.

use crate::store::{Appended, Opened, Scope, Store};
use mainpath_types::{Event, EventId, MessageMode, MessageQueued, Part, Principal, TraceId};

/// An event for tests: somebody said `text`.
pub fn event(id: EventId, text: &str) -> Event {
    let said = MessageQueued {
        mode: MessageMode::Message,
        parts: vec![Part::text(text)],
        typed: None,
        tokens: 3,
        demands: 0,
        demanded: Vec::new(),
        from: Principal::local_user(),
    };
    Event { id, ts: 1_795_315_500_000 + id, turn: 0, mail: id.is_multiple_of(3).then_some(id), kind: said.into() }
}

/// Events `from..=to`, as [`event`] makes them.
pub fn events(from: EventId, to: EventId) -> Vec<Event> {
    (from..=to).map(|id| event(id, &format!("said \"{id}\"\nund über"))).collect()
}

pub(super) fn trace() -> TraceId {
    "20260101-first".parse().unwrap()
}

pub(super) fn scope_of(tenant: &str, principal: &str) -> Scope {
    Scope { tenant: tenant.parse().unwrap(), principal: principal.parse().unwrap() }
}

pub(super) async fn opened<S: Store>(store: &S) -> Opened {
    store.lease(&Scope::local(), &trace(), true).await.expect("a trace can be leased")
}

/// A trace with events 1 to `to`, given free.
pub(super) async fn filled<S: Store>(store: &S, to: EventId) {
    let lease = opened(store).await.lease;
    assert_eq!(store.append(&lease, 0, events(1, to)).await, Appended::Committed { head: to });
}
