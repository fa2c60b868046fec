//! One rate limiter for each server and key: all traces of a process behind them share it.
//!
//! A server that says *too many* or *too busy* closes the gate for all of them until it may be asked again, and halves how
//! many may ask at once; each success lets one more in. So ten thousand traces meet a limit together, once, instead of each
//! for itself again and again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The first wait where the server names none; it doubles while the server goes on saying no.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// The longest wait that a server may name.
const LONGEST_NAMED: Duration = Duration::from_secs(600);

/// From so many at once on, nothing needs to be held back any more.
const FREE: usize = 4_096;

#[derive(Debug, Default)]
pub(crate) struct Limiter {
    gate: Mutex<Gate>,
    turn: Notify,
}

#[derive(Debug, Default)]
struct Gate {
    /// Nobody may ask before this.
    closed_until: Option<Instant>,
    /// How many may ask at once; `None`: as many as like.
    most: Option<usize>,
    asking: usize,
    /// How often the gate was closed. What was asked before a closing says nothing new when it is refused too.
    closings: u32,
    /// Closings in a row without a success.
    in_a_row: u32,
}

/// A call to come in, which is not to be lost.
struct Call<'a>(&'a Notify);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

/// The permission to ask once. Dropping it is leaving.
#[derive(Debug)]
pub(crate) struct Pass {
    limiter: Arc<Limiter>,
    closings: u32,
}

impl Limiter {
    fn gate(&self) -> MutexGuard<'_, Gate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the server may be asked.
    pub async fn enter(self: &Arc<Limiter>) -> Pass {
        loop {
            let mut turn = std::pin::pin!(self.turn.notified());
            let closed_until = {
                let mut gate = self.gate();
                let closed_until = gate.closed_until.filter(|until| *until > Instant::now());
                if closed_until.is_none() && gate.most.is_none_or(|most| gate.asking < most) {
                    gate.asking += 1;
                    return Pass { limiter: Arc::clone(self), closings: gate.closings };
                }
                // From here on a leaving is not missed.
                turn.as_mut().enable();
                closed_until
            };
            match closed_until {
                Some(until) => {
                    // Whoever was called and then leaves while the gate is closed passes the call on.
                    let call = Call(&self.turn);
                    tokio::time::sleep_until(until).await;
                    std::mem::forget(call);
                }
                None => turn.await,
            }
        }
    }
}

impl Pass {
    /// The server said that it is too much; `wait` is how long it wants to be left alone, if it said so.
    pub fn refused(self, wait: Option<Duration>) {
        let mut gate = self.limiter.gate();
        let wait = wait.map(|wait| wait.min(LONGEST_NAMED));
        if self.closings == gate.closings {
            gate.closings = gate.closings.wrapping_add(1);
            gate.most = Some((gate.asking / 2).max(1));
            let own = FIRST_WAIT.saturating_mul(1 << gate.in_a_row.min(7)).min(LONGEST_WAIT);
            gate.in_a_row = gate.in_a_row.saturating_add(1);
            gate.closed_until = Some(Instant::now() + wait.unwrap_or(own));
        } else if let Some(wait) = wait {
            // Of several waits that the server names for one wave, the longest counts.
            gate.closed_until = gate.closed_until.max(Some(Instant::now() + wait));
        }
    }

