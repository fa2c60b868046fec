//! Questions of traces, sent by the channels.

use mainpath_people::{Choice, Kind, Outgoing, People, Sent, Unsent};
use mainpath_runtime::{Delivery, Messenger, OpenQuestion};
use mainpath_tools::{AskHumanArgs, Fut};
use mainpath_types::{Millis, format_time};
use std::sync::Arc;

/// After so long a question that could not be sent is worth another try.
const RETRY: Millis = 10 * 60 * 1_000;

/// Sends questions to contacts.
pub(crate) struct Sender(pub Arc<People>);

impl Messenger for Sender {
    fn send<'a>(&'a self, question: &'a OpenQuestion) -> Fut<'a, Delivery> {
        Box::pin(async move {
            match self.0.send(&question.to, &message(question)).await {
                Ok(Sent { channel, receipt }) => {
                    Delivery { channel: Some(channel.to_string()), receipt, ..Delivery::default() }
                }
                Err(Unsent { problem, again }) => {
                    Delivery { problem: Some(problem), retry_in: again.then_some(RETRY), ..Delivery::default() }
                }
            }
        })
    }
}

/// A question as it goes out. Of a tool of somebody's own: its arguments.
fn message(question: &OpenQuestion) -> Outgoing {
    let OpenQuestion { trace, call, arguments, expires_at, .. } = question;
    let args = AskHumanArgs::read(arguments)
        .unwrap_or_else(|| AskHumanArgs { question: arguments.clone(), ..AskHumanArgs::default() });
    let default = args.by_default().map(Into::into);
    let choices = args.choices.into_iter();
    Outgoing {
        id: format!("{trace}/{call}"),
        kind: Kind::Question,
        trace: trace.to_string(),
        text: args.question,
        choices: choices.map(|choice| Choice { label: choice.label, description: choice.description }).collect(),
        files: args.files,
        expires_at: expires_at.map(format_time),
        default,
    }
}
