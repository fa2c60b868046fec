//! Which run of a trace is followed: the one that answers what was said.

use crate::{Error, ErrorKind};
use mainpath_types::{Event, EventId, EventKind, MailId};

/// Which run is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// All that happens.
    All,
    /// The one that comes of a mailbox entry.
    Mail(MailId),
    /// The one in which a queued message joins the conversation.
    Joins(EventId),
    /// The next to begin.
    Next,
    /// This one.
    Run(u32),
}

impl Bound {
    /// What an event says of it, `run` being the number of the run that it belongs to. Whether the run has ended with it. Errors:
    /// what was said was refused.
    pub fn see(&mut self, event: &Event, run: u32) -> Result<bool, Error> {
        match (*self, &event.kind) {
            (Bound::Mail(mail), kind) if event.mail == Some(mail) => {
                *self = match kind {
                    EventKind::MailRefused(data) => return Err(Error::new(ErrorKind::Refused, data.problem.clone())),
                    EventKind::MessageQueued(_) => Bound::Joins(event.id),
                    _ => Bound::Next,
                };
            }
            (Bound::Joins(queued), EventKind::MessageJoined(data)) if data.of == queued => *self = Bound::Run(run),
            (Bound::Next, EventKind::RunStarted(_)) => *self = Bound::Run(run),
            (Bound::Run(followed), EventKind::RunFinished(data)) => return Ok(followed == data.run),
            _ => {}
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainpath_types::{
        FinishReason, MailRefused, MessageJoined, MessageQueued, Part, Principal, RewindRequested, RunCause,
        RunFinished, RunStarted, Seq, Usage,
    };

    fn event(id: EventId, mail: Option<MailId>, kind: EventKind) -> Event {
        Event { id, ts: 0, turn: 0, mail, kind }
    }

    fn queued(id: EventId, mail: MailId) -> Event {
        event(id, Some(mail), MessageQueued::new(vec![Part::text("hi")], 1, Principal::local_user()).into())
    }

    fn began(id: EventId, run: u32) -> Event {
        event(id, None, RunStarted { run, cause: RunCause::Continue, spec: 1 }.into())
    }

    fn joined(id: EventId, of: EventId) -> Event {
        event(id, None, MessageJoined { of, seq: Seq(1) }.into())
    }

    fn ended(id: EventId, run: u32) -> Event {
        let usage = Usage::default();
        let data = RunFinished { run, reason: FinishReason::Final, turns: 1, calls: 0, usage, cost: 0, about: false };
        event(id, None, data.into())
    }

    /// The event with which what is bound so ends.
    fn end_of(mut bound: Bound, events: &[Event]) -> Option<EventId> {
        let mut run = 1;
        let ends = |event: &&Event| {
            if let EventKind::RunStarted(data) = &event.kind {
                run = data.run;
            }
            bound.see(event, run).unwrap()
        };
        events.iter().find(ends).map(|event| event.id)
    }

    #[test]
    fn two_that_speak_at_once_each_follow_their_own_run() {
        let log = [
            queued(5, 2),
            queued(6, 3),
            ended(7, 1),
            began(8, 2),
            joined(9, 5),
            ended(10, 2),
            began(11, 3),
            joined(12, 6),
            ended(13, 3),
        ];
        assert_eq!(end_of(Bound::Mail(2), &log), Some(10));
        assert_eq!(end_of(Bound::Mail(3), &log), Some(13));
        assert_eq!(end_of(Bound::Next, &log), Some(10));
        assert_eq!(end_of(Bound::Run(1), &log), Some(7));
        assert_eq!(end_of(Bound::Run(3), &log), Some(13));
        assert_eq!(end_of(Bound::All, &log), None);
    }

    #[test]
    fn a_rewind_is_followed_by_the_run_after_it_and_a_refusal_is_an_error() {
        let back = RewindRequested::again(Seq(1), Principal::local_user());
        let log = [event(5, Some(2), back.into()), ended(6, 1), began(7, 2), ended(8, 2)];
        assert_eq!(end_of(Bound::Mail(2), &log), Some(8));
        let refused = event(5, Some(2), MailRefused { problem: "there is no message 9".into() }.into());
        let error = Bound::Mail(2).see(&refused, 1).unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Refused, "there is no message 9"));
    }
}
