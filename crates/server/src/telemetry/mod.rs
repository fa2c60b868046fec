//! Traces and measurements for others: OpenTelemetry over OTLP/HTTP in JSON, named as the GenAI conventions have it.

mod export;
mod histograms;
mod ids;
mod otlp;
mod spans;

pub use export::Telemetry;
pub use ids::otel_trace_id;
