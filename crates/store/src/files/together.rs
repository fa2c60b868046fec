//! What many ask at once is done once for all of them: a thousand watchers of one trace read its log together.

use super::blocking::blocking;
use crate::store::StoreError;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// What is asked now, by what it is about. Who asks is never given what was begun before it asked.
#[derive(Debug)]
pub(super) struct Together<K, V>(Arc<Mutex<Lines<K, V>>>);

type Lines<K, V> = HashMap<K, Known<V>>;

/// A line, and how many are in it.
#[derive(Debug)]
struct Known<V> {
    line: Arc<Line<V>>,
    members: usize,
}

impl<K, V> Default for Together<K, V> {
    fn default() -> Together<K, V> {
        Together(Arc::default())
    }
}

/// Who asks the same.
#[derive(Debug)]
struct Line<V> {
    /// Held while it is done, by a thread that does nothing else: who asks may go away, or rest, at any time.
    turn: Mutex<()>,
    /// Where those who wait for the next turn hear what came of it; closed where that has failed.
    next: Mutex<Option<watch::Receiver<Option<V>>>>,
}

impl<V> Line<V> {
    fn new() -> Line<V> {
        Line { turn: Mutex::default(), next: Mutex::default() }
    }

    fn next(&self) -> MutexGuard<'_, Option<watch::Receiver<Option<V>>>> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next turn, or waits for what another takes it for.
    fn ask(&self) -> Asks<V> {
        let mut next = self.next();
        match &*next {
            Some(told) if told.has_changed().is_ok() => Asks::Waits(told.clone()),
            _ => {
                let (tell, told) = watch::channel(None);
                *next = Some(told);
                Asks::Takes(tell)
            }
        }
    }
}

enum Asks<V> {
    Takes(watch::Sender<Option<V>>),
    Waits(watch::Receiver<Option<V>>),
}

impl<K, V> Together<K, V>
where
    K: Clone + Eq + Hash + Send + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// What `work` gives, which may block: done now, or for another that asked before it was begun. Each failure is its own. Cancel safe.
    pub async fn ask(
        &self,
        what: K,
        work: impl FnOnce() -> Result<V, StoreError> + Send + 'static,
    ) -> Result<V, StoreError> {
        let asker = InLine::enter(&self.0, what);
        let tell = loop {
            match asker.line.ask() {
                Asks::Takes(tell) => break tell,
                Asks::Waits(mut told) => {
                    if let Ok(known) = told.wait_for(Option::is_some).await
                        && let Some(value) = known.clone()
                    {
                        return Ok(value);
                    }
                }
            }
        };
        let worker = InLine::enter(&asker.lines, asker.what.clone());
        blocking(move || {
            let _turn = worker.line.turn.lock().unwrap_or_else(PoisonError::into_inner);
            // Begun: who asks from now on waits for the next.
            worker.line.next().take();
            let done = work();
            if let Ok(value) = &done
                && tell.receiver_count() > 0
            {
                tell.send_replace(Some(value.clone()));
            }
            done
        })
        .await
    }
}

fn lock<T>(lines: &Mutex<T>) -> MutexGuard<'_, T> {
    lines.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Somebody in a line. The last one who leaves takes it away.
struct InLine<K: Eq + Hash, V> {
    lines: Arc<Mutex<Lines<K, V>>>,
    what: K,
    line: Arc<Line<V>>,
}

impl<K: Clone + Eq + Hash, V> InLine<K, V> {
    fn enter(lines: &Arc<Mutex<Lines<K, V>>>, what: K) -> InLine<K, V> {
        let mut table = lock(lines);
        let new = || Known { line: Arc::new(Line::new()), members: 0 };
        let known = table.entry(what.clone()).or_insert_with(new);
        known.members += 1;
        InLine { lines: Arc::clone(lines), what, line: Arc::clone(&known.line) }
    }
}

