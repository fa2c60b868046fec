//! Approvals from a web handler: the run goes on in the background, a request lists what waits, another approves it.
//! `cargo run -p mainpath --example approvals_over_http`.

use mainpath::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

const SCRIPT: &str = r#"
[[turn]]
calls = [{ tool = "write_text_file", args = { path = "report.txt", content = "all is well" } }]
[[turn]]
final = "The report is written."
"#;

/// What waits, by call.
type Waiting = Arc<Mutex<BTreeMap<String, PendingCall>>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    println!("{}", approve_over_http().await?);
    Ok(())
}

/// Starts an agent and a server, approves over HTTP as a browser would, and gives the agent's answer.
pub async fn approve_over_http() -> Result<String, Error> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("script.toml"), SCRIPT)?;
    let host = Host::builder().in_memory().build().await?;
    let model = format!("scripted:{}", folder.path().join("script.toml").display());
    // A server says where its agents work, and keeps the notes of that folder out of their system text.
    let prompt = PromptOptions { ignore_agents_md: true, ..PromptOptions::default() };
    let options = AgentOptions { workspace: Some(folder.path().into()), prompt, ..AgentOptions::default() };
    let agent = host.agent(model).options(options);
    let mut run = agent.start("Write the report").await?;

    let waiting = Waiting::default();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    let server = tokio::spawn(serve(listener, Arc::clone(&waiting)));

    while let Some(event) = run.next().await {
        if let RunEvent::ApprovalRequired(call) = event? {
            let id = call.call.to_string();
            waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id, *call.data);
            // Here a person would look at the page and press a button.
            let listed = request(&address, "GET /calls").await?;
            let id = listed.split_whitespace().next().unwrap_or_default().to_string();
            request(&address, &format!("POST /approve/{id}")).await?;
        }
    }
    server.abort();
    Ok(run.outcome().await?.answer)
}

/// `GET /calls` lists what waits, `POST /approve/CALL` approves one.
async fn serve(listener: TcpListener, waiting: Waiting) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let mut line = String::new();
        let _ = BufReader::new(&mut stream).read_line(&mut line).await;
        let path = line.split(' ').nth(1).unwrap_or_default();
        let body = match path.strip_prefix("/approve/") {
            None => {
                let waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
                waiting.values().map(|call| format!("{} {} {}\n", call.call, call.tool, call.arguments)).collect()
            }
            Some(id) => {
                let call = waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
                match call {
                    Some(call) => call.approve().await.map_or_else(|error| error.to_string(), |()| "approved".into()),
                    None => "no such call".into(),
                }
            }
        };
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
        let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
    }
}

async fn request(address: &str, line: &str) -> Result<String, Error> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(format!("{line} HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer.split_once("\r\n\r\n").map(|(_, body)| body.to_string()).unwrap_or_default())
}
