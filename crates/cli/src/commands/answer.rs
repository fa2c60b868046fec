//! `answer`: a person's answer to a question of an agent.

use crate::commands::control::driven_elsewhere;
use crate::exit::{Exit, Failure, logs};
use crate::runs::task::read_all;
use crate::traces::asked::what;
use crate::traces::questions::{Question, questions};
use crate::traces::wanted::agents_that_wait;
use crate::ui::out::out;
use crate::ui::person::person_only;
use clap::Args;
use mainpath::Logs;
use mainpath::core::{Bodies, CallState, State};
use mainpath::runtime::Mail;
use mainpath::types::{CallId, EffectClass, TraceId};

/// `mainpath answer`
#[derive(Args, Debug)]
#[command(override_usage = "mainpath answer <TRACE> [CALL] <ANSWER>")]
pub struct AnswerArgs {
    /// The trace (its id or a unique part of it)
    pub trace: String,
    /// The answer: a text, the number of a choice, or - for standard input; before it the call, such as 4.0, if several are asked
    #[arg(required = true, num_args = 1..=2, value_name = "ANSWER", allow_negative_numbers = true)]
    pub words: Vec<String>,
}

/// `mainpath answer`
pub async fn answer(args: AnswerArgs) -> Result<Exit, Failure> {
    person_only("answer questions to people")?;
    let (call, text) = match args.words.as_slice() {
        [text] => (None, text),
        [call, text] => (Some(read_call(call)?), text),
        _ => return Err(Failure::usage("give the answer: mainpath answer TRACE CALL TEXT")),
    };
    let text = if text == "-" { read_all()? } else { text.clone() };
    if text.trim().is_empty() {
        return Err(Failure::usage(
            "the answer is empty; give a text, the number of a choice, or - for standard input",
        ));
    }
    let logs = logs()?;
    let trace = asking(&logs, logs.find_anywhere(Some(&args.trace)).await?).await?;
    let (log, state, bodies) = logs.read(&trace).await?;
    let open = questions(&logs, &state, &bodies, &log.events).await?;
    if call.is_none() && text.parse().is_ok_and(|call: CallId| open.iter().any(|question| question.call == call)) {
        let text = text.trim();
        return Err(Failure::usage(format!("give the answer as well: mainpath answer {} {text} TEXT", args.trace)));
    }
    let question = which(&trace, &state, &bodies, &open, call)?;
    if let Some(why) = question.no_choice(&text) {
        return Err(Failure::usage(format!("{why}; call {} of {trace} is still open", question.call)));
    }
    let mail = Mail::Answer { call: question.call, text: text.trim().into(), via: Some("command".into()) };
    let sent = logs.send(&trace, &mail).await?;
    if logs.was_answered_before(&trace, question.call, sent).await? {
        return Err(Failure::error(format!(
            "call {} of {trace} was answered by somebody else just now",
            question.call
        )));
    }
    let done = format!("answered call {} of {trace} ({})", question.call, question.answered(text.trim()));
    match driven_elsewhere(&logs, &trace)? {
        true => out(&done)?,
        false => out(&format!("{done}; if it is not running, continue with: mainpath resume {}", trace.root()))?,
    }
    Ok(Exit::Ok)
}

/// The trace that asks: the one that is named, or an agent that it has started. Errors: several of these ask.
async fn asking(logs: &Logs, named: TraceId) -> Result<TraceId, Failure> {
    let (log, state, bodies) = logs.read(&named).await?;
    if !questions(logs, &state, &bodies, &log.events).await?.is_empty() {
        return Ok(named);
    }
    let agents = agents_that_wait(logs, &named, true).await?;
    match agents.as_slice() {
        [] => Ok(named),
        [one] => Ok(one.clone()),
        several => {
            let names: Vec<&str> = several.iter().map(TraceId::as_str).collect();
            Err(Failure::usage(format!("several agents of {named} ask; choose one: {}", names.join(", "))))
        }
    }
}

fn read_call(text: &str) -> Result<CallId, Failure> {
    text.parse().map_err(|_| {
        Failure::usage(format!(
            "{text:?} is not a call such as 4.0; quote an answer of several words: mainpath answer TRACE \"TEXT\""
        ))
    })
}

/// The question that is meant. Errors: why it cannot be answered.
fn which<'a>(
    trace: &TraceId,
    state: &State,
    bodies: &dyn Bodies,
    open: &'a [Question],
    call: Option<CallId>,
) -> Result<&'a Question, Failure> {
    let Some(call) = call else {
        let can: Vec<&Question> = open.iter().filter(|question| question.is_open()).collect();
        return match (can.as_slice(), open.first()) {
            ([only], _) => Ok(only),
            ([], Some(settled)) => Err(Failure::error(settled.line(trace))),
            ([], None) => Err(Failure::error(format!("nothing is asked in {trace}"))),
            (several, _) => {
                let all: Vec<String> = several.iter().map(|one| format!("{} ({})", one.call, one.gist)).collect();
                Err(Failure::usage(format!("{trace} asks several questions: {}; choose one", all.join(", "))))
            }
        };
    };
    if let Some(question) = open.iter().find(|question| question.call == call) {
        return if question.is_open() { Ok(question) } else { Err(Failure::error(question.line(trace))) };
    }
    let why = match state.calls.get(call) {
        None => format!("there is no call {call} in {trace}"),
        Some(row) => {
            let asks = row.effect == EffectClass::AskPerson;
            let how = match row.state {
                CallState::Done(_) if asks => "has been answered or has ended already",
                CallState::Asked if asks => "has not been asked yet: it needs approval first",
                _ if asks => "has not been asked yet",
                _ => "asks nothing",
            };
            format!("call {call} ({}) {how}", what(row, bodies))
        }
    };
    Err(Failure::error(why))
}
