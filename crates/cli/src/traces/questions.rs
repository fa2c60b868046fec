//! The questions of a trace that wait for a person's answer, and what was answered that nobody has read yet.

use crate::exit::Failure;
use crate::traces::asked::{and_resume, what};
use crate::traces::mail::unread;
use crate::ui::text::{one_line, short};
use crate::ui::told::unsent;
use mainpath::Logs;
use mainpath::core::{Bodies, Call, CallState, State, answer_due, arguments_in};
use mainpath::runtime::Mail;
use mainpath::store::scheduler::system_clock;
use mainpath::tools::AskHumanArgs;
use mainpath::types::{CallId, EffectClass, Event, EventKind, Millis, TraceId, format_time};

/// The most of a question that stands in a line.
const GIST: usize = 200;

/// A call that asks a person.
pub struct Question {
    /// Which.
    pub call: CallId,
    /// The question in a line.
    pub gist: String,
    /// All of it: its words, numbered choices, files.
    pub lines: Vec<String>,
    /// What it asks, where that can be read.
    asked: Option<AskHumanArgs>,
    /// Whom it is for, and whether it went there.
    sent: Option<String>,
    /// When it expires.
    due: Option<Millis>,
    /// Where it stands.
    standing: Standing,
}

/// Where a question stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Nobody has answered.
    Open,
    /// Somebody has, which is still to be read.
    Answered,
    /// Nobody has in time.
    Expired,
}

/// The questions that are not settled, in order. `events`: all of the log.
pub async fn questions(
    logs: &Logs,
    state: &State,
    bodies: &dyn Bodies,
    events: &[Event],
) -> Result<Vec<Question>, Failure> {
    let asks = |call: &&Call| call.state == CallState::Started && call.effect == EffectClass::AskPerson;
    let calls: Vec<&Call> = state.turn_calls().iter().filter(asks).collect();
    if calls.is_empty() {
        return Ok(Vec::new());
    }
    let (mail, now) = (unread(logs, &state.trace, state).await?, system_clock());
    let made = calls.into_iter().map(|call| {
        let due = answer_due(state, call.id);
        let is_answer = |(at, mail): &(Millis, Mail)| {
            matches!(mail, Mail::Answer { call: of, .. } if *of == call.id) && due.is_none_or(|due| *at < due)
        };
        let standing = match due {
            _ if mail.iter().any(is_answer) => Standing::Answered,
            Some(due) if due <= now => Standing::Expired,
            _ => Standing::Open,
        };
        let asked = arguments_of(call, bodies).and_then(AskHumanArgs::read);
        let (gist, lines) = words(call, asked.as_ref(), bodies);
        Question { call: call.id, gist, lines, asked, sent: sent(call, events), due, standing }
    });
    Ok(made.collect())
}

/// A question in a line, and all of it. Of a tool of somebody's own: its arguments.
fn words(call: &Call, args: Option<&AskHumanArgs>, bodies: &dyn Bodies) -> (String, Vec<String>) {
    match args {
        Some(args) => asked(args),
        None => (what(call, bodies), vec![one_line(arguments_of(call, bodies).unwrap_or_default())]),
    }
}

fn arguments_of<'a>(call: &Call, bodies: &'a dyn Bodies) -> Option<&'a str> {
    bodies.get(call.arguments).and_then(|kind| arguments_in(kind, call.id))
}

/// What happens to a question that nobody answers in time. `when`: when that is.
pub fn unanswered(args: Option<&AskHumanArgs>, when: &str) -> String {
    match args.and_then(AskHumanArgs::by_default) {
        Some(default) => format!("without an answer {when} this counts: {}", short(default, GIST)),
        None => format!("without an answer {when} the agent goes on without one"),
    }
}

/// The same of its arguments.
pub fn asked(args: &AskHumanArgs) -> (String, Vec<String>) {
    // A label with line breaks in it has several lines, each shown as one of the question.
    let lines: Vec<String> = args.lines().iter().flat_map(|line| line.lines()).map(one_line).collect();
    (short(&args.question, GIST), lines)
}

/// Whom a question is for, and how it went there.
fn sent(call: &Call, events: &[Event]) -> Option<String> {
    let question = call.question.as_deref()?;
    let to = question.asking.to.as_deref()?;
    if !question.sent {
        return Some(format!("to be sent to {to}"));
    }
    let went = events.iter().rev().find_map(|event| match &event.kind {
        EventKind::QuestionSent(data) if data.call == call.id => Some(data),
        _ => None,
    });
    Some(went.and_then(unsent).unwrap_or_else(|| format!("for {to}")))
}

impl Question {
    /// Whether somebody can still answer it.
    pub fn is_open(&self) -> bool {
        self.standing == Standing::Open
    }

    /// Why a text is no answer to it, if it is none.
    pub fn no_choice(&self, text: &str) -> Option<String> {
        self.asked.as_ref()?.no_choice(text)
    }

    /// An answer to it in a few words: with the choice that it picks by its number.
    pub fn answered(&self, text: &str) -> String {
        let chosen = self.asked.as_ref().and_then(|asked| asked.chosen(text)).map(|choice| choice.label.trim());
        match chosen.filter(|label| !label.eq_ignore_ascii_case(text)) {
            Some(label) => format!("{}: {}", short(text, 20), short(label, 60)),
            None => short(text, 60),
        }
    }

    /// A line for people: what is asked, and what is to be done.
    pub fn line(&self, trace: &TraceId) -> String {
        let (Question { call, gist, .. }, root) = (self, trace.root());
        match (self.standing, self.due) {
            (Standing::Answered, _) => {
                format!("call {call} ({gist}) has been answered; continue with: mainpath resume {root}")
            }
            (Standing::Expired, Some(due)) => {
                format!("call {call} ({gist}) expired at {}; continue with: mainpath resume {root}", format_time(due))
            }
            (Standing::Open | Standing::Expired, _) => {
                format!("call {call} asks ({gist}): mainpath answer {trace} {call} TEXT{}", and_resume(trace))
            }
        }
    }

    /// Whom it is for, when it expires, and what counts then; empty where nothing is to be said.
    pub fn notes(&self) -> Vec<String> {
        let due = self.due.filter(|_| self.is_open());
        let due = due.map(|due| unanswered(self.asked.as_ref(), &format!("by {}", format_time(due))));
        self.sent.iter().cloned().chain(due).collect()
    }
}
