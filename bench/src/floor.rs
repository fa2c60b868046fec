//! The floor: an agent loop as one would write it by hand, without any framework, that does the same work. It asks over a
//! kept connection, reads the stream, calls the tool as a function, appends about 750 bytes to a file and syncs it twice a
//! turn, and builds the next request by appending to the last one.

use crate::Fail;
use crate::agent::{task, text};
use crate::process::{cpu, folder, memory, now};
use crate::server::{Plan, find};
use bytes::Buf;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How many bytes are logged at a time.
const LOGGED: usize = 750;

/// Where a sync is waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Syncs {
    /// Where the loop runs: right for one loop.
    Here,
    /// On a thread of its own: right for many.
    Aside,
}

#[derive(Deserialize)]
struct Chunk {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Delta,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Delta {
    content: Option<String>,
    tool_calls: Vec<ToolCall>,
}

#[derive(Deserialize)]
struct ToolCall {
    function: Function,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Function {
    arguments: String,
}

#[derive(Deserialize)]
struct Arguments {
    bytes: usize,
}

/// One run against the server.
pub async fn run(addr: SocketAddr, plan: Plan, name: &str, dir: &Path, syncs: Syncs) -> Result<(), Fail> {
    let log = Arc::new(File::options().append(true).create(true).open(dir.join(format!("{name}.jsonl")))?);
    write(&log, "task", syncs).await?;
    let mut stream = TcpStream::connect(addr).await?;
    stream.set_nodelay(true)?;
    let parameters = json!({"type": "object", "properties": {"bytes": {"type": "integer"}}, "required": ["bytes"]});
    let tool =
        json!({"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": parameters}});
    let system = json!({"role": "system", "content": "You look around."});
    let user = json!({"role": "user", "content": task(name, 0)});
    let mut body =
        format!("{{\"model\":\"{}\",\"stream\":true,\"tools\":[{tool}],\"messages\":[{system},{user}", plan.name());
    let mut buffer = Vec::with_capacity(16 * 1024);
    for turn in 0u32.. {
        body.push_str("]}");
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {addr}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all_buf(&mut Buf::chain(head.as_bytes(), body.as_bytes())).await?;
        body.truncate(body.len() - 2);
        let (said, arguments) = answer(&mut stream, &mut buffer).await?;
        write(&log, "answer", syncs).await?;
        if arguments.is_empty() {
            return if said.is_empty() { Err("the server said nothing".into()) } else { Ok(()) };
        }
        let wanted: Arguments = serde_json::from_str(&arguments)?;
        let result = text(wanted.bytes);
        write(&log, "result", syncs).await?;
        let id = format!("call_{turn}");
        let function = json!({"name": "look", "arguments": arguments});
        let calls = json!([{"id": id, "type": "function", "function": function}]);
        let (call, result) = (
            json!({"role": "assistant", "content": Value::Null, "tool_calls": calls}),
            json!({"role": "tool", "tool_call_id": id, "content": result}),
        );
        body.push_str(&format!(",{call},{result}"));
    }
    Ok(())
}

/// Reads one streamed answer: its text, and its call's arguments.
async fn answer(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<(String, String), Fail> {
    buffer.clear();
    while !buffer.ends_with(b"\r\n0\r\n\r\n") {
        if stream.read_buf(buffer).await? == 0 {
            return Err("the server left".into());
        }
    }
    let start = find(buffer, b"\r\n\r\n").ok_or("no head")?;
    let body = std::str::from_utf8(buffer.get(start..).unwrap_or_default())?;
    let (mut said, mut arguments) = (String::new(), String::new());
    for data in body.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]") {
        let chunk: Chunk = serde_json::from_str(data)?;
        for Choice { delta } in chunk.choices {
            said.push_str(delta.content.as_deref().unwrap_or_default());
            delta.tool_calls.iter().for_each(|call| arguments.push_str(&call.function.arguments));
        }
    }
    Ok((said, arguments))
}

async fn write(log: &Arc<File>, what: &str, syncs: Syncs) -> Result<(), Fail> {
    static PADDING: [u8; LOGGED] = [b'x'; LOGGED];
    let mut line = Vec::with_capacity(LOGGED);
    line.extend_from_slice(b"{\"");
    line.extend_from_slice(what.as_bytes());
    line.extend_from_slice(b"\":\"");
    line.extend_from_slice(PADDING.get(..LOGGED - what.len() - 8).unwrap_or_default());
    line.extend_from_slice(b"\"}\n");
    let log = Arc::clone(log);
    let work = move || {
        (&*log).write_all(&line)?;
        log.sync_data()
    };
    match syncs {
        Syncs::Here => work()?,
        Syncs::Aside => tokio::task::spawn_blocking(work).await??,
    }
    Ok(())
}

/// What the floor does in a process of its own.
pub fn child(words: &[&str]) -> Result<(), Fail> {
    match words {
        ["version"] => {
            println!("floor");
            Ok(())
        }
        ["start", addr, name, dir] => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(run(addr.parse()?, Plan::turns(0), name, Path::new(dir), Syncs::Here))
        }
        ["crowd", addr, runs, delay] => {
            let (addr, runs): (SocketAddr, u32) = (addr.parse()?, runs.parse()?);
            let plan = Plan { delay: delay.parse()?, ..Plan::turns(10) };
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
            runtime.block_on(async {
                let folder = folder()?;
                let (wall, worked) = (now(), cpu());
                let mut tasks = tokio::task::JoinSet::new();
                for n in 0..runs {
                    let dir = folder.path().to_path_buf();
                    tasks.spawn(async move { run(addr, plan, &format!("floor-{n}"), &dir, Syncs::Aside).await });
                }
                for done in tasks.join_all().await {
                    done?;
                }
                println!("{}", json!([now() - wall, cpu() - worked, memory("VmHWM:")]));
                Ok(())
            })
        }
        ["long", addr, turns] => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let (folder, plan) = (folder()?, Plan::turns(turns.parse()?));
            runtime.block_on(run(addr.parse()?, plan, "floor-long", folder.path(), Syncs::Here))?;
            println!("{}", memory("VmHWM:"));
            Ok(())
        }
        _ => Err("no such floor".into()),
    }
}
