//! A message of another agent comes, and is read.

use crate::error::Decided;
use crate::{Arrival, Refusal, State};
use mainpath_types::{CHECK_MESSAGES, EventId, LONGEST_MESSAGE, MessageReceived, PlannedCall, Resolution, Seq};
use std::sync::Arc;

/// So many messages wait at most.
const MOST: usize = 100;

pub(crate) fn decide(state: &State, message: &MessageReceived) -> Decided {
    may_receive(state, message)?;
    Ok(message.clone().into())
}

/// Whether a message of another agent is taken in: it fits and is new, the agent can look, and not too many wait.
pub fn may_receive(state: &State, message: &MessageReceived) -> Result<(), Refusal> {
    let spec = state.coming_spec().ok_or(Refusal::NoSpec)?;
    if !spec.tools.iter().any(|tool| *tool.name == *CHECK_MESSAGES) {
        return Err(Refusal::NoInbox);
    }
    if message.text.trim().is_empty() {
        return Err(Refusal::Empty);
    }
    if message.text.len() > LONGEST_MESSAGE {
        return Err(Refusal::MessageTooLong(message.text.len()));
    }
    if state.inbox.unread().count() >= MOST {
        return Err(Refusal::InboxFull(MOST));
    }
    let is_same = |known: &Arrival| {
        known.id.is_some() && known.id.as_deref() == message.id.as_deref() && *known.from == *message.from.as_str()
    };
    if state.inbox.list.iter().any(is_same) {
        return Err(Refusal::Received);
    }
    Ok(())
}

impl State {
    pub(crate) fn receive(&mut self, event: EventId, data: &MessageReceived) {
        let (from, id) = (data.from.as_str().into(), data.id.as_deref().map(Arc::from));
        self.inbox.list.push(Arrival { event, from, id, read: None });
        self.inbox.is_news = true;
    }

    /// What a call's answer shows is read.
    pub(crate) fn read_messages(&mut self, at: Seq, call: &PlannedCall) {
        if call.messages.is_empty() || call.ended().is_none_or(|(how, _)| how != Resolution::Ok) {
            return;
        }
        let shown = |arrival: &&mut Arrival| call.messages.contains(&arrival.event);
        self.inbox.list.iter_mut().filter(shown).for_each(|arrival| arrival.read = Some(at));
        let waits = self.inbox.unread().next().is_some();
        self.inbox.is_news &= waits;
    }

    /// What was read on a way that was left is read no more.
    pub(crate) fn rewind_inbox(&mut self) {
        let (tree, head) = (&self.tree, self.tree.head);
        let left = |arrival: &&mut Arrival| arrival.read.is_some_and(|seq| !tree.is_on_path(head, seq));
        for arrival in self.inbox.list.iter_mut().filter(left) {
            (arrival.read, self.inbox.is_news) = (None, true);
        }
    }
}
