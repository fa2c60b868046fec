//! Everything that this process hears of a trace: its events and the pieces of what is still coming, and how the driving stands.

use crate::{Error, Trace};
use mainpath_runtime::{Live, Phase, Watcher};
#[cfg(feature = "home")]
use mainpath_store::Following;
use mainpath_types::EventId;
use tokio::sync::watch;

/// Everything that this process hears of a trace, from its first event on.
pub struct TraceFeed {
    trace: Trace,
    watcher: Watcher,
    phases: watch::Receiver<Phase>,
    last: EventId,
    /// Tells other processes that a person stays with the trace.
    #[cfg(feature = "home")]
    _presence: Option<Following>,
}

impl Trace {
    /// Stays with the trace as a person does who can decide on its calls: other processes are told so, and leave the decision to that person.
    pub fn attach(&self) -> TraceFeed {
        let watcher = self.host().runtime().watch(self.host().scope(), self.id(), 1);
        #[allow(unused_mut, reason = "without a home nobody is told")]
        let mut feed = TraceFeed::new(self, watcher);
        #[cfg(feature = "home")]
        if let Some(logs) = self.host().logs() {
            // Where a file system cannot lock folders, they are not told.
            feed._presence = logs.store.follow(&logs.scope, self.id()).ok();
        }
        feed
    }
}

impl TraceFeed {
    pub(super) fn new(trace: &Trace, watcher: Watcher) -> TraceFeed {
        TraceFeed {
            trace: trace.clone(),
            phases: watcher.phase(),
            watcher,
            last: 0,
            #[cfg(feature = "home")]
            _presence: None,
        }
    }

    /// How the driving stands. Nothing of what it has written is heard before [`TraceFeed::missed`] was called.
    pub fn phase(&mut self) -> Phase {
        self.phases.borrow_and_update().clone()
    }

    /// The next event or piece; `None` if the phase has changed. Cancel safe. Errors: the log cannot be read, or the host has ended.
    pub async fn next(&mut self) -> Result<Option<Live>, Error> {
        tokio::select! {
            changed = self.phases.changed() => changed.map(|()| None).map_err(|_| Error::failed("the host has ended")),
            live = self.watcher.next() => Ok(Some(self.note(live?))),
        }
    }

    /// Returns when the phase has changed. Errors: the host has ended.
    pub(super) async fn changed(&mut self) -> Result<(), Error> {
        self.phases.changed().await.map_err(|_| Error::failed("the host has ended"))
    }

    /// The next event or piece that was told already.
    pub(super) fn told(&mut self) -> Option<Live> {
        let live = self.watcher.told()?;
        Some(self.note(live))
    }

    /// Everything that was told or written until now and was not returned yet. Errors: the log cannot be read.
    pub async fn missed(&mut self) -> Result<Vec<Live>, Error> {
        // First what was told, in its order: the pieces of an answer are in no log.
        let mut missed = Vec::new();
        while let Some(live) = self.told() {
            missed.push(live);
        }
        // What can be read, not what the last line claims: behind a damaged line there is nothing to wait for.
        let host = self.trace.host();
        let log = host.store().read(host.scope(), self.trace.id(), self.last + 1).await?;
        let head = log.events.last().map_or(0, |event| event.id);
        self.watcher.read_again();
        while self.last < head {
            let live = self.watcher.next().await?;
            missed.push(self.note(live));
        }
        Ok(missed)
    }

    fn note(&mut self, live: Live) -> Live {
        if let Live::Event(event) = &live {
            self.last = event.id;
        }
        live
    }
}
