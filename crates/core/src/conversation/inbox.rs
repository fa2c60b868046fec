//! Messages of other agents: they wait until the agent looks.

use crate::error::Decided;
use crate::{Refusal, State};
use mainpath_types::{CHECK_MESSAGES, EventId, LONGEST_MESSAGE, MessageReceived, PlannedCall, Resolution, Seq};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::sync::Arc;

/// So many messages wait at most.
const MOST: usize = 100;

/// What other agents have sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Inbox {
    /// The messages, oldest first.
    pub list: Vec<Arrival>,
    /// Whether one has come of which the model was not told.
    pub is_news: bool,
}

/// A message of another agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arrival {
    /// The event that holds it.
    pub event: EventId,
    /// Who sent it.
    pub from: Arc<str>,
    /// The sender's id for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Arc<str>>,
    /// The answer whose call has read it.
    pub read: Option<Seq>,
}

impl Inbox {
    /// Whether there was never a message.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Those that nobody has read, oldest first.
    pub fn unread(&self) -> impl DoubleEndedIterator<Item = &Arrival> {
        self.list.iter().filter(|arrival| arrival.read.is_none())
    }

    /// How many wait and whom the newest is from; nothing if none waits.
    pub(crate) fn told(&self) -> Option<String> {
        let newest = self.unread().next_back()?;
        let count = self.unread().count();
        let mut text = match count {
            1 => format!("1 message from {} waits", newest.from),
            _ => format!("{count} messages wait, the newest is from {}", newest.from),
        };
        let _ = write!(text, ": read with {CHECK_MESSAGES}");
        Some(text)
    }
}

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
    let is_same = |known: &Arrival| known.id.is_some() && known.id.as_deref() == message.id.as_deref();
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
