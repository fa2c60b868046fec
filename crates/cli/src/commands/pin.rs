//! `mainpath pin`: what stays in sight of an agent in these very words, whatever else is left out of its requests.

use crate::app::App;
use crate::exit::{Exit, Failure, logs};
use crate::ui::out::{out, queued};
use crate::ui::text::plain;
use clap::Args;
use mainpath::trace::Sent;
use mainpath::types::Seq;
use mainpath::{Error, ErrorKind};

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
    let on = App::for_sending(&logs)?.host.trace(&trace).await?;
    let sent = match (args.text, args.message, args.remove) {
        (Some(text), _, _) => on.pin(text).await?,
        (None, Some(seq), _) => on.pin_message(Seq(seq)).await.map_err(numbered)?,
        (None, None, Some(number)) => on.unpin(number).await?,
        (None, None, None) => Sent::Applied,
    };
    if sent == Sent::Queued {
        return queued(&trace).map(|()| Exit::Ok);
    }
    let pinned = on.pins().await?;
    if pinned.is_empty() {
        out(&format!("{trace} has no pins; to pin a sentence: mainpath pin {trace} \"…\""))?;
    }
    (1..).zip(&pinned).try_for_each(|(number, text): (u32, &String)| out(&plain(&format!("{number}. {text}"))))?;
    Ok(Exit::Ok)
}

/// The error of a number that no message with text has.
fn numbered(error: Error) -> Failure {
    match error.kind() {
        ErrorKind::NotFound => Failure::error(format!("{}; mainpath show lists the numbers", error.message())),
        _ => error.into(),
    }
}
