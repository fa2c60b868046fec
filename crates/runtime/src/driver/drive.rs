//! The loop of a driver: receive, reconcile, forward what comes next, until nothing is left but waiting.

use crate::driver::error::DriveError;
use crate::driver::in_flight::Ended;
use crate::driver::{Driver, EncodedConversation, Task, Timer};
use crate::effects::context_texts::in_short;
use crate::internal::plan;
use crate::prompt::gone::Gone;
use crate::prompt::texts::{load, typed_in};
use crate::stream::hub::{Phase, Waiting};
use mainpath_core::{EffectKey, InputKind, ModelCall, task};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// So many traces at work in a process are a crowd.
const CROWD: usize = 2_000;

/// How long a trace that waits keeps its encoded conversation. Without it, it is encoded anew from the log when it is needed:
/// a crowd that waits for slow models would fill the memory with what costs a millisecond to make.
fn keep_prefix(drivers: usize) -> Duration {
    if drivers > CROWD { Duration::from_millis(300) } else { Duration::from_secs(60) }
}

/// Where a trace stands that is not driven on for now.
pub(crate) struct Parked {
    pub phase: Phase,
    /// The wakes that were seen.
    pub wakes: u64,
}

impl Driver {
    /// Carries on until nothing is left but waiting.
    pub async fn drive(&mut self) -> Result<Parked, DriveError> {
        loop {
            // What is boxed here takes room only while it goes on: the future of a trace that waits stays small.
            self.receive().await?;
            if !Box::pin(self.reconciled()).await? {
                continue;
            }
            if self.is_due() {
                Box::pin(self.ring()).await?;
                continue;
            }
            if self.in_flight.is_empty() {
                let wakes = self.handle.wakes.load(Ordering::Acquire);
                // What another process has said may not have been announced yet.
                if wakes == self.mail.seen_wakes && !Box::pin(self.take_mail()).await? {
                    if self.shared.is_resting() {
                        // Nothing was sent: recorded as under way, it would be charged when the trace is taken up again.
                        Box::pin(self.take_back()).await?;
                    }
                    return Ok(Parked { phase: self.park(), wakes });
                }
                continue;
            }
            self.forward().await?;
        }
    }

    /// Reads mail, and puts on record what running calls are about to do.
    async fn receive(&mut self) -> Result<(), DriveError> {
        if self.handle.wakes.load(Ordering::Acquire) != self.mail.seen_wakes {
            self.resting.clear();
            Box::pin(self.read_mail()).await?;
        }
        for announced in self.handle.take_announced() {
            Box::pin(self.record(announced)).await?;
        }
        Ok(())
    }

    /// Reconciles what is in flight with what is pending. False: the spec did not allow that, and another one has come meanwhile.
    async fn reconciled(&mut self) -> Result<bool, DriveError> {
        let problem = match self.reconcile().await {
            Err(DriveError::Spec(problem)) => problem,
            reconciled => return reconciled.map(|()| true),
        };
        self.take_back().await?;
        if self.machine.state().next_spec.is_none() {
            return Err(DriveError::Spec(problem));
        }
        // The request is made again under the spec that came meanwhile.
        self.begin().await?;
        Ok(false)
    }

    /// Waits for the next thing to happen and passes it on to the machine.
    async fn forward(&mut self) -> Result<(), DriveError> {
        let due = self.timer.map(|timer| timer.at.saturating_sub((self.shared.config.clock)()));
        let keep = keep_prefix(self.shared.drivers.load(Ordering::Relaxed));
        tokio::select! {
            // Mail and times are looked at in every round, so nothing starves, and the same world is the same life.
            biased;
            Ended { key, came_to, rests } = self.in_flight.next() => {
                if rests {
                    self.resting.insert(key);
                }
                if let Some(kind) = came_to {
                    Box::pin(self.report(kind)).await?;
                }
            }
            () = self.handle.wake.notified() => {}
            () = tokio::time::sleep(keep), if !self.encoded.prefix.is_empty() => {
                let early = std::mem::take(&mut self.encoded.early);
                self.encoded = EncodedConversation { early, ..EncodedConversation::default() };
            }
            () = sleep(due) => Box::pin(self.ring()).await?,
        }
        Ok(())
    }

    /// Takes back a request that could not be made; it waits for what makes it possible.
    async fn take_back(&mut self) -> Result<(), DriveError> {
        let Some(ModelCall { request, .. }) = self.machine.state().model else { return Ok(()) };
        let key = EffectKey::Model(request);
        let is_pending = self.machine.pending().is_some_and(|pending| pending.contains_key(&key));
        if self.in_flight.has(&key) || !is_pending {
            return Ok(());
        }
        self.mail.holding = true;
        self.offer(InputKind::ModelUnsent { request }, None).await
    }

    /// Begins what was held back.
    pub(super) async fn begin(&mut self) -> Result<(), DriveError> {
        self.mail.holding = false;
        match self.machine.holds_back() {
            true => self.offer(InputKind::Recovered { lost: false, tail_cut: None }, None).await,
            false => Ok(()),
        }
    }

    /// Parks the trace: what it waits for, and its next time given to the scheduler.
    fn park(&self) -> Phase {
        let pending = self.machine.pending().unwrap_or_default();
        let waiting = Waiting::among(&pending);
        if let Some(Timer { at, .. }) = self.timer {
            self.shared.config.scheduler.wake_at(&self.scope.tenant, self.lease.trace(), at);
        }
        // What rests goes on elsewhere, or later: it has not come to its end.
        let is_open = !pending.is_empty() || self.machine.state().run.is_some();
        let is_resting = self.shared.is_resting() && is_open;
        if waiting.is_empty() && !is_resting { Phase::Idle } else { Phase::Parked(waiting) }
    }

    /// Reports what an effect came to. One that nobody waits for any more is dropped.
    async fn report(&mut self, kind: InputKind) -> Result<(), DriveError> {
        let task = match plan::may_begin(&kind, self.machine.state()) {
            true => Some(self.task().await),
            false => None,
        };
        let kind = match kind {
            InputKind::ModelFinished(reply) => self.settle(reply, task).await?,
            other => other,
        };
        self.offer_or_drop(kind, None).await
    }

    /// What the agent was first asked to do, in short; nothing where that cannot be read. No answer is lost for it.
    pub(super) async fn task(&mut self) -> String {
        let state = self.machine.state();
        let first = task(state).and_then(|first| state.tree.node(first));
        let Some(event) = first.map(|node| node.event) else { return String::new() };
        if let Some(known) = self.task.as_ref().filter(|known| known.event == event) {
            return known.text.clone();
        }
        let Ok(said) = self.event(event).await else { return String::new() };
        let mut said = said.map_or(Vec::new(), |kind| typed_in(kind).to_vec());
        if load(self.store(), &mut said, &mut Gone::Fails).await.is_err() {
            return String::new();
        }
        let text = in_short(&said);
        self.task = Some(Task { event, text: text.clone() });
        text
    }

    /// Returns whether the next time has come.
    pub(super) fn is_due(&self) -> bool {
        self.timer.is_some_and(|timer| (self.shared.config.clock)() >= timer.at)
    }

    async fn ring(&mut self) -> Result<(), DriveError> {
        match self.timer.take_if(|timer| (self.shared.config.clock)() >= timer.at) {
            Some(Timer { key, .. }) => self.offer_or_drop(InputKind::Timer { key }, None).await,
            None => Ok(()),
        }
    }
}

async fn sleep(ms: Option<u64>) {
    match ms {
        Some(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
        None => std::future::pending().await,
    }
}
