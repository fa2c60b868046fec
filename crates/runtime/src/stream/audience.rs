//! Who is told of what happens in a trace. Each sees everything from when it began; whoever is too slow misses the oldest, and hears that.
//!
//! What was told is kept until all have seen it, so that a trace whose watchers keep up takes next to no memory: most runs have one who
//! waits for their end, and it would cost more to make room for all that could be kept than to tell it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// How much a slow listener may have to catch up with.
const MOST: usize = 512;

/// All who listen to a trace.
pub(crate) struct Audience<T> {
    told: Mutex<Told<T>>,
    /// How much was told, for those who wait.
    count: watch::Sender<u64>,
}

/// What was told and not yet seen by all.
struct Told<T> {
    /// The number of the first that is kept.
    first: u64,
    kept: VecDeque<Kept<T>>,
    listeners: usize,
}

struct Kept<T> {
    what: T,
    /// How many have yet to see it.
    unseen: usize,
}

impl<T> Default for Audience<T> {
    fn default() -> Audience<T> {
        let told = Told { first: 0, kept: VecDeque::new(), listeners: 0 };
        Audience { told: Mutex::new(told), count: watch::Sender::default() }
    }
}

impl<T> Audience<T> {
    /// Tells all who listen.
    pub fn tell(&self, what: T) {
        let mut told = self.told();
        if told.listeners == 0 {
            return;
        }
        if told.kept.len() >= MOST {
            told.kept.pop_front();
            told.first += 1;
        }
        let unseen = told.listeners;
        told.kept.push_back(Kept { what, unseen });
        let count = told.end();
        drop(told);
        self.count.send_replace(count);
    }

    /// Whether anybody listens.
    pub fn is_there(&self) -> bool {
        self.told().listeners > 0
    }

    /// Listens from now on.
    pub fn listen(self: &Arc<Audience<T>>) -> Listener<T> {
        let mut told = self.told();
        told.listeners += 1;
        Listener { next: told.end(), audience: Arc::clone(self), count: self.count.subscribe() }
    }

    fn told(&self) -> MutexGuard<'_, Told<T>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Told<T> {
    /// The number of what is told next.
    fn end(&self) -> u64 {
        self.first + self.kept.len() as u64
    }

    /// Lets go of what all have seen.
    fn tidy(&mut self) {
        while self.kept.front().is_some_and(|kept| kept.unseen == 0) {
            self.kept.pop_front();
            self.first += 1;
        }
    }
}

/// One who listens.
pub(crate) struct Listener<T> {
    audience: Arc<Audience<T>>,
    /// The number of what it hears next.
    next: u64,
    count: watch::Receiver<u64>,
}

/// What a listener hears.
#[derive(Debug, PartialEq)]
pub(crate) enum Heard<T> {
    /// This.
    This(T),
    /// Nothing new.
    Nothing,
    /// It was too slow: something was told that it does not hear any more.
    Missed,
}

impl<T: Clone> Listener<T> {
    /// What was told already.
    pub fn told(&mut self) -> Heard<T> {
        let mut told = self.audience.told();
        if self.next < told.first {
            self.next = told.first;
            return Heard::Missed;
        }
        let at = usize::try_from(self.next - told.first).unwrap_or(usize::MAX);
        let Some(kept) = told.kept.get_mut(at) else { return Heard::Nothing };
        let what = kept.what.clone();
        kept.unseen -= 1;
        self.next += 1;
        told.tidy();
        Heard::This(what)
    }

    /// Waits for the next; never [`Heard::Nothing`]. Cancel safe.
    pub async fn next(&mut self) -> Heard<T> {
        loop {
            // Noted first: what is told after the look is waited for no more.
            self.count.borrow_and_update();
            match self.told() {
                // Whoever listens keeps the other end.
                Heard::Nothing => drop(self.count.changed().await),
                heard => return heard,
            }
        }
    }
}

impl<T> Drop for Listener<T> {
    fn drop(&mut self) {
        let mut told = self.audience.told();
        told.listeners -= 1;
        let seen = usize::try_from(self.next.saturating_sub(told.first)).unwrap_or(usize::MAX);
        told.kept.iter_mut().skip(seen).for_each(|kept| kept.unseen -= 1);
        told.tidy();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(audience: &Audience<usize>) -> usize {
        audience.told().kept.len()
    }

    #[tokio::test]
    async fn each_hears_everything_from_when_it_began_and_nothing_is_kept_that_all_have_heard() {
        let audience = Arc::new(Audience::<usize>::default());
        audience.tell(0);
        assert_eq!((kept(&audience), audience.is_there()), (0, false), "nobody listens");
        let mut first = audience.listen();
        audience.tell(1);
        let mut second = audience.listen();
        audience.tell(2);
        assert_eq!((first.next().await, first.next().await), (Heard::This(1), Heard::This(2)));
        assert_eq!((first.told(), kept(&audience)), (Heard::Nothing, 1));
        assert_eq!((second.next().await, kept(&audience)), (Heard::This(2), 0));
        audience.tell(3);
        drop(second);
        assert_eq!((first.told(), kept(&audience)), (Heard::This(3), 0));
        audience.tell(4);
        drop(first);
        assert_eq!((kept(&audience), audience.is_there()), (0, false), "whoever goes leaves nothing behind");
    }

    #[tokio::test]
    async fn who_is_too_slow_hears_that_once_and_goes_on_with_the_oldest_that_is_kept() {
        let audience = Arc::new(Audience::<usize>::default());
        let (mut slow, mut quick) = (audience.listen(), audience.listen());
        for n in 0..MOST + 3 {
            audience.tell(n);
            assert_eq!(quick.told(), Heard::This(n));
        }
        assert_eq!(kept(&audience), MOST);
        assert_eq!((slow.next().await, slow.next().await), (Heard::Missed, Heard::This(3)));
        for n in 4..MOST + 3 {
            assert_eq!(slow.told(), Heard::This(n));
        }
        assert_eq!((slow.told(), kept(&audience)), (Heard::Nothing, 0));
    }

    #[tokio::test]
    async fn who_waits_is_woken() {
        let audience = Arc::new(Audience::<usize>::default());
        let mut waits = audience.listen();
        let waiting = tokio::spawn(async move { waits.next().await });
        tokio::task::yield_now().await;
        audience.tell(1);
        assert_eq!(waiting.await.unwrap(), Heard::This(1));
    }
}
