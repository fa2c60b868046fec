//! What people and programs said while the agent was busy.

use mainpath_types::{EventId, MessageMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The messages that wait.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Queues {
    /// Those that are read after the running tool.
    pub steers: VecDeque<Queued>,
    /// Those that are read after the run, one at a time.
    pub follow_ups: VecDeque<Queued>,
    /// Set after a run that did not end with an answer: what waits stays until somebody speaks.
    pub held: bool,
}

/// A message that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Queued {
    /// The event that holds it.
    pub event: EventId,
    /// Its estimated size.
    pub tokens: u32,
    /// The size of what it demands or rules out.
    pub demands: u32,
}

impl Queues {
    /// Adds a message. Whoever speaks lets go what was held.
    pub fn push(&mut self, mode: MessageMode, message: Queued) {
        self.held = false;
        match mode {
            MessageMode::Steer => self.steers.push_back(message),
            MessageMode::Message | MessageMode::FollowUp => self.follow_ups.push_back(message),
        }
    }

    /// The message that would open a run now: steers go first.
    pub fn front(&self) -> Option<Queued> {
        self.steers.front().or(self.follow_ups.front()).copied()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.steers.is_empty() && self.follow_ups.is_empty()
    }

    /// Takes a message out and returns it.
    pub fn take(&mut self, event: EventId) -> Option<Queued> {
        for queue in [&mut self.steers, &mut self.follow_ups] {
            if let Some(at) = queue.iter().position(|message| message.event == event) {
                return queue.remove(at);
            }
        }
        None
    }
}
