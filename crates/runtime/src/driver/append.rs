//! What the driver makes durable: inputs offered, batches appended, the log read again where nobody knows what was written.

use crate::driver::Driver;
use crate::driver::error::DriveError;
use crate::driver::log::{tail_cut, writable};
use crate::observer::Taken;
use crate::stream::hub::{Announced, Live};
use mainpath_core::{Bodies, Input, InputKind, Machine, Packer, apply};
use mainpath_store::{Appended, Opened, Refused, is_no_room};
use mainpath_types::{Event, EventKind, FinishReason, MailId};
use std::io::ErrorKind;
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

/// An append with no known outcome.
struct Unsure {
    problem: String,
    /// What the system said; `Other` if it is not at fault.
    cause: ErrorKind,
    /// The event that each input decided, if it decided one. If it is in the log, the input has happened.
    firsts: Vec<Option<Event>>,
}

impl Driver {
    pub(super) async fn offer_or_drop(&mut self, kind: InputKind, mail: Option<MailId>) -> Result<(), DriveError> {
        match self.offer(kind, mail).await {
            Err(DriveError::Refused(_)) => Ok(()),
            other => other,
        }
    }

    /// Puts on record what a call waits for, and lets it go on. Where the log cannot be written, it gets no answer.
    pub(super) async fn record(&mut self, announced: Announced) -> Result<(), DriveError> {
        let Announced { what, recorded } = announced;
        if recorded.is_closed() {
            return Ok(());
        }
        let told = match self.offer(what, None).await {
            Err(DriveError::Refused(refusal)) => Err(refusal),
            other => Ok(other?),
        };
        // A call that was dropped meanwhile changes nothing.
        let _ = recorded.send(told);
        Ok(())
    }

    /// Offers an input and makes what follows durable. Kept until it is: after an append with no known outcome the log is
    /// read again and the input offered again; if it was written after all, it is refused as having happened.
    pub async fn offer(&mut self, kind: InputKind, mail: Option<MailId>) -> Result<(), DriveError> {
        self.machine.received(self.handle.received.load(Ordering::Relaxed));
        let input = Input { at: (self.shared.config.clock)(), mail, more: self.mail.holding, kind };
        let written = self.write(std::slice::from_ref(&input)).await;
        let known = matches!(
            input.kind,
            InputKind::ModelFinished(_)
                | InputKind::ModelMalformed { .. }
                | InputKind::ToolFinished { .. }
                | InputKind::ToolDead { .. }
                | InputKind::ToolProbed { .. }
        );
        match &written {
            Ok(()) | Err(DriveError::Refused(_)) => {}
            // Mail stays in the mailbox, a time comes again. A result comes only once.
            Err(_) if known => *self.unwritten() = Some(Box::new(input)),
            Err(_) => {}
        }
        written
    }

    /// Offers several inputs that are to be durable together. Errors: after a refusal of one the driver is of no use any more; nothing
    /// was written.
    pub async fn offer_together(&mut self, kinds: Vec<InputKind>) -> Result<(), DriveError> {
        let (at, more) = ((self.shared.config.clock)(), self.mail.holding);
        let inputs: Vec<Input> = kinds.into_iter().map(|kind| Input { more, ..Input::new(at, kind) }).collect();
        self.write(&inputs).await
    }

    fn unwritten(&self) -> MutexGuard<'_, Option<Box<Input>>> {
        self.handle.unwritten.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what an earlier driver of this process knew and could not write: the one event that it decides, as if the
    /// process had ended right after it. What follows from it is recovery's, like everything else that was lost.
    pub(super) async fn flush_unwritten(&mut self) -> Result<(), DriveError> {
        let Some(input) = self.unwritten().take() else { return Ok(()) };
        let mut decided = self.machine.clone();
        // Refused: it was written after all, or another process has settled the matter.
        let Ok(mut batch) = decided.handle(&input) else { return Ok(()) };
        batch.truncate(1);
        let Some(event) = batch.first().cloned() else { return Ok(()) };
        match self.shared.config.store.append(&self.lease, event.id - 1, batch).await {
            Appended::Committed { .. } => {
                let mut state = self.machine.state().clone();
                apply(&mut state, &event);
                self.machine = Machine::resume(state);
                self.encoded.packer = Packer::default();
                self.cached.bodies.extend(std::slice::from_ref(&event));
                self.publish(vec![event]);
                Ok(())
            }
            Appended::Unknown { problem, cause } => {
                *self.unwritten() = Some(input);
                Err(DriveError::Unwritable { problem, cause })
            }
            Appended::Refused(refused) => {
                *self.unwritten() = Some(input);
                Err(DriveError::unwritable(refused.to_string()))
            }
        }
    }

