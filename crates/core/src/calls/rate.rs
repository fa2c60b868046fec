//! How often a tool may be called: a window of time that slides over the starts of its calls.

use mainpath_types::{Millis, RateLimit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// When a tool's latest calls started, as many as its limit counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Window(VecDeque<Millis>);

impl Window {
    /// When a call may be made, if it may not be made now: once the call that is a whole number of the limit's calls back has left
    /// the window.
    pub fn wait(&self, limit: RateLimit, now: Millis) -> Option<Millis> {
        let oldest = self.0.len().checked_sub(most(limit)).and_then(|at| self.0.get(at))?;
        let due = oldest.saturating_add(limit.per_ms);
        (due > now).then_some(due)
    }

    /// A call starts.
    pub fn take(&mut self, limit: RateLimit, now: Millis) {
        let gone = |start: &Millis| start.saturating_add(limit.per_ms) <= now;
        while self.0.front().is_some_and(gone) || self.0.len() >= most(limit) {
            self.0.pop_front();
        }
        self.0.push_back(now);
    }
}

fn most(limit: RateLimit) -> usize {
    usize::try_from(limit.calls.max(1)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_window_of_that_time_holds_more_calls_wherever_it_begins() {
        for limit in [(2, 10_000), (1, 700), (3, 1_000), (7, 50)].map(|(calls, per_ms)| RateLimit { calls, per_ms }) {
            let (mut window, mut starts, mut now) = (Window::default(), Vec::new(), 5_000);
            for step in 0..200 {
                // Calls come in bursts and with pauses.
                now += [0, 0, 1, limit.per_ms / 3, limit.per_ms * 2][step % 5];
                now = window.wait(limit, now).unwrap_or(now);
                assert_eq!(window.wait(limit, now), None);
                window.take(limit, now);
                starts.push(now);
            }
            for start in &starts {
                let within = starts.iter().filter(|other| (*start..start + limit.per_ms).contains(other)).count();
                assert!(within <= limit.calls as usize, "{limit:?}: {within} calls from {start} on");
            }
            assert!(window.0.len() <= limit.calls as usize);
        }
    }

    #[test]
    fn as_many_as_the_limit_start_at_once_and_the_next_when_the_first_has_left() {
        let limit = RateLimit { calls: 2, per_ms: 10_000 };
        let mut window = Window::default();
        let mut at = |now| {
            let wait = window.wait(limit, now);
            window.take(limit, wait.unwrap_or(now));
            wait
        };
        assert_eq!([at(0), at(4_000), at(5_000), at(11_000)], [None, None, Some(10_000), Some(14_000)]);
    }

    #[test]
    fn odd_limits_and_times_never_fail() {
        for (limit, wait) in [
            (RateLimit { calls: 0, per_ms: 0 }, None),
            (RateLimit { calls: u32::MAX, per_ms: Millis::MAX }, None),
            (RateLimit { calls: 0, per_ms: Millis::MAX }, Some(Millis::MAX)),
        ] {
            let mut window = Window::default();
            window.take(limit, Millis::MAX);
            window.take(limit, 0);
            assert_eq!(window.wait(limit, 0), wait, "{limit:?}");
        }
    }
}
