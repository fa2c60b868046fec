//! The ids of spans follow from the run, so that they can be found from a log and a log from them.

use mainpath::types::TraceId;
use sha2::{Digest, Sha256};

/// The id of the trace in OpenTelemetry that shows a run: the first 16 bytes of the SHA-256 of the run's id, `TRACE/NUMBER`, in hex.
pub fn otel_trace_id(trace: &TraceId, run: u32) -> String {
    hex(&format!("{trace}/{run}"), 16)
}

/// The id of a span: the first 8 bytes of the SHA-256 of the run's id and what the span shows, in hex.
pub fn span_id(trace: &TraceId, run: u32, what: &str) -> String {
    hex(&format!("{trace}/{run} {what}"), 8)
}

fn hex(text: &str, bytes: usize) -> String {
    Sha256::digest(text.as_bytes()).iter().take(bytes).map(|byte| format!("{byte:02x}")).collect()
}
