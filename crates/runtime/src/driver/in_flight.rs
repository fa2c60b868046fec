//! The effects under way, each a future that ends in an input.

use futures_util::future::{AbortHandle, Abortable, FutureExt};
use futures_util::stream::{FuturesUnordered, StreamExt};
use mainpath_core::{Effect, EffectKey, InputKind};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use tokio_util::sync::CancellationToken;

type Work = Pin<Box<dyn Future<Output = Ended> + Send>>;

/// An effect that has ended: with what it came to, or aborted.
pub(super) struct Ended {
    pub key: EffectKey,
    pub came_to: Option<InputKind>,
    /// Whether it is to be looked at again when its trace is woken.
    pub rests: bool,
}

/// How an effect under way is ended.
struct Running {
    abort: AbortHandle,
    cancel: CancellationToken,
}

/// The effects under way.
#[derive(Default)]
pub(super) struct InFlight {
    running: BTreeMap<EffectKey, Running>,
    work: FuturesUnordered<Work>,
}

impl InFlight {
    /// Whether an effect is under way.
    pub fn has(&self, key: &EffectKey) -> bool {
        self.running.contains_key(key)
    }

    /// Whether nothing is under way, nor has to be waited for after it was aborted.
    pub fn is_empty(&self) -> bool {
        self.running.is_empty() && self.work.is_empty()
    }

    /// Starts an effect.
    pub fn start<F: Future<Output = InputKind> + Send + 'static>(
        &mut self,
        key: EffectKey,
        work: impl FnOnce(CancellationToken) -> F,
    ) {
        let cancel = CancellationToken::new();
        let work = work(cancel.clone());
        self.push(key, cancel, work.map(Some));
    }

    /// Starts an effect that may come to nothing for now.
    pub fn wait(&mut self, key: EffectKey, work: impl Future<Output = Option<InputKind>> + Send + 'static) {
        self.push(key, CancellationToken::new(), work);
    }

    fn push(
        &mut self,
        key: EffectKey,
        cancel: CancellationToken,
        work: impl Future<Output = Option<InputKind>> + Send + 'static,
    ) {
        let (abort, registration) = AbortHandle::new_pair();
        let work = Abortable::new(work, registration);
        // No async block: it would take room for what it awaits twice.
        self.work.push(Box::pin(work.map(move |done| match done {
            Ok(came_to) => Ended { key, rests: came_to.is_none(), came_to },
            Err(_) => Ended { key, rests: false, came_to: None },
        })));
        self.running.insert(key, Running { abort, cancel });
    }

    /// Cancels what is no longer pending.
    pub fn cancel_all_but(&self, pending: &BTreeMap<EffectKey, Effect>) {
        for (key, running) in self.running.iter().filter(|(key, _)| !pending.contains_key(key)) {
            match key {
                // It goes on until it is confirmed dead; that is what `Kill` waits for.
                EffectKey::Tool(..) => running.cancel.cancel(),
                _ => running.abort.abort(),
            }
        }
    }

    /// Drops the waits for other agents, also for their ends. They are pending again when the trace is driven the next time.
    pub fn stop_waiting(&self) {
        let waits = |key: &EffectKey| matches!(key, EffectKey::Child(..) | EffectKey::EndChild(..));
        self.running.iter().filter(|(key, _)| waits(key)).for_each(|(_, waiting)| waiting.abort.abort());
    }

    /// Tells probes that the run is to end: they have a moment left, since their answers are the only record of what was done.
    pub fn hurry_probes(&self) {
        let probes = self.running.iter().filter(|(key, _)| matches!(key, EffectKey::Probe(..)));
        probes.for_each(|(_, probe)| probe.cancel.cancel());
    }

    /// The next effect to end; never, while none is under way.
    pub async fn next(&mut self) -> Ended {
        match self.work.next().await {
            Some(ended) => {
                self.running.remove(&ended.key);
                ended
            }
            None => std::future::pending().await,
        }
    }
}
