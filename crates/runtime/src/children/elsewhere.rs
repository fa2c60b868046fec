//! A child on another machine: it is begun there once, and followed by what the log there says. While its server cannot be asked it is
//! waited for: it may go on there.

use super::asked::{Asked, Making};
use super::claims::{said_there, taken_in};
use super::error::ChildError;
use super::peers::{RemoteTask, Unbegun};
use super::remote_clock::RemoteClock;
use super::remote_end;
use super::remote_log::RemoteLog;
use super::seen::{Seen, ended, failed, unstarted};
use super::undriven::Undriven;
use crate::effects::context::EffectContext;
use crate::shared::Shared;
use crate::stream::hub::{Handle, Live, Phase};
use mainpath_core::{Child, InputKind};
use mainpath_store::{Scope, StoreError};
use mainpath_types::{ApprovalMode, TraceId};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long a server that cannot be asked is waited for.
const PATIENCE: Duration = Duration::from_secs(15 * 60);
/// How often it is asked again: after so long at first,
const SOON: Duration = Duration::from_millis(250);
/// then less and less often, down to this.
const SELDOM: Duration = Duration::from_secs(15);
/// A log that does not grow is read again this often all the same.
const LOOK: Duration = Duration::from_secs(30);
/// The same while an agent of the child waits for a person.
const LOOK_BELOW: Duration = Duration::from_secs(3);

/// A server that cannot be asked.
struct Waited {
    since: Instant,
    next: Duration,
}

impl Waited {
    /// Waits before it is asked again. Errors: that was done for too long.
    async fn again(this: &mut Option<Waited>, context: &EffectContext, why: &str) -> Result<(), ChildError> {
        let waited = this.get_or_insert_with(|| {
            let why = context.shared.config.vault.redact(why.trim_end_matches('.'));
            context.handle.tell(Live::Notice(format!("{why}; it is asked again")));
            Waited { since: Instant::now(), next: SOON }
        });
        if waited.since.elapsed() >= PATIENCE {
            return Err(ChildError::Unanswered { why: why.into(), minutes: PATIENCE.as_secs() / 60 });
        }
        sleep(waited.next).await;
        waited.next = (waited.next * 2).min(SELDOM);
        Ok(())
    }
}

/// Begins it or attaches to it, and waits until its run has ended or its time is up. `None`: it waits for people; its parent is woken
/// when that is over.
pub(super) async fn follow(
    context: &EffectContext,
    trace: &TraceId,
    asked: &Asked,
    making: &Making,
) -> Option<InputKind> {
    let Child { share, .. } = &asked.child;
    let clock = RemoteClock::start();
    let came_to = tokio::select! {
        came_to = followed(context, trace, asked, making, &clock) => came_to?,
        () = clock.runs_out(share.time_ms) => remote_end::end(context, &asked.child, trace, Some("its time is up")).await,
    };
    Some(taken_in(&context.shared.config.vault, share, clock.charge(came_to)))
}

async fn followed(
    context: &EffectContext,
    trace: &TraceId,
    asked: &Asked,
    making: &Making,
    clock: &RemoteClock,
) -> Option<InputKind> {
    let (store, after) = (&*context.shared.config.store, asked.child.after);
    // One that was seen there is not begun again: whoever removes it there does not want it.
    let heads = store.subscribe(&context.scope, trace);
    let was_seen = heads.is_ok_and(|heads| *heads.borrow() > after);
    if !was_seen && let Err(problem) = begin(context, trace, &asked.child, making).await {
        return Some(unstarted(&asked.child, &problem));
    }
    let mut log = RemoteLog::new(&context.scope, trace, after);
    let (mut waited, mut undriven) = (None, Undriven::new());
    let mut is_attached = false;
    loop {
        let problem = match log.read(store).await {
            Ok(seen) if seen.ended.is_some() => return Some(ended(&asked.child, said_there(seen))),
            Ok(seen) if seen.is_empty => {
                return Some(failed(&asked.child, seen, format!("{trace} is no longer there")));
            }
            Ok(seen) => {
                if let Some(asks) = log.asks(store, &seen).await {
                    let ask =
                        format!("{asks} waits for a person on its own machine; to see for what: mainpath show {asks}");
                    context.handle.tell(Live::Notice(ask));
                    tokio::spawn(ParkedParent::of(context).wake_when_decided(trace.clone(), after));
                    return None;
                }
                waited = None;
                if !std::mem::replace(&mut is_attached, true) {
                    clock.count_earlier(match seen.agents.is_empty() {
                        true => {
                            let since = (context.shared.config.clock)().saturating_sub(asked.child.started);
                            since.saturating_sub(seen.waited_for_people())
                        }
                        // For these it may have waited long before one of them could work on.
                        false => seen.worked().saturating_add(log.below(store, &seen).await.worked),
                    });
                }
                undriven.wait(context, &mut log, &seen).await;
                continue;
            }
            Err(error) if is_for_now(&error) => error.to_string(),
            Err(error) => {
                let problem = format!("{error}; it may go on there");
                return Some(failed(&asked.child, Seen::default(), problem));
            }
        };
        if let Err(problem) = Waited::again(&mut waited, context, &problem).await {
            return Some(failed(&asked.child, Seen::default(), problem.to_string()));
        }
    }
}

