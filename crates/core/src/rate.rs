//! How often a tool may be called: a bucket that calls are taken from and that time fills up.

use mainpath_types::{Millis, RateLimit};

/// What is left of a tool's calls. Whole numbers only: the bucket holds `calls × per_ms` drops, a call takes `per_ms` of them,
/// and `calls` come back every millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    drops: u64,
    at: Millis,
}

impl Bucket {
    /// A full one.
    pub fn full(limit: RateLimit, now: Millis) -> Bucket {
        Bucket { drops: most(limit), at: now }
    }

    /// When a call may be made, if it may not be made now.
    pub fn wait(&self, limit: RateLimit, now: Millis) -> Option<Millis> {
        let missing = limit.per_ms.saturating_sub(self.level(limit, now));
        (missing > 0).then(|| now.saturating_add(missing.div_ceil(u64::from(limit.calls.max(1)))))
    }

    /// Takes a call out.
    pub fn take(&mut self, limit: RateLimit, now: Millis) {
        *self = Bucket { drops: self.level(limit, now).saturating_sub(limit.per_ms), at: now };
    }

    fn level(&self, limit: RateLimit, now: Millis) -> u64 {
        let back = now.saturating_sub(self.at).saturating_mul(limit.calls.max(1).into());
        self.drops.saturating_add(back).min(most(limit))
    }
}

fn most(limit: RateLimit) -> u64 {
    limit.per_ms.saturating_mul(limit.calls.max(1).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_calls_at_once_and_then_one_as_each_comes_back() {
        let limit = RateLimit { calls: 3, per_ms: 1_000 };
        let mut bucket = Bucket::full(limit, 5_000);
        for _ in 0..3 {
            assert_eq!(bucket.wait(limit, 5_000), None);
            bucket.take(limit, 5_000);
        }
        assert_eq!(bucket.wait(limit, 5_000), Some(5_334));
        assert_eq!(bucket.wait(limit, 5_333), Some(5_334));
        assert_eq!(bucket.wait(limit, 5_334), None);
        bucket.take(limit, 5_334);
        assert_eq!(bucket.wait(limit, 5_334), Some(5_667));
        // It never holds more than it can.
        assert_eq!(Bucket::full(limit, 0).wait(limit, Millis::MAX), None);
        bucket.take(limit, 1_000_000);
        bucket.take(limit, 1_000_000);
        bucket.take(limit, 1_000_000);
        assert_eq!(bucket.wait(limit, 1_000_000), Some(1_000_334));
    }

    #[test]
    fn odd_limits_and_times_never_fail() {
        for (limit, wait) in [
            (RateLimit { calls: 0, per_ms: 0 }, None),
            // More drops than can be counted: what can be is what there is.
            (RateLimit { calls: u32::MAX, per_ms: Millis::MAX }, Some(4_294_967_297)),
            (RateLimit { calls: 0, per_ms: Millis::MAX }, Some(Millis::MAX)),
        ] {
            let mut bucket = Bucket::full(limit, Millis::MAX);
            bucket.take(limit, 0);
            assert_eq!(bucket.wait(limit, 0), wait, "{limit:?}");
        }
    }
}
