//! The receiver of spans that the configuration names.

use super::place::Home;
use super::telemetry::TelemetryConfig;
use crate::Error;
use mainpath_net::{Client, Post, WebAddress};
use serde_json::Value;
use std::time::Duration;

/// A receiver of spans.
pub struct Otlp {
    post: Post,
    has_content: bool,
}

impl Otlp {
    /// Whether words are sent as well.
    pub fn has_content(&self) -> bool {
        self.has_content
    }

    /// Posts spans, within this time. Its status; `None` where nobody answers.
    pub async fn post(&self, spans: &Value, limit: Duration) -> Option<u16> {
        self.post.send(spans, limit).await.ok().map(|answer| answer.status)
    }
}

impl Home {
    /// The receiver of spans that the configuration names. Errors: a secret is missing, in a line with its place in the file.
    pub fn otlp(&self) -> Result<Option<Otlp>, Error> {
        let TelemetryConfig { otlp, headers, content } = &self.config.server.telemetry;
        let Some(otlp) = otlp else { return Ok(None) };
        let wrong =
            |why: String| self.wrong_in(&["server", "telemetry"], &Error::failed(format!("[server.telemetry]: {why}")));
        let address = format!("{}/v1/traces", otlp.url().as_str().trim_end_matches('/'));
        let address = WebAddress::try_from(address).map_err(wrong)?;
        let post = Post::new(&Client::new(&self.config.net), &address, headers, &|name| self.secret(name));
        let post = post.map_err(|why| wrong(why.0))?;
        Ok(Some(Otlp { post, has_content: *content }))
    }
}
