//! How fast a recorded run is played.

use crate::Error;
use std::time::Duration;

/// The slowest speed,
const SLOWEST: f64 = 0.01;
/// and the fastest one that still waits.
const FASTEST: f64 = 1_000.0;

/// How fast a recorded run is played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// So many times as fast as it was; `None`: without waiting.
    pub speed: Option<f64>,
    /// No wait is longer; `None`: each is as long as it was.
    pub longest: Option<Duration>,
}

/// How long to wait before an event is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlayWait {
    /// So long.
    pub time: Duration,
    /// Whether more time had passed, and that is left out.
    pub is_cut: bool,
}

impl Pace {
    /// How long to wait where so much time had passed.
    pub fn wait(self, passed: Duration) -> PlayWait {
        let Some(speed) = self.speed else { return PlayWait { time: Duration::ZERO, is_cut: false } };
        let time = scaled(passed, 1.0 / speed);
        match self.longest.filter(|longest| time > *longest) {
            Some(longest) => PlayWait { time: longest, is_cut: true },
            None => PlayWait { time, is_cut: false },
        }
    }

    /// Twice as fast, up to the fastest speed.
    #[must_use]
    pub fn faster(self) -> Pace {
        Pace { speed: self.speed.map(|speed| (speed * 2.0).min(FASTEST)), ..self }
    }

    /// Half as fast, down to the slowest speed. What does not wait begins to.
    #[must_use]
    pub fn slower(self) -> Pace {
        Pace { speed: Some(self.speed.map_or(FASTEST, |speed| speed / 2.0).max(SLOWEST)), ..self }
    }

    /// What is left of a wait when the speed becomes another.
    pub fn rescaled(self, left: Duration, from: Pace) -> Duration {
        match (from.speed, self.speed) {
            (Some(from), Some(to)) => scaled(left, from / to),
            _ => left,
        }
    }
}

/// A speed as people write it: a number from 0.01 to 1000, or `max` for no waiting (`None`). Errors: what is expected.
pub fn speed(text: &str) -> Result<Option<f64>, Error> {
    let text = text.trim();
    if text == "max" {
        return Ok(None);
    }
    let number: Option<f64> = text.strip_suffix('x').unwrap_or(text).parse().ok();
    let wrong = || Error::invalid("expected a number from 0.01 to 1000, such as 2 or 0.5, or max");
    number.filter(|speed| (SLOWEST..=FASTEST).contains(speed)).map(Some).ok_or_else(wrong)
}

/// Whatever a log says of its times, nothing overflows.
fn scaled(time: Duration, by: f64) -> Duration {
    Duration::try_from_secs_f64(time.as_secs_f64() * by).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn a_wait_follows_the_speed_and_is_cut_where_it_is_too_long() {
        let pace = |speed, longest: Option<f64>| Pace { speed, longest: longest.map(seconds) };
        let wait = |time, is_cut| PlayWait { time: seconds(time), is_cut };
        assert_eq!(pace(Some(1.0), Some(3.0)).wait(seconds(2.0)), wait(2.0, false));
        assert_eq!(pace(Some(1.0), Some(3.0)).wait(seconds(60.0)), wait(3.0, true));
        assert_eq!(pace(Some(20.0), Some(3.0)).wait(seconds(60.0)), wait(3.0, false));
        assert_eq!(pace(Some(0.5), None).wait(seconds(60.0)), wait(120.0, false));
        assert_eq!(pace(None, Some(3.0)).wait(seconds(60.0)), wait(0.0, false));
        // A log may say anything.
        let forever = Duration::from_millis(u64::MAX);
        assert_eq!(pace(Some(0.01), Some(3.0)).wait(forever), wait(3.0, true));
        assert_eq!(pace(Some(0.01), None).wait(Duration::MAX).time, Duration::MAX);
    }

    #[test]
    fn a_speed_is_doubled_and_halved_within_its_bounds() {
        let of = |speed| Pace { speed, longest: None };
        assert_eq!(of(Some(1.0)).faster(), of(Some(2.0)));
        assert_eq!(of(Some(800.0)).faster(), of(Some(1_000.0)));
        assert_eq!(of(Some(1.0)).slower(), of(Some(0.5)));
        assert_eq!(of(Some(0.01)).slower(), of(Some(0.01)));
        assert_eq!((of(None).faster(), of(None).slower()), (of(None), of(Some(1_000.0))));
        assert_eq!(of(Some(4.0)).rescaled(seconds(2.0), of(Some(2.0))), seconds(1.0));
        assert_eq!(of(Some(4.0)).rescaled(seconds(2.0), of(None)), seconds(2.0));
    }

    #[test]
    fn a_speed_is_a_number_that_makes_sense_or_max() {
        for (text, wanted) in
            [("1", Some(1.0)), ("0.5", Some(0.5)), ("2x", Some(2.0)), ("1000", Some(1_000.0)), ("max", None)]
        {
            assert_eq!(speed(text).unwrap(), wanted);
        }
        for text in ["0", "-1", "1001", "nan", "inf", "", "fast", "1e-9"] {
            assert!(speed(text).is_err(), "{text}");
        }
    }
}
