//! What many ask at once is done once for all of them: a thousand watchers of one trace read its log together.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// What is asked now, by what it is about. Who asks is never given what was begun before it asked.
#[derive(Debug)]
pub(super) struct Together<K, V>(Mutex<HashMap<K, Arc<Line<V>>>>);

impl<K, V> Default for Together<K, V> {
    fn default() -> Together<K, V> {
        Together(Mutex::default())
    }
}

/// Who asks the same.
#[derive(Debug)]
struct Line<V> {
    /// Held while it is done.
    turn: tokio::sync::Mutex<()>,
    /// Where those who wait for the next turn hear what came of it; closed where whoever was to take it has gone.
    next: Mutex<Option<watch::Receiver<Option<V>>>>,
}

impl<V> Line<V> {
    fn next(&self) -> MutexGuard<'_, Option<watch::Receiver<Option<V>>>> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next turn, or waits for what another takes it for.
    fn ask(&self) -> Asked<V> {
        let mut next = self.next();
        match &*next {
            Some(told) if told.has_changed().is_ok() => Asked::Waits(told.clone()),
            _ => {
                let (tell, told) = watch::channel(None);
                *next = Some(told);
                Asked::Takes(tell)
            }
        }
    }
}

enum Asked<V> {
    Takes(watch::Sender<Option<V>>),
    Waits(watch::Receiver<Option<V>>),
}

impl<K: Clone + Eq + Hash, V: Clone> Together<K, V> {
    /// What `work` gives: done now, or by another that has not begun yet. Each failure is its own. Cancel safe.
    pub async fn ask<E, F: Future<Output = Result<V, E>>>(&self, what: K, work: impl FnOnce() -> F) -> Result<V, E> {
        let line = Arc::clone(
            self.lines()
                .entry(what.clone())
                .or_insert_with(|| Arc::new(Line { turn: tokio::sync::Mutex::default(), next: Mutex::default() })),
        );
        let leaves = Leaves { together: self, what, line: &line };
        loop {
            match line.ask() {
                Asked::Waits(mut told) => {
                    if let Ok(known) = told.wait_for(Option::is_some).await
                        && let Some(value) = known.clone()
                    {
                        return Ok(value);
                    }
                }
                Asked::Takes(tell) => {
                    let turn = line.turn.lock().await;
                    // Begun: who asks from now on waits for the next.
                    line.next().take();
                    let done = work().await;
                    drop(turn);
                    if let Ok(value) = &done
                        && tell.receiver_count() > 0
                    {
                        tell.send_replace(Some(value.clone()));
                    }
                    drop(leaves);
                    return done;
                }
            }
        }
    }

    fn lines(&self) -> MutexGuard<'_, HashMap<K, Arc<Line<V>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a line away when the last one leaves it.
struct Leaves<'a, K: Eq + Hash, V> {
    together: &'a Together<K, V>,
    what: K,
    line: &'a Arc<Line<V>>,
}

impl<K: Eq + Hash, V> Drop for Leaves<'_, K, V> {
    fn drop(&mut self) {
        let mut lines = self.together.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The table's own and this one.
        if Arc::strong_count(self.line) <= 2 {
            lines.remove(&self.what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    #[tokio::test]
    async fn what_many_ask_at_once_is_done_twice_and_nobody_gets_what_was_begun_before() {
        let together = Arc::new(Together::<u8, u32>::default());
        let done = Arc::new(AtomicU32::new(0));
        let ask = || {
            let (together, done) = (Arc::clone(&together), Arc::clone(&done));
            let work = move || async move {
                let nth = done.fetch_add(1, Ordering::Relaxed) + 1;
                tokio::time::sleep(Duration::from_millis(20)).await;
                Ok::<u32, ()>(nth)
            };
            tokio::spawn(async move { together.ask(1, work).await })
        };
        let all: Vec<_> = (0..100).map(|_| ask()).collect();
        let mut got = Vec::new();
        for one in all {
            got.push(one.await.unwrap().unwrap());
        }
        assert_eq!((got[0], done.load(Ordering::Relaxed)), (1, 2));
        assert!(got[1..].iter().all(|one| *one == 2), "{got:?}");
        assert_eq!(ask().await.unwrap(), Ok(3));
        assert!(together.lines().is_empty());
    }

    #[tokio::test]
    async fn one_that_goes_away_or_fails_takes_nobody_with_it() {
        let together = Together::<u8, u32>::default();
        let never = together.ask(1, std::future::pending::<Result<u32, u32>>);
        let mut never = Box::pin(never);
        assert!(tokio::time::timeout(Duration::from_millis(5), &mut never).await.is_err());
        let fails = together.ask(1, || async { Err::<u32, u32>(7) });
        let works = together.ask(1, || async { Ok::<u32, u32>(8) });
        let both = async {
            tokio::join!(fails, works, async {
                tokio::time::sleep(Duration::from_millis(5)).await;
                drop(never);
            })
        };
        let (failed, worked, ()) = tokio::time::timeout(Duration::from_secs(5), both).await.unwrap();
        assert_eq!((failed, worked), (Err(7), Ok(8)));
        // Who was to take the next turn goes before it comes.
        let slow = together.ask(1, || async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            Ok::<u32, u32>(1)
        });
        let takes = async {
            let takes = together.ask(1, || async { Ok::<u32, u32>(2) });
            let _ = tokio::time::timeout(Duration::from_millis(10), takes).await;
        };
        let waits = together.ask(1, || async { Ok::<u32, u32>(3) });
        let (slow, (), waits) = tokio::join!(slow, takes, waits);
        assert_eq!((slow, waits), (Ok(1), Ok(3)));
        assert!(together.lines().is_empty());
    }
}
