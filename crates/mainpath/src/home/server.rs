//! `[server]` of `config.toml`: what `mainpath serve` is told.

#[cfg(feature = "home")]
use super::telemetry::TelemetryConfig;
use serde::Deserialize;
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

/// `[server]`.
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServerConfig {
    /// Where it listens.
    pub address: Option<SocketAddr>,
    /// The names under which it is reached besides those of this machine, such as `agents.example.com`.
    pub hosts: Vec<String>,
    /// The pages that may talk to it besides its own, such as `https://panel.example.com`.
    pub origins: Vec<String>,
    /// The folders that agents may work in; the first is where they work if nothing is said.
    pub workspaces: Vec<PathBuf>,
    /// The largest body of a request, in bytes.
    pub max_body: Option<NonZeroUsize>,
    /// How many requests a key may make a second, and ten times as many at once.
    pub rate: Option<NonZeroU32>,
    /// How many connections there may be at once.
    pub connections: Option<NonZeroUsize>,
    /// How many runs may go on at once, those that wait for people not counted. A tenant's own `config.toml` says how many it may have.
    pub max_runs: Option<NonZeroUsize>,
    /// How many runs that broke off go on at once after a start.
    pub resumed_at_once: Option<NonZeroUsize>,
    /// How many seconds what goes on may take to come to a checkpoint at the end.
    pub rest_s: Option<u32>,
    /// Whether a server with TLS stands before it.
    pub behind_tls: bool,
    /// Where spans of OpenTelemetry are sent.
    #[cfg(feature = "home")]
    pub telemetry: TelemetryConfig,
}
