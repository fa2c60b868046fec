//! Traces for others: spans of OpenTelemetry over OTLP/HTTP in JSON, named as the GenAI conventions have it.

mod export;
mod ids;
mod otlp;
mod spans;

pub use export::Telemetry;
pub use ids::otel_trace_id;