impl<K: Eq + Hash, V> Drop for InLine<K, V> {
    fn drop(&mut self) {
        let mut table = lock(&self.lines);
        if let Some(known) = table.get_mut(&self.what) {
            known.members -= 1;
            if known.members == 0 {
                table.remove(&self.what);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    /// Bounds a wait. Nothing here takes this long; what does, hangs.
    const LONG: Duration = Duration::from_secs(60);

    /// Work that is done once `go` has heard a word, or nobody can say one any more.
    fn held(value: u32, go: mpsc::Receiver<()>) -> impl FnOnce() -> Result<u32, StoreError> + Send + 'static {
        move || {
            let _ = go.recv_timeout(LONG);
            Ok(value)
        }
    }

    /// How many are in the line for this.
    fn members(together: &Together<u8, u32>, what: u8) -> usize {
        lock(&together.0).get(&what).map_or(0, |known| known.members)
    }

    #[tokio::test]
    async fn what_many_ask_at_once_is_done_twice_and_nobody_gets_what_was_begun_before() {
        let together = Arc::new(Together::<u8, u32>::default());
        let done = Arc::new(AtomicU32::new(0));
        let ask = |go: mpsc::Receiver<()>| {
            let (together, done) = (Arc::clone(&together), Arc::clone(&done));
            let work = move || held(done.fetch_add(1, Ordering::Relaxed) + 1, go)();
            tokio::spawn(async move { together.ask(1, work).await })
        };
        let at_once = || mpsc::channel().1;
        let (say, go) = mpsc::channel();
        let first = ask(go);
        while done.load(Ordering::Relaxed) == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let others: Vec<_> = (0..100).map(|_| ask(at_once())).collect();
        // The first and its worker, and all others: one of them with a worker of its own.
        while members(&together, 1) < 103 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        say.send(()).unwrap();
        assert_eq!(first.await.unwrap().unwrap(), 1);
        for other in others {
            assert_eq!(other.await.unwrap().unwrap(), 2);
        }
        assert_eq!(ask(at_once()).await.unwrap().unwrap(), 3);
        assert!(lock(&together.0).is_empty());
    }

    #[tokio::test]
    async fn one_that_fails_rests_or_goes_away_takes_nobody_with_it() {
        let together = Together::<u8, u32>::default();
        let begun = Arc::new(AtomicU32::new(0));
        let tells = |value, go| {
            let begun = Arc::clone(&begun);
            move || {
                begun.fetch_add(1, Ordering::Relaxed);
                held(value, go)()
            }
        };
        let (first_is_done, go) = mpsc::channel();
        let have_begun = |many| {
            let begun = Arc::clone(&begun);
            async move {
                while begun.load(Ordering::Relaxed) < many {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
        };
        // Asked once and then left alone, as by a client that does not read.
        let mut rests = Box::pin(together.ask(1, tells(1, go)));
        assert!(tokio::time::timeout(Duration::ZERO, &mut rests).await.is_err());
        have_begun(1).await;
        let fails = together.ask(1, || Err(StoreError::io("fail", std::io::Error::other("x"))));
        let works = together.ask(1, || Ok(2));
        let mut both = Box::pin(async { tokio::join!(fails, works) });
        // Both have asked before the first is done.
        assert!(tokio::time::timeout(Duration::ZERO, &mut both).await.is_err());
        first_is_done.send(()).unwrap();
        let (failed, worked) = tokio::time::timeout(LONG, both).await.unwrap();
        assert!(failed.is_err());
        assert_eq!(worked.unwrap(), 2);
        drop(rests);
        // Who is to take the next turn goes before it comes: what it asked is done for those who wait.
        let (first_is_done, go) = mpsc::channel();
        let mut first = Box::pin(together.ask(1, tells(3, go)));
        assert!(tokio::time::timeout(Duration::ZERO, &mut first).await.is_err());
        have_begun(2).await;
        let mut goes = Box::pin(together.ask(1, || Ok(4)));
        assert!(tokio::time::timeout(Duration::ZERO, &mut goes).await.is_err());
        let mut waits = Box::pin(together.ask(1, || Ok(5)));
        assert!(tokio::time::timeout(Duration::ZERO, &mut waits).await.is_err());
        drop(goes);
        first_is_done.send(()).unwrap();
        assert_eq!((first.await.unwrap(), waits.await.unwrap()), (3, 4));
    }
}
