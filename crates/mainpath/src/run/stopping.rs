//! Stopping runs, including runs whose process has exited.

use crate::trace::{Read, Stopping};
use crate::{Error, ErrorKind, Trace};
use mainpath_runtime::{Mail, RuntimeError};
use mainpath_store::StoreError;
use mainpath_types::{FinishReason, MailId};

impl Trace {
    /// Ends the active or queued run at its next checkpoint, together with its `run_end` hooks. If no process drives the trace, the run ends
    /// at once. Errors: nothing is running, or no process drives the trace and the host cannot run agents; then nothing is sent.
    pub async fn stop_run(&self) -> Result<Stopping, Error> {
        let read = self.look().await?;
        let state = &read.state;
        let is_idle = state.run.is_none() && (state.queues.is_empty() || state.queues.held);
        if is_idle
            && !self.is_ending().await?
            && self.sent().await?.is_none()
            && self.host().at(self.id()).mail(state.log.mail.upto).await?.is_empty()
        {
            return Err(Error::new(ErrorKind::Refused, format!("trace {} is not running", self.id())));
        }
        if !self.is_driven().await? {
            self.host().check_usable()?;
        }
        self.stop().await?;
        if self.is_driven().await? {
            return Ok(if is_idle { Stopping::EndHooks } else { Stopping::AtCheckpoint });
        }
        self.end_stopped().await?;
        Ok(if state.run.is_some() { Stopping::Done } else { Stopping::Queued })
    }

    /// Returns true while the last run has ended in the log and this process calls the hooks at its end. [`Trace::stop`] ends the hooks.
    pub fn is_calling_end_hooks(&self) -> bool {
        self.host().runtime().is_ending(self.host().scope(), self.id())
    }

    /// Returns true if the `run_end` hooks of the last run are being called. Of another process it is only known that it drives the trace.
    async fn is_ending(&self) -> Result<bool, Error> {
        Ok(self.is_calling_end_hooks() || !self.goes_on_here() && self.host().at(self.id()).driver().await?.is_some())
    }

    /// Ends a run that was stopped and that no process drives any more, so that the stop does not apply to the run that continues the trace.
    /// Errors: the log cannot be read or written.
    pub async fn end_stopped(&self) -> Result<(), Error> {
        if self.id().elsewhere().is_some() {
            return Ok(());
        }
        let read = self.look().await?;
        let Some(run) = &read.state.run else { return Ok(()) };
        let is_driven = match self.host().logs() {
            Some(logs) => logs.is_driven(self.id())?,
            None => self.host().at(self.id()).driver().await?.is_some(),
        };
        if read.log.read_only() || is_driven {
            return Ok(());
        }
        // No message has the number 0: the driver then finishes the stop that is in the log, and reads no message.
        let stop = match run.closing {
            Some(FinishReason::Stopped) => Some(0),
            _ => self.unread_stop(&read).await?,
        };
        let Some(stop) = stop else { return Ok(()) };
        self.host().check_usable()?;
        match self.host().runtime().settle(self.host().scope(), self.id(), stop).await {
            // Another process drives it since, and reads the stop.
            Err(RuntimeError::Store(StoreError::Held { .. })) => return Ok(()),
            done => done?,
        }
        match self.host().logs() {
            Some(logs) => logs.write_views(self.id()).await,
            None => Ok(()),
        }
    }

    /// Returns the stop that no process has read, if there is one.
    async fn unread_stop(&self, read: &Read) -> Result<Option<MailId>, Error> {
        let cursor = &read.state.log.mail;
        let mail = self.host().at(self.id()).mail(cursor.upto).await?;
        let is_stop = |body: &str| serde_json::from_str::<Mail>(body).is_ok_and(|mail| mail == Mail::Stop);
        Ok(mail.into_iter().find(|entry| !cursor.has(entry.id) && is_stop(&entry.body)).map(|entry| entry.id))
    }
}
