//! A child on another machine: it is begun there once, and followed by what the log there says. While its server cannot be asked it is
//! waited for: it may go on there.

use super::asked::{Asked, Making};
use super::peers::{RemoteTask, Unbegun};
use super::seen::{Seen, ended, failed, look, look_in, unstarted};
use crate::effects::context::EffectContext;
use crate::secrets::Vault;
use crate::shared::Shared;
use crate::stream::hub::{Handle, Live, Phase};
use mainpath_core::{Child, InputKind};
use mainpath_store::{Scope, StoreError, TraceStore};
use mainpath_types::{ApprovalMode, Origin, Share, TraceId, Usage};
use std::sync::{Arc, Weak};
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
            let why = context.shared.config.vault.redact(why.trim_end_matches('.'));
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

/// Begins it or attaches to it, and waits until its run has ended. `None`: it waits for people; its parent is woken when that is over.
pub(super) async fn follow(
    context: &EffectContext,
    trace: &TraceId,
    asked: &Asked,
    making: &Making,
) -> Option<InputKind> {
    let came_to = followed(context, trace, asked, making).await?;
    Some(taken_in(&context.shared.config.vault, &asked.child.share, came_to))
}

async fn followed(context: &EffectContext, trace: &TraceId, asked: &Asked, making: &Making) -> Option<InputKind> {
    // One that was seen there is not begun again: whoever removes it there does not want it.
    let heads = context.shared.config.store.subscribe(&context.scope, trace);
    let was_seen = heads.is_ok_and(|heads| *heads.borrow() > asked.child.after);
    if !was_seen && let Err(problem) = begin(context, trace, &asked.child, making).await {
        return Some(unstarted(&asked.child, &problem));
    }
    let mut waited = None;
    loop {
        // Asked for first: what is written while the log is read is told afterwards.
        let heads = context.shared.config.store.subscribe(&context.scope, trace);
        let problem = match look(context, trace, asked.child.after).await {
            Ok(seen) if seen.ended.is_some() => return Some(ended(&asked.child, said_there(seen))),
            Ok(seen) if seen.is_empty => {
                return Some(failed(&asked.child, seen, format!("{trace} is no longer there")));
            }
            Ok(seen) if seen.asks => {
                let ask =
                    format!("{trace} waits for a person on its own machine; to see for what: mainpath show {trace}");
                context.handle.tell(Live::Notice(ask));
                tokio::spawn(ParkedParent::of(context).wake_when_decided(trace.clone(), asked.child.after));
                return None;
            }
            Ok(_) => {
                waited = None;
                if let Ok(mut heads) = heads {
                    let _ = timeout(LOOK, heads.changed()).await;
                }
                continue;
            }
            Err(error) if is_for_now(&error) => error.to_string(),
            Err(error) => {
                let problem = format!("{error}; it may go on there");
                return Some(failed(&asked.child, Seen::default(), problem));
            }
        };
        if let Err(problem) = Waited::again(&mut waited, context, &problem).await {
            return Some(failed(&asked.child, Seen::default(), problem));
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
        loop {
            let Some(shared) = self.shared.upgrade() else { return };
            let store = &*shared.config.store;
            let heads = store.subscribe(&self.scope, &child);
            match look_in(TraceStore::new(store, &self.scope, &child), after).await {
                Ok(seen) if seen.asks => {}
                Err(error) if is_for_now(&error) => {}
                Ok(_) | Err(_) => return shared.wake(&self.scope.tenant, &self.trace),
            }
            drop(shared);
            let changed = async {
                match heads {
                    Ok(mut heads) => drop(timeout(LOOK, heads.changed()).await),
                    Err(_) => sleep(SELDOM).await,
                }
            };
            tokio::select! {
                () = changed => {}
                _ = phases.wait_for(|phase| !matches!(phase, Phase::Parked(_))) => return,
            }
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

/// Whether a server that does not answer may do so later.
fn is_for_now(error: &StoreError) -> bool {
    matches!(error, StoreError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotConnected)
}

/// What came of it, as it may enter the log: without secrets of this machine, which that one does not know as such, and using no more
/// than it was given; what another machine claims beyond that is its own.
pub(super) fn taken_in(vault: &Vault, share: &Share, came_to: InputKind) -> InputKind {
    let InputKind::ChildEnded(mut ended) = came_to else { return came_to };
    let handed = &mut ended.handed;
    let texts = handed.problem.iter_mut().chain([&mut handed.answer]).chain(&mut handed.files);
    texts.for_each(|text| *text = vault.redact(text));
    let (tokens, money) = (share.tokens.unwrap_or(u64::MAX), share.money.unwrap_or(u64::MAX));
    let most_calls = share.calls.unwrap_or(u32::MAX);
    if handed.spent.usage.total() > tokens || handed.spent.cost > money || handed.calls > most_calls {
        let claimed = "it says that it used more than it was given; no more than that is counted";
        handed.problem =
            Some(handed.problem.iter().map(String::as_str).chain([claimed]).collect::<Vec<_>>().join("; "));
    }
    for usage in [&mut handed.usage, &mut handed.spent.usage] {
        if usage.total() > tokens {
            *usage = Usage { input: tokens, ..Usage::default() };
        }
    }
    handed.cost = handed.cost.min(money);
    handed.spent.cost = handed.spent.cost.min(money);
    handed.calls = handed.calls.min(most_calls);
    InputKind::ChildEnded(ended)
}

/// What another machine says is somebody else's word, whatever it says of itself.
pub(super) fn said_there(seen: Seen) -> Seen {
    let mut seen = seen;
    seen.origins.insert(Origin::Message);
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainpath_core::ChildEnded;
    use mainpath_types::{CallId, ChildOutcome, HandedBack, Seq, Spent};

    fn claims(tokens: u64, money: u64, share: &Share) -> HandedBack {
        let usage = Usage { input: tokens, output: tokens, ..Usage::default() };
        let spent = Spent { usage, cost: money, about: false };
        let handed = HandedBack { usage, cost: money, spent, calls: 3, ..HandedBack::default() };
        let call = CallId { seq: Seq(2), index: 0 };
        let ended = ChildEnded { call, nth: 0, of: 1, outcome: ChildOutcome::Result, handed };
        entered(share, ended)
    }

    fn entered(share: &Share, ended: ChildEnded) -> HandedBack {
        let vault = Vault::new([("A_KEY".to_string(), "hunter2hunter2".to_string())]);
        match taken_in(&vault, share, InputKind::ChildEnded(ended)) {
            InputKind::ChildEnded(ended) => ended.handed,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn secrets_of_this_machine_do_not_come_back_from_another() {
        let text = || "the key is hunter2hunter2".to_string();
        let handed = HandedBack { answer: text(), problem: Some(text()), files: vec![text()], ..HandedBack::default() };
        let call = CallId { seq: Seq(2), index: 0 };
        let ended = ChildEnded { call, nth: 0, of: 1, outcome: ChildOutcome::Result, handed };
        let handed = entered(&Share::default(), ended);
        for text in [&handed.answer, handed.problem.as_ref().unwrap(), &handed.files[0]] {
            assert!(text.starts_with("the key is ") && !text.contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn no_more_is_counted_than_it_was_given() {
        let share = Share { tokens: Some(1_000), money: Some(50), calls: Some(2), ..Share::default() };
        let honest = claims(300, 7, &Share { calls: Some(3), ..share });
        assert_eq!((honest.spent.usage.total(), honest.cost, honest.problem), (600, 7, None));
        let claimed = claims(u64::MAX / 4, u64::MAX / 4, &share);
        assert_eq!((claimed.spent.usage.total(), claimed.usage.total()), (1_000, 1_000));
        assert_eq!((claimed.spent.cost, claimed.cost, claimed.calls), (50, 50, 2));
        assert!(claimed.problem.unwrap().contains("more than it was given"));
        let free = claims(u64::MAX / 4, 9, &Share::default());
        assert_eq!((free.cost, free.problem), (9, None), "nothing was said of a limit");
    }
}
