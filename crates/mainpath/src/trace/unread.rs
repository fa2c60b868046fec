//! The mail of a trace that its driver has not read.

use super::read::ReadTrace;
use crate::{Error, Logs};
use mainpath_core::State;
use mainpath_runtime::Mail;
use mainpath_store::TraceStore;
use mainpath_types::{EventKind, Millis};

/// Mail that is not read yet.
#[derive(Clone, Debug, PartialEq)]
pub struct UnreadMail {
    /// When it was sent.
    pub at: Millis,
    /// The message, decision or request.
    pub mail: Mail,
}

impl ReadTrace<'_> {
    /// Returns the mail that the driver has not read, in the order in which it was sent. Errors: it cannot be read.
    pub async fn unread_mail(&self) -> Result<Vec<UnreadMail>, Error> {
        unread(self.at(), self.state).await
    }

    /// Returns all that the agent has not been told: the messages that wait for its run to read them, and then the unread mail. Errors: the
    /// mail cannot be read.
    pub async fn untold(&self) -> Result<Vec<Mail>, Error> {
        let queued = self.state.queues.steers.iter().chain(&self.state.queues.follow_ups);
        let queued = queued.filter_map(|queued| match self.bodies.get(queued.event) {
            Some(EventKind::MessageQueued(data)) => {
                Some(Mail::Message { mode: data.mode, parts: data.parts.clone(), typed: data.typed })
            }
            _ => None,
        });
        let unread = self.unread_mail().await?.into_iter().map(|one| one.mail);
        Ok(queued.chain(unread).collect())
    }
}

impl Logs {
    /// Returns the mail of a trace that its driver has not read, in the order in which it was sent. Errors: it cannot be read.
    pub async fn unread_mail(&self, state: &State) -> Result<Vec<UnreadMail>, Error> {
        unread(self.at(&state.trace), state).await
    }
}

async fn unread(trace: TraceStore<'_>, state: &State) -> Result<Vec<UnreadMail>, Error> {
    let mail = trace.mail(state.log.mail.upto).await?;
    let unread = mail.into_iter().filter(|entry| !state.log.mail.has(entry.id));
    Ok(unread
        .filter_map(|entry| Some(UnreadMail { at: entry.at, mail: serde_json::from_str(&entry.body).ok()? }))
        .collect())
}
