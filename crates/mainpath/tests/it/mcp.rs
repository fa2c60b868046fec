//! MCP servers that a host is given by hand.

use crate::support::Place;
use mainpath::prelude::*;
use mainpath::sandbox::Launcher;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

/// A server with one tool over HTTP, as small as it can be.
async fn serve(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(async move {
            let mut stream = BufReader::new(stream);
            loop {
                let (mut length, mut line) = (0, String::new());
                loop {
                    line.clear();
                    if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
                        return;
                    }
                    if let Some(number) = line.to_lowercase().strip_prefix("content-length:") {
                        length = number.trim().parse().unwrap();
                    }
                    if line == "\r\n" {
                        break;
                    }
                }
                let mut body = vec![0; length];
                stream.read_exact(&mut body).await.unwrap();
                let answer = answer(&serde_json::from_slice(&body).unwrap_or_default());
                let (status, body) = match &answer {
                    Some(answer) => ("200 OK", answer.to_string()),
                    None => ("202 Accepted", String::new()),
                };
                let head = format!(
                    "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                );
                stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
            }
        });
    }
}

fn answer(asked: &Value) -> Option<Value> {
    let result = match asked["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "birds", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{
            "name": "look_up", "description": "Looks up a bird.",
            "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
        }]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "It wades."}]}),
        _ => return None,
    };
    Some(json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
}

const SCRIPT: &str = r#"
[[turn]]
calls = [{ tool = "mcp__birds__look_up", args = { name = "heron" } }]
[[turn]]
final = "A heron wades."
"#;

#[tokio::test]
async fn the_tools_of_a_server_are_there_and_asked_about() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(serve(listener));
    let place = Place::new(SCRIPT);
    let server = McpServer { url: Some(url), ..McpServer::default() };
    let host = Host::builder().in_memory().mcp_server("birds", server).build().await.unwrap();
    let mut run = host.agent(place.model()).workspace(place.work()).start("What does a heron do?").await.unwrap();
    let mut asked = Vec::new();
    while let Some(event) = run.next().await {
        if let RunEvent::ApprovalRequired(call) = event.unwrap() {
            asked.push(call.tool.clone());
            call.approve().await.unwrap();
        }
    }
    assert_eq!(asked, ["mcp__birds__look_up"]);
    let said = serde_json::to_string(&run.trace().messages().await.unwrap()).unwrap();
    assert!(said.contains("It wades."), "{said}");
}

#[tokio::test]
async fn a_server_that_cannot_be_used_keeps_the_host_from_being_built() {
    let build = async |server| Host::builder().in_memory().mcp_server("birds", server).build().await.unwrap_err();
    let neither = build(McpServer::default()).await;
    assert_eq!(neither.kind(), ErrorKind::Invalid);
    let started = McpServer { command: Some("cat".into()), ..McpServer::default() };
    let no_launcher = build(started).await;
    assert_eq!(no_launcher.kind(), ErrorKind::Failed);
    assert!(no_launcher.message().contains("\"birds\""), "{no_launcher}");
    assert!(no_launcher.message().contains("call mainpath::launcher_main() first in main"), "{no_launcher}");
}

#[tokio::test]
async fn a_program_whose_main_does_other_things_first_is_told_so_with_what_it_said_instead() {
    let other = Launcher::new("/bin/sh", vec!["-c".into(), "echo 'error: unexpected argument' >&2; exit 2".into()]);
    let started = McpServer { command: Some("cat".into()), ..McpServer::default() };
    let host = Host::builder().in_memory().launcher(other.clone()).mcp_server("birds", started);
    let error = host.build().await.unwrap_err();
    let missing = "the launcher did not answer: call mainpath::launcher_main() first in main; it said: error: unexpected \
                   argument";
    assert_eq!(
        error.message(),
        format!("the MCP server \"birds\" cannot be used: its program \"cat\" cannot start: {missing}")
    );
    let script = "[[turn]]\ncalls = [{ tool = \"bash\", args = { command = \"true\" } }]\n[[turn]]\nfinal = \"No.\"\n";
    let place = Place::new(script);
    let host = Host::builder().in_memory().launcher(other).build().await.unwrap();
    // Where nothing can be confined, commands are asked about.
    let mut run = host.agent(place.model()).workspace(place.work()).start("Do it.").await.unwrap();
    while let Some(event) = run.next().await {
        if let RunEvent::ApprovalRequired(call) = event.unwrap() {
            call.approve().await.unwrap();
        }
    }
    let said = serde_json::to_string(&run.trace().messages().await.unwrap()).unwrap();
    assert!(said.contains(&format!("The command could not be started: {missing}.")), "{said}");
}
