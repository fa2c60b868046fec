//! Who is told of what is found.

use super::reader::Reader;
use crate::metrics::Metrics;
use crate::telemetry::Telemetry;
use mainpath::runtime::{Observer, Taken, TraceObserver};
use mainpath::store::Scope;
use mainpath::types::TraceId;
use std::sync::Arc;

/// The counts, and where traces are sent, if they are.
#[derive(Clone)]
pub struct Told {
    /// The counts.
    pub metrics: Arc<Metrics>,
    /// Where traces are sent.
    pub telemetry: Option<Arc<Telemetry>>,
}

struct OfTrace {
    told: Told,
    trace: TraceId,
    reader: Reader,
}

impl Observer for Told {
    fn open(&self, _: &Scope, trace: &TraceId, taken: Taken<'_>) -> Box<dyn TraceObserver> {
        let mut reader = Reader::new(self.telemetry.as_ref().is_some_and(|telemetry| telemetry.has_content()));
        // That was told when it happened.
        drop(reader.read(taken));
        Box::new(OfTrace { told: self.clone(), trace: trace.clone(), reader })
    }
}

impl TraceObserver for OfTrace {
    fn committed(&mut self, appended: Taken<'_>) {
        self.told.metrics.appended(appended.events.len());
        for finding in self.reader.read(appended) {
            self.told.metrics.find(&finding);
            if let Some(telemetry) = &self.told.telemetry {
                telemetry.find(&self.trace, finding);
            }
        }
    }
}
