//! The hooks at the end of a turn and of a run. The driver waits for them, so whatever ends the run has to reach them here.

use crate::driver::Driver;
use crate::effects::hooks::{HookFolders, HookPoint, TraceHooks};
use crate::stream::hub::Handle;
use crate::stream::notices::Notices;
use mainpath_core::MailCursor;
use mainpath_store::TraceStore;
use mainpath_types::{Event, EventKind, Millis};
use serde_json::json;
use std::future::pending;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What may end a run while the driver does not read its mail.
struct EndOfRun<'a> {
    mailbox: TraceStore<'a>,
    read: MailCursor,
    handle: &'a Handle,
    /// The time that the run has left; `None` without a limit.
    left: Option<Millis>,
}

impl EndOfRun<'_> {
    /// Returns when the run is to end: its time is up, or someone sent a message that ends it. The driver reads it afterwards.
    async fn comes(&self) {
        tokio::select! {
            () = sleep(self.left) => {}
            () = self.is_asked_for() => {}
        }
    }

    async fn is_asked_for(&self) {
        loop {
            let mail = self.mailbox.mail(self.read.upto).await.unwrap_or_default();
            if mail.iter().any(|mail| mail.urgent && !self.read.has(mail.id)) {
                return;
            }
            self.handle.wake.notified().await;
        }
    }
}

async fn sleep(left: Option<Millis>) {
    match left {
        Some(left) => tokio::time::sleep(Duration::from_millis(left)).await,
        None => pending().await,
    }
}

impl Driver {
    /// Calls the hooks at the end of a turn and of a run. They can change nothing any more.
    pub(super) async fn tell_hooks(&mut self, batch: &[Event]) {
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
        let hooks = &self.shared.config.hooks;
        for event in batch {
            let (point, said) = match &event.kind {
                EventKind::TurnFinished(data) if hooks.has(HookPoint::TurnEnd) => {
                    (HookPoint::TurnEnd, serde_json::to_value(data))
                }
                EventKind::RunFinished(data) if hooks.has(HookPoint::RunEnd) => {
                    (HookPoint::RunEnd, serde_json::to_value(data))
                }
                _ => continue,
            };
            let mut said = json!({
                "trace_id": self.lease.trace(), "turn": event.turn, "data": said.unwrap_or_default(),
            });
            let state = self.machine.state();
            let deadline = state.limits().and_then(|limits| state.run.as_ref()?.deadline(limits));
            let left = deadline.map(|at| at.saturating_sub((self.shared.config.clock)()));
            let read = state.log.mail.clone();
            let end = EndOfRun { mailbox: self.trace_store(), read, handle: &self.handle, left };
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
                // A hook that says no here says it to nobody.
                _ = hooks.call(point, None, &mut said, |_, _, _| {}) => {}
                () = ends => {}
            }
        }
    }
}
