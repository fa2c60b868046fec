//! `mainpath pin`: what stays in sight of an agent in these very words, whatever else is left out of its requests.

use crate::commands::goal::change;
use crate::exit::{Exit, Failure, logs};
use crate::ui::out::out;
use crate::ui::text::plain;
use clap::Args;
use mainpath::types::{GoalOp, Seq, TraceId};
use mainpath::{ErrorKind, Logs};

/// `mainpath pin`
#[derive(Args, Debug)]
pub struct PinArgs {
    /// The trace (its id or a unique part of it)
    pub trace: String,
    /// The sentence [default: list the pins]
    #[arg(conflicts_with_all = ["message", "remove"])]
    pub text: Option<String>,
    /// Pin the text of this message
    #[arg(long, value_name = "N")]
    pub message: Option<u32>,
    /// Remove the pin with this number
    #[arg(long, value_name = "N", conflicts_with = "message")]
    pub remove: Option<u32>,
}

/// `mainpath pin`
pub async fn pin(args: PinArgs) -> Result<Exit, Failure> {
    let logs = logs()?;
    let trace = logs.find(Some(&args.trace)).await?;
    let op = match (&args.text, args.message, args.remove) {
        (Some(text), _, _) => Some(GoalOp::Pin { text: text.clone() }),
        (None, Some(seq), _) => Some(GoalOp::Pin { text: words_of(&logs, &trace, Seq(seq)).await? }),
        (None, None, Some(number)) => Some(GoalOp::Unpin { number }),
        (None, None, None) => None,
    };
    if let Some(op) = op
        && !change(&logs, &trace, vec![op]).await?
    {
        return Ok(Exit::Ok);
    }
    let (_, state, _) = logs.read(&trace).await?;
    let pinned = &state.goals.terms.pinned;
    if pinned.is_empty() {
        out(&format!("{trace} has no pins; to pin a sentence: mainpath pin {trace} \"…\""))?;
    }
    (1..).zip(pinned).try_for_each(|(number, text): (u32, &String)| out(&plain(&format!("{number}. {text}"))))?;
    Ok(Exit::Ok)
}

/// What was said in a message. Errors: there is none with this number, or it has no text.
async fn words_of(logs: &Logs, trace: &TraceId, seq: Seq) -> Result<String, Failure> {
    let (log, state, bodies) = logs.read(trace).await?;
    logs.of(trace, &log, &state, &bodies).words(seq).await.map_err(|error| match error.kind() {
        ErrorKind::NotFound => Failure::error(format!("{}; mainpath show lists the numbers", error.message())),
        _ => error.into(),
    })
}
