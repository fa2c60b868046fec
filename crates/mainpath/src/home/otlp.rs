//! The receiver of spans and measurements that the configuration names.

use super::place::Home;
use super::telemetry::TelemetryConfig;
use crate::Error;
use mainpath_net::{Client, Post, WebAddress};
use serde_json::Value;
use std::time::Duration;

/// A receiver of spans and measurements.
pub struct Otlp {
    spans: Post,
    metrics: Post,
    has_content: bool,
}

impl Otlp {
    /// Whether words are sent as well.
    pub fn has_content(&self) -> bool {
        self.has_content
    }

    /// Posts spans, within this time. Its status; `None` where nobody answers.
    pub async fn post(&self, spans: &Value, limit: Duration) -> Option<u16> {
        self.spans.send(spans, limit).await.ok().map(|answer| answer.status)
    }

    /// Posts measurements in the same way.
    pub async fn post_metrics(&self, metrics: &Value, limit: Duration) -> Option<u16> {
        self.metrics.send(metrics, limit).await.ok().map(|answer| answer.status)
    }
}

impl Home {
    /// The receiver that the configuration names. Errors: a secret is missing, in a line with its place in the file.
    pub fn otlp(&self) -> Result<Option<Otlp>, Error> {
        let TelemetryConfig { otlp, headers, content } = &self.config.server.telemetry;
        let Some(otlp) = otlp else { return Ok(None) };
        let wrong =
            |why: String| self.wrong_in(&["server", "telemetry"], &Error::failed(format!("[server.telemetry]: {why}")));
        let client = Client::new(&self.config.net);
        let to = |path: &str| {
            let address = format!("{}{path}", otlp.url().as_str().trim_end_matches('/'));
            let address = WebAddress::try_from(address).map_err(|why| wrong(why.to_string()))?;
            Post::new(&client, &address, headers, &|name| self.secret(name)).map_err(|why| wrong(why.to_string()))
        };
        Ok(Some(Otlp { spans: to("/v1/traces")?, metrics: to("/v1/metrics")?, has_content: *content }))
    }
}
