//! Conversations are started over.

use super::outcomes::Clearing;
use crate::sessions::{Held, sessions};
use crate::{Error, ErrorKind, Trace};
use mainpath_runtime::Mail;

impl Trace {
    /// Starts the conversation over; the log keeps what was said. A run that is under way is stopped first. What sessions mirror of the trace
    /// elsewhere is forgotten. Errors: nothing was said since the last time.
    pub async fn clear(&self) -> Result<Clearing, Error> {
        self.check_writable().await?;
        let read = self.look().await?;
        let state = &read.state;
        let pins = state.goals.terms.pinned.len();
        let has_content = state.run.is_some() || state.tree.head.is_some() || !state.queues.is_empty() || pins > 0;
        // Messages of a session that wait for the results of calls.
        let has_waiting = match self.host().logs() {
            Some(logs) => !sessions(logs).waiting(self.id())?.is_empty(),
            None => false,
        };
        if !has_content && !has_waiting && self.sent().await?.is_none() {
            return Err(Error::new(ErrorKind::Refused, format!("there is nothing to clear in {}", self.id())));
        }
        let at_checkpoint = state.run.is_some() && self.is_driven().await?;
        if has_content {
            self.settle(Mail::Clear).await?;
        }
        let unforgotten = match self.host().logs() {
            // What had waited joined the conversation when the run began.
            Some(logs) => Held::new(logs)?.forget(std::slice::from_ref(self.id()), !at_checkpoint).await,
            None => Vec::new(),
        };
        Ok(Clearing { at_checkpoint, pins, unforgotten })
    }
}
