//! `mainpath send`: a message of another agent, left in the inbox of a trace.

use crate::exit::{Exit, Failure, logs};
use crate::runs::task::read_all;
use crate::ui::out::out;
use clap::Args;
use mainpath::{AgentMessage, Left};

/// `mainpath send`
#[derive(Args, Debug)]
pub struct SendArgs {
    /// The trace (its id or a unique part of it)
    pub trace: String,
    /// The message, or - for standard input
    pub text: String,
    /// The agent that sends it, by a name of its own
    #[arg(long, value_name = "NAME")]
    pub from: String,
    /// The conversation that it belongs to
    #[arg(long, value_name = "NAME")]
    pub conversation: Option<String>,
    /// An id: the same message sent again under it is taken once
    #[arg(long)]
    pub id: Option<String>,
}

/// `mainpath send`
pub async fn send(args: SendArgs) -> Result<Exit, Failure> {
    let logs = logs()?;
    let trace = logs.find(Some(&args.trace)).await?;
    let text = if args.text == "-" { read_all()? } else { args.text };
    let message = AgentMessage { conversation: args.conversation, ..AgentMessage::new(args.from, text) };
    let message = match args.id {
        Some(id) => message.with_id("command", &id),
        None => message,
    };
    out(match logs.leave(&trace, &message).await? {
        Left::Waits => "sent; the agent reads it with check_messages",
        Left::Before => "sent before; nothing is to be done",
    })?;
    Ok(Exit::Ok)
}
