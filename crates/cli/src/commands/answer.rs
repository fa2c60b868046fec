//! `answer`: a person's answer to a question of an agent.

use crate::app::App;
use crate::commands::control::driven_elsewhere;
use crate::exit::{Exit, Failure, logs};
use crate::runs::task::read_all;
use crate::traces::asked::what;
use crate::traces::questions::{answered, gist, line};
use crate::traces::wanted::tell_unasked;
use crate::ui::out::out;
use crate::ui::person::person_only;
use clap::Args;
use mainpath::Logs;
use mainpath::trace::{NotAsked, QuestionChoice};
use mainpath::types::{CallId, TraceId};

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
    let of = logs.of(&trace, &log, &state, &bodies);
    if call.is_none()
        && let Ok(call) = text.trim().parse::<CallId>()
        && of.open_questions().await?.iter().any(|question| question.call == call)
    {
        return Err(Failure::usage(format!("give the answer as well: mainpath answer {} {call} TEXT", args.trace)));
    }
    let question = match of.choose_question(call).await? {
        QuestionChoice::One(question) => question,
        other => return Err(refused(&trace, other)),
    };
    let on = App::for_sending(&logs)?.host.trace(&trace).await?;
    on.answer_via(question.call, text.trim(), Some("command".into())).await?;
    let done = format!("answered call {} of {trace} ({})", question.call, answered(&question, text.trim()));
    match driven_elsewhere(&logs, &trace)? {
        true => out(&done)?,
        false => out(&format!("{done}; if it is not running, continue with: mainpath resume {}", trace.root()))?,
    }
    Ok(Exit::Ok)
}

/// The trace that asks: the one that is named, or an agent that it has started. Errors: several of these ask.
async fn asking(logs: &Logs, named: TraceId) -> Result<TraceId, Failure> {
    let (log, state, bodies) = logs.read(&named).await?;
    if !logs.of(&named, &log, &state, &bodies).open_questions().await?.is_empty() {
        return Ok(named);
    }
    let waits = logs.agent_waits(&named).await?;
    tell_unasked(&waits);
    match waits.to_answer().as_slice() {
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

/// Why a question cannot be answered.
fn refused(trace: &TraceId, choice: QuestionChoice) -> Failure {
    Failure::error(match choice {
        QuestionChoice::Several(several) => {
            let all: Vec<String> = several.iter().map(|one| format!("{} ({})", one.call, gist(one))).collect();
            return Failure::usage(format!("{trace} asks several questions: {}; choose one", all.join(", ")));
        }
        QuestionChoice::One(question) | QuestionChoice::Closed(question) => line(&question, trace),
        QuestionChoice::NotAsked(call, why) => {
            let how = match why {
                NotAsked::Ended => "has been answered or has ended already",
                NotAsked::NeedsApproval => "has not been asked yet: it needs approval first",
                NotAsked::NotYet => "has not been asked yet",
                NotAsked::NoQuestion => "asks nothing",
            };
            format!("call {} ({}) {how}", call.call, what(&call))
        }
        QuestionChoice::Unknown(call) => format!("there is no call {call} in {trace}"),
        QuestionChoice::Nothing => format!("nothing is asked in {trace}"),
    })
}
