//! Model servers on this machine.

use crate::client::HttpClient;
use futures_util::future::join_all;
use serde::Deserialize;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a server that took the connection may take to list its models.
const ANSWER: Duration = Duration::from_secs(1);

/// More than this is no list of models.
const MAX_LIST: usize = 1 << 20;

/// A model server that people run on their own machine, and the port it takes if not told otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalServer {
    /// Its name, to show.
    pub name: &'static str,
    /// Its port on 127.0.0.1.
    pub port: u16,
}

/// The servers that are looked for, the first that answers wins. Source of the ports: each server's documentation.
pub const LOCAL_SERVERS: [LocalServer; 4] = [
    LocalServer { name: "Ollama", port: 11434 },
    LocalServer { name: "LM Studio", port: 1234 },
    LocalServer { name: "llama.cpp", port: 8080 },
    LocalServer { name: "vLLM", port: 8000 },
];

/// The name, for [`resolve`](crate::resolve()), of a model that a server on this machine offers right now. All of
/// [`LOCAL_SERVERS`] are asked at once; where none listens, the answer comes at once. `connect` is how long a connection
/// may take; at most 150 ms count.
pub async fn local_servers(connect: Duration) -> Option<String> {
    first_of(&LOCAL_SERVERS, connect).await
}

/// The same for other servers.
pub async fn first_of(servers: &[LocalServer], connect: Duration) -> Option<String> {
    let connect = connect.min(Duration::from_millis(150));
    let answers = join_all(servers.iter().map(|server| ask(server.port, connect))).await;
    answers.into_iter().flatten().next()
}

async fn ask(port: u16, connect: Duration) -> Option<String> {
    // Nothing is set up for HTTP unless somebody listens.
    timeout(connect, TcpStream::connect(("127.0.0.1", port))).await.ok()?.ok()?;
    let base = format!("http://127.0.0.1:{port}/v1");
    let body = timeout(ANSWER, list(&format!("{base}/models"))).await.ok()??;
    let name = model_in(&body)?;
    Some(format!("openai-compatible:{base}#{name}"))
}

async fn list(url: &str) -> Option<Vec<u8>> {
    let client = HttpClient::new().for_this_machine().ok()?;
    let mut response = client.get(url).send().await.ok()?.error_for_status().ok()?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_LIST {
            return None;
        }
    }
    Some(body)
}

/// The first model that can chat, as far as its name tells.
fn model_in(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct List {
        data: Vec<Model>,
    }
    #[derive(Deserialize)]
    struct Model {
        id: String,
    }
    let list: List = serde_json::from_slice(body).ok()?;
    let usable = |id: &String| !id.is_empty() && !id.to_lowercase().contains("embed");
    list.data.into_iter().map(|model| model.id).find(usable)
}

#[cfg(test)]
mod tests {
    use super::model_in;

    #[test]
    fn the_first_model_that_is_no_embedding_model_is_taken() {
        let body =
            br#"{"object":"list","data":[{"id":"nomic-embed-text"},{"id":"qwen3:8b","object":"model"},{"id":"b"}]}"#;
        assert_eq!(model_in(body), Some("qwen3:8b".into()));
        assert_eq!(model_in(br#"{"data":[]}"#), None);
        assert_eq!(model_in(b"<html>"), None);
    }
}
