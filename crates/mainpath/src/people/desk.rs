//! Answers that come by channels, taken for the traces that asked.

use crate::{AgentMessage, Error, ErrorKind, Left, Logs};
use futures_util::future::BoxFuture;
use mainpath_core::{Bodies, Call, CallState, State, answer_due, arguments_in};
use mainpath_index::Index;
use mainpath_people::{AgentWord, Answer, Channel, Desk, From, PeopleConfig, Taken, Which, WordTaken};
use mainpath_runtime::Mail;
use mainpath_store::scheduler::system_clock;
use mainpath_tools::AskHumanArgs;
use mainpath_types::{CallId, EffectClass, Millis, Principal, TraceId, format_time};
use tokio::sync::Mutex;

/// Takes genuine answers: as mail to the trace that asked, in the name of the contact who was asked. An answer counts once, and only
/// from whom the question was for.
pub struct AnswerDesk {
    logs: Mutex<Logs>,
    people: PeopleConfig,
    told: Box<Told>,
}

/// Hears of an answer that was recorded: the trace, the call that asked, and the contact.
type Told = dyn Fn(&TraceId, CallId, &str) + Send + Sync;

/// A question that waits.
struct Open {
    trace: TraceId,
    call: CallId,
    /// The contact who was asked.
    to: String,
    /// When it was asked.
    since: Millis,
    /// What it asks, where that can be read.
    args: Option<AskHumanArgs>,
}

impl AnswerDesk {
    /// On these logs. `told`: hears of each answer that was recorded, with the call that asked and the contact.
    pub fn new(logs: Logs, told: impl Fn(&TraceId, CallId, &str) + Send + Sync + 'static) -> AnswerDesk {
        let people = logs.home.config.people.clone();
        AnswerDesk { logs: Mutex::new(logs), people, told: Box::new(told) }
    }

    async fn take(&self, answer: Answer) -> Result<Taken, Error> {
        // One after the other: two of the same question are not both the first.
        let mut logs = self.logs.lock().await;
        let found = match &answer.which {
            Which::Id(id) => match read_id(id) {
                Some((trace, call)) => self.asked(&logs, trace, call).await?,
                None => Err(Taken::NotAsked(format!("{id:?} is not the id of a question"))),
            },
            Which::SentAs { receipts, .. } => self.sent_as(&logs, receipts).await?,
            Which::Only { .. } => self.only(&logs, &answer).await?,
        };
        let Open { trace, call, to, since, args } = match found {
            Ok(open) => open,
            Err(taken) => return Ok(taken),
        };
        if !self.may(&answer, &to) {
            return Ok(Taken::NotTheirs);
        }
        // The channel may hand a message on late, or once more, when another question is asked.
        if let Some(at) = answer.which.written().filter(|at| *at < since) {
            let (at, since) = (format_time(at), format_time(since));
            return Ok(Taken::NotAsked(format!(
                "the message was written at {at}, before {trace}/{call} was asked ({since}): write again"
            )));
        }
        if let Some(why) = args.and_then(|args| args.no_choice(&answer.text)) {
            return Ok(Taken::NoChoice(format!("{why}; {trace}/{call} is still open")));
        }
        let by: Principal = to.parse().map_err(|error| Error::failed(format!("the contact {to:?}: {error}")))?;
        let mail = Mail::Answer { call, text: answer.text.trim().into(), via: Some(answer.channel.to_string()) };
        let owner = std::mem::replace(&mut logs.scope.principal, by);
        let sent = logs.send(&trace, &mail).await;
        logs.scope.principal = owner;
        if logs.was_answered_before(&trace, call, sent?).await? {
            return Ok(Taken::Already(format!("the question {trace}/{call} has been answered")));
        }
        (self.told)(&trace, call, &to);
        Ok(Taken::Recorded(format!("{trace}/{call}")))
    }

    /// The question of a call, if it waits for an answer.
    async fn asked(&self, logs: &Logs, trace: TraceId, call: CallId) -> Result<Result<Open, Taken>, Error> {
        let id = format!("{trace}/{call}");
        if !logs.has_log(&trace) {
            return Ok(Err(Taken::NotAsked(format!("nothing is asked as {id}"))));
        }
        let (_, state, bodies) = logs.read(&trace).await?;
        let Some(row) = state.calls.get(call).filter(|row| row.effect == EffectClass::AskPerson) else {
            return Ok(Err(Taken::NotAsked(format!("nothing is asked as {id}"))));
        };
        if row.state != CallState::Started {
            let ended = matches!(row.state, CallState::Done(_));
            let why = format!("the question {id} has been answered or has ended");
            return Ok(Err(if ended {
                Taken::Already(why)
            } else {
                Taken::NotAsked(format!("{id} has not been asked yet"))
            }));
        }
        let Some(to) = addressee(row) else {
            return Ok(Err(Taken::NotAsked(format!("the question {id} was sent to nobody"))));
        };
        if let Some(due) = answer_due(&state, call).filter(|due| *due <= system_clock()) {
            return Ok(Err(Taken::Already(format!("the question {id} expired at {}", format_time(due)))));
        }
        if is_answered(logs, &state, call).await? {
            return Ok(Err(Taken::Already(format!("the question {id} has been answered"))));
        }
        let arguments = bodies.get(row.arguments).and_then(|kind| arguments_in(kind, call));
        let args = arguments.and_then(AskHumanArgs::read);
        Ok(Ok(Open { trace, call, to, since: row.started, args }))
    }

