//! How often a key may ask.

use crate::problem::{Kind, Problem};
use governor::clock::{Clock, DefaultClock};
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use std::num::NonZeroU32;

/// The rate of every key by itself.
pub struct Rate {
    limiter: RateLimiter<String, HashMapStateStore<String>, DefaultClock>,
}

impl Rate {
    /// So many requests a second, and ten times as many at once.
    pub fn new(per_second: NonZeroU32) -> Rate {
        let burst = NonZeroU32::new(per_second.get().saturating_mul(10)).unwrap_or(per_second);
        Rate { limiter: RateLimiter::hashmap(Quota::per_second(per_second).allow_burst(burst)) }
    }

    /// Counts a request of a key. Errors: it has asked too often.
    pub fn count(&self, key: &str) -> Result<(), Problem> {
        self.limiter.check_key(&key.to_string()).map_err(|early| {
            let wait = early.wait_time_from(DefaultClock::default().now()).as_secs() + 1;
            let detail = format!("the key has asked too often; try again in {wait} s");
            Problem { retry_after: Some(wait), ..Problem::new(Kind::RATE, detail) }
        })
    }
}