    async fn write(&mut self, mut inputs: &[Input]) -> Result<(), DriveError> {
        let mut tries = 0;
        loop {
            let Unsure { problem, cause, firsts } = match self.append(inputs).await? {
                None => return Ok(()),
                Some(unsure) => unsure,
            };
            loop {
                // Whoever begins a trace hears at once that there is no room for it.
                let begins = firsts.iter().flatten().any(|first| first.id == 1);
                let pauses = &self.shared.config.store_retries.pauses;
                let pause = pauses.get(tries).copied().filter(|_| !begins || !is_no_room(cause));
                let pause = pause.ok_or_else(|| DriveError::Unwritable { problem: problem.clone(), cause })?;
                if tries == 0 {
                    let problem = self.shared.config.vault.redact(&problem);
                    self.handle.tell(Live::Notice(format!("the log cannot be written ({problem}); trying again")));
                }
                tries += 1;
                tokio::time::sleep(pause).await;
                if self.reopen().await? {
                    break;
                }
            }
            // Not every input is refused by the state when it comes again: the same words may be said twice.
            let is_there = |first: &Event| self.cached.bodies.get(first.id) == Some(&first.kind);
            let written = firsts.iter().take_while(|first| first.as_ref().is_none_or(is_there)).count();
            inputs = inputs.get(written..).unwrap_or_default();
            if inputs.is_empty() {
                return Ok(());
            }
        }
    }

    /// One append of what follows from inputs. `Some`: nobody knows whether it was written.
    async fn append(&mut self, inputs: &[Input]) -> Result<Option<Unsure>, DriveError> {
        let (mut batch, mut firsts) = (Vec::new(), Vec::new());
        // A run that the batch ends is no longer in the state afterwards.
        let left = inputs.first().and_then(|input| self.time_left(input.at));
        for input in inputs {
            let decided = if batch.is_empty() { self.machine.handle(input) } else { self.machine.handle_also(input) }?;
            firsts.push(decided.first().cloned());
            batch.extend(decided);
        }
        if let Some(last) = inputs.last().filter(|_| batch.iter().any(|event| self.concerns_children(event))) {
            // Boxed, so that the future of a trace that waits stays small.
            Box::pin(self.settle_children(&mut batch, last)).await?;
        }
        let (Some(first), Some(last)) = (batch.first(), batch.last()) else { return Ok(None) };
        let (expected, head) = (first.id - 1, last.id);
        let unsure = |problem: String, cause| Ok(Some(Unsure { problem, cause, firsts }));
        match self.shared.config.store.append(&self.lease, expected, batch.clone()).await {
            Appended::Committed { .. } => {
                self.machine.commit(head);
                self.cached.bodies.extend(&batch);
                self.end_processes(&batch);
                self.tell_hooks(&batch, left).await;
                self.publish(batch);
                Ok(None)
            }
            Appended::Unknown { problem, cause } => unsure(problem, cause),
            Appended::Refused(Refused::StaleEpoch | Refused::WrongId { .. }) => Err(DriveError::TakenOver),
            Appended::Refused(refused @ (Refused::Lost | Refused::Busy)) => {
                unsure(refused.to_string(), ErrorKind::Other)
            }
            Appended::Refused(refused) => Err(DriveError::unwritable(refused.to_string())),
        }
    }

    /// A run that somebody stopped leaves nothing running in the background.
    fn end_processes(&self, batch: &[Event]) {
        let is_stop =
            |event: &Event| matches!(&event.kind, EventKind::RunFinished(run) if run.reason == FinishReason::Stopped);
        if let Some(processes) = self.handle.known_processes().filter(|_| batch.iter().any(is_stop)).cloned() {
            tokio::spawn(async move { processes.end().await });
        }
    }

    fn publish(&mut self, batch: Vec<Event>) {
        self.tell_observer(&batch);
        self.handle.publish(batch);
    }

    fn tell_observer(&mut self, events: &[Event]) {
        if let Some(observer) = &mut self.observer {
            observer.committed(Taken { events, state: self.machine.state() });
        }
    }

    /// Reads the log again in the same process. What is in flight goes on. False: the store is still not there.
    async fn reopen(&mut self) -> Result<bool, DriveError> {
        let trace = self.lease.trace().clone();
        self.lease.release();
        let Ok(Opened { lease, log }) = self.shared.config.store.lease(&self.scope, &trace, false).await else {
            return Ok(false);
        };
        writable(&log)?;
        self.lease = lease;
        self.machine = Machine::fold(trace, &log.events);
        self.encoded.packer = Packer::default();
        self.cached.bodies.extend(&log.events);
        self.cached.whole = true;
        // What was written with no known outcome was told to nobody.
        self.tell_observer(&log.events);
        let at = (self.shared.config.clock)();
        let kind = InputKind::Recovered { lost: false, tail_cut: tail_cut(&log) };
        let again = Input { more: self.mail.holding, ..Input::new(at, kind) };
        // What a torn batch lost is decided again.
        Ok(self.append(&[again]).await?.is_none())
    }
}