    /// The question that was sent as one of these messages.
    async fn sent_as(&self, logs: &Logs, receipts: &[String]) -> Result<Result<Open, Taken>, Error> {
        for trace in waiting(logs)? {
            let (_, state, _) = logs.read(&trace).await?;
            let is_it = |row: &&Call| {
                let receipt = row.question.as_ref().and_then(|question| question.receipt.as_ref());
                row.state == CallState::Started && receipt.is_some_and(|receipt| receipts.contains(receipt))
            };
            if let Some(row) = state.turn_calls().iter().find(is_it) {
                return self.asked(logs, trace, row.id).await;
            }
        }
        Ok(Err(Taken::Already("That question has been answered or has ended, or was none".into())))
    }

    /// The only question that whoever answers was asked, as said to the bot alone.
    async fn only(&self, logs: &Logs, answer: &Answer) -> Result<Result<Open, Taken>, Error> {
        let mut found = Vec::new();
        for trace in waiting(logs)? {
            let (_, state, _) = logs.read(&trace).await?;
            let open = state.turn_calls().iter().filter(|row| row.state == CallState::Started);
            for row in open.filter(|row| addressee(row).is_some_and(|to| self.may(answer, &to))) {
                if let Ok(open) = self.asked(logs, trace.clone(), row.id).await? {
                    found.push(open);
                }
            }
        }
        Ok(match found.len() {
            1 => found.pop().ok_or_else(|| Taken::NotAsked("nothing is asked".into())),
            0 => Err(Taken::NotAsked("You are asked nothing".into())),
            n => Err(Taken::NotAsked(format!("You are asked {n} questions: reply to the message of one"))),
        })
    }

    /// Whether an answer comes from the contact who was asked, by a channel of that contact.
    fn may(&self, answer: &Answer, to: &str) -> bool {
        let Some(contact) = self.people.contacts.get(to) else { return false };
        match &answer.from {
            From::Holder(by) => contact.has(Channel::Webhook) && by.as_ref().is_none_or(|by| by == to),
            From::Feishu { open_id, chat_id } => {
                contact.feishu.as_ref().is_some_and(|id| !id.is_empty() && (id == open_id || id == chat_id))
            }
        }
    }
}

impl Desk for AnswerDesk {
    fn word(&self, word: AgentWord) -> BoxFuture<'_, WordTaken> {
        Box::pin(async move {
            let AgentWord { from, trace, conversation, id, text } = word;
            let Ok(trace) = trace.parse::<TraceId>() else {
                return WordTaken::NoTrace(format!("there is no trace {trace:?}"));
            };
            // One after the other: two of one id are not both the first.
            let logs = self.logs.lock().await;
            // Who has the secret is an agent of another system, and none of this one's.
            if from.trim_start_matches("agent.").parse::<TraceId>().is_ok_and(|trace| logs.has_log(&trace)) {
                return WordTaken::Refused(format!(
                    "{from:?} is an agent of this machine; give yours a name of its own"
                ));
            }
            let message = AgentMessage { conversation, ..AgentMessage::new(from, text) }.with_id("webhook", &id);
            match logs.leave(&trace, &message).await {
                Ok(Left::Waits) => WordTaken::Received,
                Ok(Left::Before) => WordTaken::Before,
                Err(error) => {
                    let why = error.message().to_string();
                    match error.kind() {
                        ErrorKind::NotFound => WordTaken::NoTrace(why),
                        ErrorKind::Invalid => WordTaken::Refused(why),
                        _ => WordTaken::Failed(why),
                    }
                }
            }
        })
    }

    fn answer(&self, answer: Answer) -> BoxFuture<'_, Taken> {
        Box::pin(async move { self.take(answer).await.unwrap_or_else(|error| Taken::Failed(error.message().into())) })
    }
}

/// A question's id: the trace and the call.
fn read_id(id: &str) -> Option<(TraceId, CallId)> {
    let (trace, call) = id.rsplit_once('/')?;
    Some((trace.parse().ok()?, call.parse().ok()?))
}

/// The contact whom a call asks.
fn addressee(row: &Call) -> Option<String> {
    row.question.as_ref()?.asking.to.clone()
}

/// Whether an answer in time waits to be read.
async fn is_answered(logs: &Logs, state: &State, call: CallId) -> Result<bool, Error> {
    let mail = logs.at(&state.trace).mail(state.log.mail.upto).await?;
    let mut unread = mail.iter().filter(|entry| !state.log.mail.has(entry.id));
    let due: Option<Millis> = answer_due(state, call);
    Ok(unread.any(|entry| {
        let is_it = matches!(serde_json::from_str(&entry.body), Ok(Mail::Answer { call: of, .. }) if of == call);
        is_it && due.is_none_or(|due| entry.at < due)
    }))
}

/// The traces that wait for people, the one that changed last first.
fn waiting(logs: &Logs) -> Result<Vec<TraceId>, Error> {
    let rows = Index::open(&logs.store, &logs.scope).and_then(|mut index| {
        index.refresh()?;
        index.newest(usize::MAX)
    });
    let (rows, _) = rows.map_err(|error| Error::failed(error.to_string()))?;
    Ok(rows.into_iter().filter(|row| row.status == "waiting").map(|row| row.trace).collect())
}
