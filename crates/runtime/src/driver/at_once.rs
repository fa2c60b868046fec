//! What follows at once from what was just decided and touches nothing outside the trace: it is decided with it, so that both share a
//! sync. A child that is new and whose place is not in question gets its id and its share together with the answer that asks for it; what
//! the children of a call came to is handed back together with the end of the last of them.
//!
//! The log is the same as if each had come on its own, and a crash between any two of its lines is made up for in the same way: what is
//! missing is pending again.

use crate::driver::Driver;
use crate::driver::children::unstarted;
use crate::driver::error::DriveError;
use mainpath_core::{Effect, Input, InputKind, estimate_parts, pending};
use mainpath_types::{CallId, ChildPlace, Event, EventId, EventKind};

impl Driver {
    /// Adds to a batch that is to be written what follows from it of child agents. `input`: what the batch was decided by last.
    pub(super) async fn settle_children(&mut self, batch: &mut Vec<Event>, input: &Input) -> Result<(), DriveError> {
        let mut looked = 0;
        while batch.get(looked..).unwrap_or_default().iter().any(|event| self.concerns_children(event)) {
            looked = batch.len();
            let Some(kind) = self.at_once(batch).await? else { return Ok(()) };
            let follows = Input { more: input.more, ..Input::new(input.at, kind) };
            // What is refused here is offered again as its effect, which tells why.
            let Ok(events) = self.machine.handle_also(&follows) else { return Ok(()) };
            batch.extend(events);
        }
        Ok(())
    }

    /// The next input of this kind, if there is one.
    async fn at_once(&mut self, batch: &[Event]) -> Result<Option<InputKind>, DriveError> {
        // Looked at, not begun: nothing of it is durable yet.
        for (key, effect) in pending(self.machine.state()) {
            if self.in_flight.has(&key) {
                continue;
            }
            let kind = match effect {
                Effect::StartChild { call, nth, arguments } => self.start_at_once(call, nth, arguments, batch).await?,
                Effect::HandBack { call } => self.hand_back_at_once(call, batch).await?,
                _ => None,
            };
            if kind.is_some() {
                return Ok(kind);
            }
        }
        Ok(None)
    }

    /// `None`: where the child is to work has to be found out, or up to where the one that goes on has come.
    async fn start_at_once(
        &mut self,
        call: CallId,
        nth: u16,
        arguments: EventId,
        batch: &[Event],
    ) -> Result<Option<InputKind>, DriveError> {
        let asked = match self.agent_call(call, arguments, batch).await? {
            Ok(asked) if asked.continue_from.is_some() => return Ok(None),
            Ok(asked) => asked,
            Err(problem) => return Ok(Some(unstarted(call, nth, None, &problem))),
        };
        match self.beginning(call, nth, &asked).await? {
            Ok(starting) if starting.place == ChildPlace::Alone && self.has_other_writers(call, batch).await? => {
                Ok(None)
            }
            Ok(starting) => Ok(Some(InputKind::ChildStarting(starting))),
            Err(problem) => Ok(Some(unstarted(call, nth, Some(&asked), &problem))),
        }
    }

    /// `None`: copies that children worked in have to be removed first, or not all of the children's ends are at hand.
    async fn hand_back_at_once(&mut self, call: CallId, batch: &[Event]) -> Result<Option<InputKind>, DriveError> {
        if self.machine.state().children.of(call).any(|child| child.place == ChildPlace::Own) {
            return Ok(None);
        }
        let Some(ended) = self.ended(call, batch) else { return Ok(None) };
        let output = self.output_of(&ended).await?;
        let tokens = estimate_parts(&output.content);
        Ok(Some(InputKind::HandedBack { call, output, tokens }))
    }

    /// Whether children may start, or their work be handed back, right after an event.
    pub(super) fn concerns_children(&self, event: &Event) -> bool {
        match &event.kind {
            EventKind::ActionStarted(data) => self.starts_agents(data.call),
            EventKind::SubTraceStarted(_) | EventKind::SubTraceCompleted(_) => true,
            _ => false,
        }
    }
}
