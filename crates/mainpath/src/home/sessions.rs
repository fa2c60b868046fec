//! `[sessions]` of the configuration.

use super::units::Time;
use serde::Deserialize;

/// `[sessions]`
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SessionsConfig {
    /// How many messages are prepared.
    pub window: Option<u32>,
    /// How long after its last use a session starts over.
    pub ttl: Option<Time>,
    /// Where the messages are mirrored for other systems: `sqlite:FILE` or `redis://HOST:PORT/DATABASE`; a file beside the
    /// session where nothing is said.
    pub mirror: Option<String>,
    /// The user of the Redis server.
    pub user: Option<String>,
    /// The name of the secret that is its password.
    pub password: Option<String>,
    /// What every key on it begins with.
    pub prefix: Option<String>,
}
