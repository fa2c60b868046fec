//! OTLP in JSON: ids are hex, 64-bit numbers are texts, kinds and codes are numbers
//! (<https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>).

use mainpath::types::Millis;
use serde_json::{Value, json};

/// The version of the semantic conventions that spans keep to.
pub const SEMCONV: &str = "1.41.0";

/// What a span is in a conversation between programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// It stays within.
    Internal = 1,
    /// It asks another.
    Client = 3,
}

/// A span.
#[derive(Clone, Debug, PartialEq)]
pub struct OtelSpan {
    /// The trace.
    pub trace: String,
    /// Its id.
    pub id: String,
    /// The span that it is within.
    pub parent: Option<String>,
    /// What it shows.
    pub name: String,
    /// What it is.
    pub kind: SpanKind,
    /// When it began.
    pub began: Millis,
    /// When it ended.
    pub ended: Millis,
    /// What is said of it.
    pub attributes: Vec<Attribute>,
    /// How it failed, if it did: a code.
    pub error: Option<String>,
}

/// Something that is said of a span.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// Its name.
    pub key: &'static str,
    /// What it says.
    pub value: Said,
}

/// What an attribute says.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// A text.
    Text(String),
    /// A number.
    Number(u64),
    /// A number with a fraction.
    Double(f64),
    /// Texts.
    Texts(Vec<String>),
}

impl Said {
    fn json(&self) -> Value {
        match self {
            Said::Text(text) => json!({"stringValue": text}),
            Said::Number(number) => json!({"intValue": number.to_string()}),
            Said::Double(number) => json!({"doubleValue": number}),
            Said::Texts(texts) => {
                let values: Vec<Value> = texts.iter().map(|text| json!({"stringValue": text})).collect();
                json!({"arrayValue": {"values": values}})
            }
        }
    }
}

impl Attribute {
    /// A text.
    pub fn text(key: &'static str, value: impl Into<String>) -> Attribute {
        Attribute { key, value: Said::Text(value.into()) }
    }
}

/// A time.
pub fn nanos(at: Millis) -> String {
    format!("{at}000000")
}

/// Attributes, as they are sent.
pub fn wire(all: &[Attribute]) -> Vec<Value> {
    all.iter().map(|one| json!({"key": one.key, "value": one.value.json()})).collect()
}

fn span(span: &OtelSpan) -> Value {
    let mut json = json!({
        "traceId": span.trace, "spanId": span.id, "name": span.name, "kind": span.kind as u8,
        "startTimeUnixNano": nanos(span.began), "endTimeUnixNano": nanos(span.ended.max(span.began)),
        "attributes": wire(&span.attributes),
    });
    if let Some(parent) = &span.parent {
        json["parentSpanId"] = parent.as_str().into();
    }
    if let Some(error) = &span.error {
        json["status"] = json!({"code": 2, "message": error});
    }
    json
}

/// The conventions, by their address.
pub fn schema() -> String {
    format!("https://opentelemetry.io/schemas/{SEMCONV}")
}

/// Who tells.
pub fn resource() -> Value {
    let own = [("service.name", "mainpath"), ("service.version", env!("CARGO_PKG_VERSION"))];
    json!({"attributes": wire(&own.map(|(key, value)| Attribute::text(key, value)))})
}

/// What of it tells.
pub fn scope() -> Value {
    json!({"name": "mainpath", "version": env!("CARGO_PKG_VERSION")})
}

/// Spans as a request to `/v1/traces`.
pub fn request(spans: &[OtelSpan]) -> Value {
    let spans: Vec<Value> = spans.iter().map(span).collect();
    json!({"resourceSpans": [{
        "resource": resource(),
        "scopeSpans": [{"scope": scope(), "spans": spans, "schemaUrl": schema()}],
        "schemaUrl": schema(),
    }]})
}
