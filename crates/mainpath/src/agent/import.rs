//! Importing conversations as traces.

use crate::{Error, Host};
use mainpath_providers::history::Whole;
use mainpath_runtime::import::{Origin, import};
use mainpath_runtime::new_trace_id;
use mainpath_types::{Spec, TraceId};

/// An imported conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedConversation {
    /// The new trace.
    pub trace: TraceId,
    /// The number of messages in it.
    pub messages: usize,
}

impl Host {
    /// A new id for a trace. It begins with the time. Errors: the clock gives no time that can be written.
    pub fn new_trace_id(&self) -> Result<TraceId, Error> {
        new_trace_id((self.runtime().config().clock)()).map_err(|error| Error::failed(error.to_string()))
    }

    /// Creates a trace from the messages of a conversation, for an agent with this spec. Nothing runs yet. The log records `source`, such as
    /// the name of a file, as their origin. Errors: nothing can be written.
    pub async fn import(&self, spec: Spec, messages: Vec<Whole>, source: &str) -> Result<ImportedConversation, Error> {
        let trace = self.new_trace_id()?;
        let from = Origin { source, now: (self.runtime().config().clock)() };
        let messages = import(self.at(&trace), self.vault(), spec, messages, from).await?;
        Ok(ImportedConversation { trace, messages })
    }
}
