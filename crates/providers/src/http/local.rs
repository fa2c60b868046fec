//! Model servers on this machine.

use super::client::HttpClient;
use crate::endpoint::Endpoint;
use crate::registry::Registry;
use futures_util::future::join_all;
use serde::Deserialize;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long local servers are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalLimits {
    /// How long a connection may take to come about: it is this machine, or one beside it.
    pub connect: Duration,
    /// How long a server that took the connection may take to list its models.
    pub answer: Duration,
}

impl Default for LocalLimits {
    fn default() -> Self {
        LocalLimits { connect: Duration::from_millis(150), answer: Duration::from_secs(1) }
    }
}

/// More than this is no list of models.
const MAX_LIST: usize = 1 << 20;

/// A local server that was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    /// The provider's name.
    pub provider: String,
    /// Host and port.
    pub at: String,
    /// The models that it offers right now, by their own names; `None` if nobody answers there, or somebody else.
    pub models: Option<Vec<String>>,
}

impl LocalServer {
    /// A model that can chat, as far as its name tells, in Mainpath's notation.
    pub fn model(&self) -> Option<String> {
        let usable = |id: &&String| !id.to_lowercase().contains("embed");
        Some(format!("{}:{}", self.provider, self.models.iter().flatten().find(usable)?))
    }
}

/// Asks the registry's local servers, all at once, which models they offer. Where none listens, the answer comes at once. Two
/// that have the same address both answer: nothing tells them apart.
pub async fn local_servers(registry: &Registry, env: &(dyn Fn(&str) -> Option<String> + Sync)) -> Vec<LocalServer> {
    local_servers_within(LocalLimits::default(), registry, env).await
}

/// The same with other limits than the default ones.
pub async fn local_servers_within(
    limits: LocalLimits,
    registry: &Registry,
    env: &(dyn Fn(&str) -> Option<String> + Sync),
) -> Vec<LocalServer> {
    let local = registry.providers().iter().filter(|provider| provider.local);
    let asked = local.filter_map(|provider| Some((&provider.name, provider.endpoint(None, env).ok()?)));
    join_all(asked.map(|(name, endpoint)| ask(limits, name, endpoint))).await
}

async fn ask(limits: LocalLimits, provider: &str, endpoint: Endpoint) -> LocalServer {
    let LocalLimits { connect, answer } = limits;
    let models = timeout(connect + answer, list(connect, &endpoint)).await.ok().flatten();
    LocalServer { provider: provider.into(), at: endpoint.host(), models }
}

async fn list(limit: Duration, endpoint: &Endpoint) -> Option<Vec<String>> {
    // Nothing is set up for HTTP unless somebody listens.
    timeout(limit, TcpStream::connect(endpoint.socket())).await.ok()?.ok()?;
    let client = HttpClient::new().for_endpoint(endpoint).ok()?;
    let mut request = client.get(endpoint.url("models"));
    for (name, value) in &endpoint.headers {
        request = request.header(name, value);
    }
    if let Some(key) = &endpoint.key {
        request = request.bearer_auth(key.reveal());
    }
    let mut response = request.send().await.ok()?.error_for_status().ok()?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_LIST {
            return None;
        }
    }
    names(&body)
}

/// The models' own names. What could not be named on a command line is left out.
fn names(body: &[u8]) -> Option<Vec<String>> {
    #[derive(Deserialize)]
    struct List {
        data: Vec<Model>,
    }
    #[derive(Deserialize)]
    struct Model {
        id: String,
    }
    let list: List = serde_json::from_slice(body).ok()?;
    let sound = |id: &String| !id.is_empty() && !id.chars().any(|c| c.is_whitespace() || c.is_control());
    Some(list.data.into_iter().map(|model| model.id).filter(sound).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_models_is_read_without_what_cannot_be_named() {
        let body =
            br#"{"object":"list","data":[{"id":"embed"},{"id":"qwen3:8b","object":"model"},{"id":"a b"},{"id":""}]}"#;
        assert_eq!(names(body), Some(vec!["embed".into(), "qwen3:8b".into()]));
        assert_eq!(names(br#"{"data":[]}"#), Some(vec![]));
        assert_eq!(names(b"<html>"), None);
    }

    #[test]
    fn the_first_model_that_is_no_embedding_model_is_taken() {
        let server = |models: &[&str]| LocalServer {
            provider: "ollama".into(),
            at: String::new(),
            models: Some(models.iter().map(|name| (*name).into()).collect()),
        };
        assert_eq!(server(&["nomic-Embed-text", "qwen3:8b", "b"]).model(), Some("ollama:qwen3:8b".into()));
        assert_eq!(server(&["nomic-embed-text"]).model(), None);
        assert_eq!(LocalServer { models: None, ..server(&[]) }.model(), None);
    }
}
