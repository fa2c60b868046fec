//! A line for each request, for programs that read logs. It says who asked for what and how that went, and never what was said: no key, no
//! query, no body.

use axum::body::Body;
use axum::http::{Method, Response, header};
use mainpath::types::{Millis, TraceId, format_time};
use serde_json::json;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// Where requests are told, if they are.
#[derive(Default)]
pub struct Log {
    to: OnceLock<Tell>,
}

/// What is known of a request.
#[derive(Debug)]
pub struct Requested {
    /// Its method.
    pub method: Method,
    /// Its route.
    pub route: &'static str,
    /// The name of the key that it bears, if that is a good one.
    pub key: Option<String>,
    /// What its path names as a trace, be there one or not.
    pub trace: Option<TraceId>,
}

impl Log {
    /// Tells requests to this one from now on; the first who asks is told.
    pub fn tell(&self, to: impl Fn(&str) + Send + Sync + 'static) {
        let _ = self.to.set(Arc::new(to));
    }

    /// Tells a request that was answered.
    pub fn answered(&self, about: &Requested, response: &Response<Body>, took: Duration, now: Millis) {
        let Some(tell) = self.to.get() else { return };
        let status = response.status();
        // What was not found may be anything that somebody has put into an address.
        let named = about.trace.as_ref().filter(|_| status.is_success()).map(TraceId::as_str);
        let made =
            response.headers().get(header::LOCATION).and_then(|at| at.to_str().ok()?.strip_prefix("/api/traces/"));
        let mut line = json!({
            "ts": format_time(now), "method": about.method.as_str(), "route": about.route, "status": status.as_u16(),
            "ms": (took.as_secs_f64() * 1e5).round() / 1e2,
        });
        if let Some(key) = &about.key {
            line["key"] = key.as_str().into();
        }
        if let Some(trace) = named.or(made) {
            line["trace_id"] = trace.into();
        }
        tell(&line.to_string());
    }
}
