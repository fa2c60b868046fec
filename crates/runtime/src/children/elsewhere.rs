//! A child on another machine: it is begun there once, and followed by what the log there says. While its server cannot be asked it is
//! waited for: it may go on there.

use super::asked::{Asked, Making};
use super::peers::{RemoteTask, Unbegun};
use super::seen::{Seen, ended, failed, look, unstarted};
use crate::effects::context::EffectContext;
use crate::stream::hub::Live;
use mainpath_core::{Child, InputKind};
use mainpath_types::{ApprovalMode, Origin, TraceId};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// How long a server that cannot be asked is waited for.
const PATIENCE: Duration = Duration::from_secs(15 * 60);
/// How often it is asked again: after so long at first,
const SOON: Duration = Duration::from_millis(250);
/// then less and less often, down to this.
const SELDOM: Duration = Duration::from_secs(15);
/// A log that nothing is heard of is looked at so often all the same.
const LOOK: Duration = Duration::from_secs(30);

/// A server that cannot be asked.
struct Waited {
    since: Instant,
    next: Duration,
}

impl Waited {
    /// Waits before it is asked again. Errors: that was done for too long.
    async fn again(this: &mut Option<Waited>, context: &EffectContext, why: &str) -> Result<(), String> {
        let waited = this.get_or_insert_with(|| {
            context.handle.tell(Live::Notice(format!("{why}; it is asked again")));
            Waited { since: Instant::now(), next: SOON }
        });
        if waited.since.elapsed() >= PATIENCE {
            let minutes = PATIENCE.as_secs() / 60;
            return Err(format!("{why}, for {minutes} minutes; it may go on there: continue it later (continue_from)"));
        }
        sleep(waited.next).await;
        waited.next = (waited.next * 2).min(SELDOM);
        Ok(())
    }
}

/// Begins it or attaches to it, and waits until its run has ended.
pub(super) async fn follow(context: &EffectContext, trace: &TraceId, asked: &Asked, making: &Making) -> InputKind {
    if let Err(problem) = begin(context, trace, &asked.child, making).await {
        return unstarted(&asked.child, &problem);
    }
    let mut waited = None;
    loop {
        // Asked for first: what is written while the log is read is told afterwards.
        let heads = context.shared.config.store.subscribe(&context.scope, trace);
        let problem = match look(context, trace, asked.child.after).await {
            Ok(seen) if seen.ended.is_some() => return ended(&asked.child, said_there(seen)),
            Ok(_) => {
                waited = None;
                if let Ok(mut heads) = heads {
                    let _ = timeout(LOOK, heads.changed()).await;
                }
                continue;
            }
            Err(error) => error.to_string(),
        };
        if let Err(problem) = Waited::again(&mut waited, context, &problem).await {
            return failed(&asked.child, Seen::default(), problem);
        }
    }
}

async fn begin(context: &EffectContext, trace: &TraceId, child: &Child, making: &Making) -> Result<(), String> {
    let config = &context.shared.config;
    let peers = config.peers.as_ref().ok_or("no other machine is set up here")?;
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
            Err(Unbegun { why, is_for_now: false }) => return Err(why),
            Err(Unbegun { why, is_for_now: true }) => Waited::again(&mut waited, context, &why).await?,
        }
    }
}

/// What another machine says is somebody else's word, whatever it says of itself.
pub(super) fn said_there(seen: Seen) -> Seen {
    let mut seen = seen;
    seen.origins.insert(Origin::Message);
    seen
}
