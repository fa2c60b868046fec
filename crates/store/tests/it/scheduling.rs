use crate::Home;
use mainpath_store::*;
use mainpath_types::{Millis, TenantId, TraceId};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

fn wake(trace: &str) -> Wake {
    Wake { tenant: TenantId::local(), trace: trace.parse().unwrap() }
}

async fn next(scheduler: &LocalScheduler) -> Wake {
    tokio::time::timeout(Duration::from_secs(20), scheduler.next()).await.expect("a wake was lost")
}

async fn nothing_waits(scheduler: &LocalScheduler) {
    let waited = tokio::time::timeout(Duration::ZERO, scheduler.next()).await;
    assert!(waited.is_err(), "{waited:?}");
}

/// A clock that each test sets for itself would need state; wakes are told apart by far past and far future.
fn noon() -> Millis {
    43_200_000
}

#[tokio::test]
async fn wakes_come_in_order_and_once() {
    let scheduler = LocalScheduler::new(noon);
    for trace in ["b", "a", "b", "c", "a"] {
        scheduler.wake(&TenantId::local(), &trace.parse().unwrap());
    }
    for trace in ["b", "a", "c"] {
        assert_eq!(next(&scheduler).await, wake(trace));
    }
    nothing_waits(&scheduler).await;
    scheduler.wake(&TenantId::local(), &"b".parse().unwrap());
    assert_eq!(next(&scheduler).await, wake("b"), "after it was taken it can come again");
}

#[tokio::test]
async fn timers_fire_when_due_in_order_of_time() {
    static NOW: AtomicU64 = AtomicU64::new(1_000);
    let scheduler = LocalScheduler::new(|| NOW.load(Ordering::SeqCst));
    for (trace, at) in [("late", 3_000), ("soon", 2_000), ("past", 10), ("late", 3_000)] {
        scheduler.wake_at(&TenantId::local(), &trace.parse().unwrap(), at);
    }
    assert_eq!(next(&scheduler).await, wake("past"));
    nothing_waits(&scheduler).await;
    NOW.store(1_999, Ordering::SeqCst);
    nothing_waits(&scheduler).await;
    NOW.store(5_000, Ordering::SeqCst);
    assert_eq!(next(&scheduler).await, wake("soon"));
    assert_eq!(next(&scheduler).await, wake("late"));
    nothing_waits(&scheduler).await;
}

#[tokio::test]
async fn a_waiting_scheduler_hears_a_new_wake_and_a_nearer_timer() {
    let scheduler = std::sync::Arc::new(LocalScheduler::new(scheduler::system_clock));
    scheduler.wake_at(&TenantId::local(), &"far".parse().unwrap(), Millis::MAX);
    for at in [None, Some(scheduler::system_clock() + 20)] {
        let waiting = tokio::spawn({
            let scheduler = std::sync::Arc::clone(&scheduler);
            async move { next(&scheduler).await }
        });
        tokio::task::yield_now().await;
        let trace: TraceId = "new".parse().unwrap();
        match at {
            None => scheduler.wake(&TenantId::local(), &trace),
            Some(at) => scheduler.wake_at(&TenantId::local(), &trace, at),
        }
        assert_eq!(waiting.await.unwrap(), wake("new"));
    }
}

#[tokio::test]
async fn several_waiters_get_a_wake_each() {
    let scheduler = std::sync::Arc::new(LocalScheduler::new(noon));
    let waiters: Vec<_> = (0..3)
        .map(|_| {
            let scheduler = std::sync::Arc::clone(&scheduler);
            tokio::spawn(async move { next(&scheduler).await })
        })
        .collect();
    tokio::task::yield_now().await;
    for trace in ["a", "b", "c"] {
        scheduler.wake(&TenantId::local(), &trace.parse().unwrap());
    }
    let mut woken = Vec::new();
    for waiter in waiters {
        woken.push(waiter.await.unwrap());
    }
    woken.sort();
    assert_eq!(woken, [wake("a"), wake("b"), wake("c")]);
}

#[tokio::test]
async fn mail_wakes_its_trace_in_this_process_and_in_others() {
    let home = Home::new();
    let other = FilesStore::open(home.dir.path(), Options::default()).unwrap();
    let (here, there) = (home.store.scheduler(), other.scheduler());
    let tenant: TenantId = "acme".parse().unwrap();
    let scope = Scope { tenant: tenant.clone(), ..Scope::local() };
    let trace: TraceId = "t".parse().unwrap();
    drop(home.store.lease(&scope, &trace, true).await.unwrap());
    home.store.post(&scope, &trace, false, "1".into()).await.unwrap();
    assert_eq!(next(&here).await, Wake { tenant: tenant.clone(), trace: trace.clone() });
    assert_eq!(next(&there).await, Wake { tenant, trace });
}

#[tokio::test]
async fn mail_in_memory_wakes_its_trace() {
    let store = MemoryStore::default();
    drop(store.lease(&Scope::local(), &"t".parse().unwrap(), true).await.unwrap());
    store.post(&Scope::local(), &"t".parse().unwrap(), false, "1".into()).await.unwrap();
    assert_eq!(next(&store.scheduler()).await, wake("t"));
}

#[tokio::test]
async fn a_doorbell_that_was_emptied_is_still_heard() {
    let home = Home::new();
    let scope = Scope::local();
    drop(home.store.lease(&scope, &"t".parse().unwrap(), true).await.unwrap());
    let doorbell = home.dir.path().join("doorbell");
    std::fs::write(&doorbell, "local/x\n".repeat(200_000)).unwrap();
    let late = FilesStore::open(home.dir.path(), Options::default()).unwrap();
    let scheduler = late.scheduler();
    home.store.post(&scope, &"t".parse().unwrap(), false, "1".into()).await.unwrap();
    assert_eq!(next(&scheduler).await, wake("t"));
    assert_eq!(std::fs::read_to_string(&doorbell).unwrap(), "local/t\n");
}
