//! The hooks at the end of a turn and of a run. The driver waits for them, so whatever ends the run has to reach them here.

use crate::driver::Driver;
use crate::effects::hooks::{HookFolders, HookPoint, TraceHooks};
use crate::mail::Mail;
use crate::shared::Shared;
use crate::stream::hub::Handle;
use crate::stream::notices::Notices;
use mainpath_core::MailCursor;
use mainpath_store::TraceStore;
use mainpath_types::{Event, EventKind, FinishReason, Millis};
use serde_json::json;
use std::future::pending;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The least time that hooks have after a run, in milliseconds, also if its time limit is reached or a user stopped it: a hook that reports
/// the end has to start a program or to reach a server. In a shutdown, all hooks after the same events have this time together.
const GRACE: Millis = 5_000;

/// Ends the hooks while the driver does not read its mail.
struct EndOfHooks<'a> {
    mailbox: TraceStore<'a>,
    read: MailCursor,
    handle: &'a Handle,
    shared: &'a Shared,
    /// When the first of these hooks was called.
    since: Millis,
    /// When their time is up; `None` without a limit.
    deadline: Option<Millis>,
}

/// Returns true for a message that ends a run, and what is called at its end.
fn ends_run(body: &str) -> bool {
    matches!(serde_json::from_str(body), Ok(Mail::Stop | Mail::Clear))
}

impl EndOfHooks<'_> {
    /// Returns when the hooks are to end: their time is up, or a message ends the run. The driver reads that message afterwards.
    async fn comes(&self) {
        loop {
            let mail = self.mailbox.mail(self.read.upto).await.unwrap_or_default();
            if mail.iter().any(|mail| !self.read.has(mail.id) && ends_run(&mail.body)) {
                return;
            }
            tokio::select! {
                () = sleep(self.left()) => return,
                // New mail, or the shutdown began.
                () = self.handle.wake.notified() => {}
            }
        }
    }

    /// Returns the time that the hooks have left, in milliseconds; `None` without a limit.
    fn left(&self) -> Option<Millis> {
        let shutdown = self.shared.resting_since().map(|began| began.max(self.since).saturating_add(GRACE));
        let ends = self.deadline.into_iter().chain(shutdown).min()?;
        Some(ends.saturating_sub((self.shared.config.clock)()))
    }
}

async fn sleep(left: Option<Millis>) {
    match left {
        Some(left) => tokio::time::sleep(Duration::from_millis(left)).await,
        None => pending().await,
    }
}

impl Driver {
    /// Returns the time that the limit of the run leaves by then, in milliseconds.
    pub(super) fn time_left(&self, at: Millis) -> Option<Millis> {
        let state = self.machine.state();
        state.run.as_ref()?.time_left(state.limits()?, at)
    }

    /// Calls the hooks at the end of a turn and of a run. They can change nothing any more. `left` is the time that the run had left when the
    /// batch began, in milliseconds; `None` without a limit.
    pub(super) async fn tell_hooks(&mut self, batch: &[Event], mut left: Option<Millis>) {
        let hooks = &self.shared.config.hooks;
        let concerns_hooks = |event: &Event| match &event.kind {
            EventKind::TurnFinished(_) => hooks.has(HookPoint::TurnEnd),
            EventKind::RunFinished(_) => hooks.has(HookPoint::RunEnd),
            _ => false,
        };
        if !batch.iter().any(concerns_hooks) {
            return;
        }
        let spec = match self.machine.state().spec.as_ref().map(|spec| spec.event) {
            Some(event) => self.event(event).await,
            None => Ok(None),
        };
        // Without its spec, as after an erasure, the workspace is unknown: programs are not started then.
        let Ok(Some(EventKind::SpecChanged(data))) = spec else { return };
        let spec = data.spec.clone();
        let _ending = self.machine.state().run.is_none().then(|| self.handle.end());
        let hooks = &self.shared.config.hooks;
        let since = (self.shared.config.clock)();
        let run_timeout = self.machine.state().limits().and_then(|limits| limits.run_timeout_ms);
        for event in batch {
            let (point, said) = match &event.kind {
                EventKind::TurnFinished(data) if hooks.has(HookPoint::TurnEnd) => {
                    (HookPoint::TurnEnd, serde_json::to_value(data))
                }
                EventKind::RunFinished(data) if hooks.has(HookPoint::RunEnd) => {
                    (HookPoint::RunEnd, serde_json::to_value(data))
                }
                EventKind::RunStarted(_) => {
                    left = run_timeout;
                    continue;
                }
                _ => continue,
            };
            let now = (self.shared.config.clock)();
            let deadline = match &event.kind {
                EventKind::RunFinished(data) if data.reason == FinishReason::Stopped => Some(now.saturating_add(GRACE)),
                EventKind::RunFinished(_) => {
                    left.map(|left| event.ts.saturating_add(left).max(now.saturating_add(GRACE)))
                }
                _ => left.map(|left| event.ts.saturating_add(left)),
            };
            let mut said = json!({
                "trace_id": self.lease.trace(), "turn": event.turn, "data": said.unwrap_or_default(),
            });
            let read = self.machine.state().log.mail.clone();
            let (mailbox, handle, shared) = (self.trace_store(), &*self.handle, &*self.shared);
            let end = EndOfHooks { mailbox, read, handle, shared, since, deadline };
            let (notices, cancel) =
                (Notices { handle: &self.handle, vault: &self.shared.config.vault }, CancellationToken::new());
            let (trace, folders) = (self.lease.trace(), HookFolders::of_spec(&spec));
            let hooks = TraceHooks { hooks, trace, folders, notices, cancel: Some(&cancel) };
            let ends = async {
                end.comes().await;
                cancel.cancel();
                pending::<()>().await;
            };
            tokio::select! {
                called = hooks.call(point, None, &mut said, |_, _, _| {}) => {
                    // It is too late to forbid anything. A failure is reported all the same.
                    if let Err(forbidden) = called {
                        hooks.notices.tell(&forbidden.reason);
                    }
                }
                () = ends => {}
            }
            if cancel.is_cancelled() {
                notices.tell(
                    "hooks at the end were ended before they had finished: the run was stopped, its time was up, or the process shuts down",
                );
            }
        }
    }
}
