//! The official reference servers, of both revisions of the protocol and over both transports.

use crate::support::{LONG, World, eventually, installed, pair, said};
use mainpath_mcp::State;
use mainpath_types::{Part, Source};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

fn node(name: &str, package: &str, args: &[&str]) -> String {
    let script = installed(&format!("node_modules/{package}/dist/index.js"));
    let args: Vec<&str> = std::iter::once(script.as_str()).chain(args.iter().copied()).collect();
    format!("[servers.{name}]\ncommand = \"node\"\nargs = {args:?}\n")
}

fn everything() -> String {
    node("every", "@modelcontextprotocol/server-everything", &[])
}

fn python(name: &str, module: &str, args: &[&str]) -> String {
    let args: Vec<&str> = ["-m", module].into_iter().chain(args.iter().copied()).collect();
    format!("[servers.{name}]\ncommand = {:?}\nargs = {args:?}\n", installed("venv") + "/bin/python")
}

fn protocol<'a>(world: &'a World, name: &str) -> &'a str {
    match world.state(name) {
        State::Ready { protocol, .. } => protocol,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn servers_of_the_current_and_of_the_previous_revision_are_spoken_to() {
    let config = python("time", "mcp_server_time", &["--local-timezone", "UTC"]) + &everything();
    let world = World::new(&config).await;
    assert_eq!((protocol(&world, "time"), protocol(&world, "every")), ("2026-07-28", "2025-11-25"));
    assert_eq!(world.notices(), [""; 0]);
    let zones = json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"});
    let (code, words) = world.say("mcp__time__convert_time", zones).await;
    let told: Value = serde_json::from_str(&words).unwrap();
    assert_eq!((code.as_str(), &told["time_difference"]), ("ok", &json!("+9.0h")));
    let wrong = json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Mars/Olympus"});
    let (code, words) = world.say("mcp__time__convert_time", wrong).await;
    assert!(code == "tool_error" && words.contains("Mars/Olympus"), "{code} {words}");
    // What their resources and prompts would be for is offered only where there are some.
    let time: Vec<String> = world.names().into_iter().filter(|name| name.starts_with("mcp__time__")).collect();
    assert_eq!(time, ["mcp__time__convert_time", "mcp__time__get_current_time"]);
}

#[tokio::test]
async fn every_kind_of_content_becomes_a_part() {
    let world = World::new(&everything()).await;
    assert_eq!(world.say("mcp__every__echo", json!({"message": "hi"})).await, pair("ok", "Echo: hi"));
    let output = world.run("mcp__every__get-tiny-image", json!({})).await;
    let [Part::Text { .. }, Part::Image { source: Source::Base64 { media_type, .. } }, Part::Text { .. }] =
        output.content.as_slice()
    else {
        panic!("{output:?}")
    };
    assert_eq!(media_type, "image/png");
    let (_, words) = world.say("mcp__every__get-structured-content", json!({"location": "New York"})).await;
    let told: Value = serde_json::from_str(&words).unwrap();
    assert_eq!(told, json!({"temperature": 33, "conditions": "Cloudy", "humidity": 82}));
    let (_, words) = world.say("mcp__every__get-resource-links", json!({"count": 2})).await;
    let links: Vec<&str> = words.lines().filter(|line| line.starts_with("[resource demo://resource/")).collect();
    assert_eq!(links.len(), 2, "{words}");
    let reference = json!({"resourceType": "Text", "resourceId": 1});
    let (_, words) = world.say("mcp__every__get-resource-reference", reference).await;
    assert!(words.contains("[resource demo://resource/dynamic/text/1]\nResource 1:"), "{words}");
    let (code, words) = world.say("mcp__every__get-sum", json!({"a": "x"})).await;
    assert_eq!(code, "invalid_arguments", "{words}");
}

#[tokio::test]
async fn resources_and_prompts_are_tools() {
    let world = World::new(&everything()).await;
    let (code, words) = world.say("mcp__every__list_resources", json!({})).await;
    let listed: Vec<Value> = words.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let fixed = listed.iter().find(|one| one["uri"].is_string()).unwrap();
    assert!(code == "ok" && listed.iter().any(|one| one["uriTemplate"].is_string()), "{words}");
    let (code, words) = world.say("mcp__every__read_resource", json!({"uri": fixed["uri"]})).await;
    assert_eq!(
        (code.as_str(), words.lines().next()),
        ("ok", Some(&*format!("[resource {}]", fixed["uri"].as_str().unwrap())))
    );
    let (code, _) = world.say("mcp__every__read_resource", json!({"uri": "demo://nothing"})).await;
    assert_eq!(code, "server_error");
    let output = world.run("mcp__every__read_resource", json!({"uri": "demo://resource/dynamic/blob/1"})).await;
    assert_eq!((output.error.as_deref(), output.artifacts.len()), (None, 1), "{output:?}");
    let (_, words) = world.say("mcp__every__list_prompts", json!({})).await;
    assert!(words.lines().any(|line| line.contains("\"name\":\"args-prompt\"")), "{words}");
    let prompt = json!({"name": "args-prompt", "arguments": {"city": "Bern"}});
    let (code, words) = world.say("mcp__every__get_prompt", prompt).await;
    assert_eq!((code.as_str(), words.as_str()), ("ok", "[user]\nWhat's weather in Bern?"));
}

#[tokio::test]
async fn progress_is_told_and_roots_are_the_workspace() {
    let world = World::new(&everything()).await;
    let (code, _) = world.say("mcp__every__trigger-long-running-operation", json!({"duration": 1, "steps": 4})).await;
    assert_eq!((code.as_str(), world.progress.lock().unwrap().as_str()), ("ok", "1/4\n2/4\n3/4\n4/4\n"));
    let root = world.path("").display().to_string();
    let (_, words) = world.say("mcp__every__get-roots-list", json!({})).await;
    assert!(words.contains(&format!("file://{}", root.trim_end_matches('/'))), "{words}");
}

#[tokio::test]
async fn a_call_is_cancelled_and_the_server_goes_on() {
    let world = World::new(&everything()).await;
    let tool = "mcp__every__trigger-long-running-operation";
    let ctx = world.context(tool);
    let running = world.run_in(&ctx, tool, json!({"duration": 1000, "steps": 2000}));
    let cancelling = async {
        eventually("progress", || !world.progress.lock().unwrap().is_empty()).await;
        ctx.cancel.cancel();
    };
    let (output, ()) = tokio::join!(running, cancelling);
    assert_eq!(said(&output), pair("interrupted", "The call was interrupted."));
    assert_eq!(world.say("mcp__every__echo", json!({"message": "on"})).await, pair("ok", "Echo: on"));
}

#[tokio::test]
async fn a_file_server_works_in_its_folder_with_filters_and_a_prefix_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().display().to_string();
    std::fs::write(folder.path().join("a.txt"), "alpha").unwrap();
    let filters =
        "prefix = \"fs_\"\nallow = [\"read_*\", \"write_file\"]\ndeny = [\"read_multiple_*\", \"read_file\"]\n";
    let config = node("files", "@modelcontextprotocol/server-filesystem", &[&root]) + filters;
    let world = World::in_folder(folder, &config).await;
    assert_eq!(world.names(), ["fs_read_media_file", "fs_read_text_file", "fs_write_file"]);
    let path = |name: &str| format!("{root}/{name}");
    assert_eq!(world.say("fs_read_text_file", json!({"path": path("a.txt")})).await, pair("ok", "alpha"));
    let (code, _) = world.say("fs_write_file", json!({"path": path("b.txt"), "content": "beta"})).await;
    assert_eq!((code.as_str(), std::fs::read_to_string(path("b.txt")).unwrap().as_str()), ("ok", "beta"));
    let (code, words) = world.say("fs_read_text_file", json!({"path": "/etc/passwd"})).await;
    assert!(code == "tool_error" && words.contains("outside allowed directories"), "{code} {words}");
}

