//! `[server.telemetry]`: where spans of OpenTelemetry are sent.

use mainpath_net::{SecretTexts, WebAddress};
use serde::Deserialize;

/// `[server.telemetry]`
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TelemetryConfig {
    /// The address of a receiver of OTLP over HTTP, such as `http://127.0.0.1:4318`; `/v1/traces` is added to it. Without it nothing is
    /// sent.
    pub otlp: Option<WebAddress>,
    /// Headers; `{{secret:NAME}}` stands for a secret.
    pub headers: SecretTexts,
    /// Whether what models and tools say is sent as well, without secrets.
    pub content: bool,
}
