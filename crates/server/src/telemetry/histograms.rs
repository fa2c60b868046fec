//! The two histograms that the GenAI conventions ask of who calls models: tokens used, and how long requests took. Their limits are those of
//! the conventions (<https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics/>).

use super::otlp::{Attribute, resource, scope, wire};
use super::spans::measured;
use crate::observe::finding::{RequestEnd, RequestEnded};
use mainpath::types::Millis;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

const TOKENS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];
const SECONDS: [f64; 14] = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/// A metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Measure {
    Tokens,
    Duration,
}

/// Which of its series: the attributes, as they are sent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Series {
    measure: Measure,
    attributes: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Histogram {
    buckets: [u64; 15],
    sum: f64,
    least: f64,
    most: f64,
    ended: Millis,
}

/// What was measured since the server began.
#[derive(Debug, Default)]
pub struct Measurements {
    series: Mutex<BTreeMap<Series, Histogram>>,
}

impl Measure {
    fn bounds(self) -> [f64; 14] {
        match self {
            Measure::Tokens => TOKENS,
            Measure::Duration => SECONDS,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Measure::Tokens => "gen_ai.client.token.usage",
            Measure::Duration => "gen_ai.client.operation.duration",
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Measure::Tokens => "{token}",
            Measure::Duration => "s",
        }
    }
}

impl Measurements {
    /// Takes in a request that ended.
    pub fn note(&self, ended: &RequestEnd) {
        let about = measured(ended);
        let failed = match &ended.how {
            RequestEnded::Answered => None,
            RequestEnded::Malformed => Some("malformed"),
            RequestEnded::Failed(kind) => Some(kind.as_str()),
            RequestEnded::Abandoned => Some("abandoned"),
        };
        let with = |more: Option<Attribute>| wire(&about.iter().cloned().chain(more).collect::<Vec<_>>());
        let duration = with(failed.map(|kind| Attribute::text("error.type", kind)));
        self.add(Measure::Duration, duration, ended.span.seconds(), ended.span.ended);
        let usage = &ended.spent.usage;
        for (kind, tokens) in [("input", usage.input), ("output", usage.output)] {
            if tokens > 0 {
                let series = with(Some(Attribute::text("gen_ai.token.type", kind)));
                self.add(Measure::Tokens, series, tokens as f64, ended.span.ended);
            }
        }
    }

    fn add(&self, measure: Measure, attributes: Vec<Value>, value: f64, at: Millis) {
        let series = Series { measure, attributes: Value::from(attributes).to_string() };
        let mut all = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        let histogram = all.entry(series).or_default();
        let is_first = histogram.buckets.iter().all(|count| *count == 0);
        let place = measure.bounds().iter().position(|most| value <= *most).unwrap_or(14);
        if let Some(count) = histogram.buckets.get_mut(place) {
            *count += 1;
        }
        histogram.sum += value;
        histogram.least = if is_first { value } else { histogram.least.min(value) };
        histogram.most = histogram.most.max(value);
        histogram.ended = histogram.ended.max(at);
    }

    /// All of it as a request to `/v1/metrics`; `None` where nothing was measured. `since`: when the server began.
    pub fn request(&self, since: Millis) -> Option<Value> {
        let all = self.series.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if all.is_empty() {
            return None;
        }
        let metric = |measure: Measure| {
            let points: Vec<Value> = all
                .iter()
                .filter(|(series, _)| series.measure == measure)
                .map(|(series, histogram)| histogram.point(series, since))
                .collect();
            // 2: each number is of all since `since`.
            let histogram = json!({"aggregationTemporality": 2, "dataPoints": points});
            json!({"name": measure.name(), "unit": measure.unit(), "histogram": histogram})
        };
        let metrics: Vec<Value> = [Measure::Tokens, Measure::Duration].map(metric).into();
        Some(json!({"resourceMetrics": [{
            "resource": resource(),
            "scopeMetrics": [{"scope": scope(), "metrics": metrics, "schemaUrl": super::otlp::schema()}],
            "schemaUrl": super::otlp::schema(),
        }]}))
    }
}

impl Histogram {
    fn point(&self, series: &Series, since: Millis) -> Value {
        let attributes: Value = serde_json::from_str(&series.attributes).unwrap_or_default();
        let count: u64 = self.buckets.iter().sum();
        json!({
            "attributes": attributes,
            "startTimeUnixNano": super::otlp::nanos(since), "timeUnixNano": super::otlp::nanos(self.ended.max(since)),
            "count": count.to_string(), "sum": self.sum, "min": self.least, "max": self.most,
            "bucketCounts": self.buckets.map(|count| count.to_string()), "explicitBounds": series.measure.bounds(),
        })
    }
}