/// A server on a port of its own. It is ended when this is dropped.
struct OverHttp {
    child: Child,
    port: u16,
}

impl OverHttp {
    fn start() -> OverHttp {
        let script = installed("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
        let mut last = Vec::new();
        // The server takes only a number: another process may take the free port before it does, then it ends by itself.
        for _ in 0..20 {
            let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let port = free.local_addr().unwrap().port();
            drop(free);
            let mut child = Command::new("node")
                .args([&script, "streamableHttp"])
                .env("PORT", port.to_string())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
            last = lines.by_ref().take_while(|line| !line.contains("listening on port")).collect();
            if child.try_wait().unwrap().is_none() && !last.iter().any(|line| line.contains("EADDRINUSE")) {
                return OverHttp { child, port };
            }
            let _ = child.kill();
            let _ = child.wait();
            assert!(last.iter().any(|line| line.contains("EADDRINUSE")), "the server does not come up: {last:?}");
        }
        panic!("the server finds no free port: {last:?}");
    }
}

/// An address that stays while the server behind it is ended and started again.
struct Front {
    port: u16,
    behind: Arc<Mutex<Option<u16>>>,
}

impl Front {
    async fn start() -> Front {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let front = Front { port: listener.local_addr().unwrap().port(), behind: Arc::default() };
        let behind = Arc::clone(&front.behind);
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let port = *behind.lock().unwrap();
                tokio::spawn(async move {
                    // Where there is no server, the client is hung up on.
                    let Some(port) = port else { return };
                    let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)).await else { return };
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                });
            }
        });
        front
    }

    fn leads_to(&self, server: Option<&OverHttp>) {
        *self.behind.lock().unwrap() = server.map(|server| server.port);
    }
}

