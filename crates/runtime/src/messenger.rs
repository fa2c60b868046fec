//! Who sends questions to people, and what is told about one.

use mainpath_tools::Fut;
use mainpath_types::{CallId, Millis, TraceId};

/// A question that waits for an answer and is to be sent. Trace and call are its id: it is the same however often it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenQuestion {
    /// The trace.
    pub trace: TraceId,
    /// The call that asks.
    pub call: CallId,
    /// The contact.
    pub to: String,
    /// The call's arguments: JSON text.
    pub arguments: String,
    /// When it expires.
    pub expires_at: Option<Millis>,
}

/// How the sending of a question went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// The channel that took it.
    pub channel: Option<String>,
    /// What the channel calls the message.
    pub receipt: Option<String>,
    /// Why no channel took it, in a sentence.
    pub problem: Option<String>,
    /// After how many milliseconds it is worth another try; `None`: not by itself.
    pub retry_in: Option<Millis>,
}

/// Sends questions to people. Called again for the same question after a crash: nobody knows whether it had gone.
pub trait Messenger: Send + Sync {
    /// Sends a question. It takes its own time, and ends.
    fn send<'a>(&'a self, question: &'a OpenQuestion) -> Fut<'a, Delivery>;
}
