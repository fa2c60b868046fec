//! `[peers.NAME]` of `config.toml`: the machines that agents may be started on.

use mainpath_net::{SecretName, WebAddress};
use mainpath_tools::{AgentServer, AgentTool};
use serde::Deserialize;
use std::collections::BTreeMap;

/// `[peers.NAME]`: another machine that runs `mainpath serve`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeerConfig {
    /// Its address, such as `https://build.example.com`.
    pub url: WebAddress,
    /// The name of the secret that holds a key of that server, with the scopes `read` and `run`.
    pub key: SecretName,
    /// What there is on that machine, for models: it tells them what to hand over.
    pub about: String,
}

impl PeerConfig {
    /// Its address, without a slash at its end.
    pub fn address(&self) -> String {
        self.url.url().as_str().trim_end_matches('/').into()
    }
}

/// The tool that starts agents, also on these machines.
pub(super) fn agent_tool(peers: &BTreeMap<String, PeerConfig>) -> AgentTool {
    let server = |peer: &PeerConfig| AgentServer { url: peer.address(), about: peer.about.clone() };
    // Where an address cannot be one, no agent works: that is told there.
    AgentTool::with_servers(peers.values().map(server).collect()).unwrap_or_default()
}