/// A parent that was parked with a child which waits for people.
struct ParkedParent {
    shared: Weak<Shared>,
    handle: Arc<Handle>,
    scope: Scope,
    trace: TraceId,
}

impl ParkedParent {
    fn of(context: &EffectContext) -> ParkedParent {
        let EffectContext { shared, handle, scope, trace, .. } = context;
        let (shared, handle) = (Arc::downgrade(shared), Arc::clone(handle));
        ParkedParent { shared, handle, scope: scope.clone(), trace: trace.clone() }
    }

    /// Wakes it as soon as the child waits for them no more, unless it goes on before, or its runtime has ended.
    async fn wake_when_decided(self, child: TraceId, after: u64) {
        let mut phases = self.handle.phase.subscribe();
        if phases.wait_for(|phase| *phase != Phase::Running).await.is_err() {
            return;
        }
        let mut log = RemoteLog::new(&self.scope, &child, after);
        loop {
            let Some(shared) = self.shared.upgrade() else { return };
            let store = &*shared.config.store;
            let look = match log.read(store).await {
                Ok(seen) if log.asks(store, &seen).await.is_none() => None,
                // The log says nothing of a decision about one of its agents.
                Ok(seen) if !seen.asks => Some(LOOK_BELOW),
                Ok(_) => Some(LOOK),
                Err(error) => is_for_now(&error).then_some(LOOK),
            };
            let Some(look) = look else { return shared.wake(&self.scope.tenant, &self.trace) };
            // A runtime that shuts down is not kept by this.
            drop(shared);
            tokio::select! {
                _ = log.grows(look) => {}
                _ = phases.wait_for(|phase| !matches!(phase, Phase::Parked(_))) => return,
            }
        }
    }
}

async fn begin(context: &EffectContext, trace: &TraceId, child: &Child, making: &Making) -> Result<(), ChildError> {
    let config = &context.shared.config;
    let peers = config.peers.as_ref().ok_or(ChildError::NoPeers)?;
    let approvals = match making.parent.mode_in(making.run) {
        ApprovalMode::Deny => ApprovalMode::Deny,
        // Nobody here answers for that machine.
        ApprovalMode::Ask | ApprovalMode::Yes => ApprovalMode::Ask,
    };
    let key = format!("{}/{}/{}", context.trace, child.call, child.nth);
    let task = RemoteTask {
        trace,
        after: child.after,
        key: &key,
        parent: &context.trace,
        call: &making.call,
        message: &making.message,
        share: &child.share,
        approvals,
    };
    let mut waited = None;
    loop {
        match peers.begin(task).await {
            Ok(()) => return Ok(()),
            Err(Unbegun { why, is_for_now: true }) => Waited::again(&mut waited, context, &why).await?,
            Err(refused) => return Err(refused.into()),
        }
    }
}

/// Whether a server that does not answer may do so later.
fn is_for_now(error: &StoreError) -> bool {
    matches!(error, StoreError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotConnected)
}