impl Drop for OverHttp {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn a_server_over_http_is_used_found_gone_and_found_again() {
    let (front, server) = (Front::start().await, OverHttp::start());
    front.leads_to(Some(&server));
    let port = front.port;
    let config = format!(
        "[servers.far]\ntype = \"http\"\nurl = \"http://127.0.0.1:{port}/mcp\"\nheaders = {{ Authorization = \"Bearer ${{HOME}}\" }}\n"
    );
    let world = World::new(&config).await;
    assert_eq!(world.say("mcp__far__echo", json!({"message": "hi"})).await, pair("ok", "Echo: hi"));
    let steps = json!({"duration": 1, "steps": 2});
    assert_eq!(world.say("mcp__far__trigger-long-running-operation", steps).await.0, "ok");
    assert_eq!(*world.progress.lock().unwrap(), "1/2\n2/2\n");
    front.leads_to(None);
    drop(server);
    let (code, _) = world.say("mcp__far__echo", json!({"message": "gone"})).await;
    assert!(["server_gone", "server_down", "server_error"].contains(&code.as_str()), "{code}");
    let server = OverHttp::start();
    front.leads_to(Some(&server));
    let deadline = Instant::now() + LONG;
    let last = loop {
        let last = world.say("mcp__far__echo", json!({"message": "again"})).await;
        if last.0 == "ok" || Instant::now() > deadline {
            break last;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(last, pair("ok", "Echo: again"));
}

#[tokio::test]
async fn a_server_that_is_nowhere_is_said_to_be_nowhere() {
    // Its port is taken, and nobody listens there.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let free = socket.local_addr().unwrap();
    let world = World::new(&format!("[servers.far]\nurl = \"http://{free}/mcp\"\n")).await;
    assert!(world.failure("far").ends_with(": Connection refused (os error 111)"), "{}", world.failure("far"));
    let world = World::new("[servers.far]\nurl = \"ftp://h/mcp\"\n[servers.none]\nurl = \"no url\"\n").await;
    assert_eq!(world.failure("far"), "its url begins with ftp:, not with http: or https:");
    assert_eq!(world.failure("none"), "its url is invalid: relative URL without a base");
}
