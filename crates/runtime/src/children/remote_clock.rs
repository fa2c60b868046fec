//! The time that a remote child uses. Its server is not trusted to keep to the share: the time is measured here as well.

use mainpath_core::InputKind;
use mainpath_types::Millis;
use std::future::pending;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// The time that a remote child has used, from when it is attached to until it waits for people.
pub(super) struct RemoteClock {
    began: Instant,
    /// How long it had worked before.
    earlier: watch::Sender<Duration>,
}

impl RemoteClock {
    /// Starts to measure.
    pub fn start() -> RemoteClock {
        RemoteClock { began: Instant::now(), earlier: watch::Sender::new(Duration::ZERO) }
    }

    /// Counts the time since its work started, if that was before it was attached to.
    pub fn count_earlier(&self, since: Millis) {
        let earlier = Duration::from_millis(since).saturating_sub(self.began.elapsed());
        self.earlier.send_if_modified(|known| std::mem::replace(known, earlier.max(*known)) < earlier);
    }

    /// Returns when it has used all of its time.
    pub async fn runs_out(&self, limit: Option<Millis>) {
        let Some(limit) = limit.map(Duration::from_millis) else { return pending().await };
        let mut earlier = self.earlier.subscribe();
        loop {
            let left = limit.saturating_sub(*earlier.borrow_and_update());
            let Some(end) = self.began.checked_add(left) else { return pending().await };
            tokio::select! {
                () = sleep_until(end) => return,
                Ok(()) = earlier.changed() => {}
            }
        }
    }

    /// Counts at least the measured time as used: its server may state less.
    pub fn charge(&self, came_to: InputKind) -> InputKind {
        let InputKind::ChildEnded(mut ended) = came_to else { return came_to };
        let used = self.began.elapsed().saturating_add(*self.earlier.borrow());
        let used = Millis::try_from(used.as_millis()).unwrap_or(Millis::MAX);
        ended.handed.active_ms = ended.handed.active_ms.max(used);
        InputKind::ChildEnded(ended)
    }
}
