//! A point of a conversation: a message, the end of a turn, or where a goal was set.

use super::handle::Trace;
use super::read::ReadTrace;
use crate::Error;
use mainpath_core::NodeKind;
use mainpath_types::{EventId, GoalId, Seq};

/// A point of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// A message and the results of its calls; 0 is before the first.
    Message(Seq),
    /// The end of a turn.
    Turn(u32),
    /// Where a goal was set.
    Goal(GoalId),
}

impl From<Seq> for Point {
    fn from(message: Seq) -> Point {
        Point::Message(message)
    }
}

impl Trace {
    /// The message that is meant. Errors: there is none ([`ErrorKind::Invalid`](crate::ErrorKind::Invalid)).
    pub(crate) async fn point(&self, point: Point) -> Result<Seq, Error> {
        let read = self.look().await?;
        self.of(&read).point(point)
    }
}

impl ReadTrace<'_> {
    /// The message that is meant. Errors: there is none.
    pub fn point(&self, point: Point) -> Result<Seq, Error> {
        let (trace, state) = (self.trace, self.state);
        match point {
            Point::Turn(number) => self.turn(number).ok_or_else(|| {
                let last = state.counts.turns;
                Error::invalid(format!("trace {trace} has no turn {number}; its last turn is {last}"))
            }),
            Point::Goal(id) => {
                let goal = state.goals.get(id);
                let goal = goal.ok_or_else(|| Error::invalid(format!("trace {trace} has no goal {}", id.0)))?;
                Ok(goal.made_after.unwrap_or(Seq(0)))
            }
            Point::Message(seq) if seq != Seq(0) && state.tree.node(seq).is_none() => {
                let last = state.tree.len();
                Err(Error::invalid(format!("trace {trace} has no message {seq}; its last is {last}")))
            }
            Point::Message(seq) => Ok(seq),
        }
    }

    /// The event by which a message was there. Errors: it lies on a side branch.
    pub fn reached(&self, at: Seq) -> Result<EventId, Error> {
        mainpath_core::reached(self.trace, &self.log.events, at).map_err(|refusal| Error::invalid(refusal.to_string()))
    }

    /// The answer of a turn: the one on the main path, if there are several.
    fn turn(&self, turn: u32) -> Option<Seq> {
        let (events, tree) = (&self.log.events, &self.state.tree);
        let made_in = |event: EventId| events.binary_search_by_key(&event, |known| known.id).ok();
        let of_turn = |event| made_in(event).and_then(|at| events.get(at)).is_some_and(|event| event.turn == turn);
        let answers = tree.iter().filter(|(_, node)| matches!(node.kind, NodeKind::Assistant { .. }));
        let answers: Vec<Seq> = answers.filter(|(_, node)| of_turn(node.event)).map(|(seq, _)| seq).collect();
        let on_path = answers.iter().find(|seq| tree.is_on_path(tree.head, **seq));
        on_path.or(answers.first()).copied()
    }
}
