//! Spans wait here until they are sent, many at once. Nothing waits for them: what the receiver is too slow for is dropped and counted.
//! Measurements are sent as they stand, now and then.

use super::histograms::Measurements;
use super::otlp::{OtelSpan, request};
use super::spans::span_of;
use crate::metrics::Metrics;
use crate::observe::finding::Finding;
use mainpath::home::Otlp;
use mainpath::types::{Millis, TraceId};
use mainpath::values::now;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// So many spans wait at most,
const WAITING: usize = 8_192;
/// and so many are sent at once,
const BATCH: usize = 512;
/// at the latest after so long.
const PAUSE: Duration = Duration::from_millis(500);
/// How long the receiver may take.
const LIMIT: Duration = Duration::from_secs(10);
/// How often what it could not take for the moment is sent again.
const RETRIES: u32 = 3;
/// How often measurements are sent.
const MEASURED: Duration = Duration::from_secs(15);

/// Where spans are sent.
pub struct Telemetry {
    sender: Sender<OtelSpan>,
    has_content: bool,
    metrics: Arc<Metrics>,
    /// How many wait, those that are being sent included.
    waiting: Arc<AtomicUsize>,
    measured: Arc<Measured>,
}

/// What is measured, and where it is sent.
struct Measured {
    to: Arc<Otlp>,
    measurements: Measurements,
    since: Millis,
    /// Whether anything has come since it was last sent.
    is_new: AtomicBool,
}

impl Measured {
    /// Sends it as it stands, if anything is new; what is not taken is in what is sent the next time.
    async fn send(&self) {
        if !self.is_new.swap(false, Ordering::AcqRel) {
            return;
        }
        if let Some(body) = self.measurements.request(self.since)
            && !matches!(self.to.post_metrics(&body, LIMIT).await, Some(200..300))
        {
            self.is_new.store(true, Ordering::Release);
        }
    }
}

impl Telemetry {
    /// Sends spans there from now on. Call it inside a tokio runtime.
    pub fn begin(to: Otlp, metrics: Arc<Metrics>) -> Telemetry {
        let (sender, spans) = channel(WAITING);
        let (has_content, waiting, to) = (to.has_content(), Arc::new(AtomicUsize::new(0)), Arc::new(to));
        let sending = Sending { to: Arc::clone(&to), metrics: Arc::clone(&metrics), waiting: Arc::clone(&waiting) };
        tokio::spawn(sending.all(spans));
        let (measurements, since) = (Measurements::default(), now());
        let measured = Arc::new(Measured { to, measurements, since, is_new: AtomicBool::new(false) });
        let regularly = Arc::downgrade(&measured);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(MEASURED).await;
                let Some(measured) = regularly.upgrade() else { return };
                measured.send().await;
            }
        });
        Telemetry { sender, has_content, metrics, waiting, measured }
    }

    /// Whether words are sent as well.
    pub fn has_content(&self) -> bool {
        self.has_content
    }

    /// Sends the span of something that ended, if it has one.
    pub fn find(&self, trace: &TraceId, finding: Finding) {
        if let Finding::Request(ended) = &finding {
            self.measured.measurements.note(ended);
            self.measured.is_new.store(true, Ordering::Release);
        }
        let Some(span) = span_of(trace, finding) else { return };
        self.waiting.fetch_add(1, Ordering::AcqRel);
        if self.sender.try_send(span).is_err() {
            self.waiting.fetch_sub(1, Ordering::AcqRel);
            self.metrics.spans("dropped", 1);
        }
    }

    /// Sends what waits, for so long.
    pub async fn flush(&self, within: Duration) {
        let all_sent = async {
            self.measured.send().await;
            while self.waiting.load(Ordering::Acquire) > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let _ = tokio::time::timeout(within, all_sent).await;
    }
}

/// What sends spans.
struct Sending {
    to: Arc<Otlp>,
    metrics: Arc<Metrics>,
    waiting: Arc<AtomicUsize>,
}

impl Sending {
    async fn all(self, mut spans: Receiver<OtelSpan>) {
        loop {
            let mut batch = Vec::new();
            if spans.recv_many(&mut batch, BATCH).await == 0 {
                return;
            }
            if batch.len() < BATCH {
                // More may come in a moment.
                tokio::time::sleep(PAUSE).await;
                while batch.len() < BATCH
                    && let Ok(more) = spans.try_recv()
                {
                    batch.push(more);
                }
            }
            let outcome = if self.send(&batch).await { "exported" } else { "dropped" };
            self.metrics.spans(outcome, batch.len());
            self.waiting.fetch_sub(batch.len(), Ordering::AcqRel);
        }
    }

    /// Sends spans. Whether they were taken.
    async fn send(&self, batch: &[OtelSpan]) -> bool {
        let body = request(batch);
        for attempt in 0..=RETRIES {
            match self.to.post(&body, LIMIT).await {
                Some(200..300) => return true,
                // As the protocol has it; and what cannot be reached.
                None | Some(429 | 502..=504) if attempt < RETRIES => {
                    tokio::time::sleep(Duration::from_millis(200 << attempt)).await;
                }
                _ => return false,
            }
        }
        false
    }
}
