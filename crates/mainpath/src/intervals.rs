//! How sure a figure is that was measured a few times: 95 % confidence intervals.
//!
//! Sources: of a share E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 22 (1927) 209–212; of the
//! difference of two shares R. G. Newcombe, "Interval Estimation for the Difference Between Independent Proportions", Statistics in
//! Medicine 17 (1998) 873–890, method 10; of a mean Student's t, its quantiles from the NIST/SEMATECH e-Handbook, 1.3.6.7.2.

use serde::{Deserialize, Serialize};

/// The 0.975 quantile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;
/// Those of Student's t for 1 to 30 degrees of freedom.
const T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];
/// The same for at least so many.
const T_MORE: [(usize, f64); 4] = [(120, 1.980), (60, 2.000), (40, 2.021), (30, 2.042)];

/// Between these the true value lies, with a confidence of 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The least.
    pub low: f64,
    /// The most.
    pub high: f64,
}

/// How many of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// So many,
    pub passed: u32,
    /// of so many.
    pub of: u32,
}

impl Share {
    /// Of these.
    pub fn of(all: impl IntoIterator<Item = bool>) -> Share {
        all.into_iter().fold(Share::default(), |share, passed| share + Share { passed: passed.into(), of: 1 })
    }

    /// As a number from 0 to 1; 0 of none.
    pub fn rate(self) -> f64 {
        if self.of == 0 { 0.0 } else { f64::from(self.passed) / f64::from(self.of) }
    }

    /// Its interval, by Wilson's score. Nothing is known of none.
    pub fn interval(self) -> Interval {
        if self.of == 0 {
            return Interval { low: 0.0, high: 1.0 };
        }
        let (n, rate) = (f64::from(self.of), self.rate());
        let scale = 1.0 / (1.0 + Z * Z / n);
        let middle = (rate + Z * Z / (2.0 * n)) * scale;
        let half = Z * scale * (rate * (1.0 - rate) / n + Z * Z / (4.0 * n * n)).sqrt();
        // At the ends only rounding moves it.
        Interval {
            low: if self.passed == 0 { 0.0 } else { (middle - half).max(0.0) },
            high: if self.passed >= self.of { 1.0 } else { (middle + half).min(1.0) },
        }
    }

    /// By how much it was more before, by Newcombe's method 10.
    pub fn drop_since(self, before: Share) -> Interval {
        let (old, new) = (before.interval(), self.interval());
        let (was, is) = (before.rate(), self.rate());
        Interval {
            low: was - is - (was - old.low).hypot(new.high - is),
            high: was - is + (old.high - was).hypot(is - new.low),
        }
    }

    /// Whether it is less than before, beyond what chance explains: the interval of the drop lies above 0.
    pub fn is_below(self, before: Share) -> bool {
        self.of > 0 && before.of > 0 && self.drop_since(before).low > 0.0
    }
}

impl std::ops::Add for Share {
    type Output = Share;

    fn add(self, other: Share) -> Share {
        Share { passed: self.passed.saturating_add(other.passed), of: self.of.saturating_add(other.of) }
    }
}

/// A share with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeasuredShare {
    /// How many of how many.
    #[serde(flatten)]
    pub share: Share,
    /// As a number from 0 to 1.
    pub rate: f64,
    /// Its 95 % confidence interval, by Wilson's score.
    pub interval: Interval,
}

impl From<Share> for MeasuredShare {
    fn from(share: Share) -> MeasuredShare {
        MeasuredShare { share, rate: share.rate(), interval: share.interval() }
    }
}

/// A figure that was measured several times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// The least value.
    pub least: f64,
    /// The most.
    pub most: f64,
    /// The mean.
    pub mean: f64,
    /// The interval of the mean, by Student's t; `None` of fewer than two values.
    pub interval: Option<Interval>,
}

impl Spread {
    /// Of these values; all 0 of none.
    pub fn of(values: &[f64]) -> Spread {
        if values.is_empty() {
            return Spread::default();
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let spread = Spread {
            least: values.iter().copied().fold(f64::INFINITY, f64::min),
            most: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            mean,
            interval: None,
        };
        let freedom = values.len() - 1;
        if freedom == 0 {
            return spread;
        }
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / freedom as f64;
        let more = T_MORE.iter().find(|(least, _)| freedom >= *least).map(|(_, t)| *t);
        let t = T.get(freedom - 1).copied().or(more).unwrap_or(Z);
        let half = t * (variance / count).sqrt();
        Spread { interval: Some(Interval { low: mean - half, high: mean + half }), ..spread }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(is: Interval, low: f64, high: f64) -> bool {
        (is.low - low).abs() < 0.0005 && (is.high - high).abs() < 0.0005
    }

    #[test]
    fn shares_have_wilsons_interval() {
        let of = |passed, of| Share { passed, of }.interval();
        // As statsmodels' proportion_confint(method="wilson") gives them, and Newcombe's table I (81 of 263).
        for (passed, n, low, high) in [
            (8, 10, 0.4902, 0.9433),
            (10, 10, 0.7225, 1.0),
            (0, 10, 0.0, 0.2775),
            (1, 1, 0.2065, 1.0),
            (0, 1, 0.0, 0.7935),
            (81, 263, 0.2553, 0.3662),
        ] {
            assert!(near(of(passed, n), low, high), "{passed} of {n}: {:?}", of(passed, n));
        }
        assert_eq!(of(0, 0), Interval { low: 0.0, high: 1.0 });
    }

    #[test]
    fn a_drop_is_one_where_chance_does_not_explain_it() {
        let of = |passed, of| Share { passed, of };
        // Newcombe's table II, (a): 56 of 70 and 48 of 80.
        assert!(near(of(48, 80).drop_since(of(56, 70)), 0.0524, 0.3339), "{:?}", of(48, 80).drop_since(of(56, 70)));
        for (before, now, is_below) in [
            (of(10, 10), of(7, 10), false),
            (of(10, 10), of(4, 10), true),
            (of(3, 3), of(0, 3), true),
            (of(3, 3), of(2, 3), false),
            (of(1, 1), of(0, 1), false),
            (of(5, 10), of(10, 10), false),
            (of(0, 0), of(0, 10), false),
            (of(10, 10), of(0, 0), false),
        ] {
            assert_eq!(now.is_below(before), is_below, "{before:?} then {now:?}");
        }
    }

    #[test]
    fn means_have_students_interval() {
        let of = Spread::of(&[2.0, 4.0, 6.0]);
        assert_eq!((of.least, of.most, of.mean), (2.0, 6.0, 4.0));
        // 4.303 times 2 by the root of 3.
        assert!(of.interval.is_some_and(|is| near(is, 4.0 - 4.9687, 4.0 + 4.9687)), "{of:?}");
        assert_eq!(Spread::of(&[5.0]), Spread { least: 5.0, most: 5.0, mean: 5.0, interval: None });
        assert_eq!(Spread::of(&[]), Spread::default());
        let many: Vec<f64> = (0..1_000).map(|n| f64::from(n % 2)).collect();
        assert!(Spread::of(&many).interval.is_some_and(|is| near(is, 0.5 - 0.0313, 0.5 + 0.0313)));
    }
}