    /// The server answered.
    pub fn answered(self) {
        let mut gate = self.limiter.gate();
        gate.in_a_row = 0;
        gate.most = gate.most.map(|most| most + 1).filter(|most| *most < FREE);
        drop(gate);
        // One for the place that becomes free is called when this is dropped, one for the new place here.
        self.limiter.turn.notify_one();
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.limiter.gate().asking -= 1;
        self.limiter.turn.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    fn entered(limiter: &Arc<Limiter>) -> Option<Pass> {
        limiter.enter().now_or_never()
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_holds_everybody_back_until_the_time_the_server_named() {
        let limiter = Arc::new(Limiter::default());
        let passes: Vec<Pass> = (0..8).map(|_| entered(&limiter).unwrap()).collect();
        let began = Instant::now();
        for (pass, n) in passes.into_iter().zip(0..) {
            pass.refused(Some(Duration::from_secs(3 + n % 2)));
        }
        assert!(entered(&limiter).is_none());
        let first = limiter.enter().await;
        assert_eq!(began.elapsed().as_secs(), 4, "the longest of the wave's waits");
        // Half of the eight may ask at once now.
        let others: Vec<Pass> = (0..3).map(|_| entered(&limiter).unwrap()).collect();
        assert!(entered(&limiter).is_none());
        first.answered();
        assert_eq!(
            (0..9).map_while(|_| entered(&limiter)).collect::<Vec<_>>().len(),
            2,
            "one left, one more may come in"
        );
        drop(others);
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_named_time_the_wait_doubles_until_an_answer_comes() {
        let limiter = Arc::new(Limiter::default());
        let mut waits = Vec::new();
        for _ in 0..3 {
            let began = Instant::now();
            limiter.enter().await.refused(None);
            limiter.enter().await;
            waits.push(began.elapsed().as_millis());
        }
        assert_eq!(waits, [500, 1_000, 2_000]);
        limiter.enter().await.answered();
        let began = Instant::now();
        limiter.enter().await.refused(None);
        limiter.enter().await;
        assert_eq!(began.elapsed().as_millis(), 500);
    }

    #[tokio::test(start_paused = true)]
    async fn a_crowd_meets_a_limit_together_and_all_come_through() {
        let (limiter, server) = (Arc::new(Limiter::default()), Arc::new(Mutex::new((0, 0))));
        // A server that takes 50 requests a second.
        let ask = |server: &Mutex<(u64, u32)>, began: Instant| {
            let mut known = server.lock().unwrap();
            let second = began.elapsed().as_secs();
            if known.0 != second {
                *known = (second, 0);
            }
            known.1 += 1;
            known.1 <= 50
        };
        let (began, refusals) = (Instant::now(), Arc::new(Mutex::new(0)));
        let traces: Vec<_> = (0..1_000)
            .map(|_| {
                let (limiter, server, refusals) = (Arc::clone(&limiter), Arc::clone(&server), Arc::clone(&refusals));
                tokio::spawn(async move {
                    loop {
                        let pass = limiter.enter().await;
                        tokio::time::sleep(Duration::from_millis(200)).await;
                        if ask(&server, began) {
                            return pass.answered();
                        }
                        *refusals.lock().unwrap() += 1;
                        pass.refused(Some(Duration::from_secs(1)));
                    }
                })
            })
            .collect();
        for trace in traces {
            trace.await.unwrap();
        }
        let refusals = *refusals.lock().unwrap();
        // All meet the first limit, a thousand at once; each for itself would be refused some ten thousand times.
        assert!((950..3_000).contains(&refusals), "{refusals} refusals");
        assert!(began.elapsed() < Duration::from_secs(120), "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_stops_waiting_takes_nobodys_place() {
        let limiter = Arc::new(Limiter::default());
        entered(&limiter).unwrap().refused(Some(Duration::ZERO));
        let first = entered(&limiter).unwrap();
        let mut waiting = Box::pin(limiter.enter());
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(waiting);
        first.answered();
        assert_eq!((0..9).map_while(|_| entered(&limiter)).collect::<Vec<_>>().len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_was_called_and_leaves_while_the_gate_is_closed_passes_the_call_on() {
        let limiter = Arc::new(Limiter::default());
        entered(&limiter).unwrap().refused(Some(Duration::ZERO));
        let first = entered(&limiter).unwrap();
        let mut called = Box::pin(limiter.enter());
        let mut other = Box::pin(limiter.enter());
        assert!(called.as_mut().now_or_never().is_none() && other.as_mut().now_or_never().is_none());
        // The refusal closes the gate, and its leaving calls one in, which then sleeps until the gate opens.
        first.refused(Some(Duration::from_secs(5)));
        assert!(called.as_mut().now_or_never().is_none());
        drop(called);
        let came_in = tokio::time::timeout(Duration::from_secs(60), other).await;
        assert!(came_in.is_ok(), "nobody is left to call the other one");
    }
}
