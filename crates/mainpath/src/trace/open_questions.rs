//! The questions of a trace that wait for a person's answer, with the answers that its driver has not read yet.

use super::decidable::{CallStanding, DecidableCall, SettledCall};
use super::read::ReadTrace;
use crate::Error;
use mainpath_core::{Call, CallState, answer_due, arguments_in, tool_of};
use mainpath_runtime::Mail;
use mainpath_store::scheduler::system_clock;
use mainpath_types::{CallId, EffectClass, EventKind, Millis, QuestionSent};

/// A call that asks a person and has not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct UnansweredQuestion {
    /// The call.
    pub call: CallId,
    /// The name of its tool. `None`: it names no known tool.
    pub tool: Option<String>,
    /// The arguments, which say what is asked: JSON text. `None`: they were erased.
    pub arguments: Option<String>,
    /// The person or group that it is for, as a channel knows them.
    pub to: Option<String>,
    /// True if nothing is left to do to send it there.
    pub is_sent: bool,
    /// How sending it went; `None` if that is not recorded.
    pub delivery: Option<QuestionSent>,
    /// The time until which it can be answered; `None`: for ever.
    pub due: Option<Millis>,
    /// Whether it can be answered.
    pub standing: QuestionStanding,
}

/// Whether a question can be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionStanding {
    /// It can.
    Open,
    /// It was answered, and the answer is not read yet.
    Answered,
    /// It was not answered in time.
    Expired,
}

/// The questions among which a person answers.
#[derive(Clone, Debug, PartialEq)]
pub enum QuestionChoice {
    /// The question that is answered.
    One(Box<UnansweredQuestion>),
    /// Several are open, and none was named.
    Several(Vec<UnansweredQuestion>),
    /// The question was answered, or its time is over.
    Closed(Box<UnansweredQuestion>),
    /// The call that was named waits for no answer.
    NotAsked(Box<DecidableCall>, NotAsked),
    /// The trace has no call with the number that was given.
    Unknown(CallId),
    /// Nothing is asked.
    Nothing,
}

/// Why a call waits for no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAsked {
    /// Its tool asks no person.
    NoQuestion,
    /// It has ended.
    Ended,
    /// It needs an approval first.
    NeedsApproval,
    /// It has not started.
    NotYet,
}

impl ReadTrace<'_> {
    /// Returns the question that an answer is for: that of this call, or else the only open one. Errors: the mail cannot be read.
    pub async fn choose_question(&self, call: Option<CallId>) -> Result<QuestionChoice, Error> {
        let mut asked = self.open_questions().await?;
        let is_open = |one: &UnansweredQuestion| one.standing == QuestionStanding::Open;
        if let Some(id) = call {
            let choice = |one: UnansweredQuestion| match is_open(&one) {
                true => QuestionChoice::One(Box::new(one)),
                false => QuestionChoice::Closed(Box::new(one)),
            };
            if let Some(one) = asked.into_iter().find(|one| one.call == id) {
                return Ok(choice(one));
            }
            let Some(row) = self.state.calls.get(id) else { return Ok(QuestionChoice::Unknown(id)) };
            let why = match row.state {
                _ if row.effect != EffectClass::AskPerson => NotAsked::NoQuestion,
                CallState::Done(_) => NotAsked::Ended,
                CallState::Asked => NotAsked::NeedsApproval,
                _ => NotAsked::NotYet,
            };
            let shown = self.decidable(row, CallStanding::Settled(SettledCall::NotAsked)).await;
            return Ok(QuestionChoice::NotAsked(Box::new(shown), why));
        }
        let first = asked.first().cloned();
        asked.retain(is_open);
        Ok(match (asked.len(), first) {
            (1, _) => QuestionChoice::One(Box::new(asked.swap_remove(0))),
            (0, Some(closed)) => QuestionChoice::Closed(Box::new(closed)),
            (0, None) => QuestionChoice::Nothing,
            _ => QuestionChoice::Several(asked),
        })
    }

    /// Returns the questions that have not ended, in their order. Errors: the mail cannot be read.
    pub async fn open_questions(&self) -> Result<Vec<UnansweredQuestion>, Error> {
        let asks = |call: &&Call| call.state == CallState::Started && call.effect == EffectClass::AskPerson;
        let calls: Vec<&Call> = self.state.turn_calls().iter().filter(asks).collect();
        if calls.is_empty() {
            return Ok(Vec::new());
        }
        let (mail, now) = (self.unread_mail().await?, system_clock());
        let question = |call: &Call| {
            let due = answer_due(self.state, call.id);
            let is_answered = mail.iter().any(|one| {
                matches!(one.mail, Mail::Answer { call: of, .. } if of == call.id) && due.is_none_or(|due| one.at < due)
            });
            let standing = match due {
                _ if is_answered => QuestionStanding::Answered,
                Some(due) if due <= now => QuestionStanding::Expired,
                _ => QuestionStanding::Open,
            };
            let arguments = self.bodies.get(call.arguments).and_then(|kind| arguments_in(kind, call.id));
            UnansweredQuestion {
                call: call.id,
                tool: tool_of(call, self.bodies).map(String::from),
                arguments: arguments.map(String::from),
                to: call.question.as_deref().and_then(|question| question.asking.to.clone()),
                is_sent: call.question.as_deref().is_some_and(|question| question.sent),
                delivery: self.delivery(call.id),
                due,
                standing,
            }
        };
        Ok(calls.into_iter().map(question).collect())
    }

    fn delivery(&self, call: CallId) -> Option<QuestionSent> {
        self.log.events.iter().rev().find_map(|event| match &event.kind {
            EventKind::QuestionSent(data) if data.call == call => Some(data.clone()),
            _ => None,
        })
    }
}
