//! Browser automation: the preset drives a real page in headless Chromium.

use crate::support::{World, installed};
use mainpath_types::{Part, text_of};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpListener;

const PAGE: &str = r#"<!doctype html><title>Counter</title><h1>A counter</h1>
<button onclick="n = +document.getElementById('n').textContent + 1; document.getElementById('n').textContent = n">Count</button>
<p>Counted <span id="n">0</span> times</p>"#;

/// Serves the page on loopback for as long as the test runs.
fn page() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let mut stream = stream;
                let _ = stream.read(&mut [0; 4096]);
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n";
                let _ = write!(stream, "{head}Content-Length: {}\r\n\r\n{PAGE}", PAGE.len());
            });
        }
    });
    format!("http://{address}/")
}

#[tokio::test]
async fn the_playwright_preset_drives_a_real_page() {
    // npx finds the pinned version there and need not install it.
    let folder = tempfile::tempdir().unwrap();
    let env = format!("{{ XDG_CACHE_HOME = {:?} }}", folder.path());
    let config = format!("[servers.web]\npreset = \"playwright\"\ncwd = {:?}\nenv = {env}\n", installed(""));
    let world = World::in_folder(folder, &config).await;
    let opened = world.run("mcp__web__browser_navigate", json!({"url": page()})).await;
    assert_eq!(opened.error, None, "{opened:?}");
    let snapshot = text_of(&world.run("mcp__web__browser_snapshot", json!({})).await.content);
    assert!(snapshot.contains("Counted 0 times") && snapshot.contains("Page Title: Counter"), "{snapshot}");
    let line = snapshot.lines().find(|line| line.contains("button \"Count\"")).unwrap();
    let target = line.split("[ref=").nth(1).unwrap().split(']').next().unwrap();
    for _ in 0..2 {
        let clicked = world.run("mcp__web__browser_click", json!({"element": "Count", "target": target})).await;
        assert_eq!(clicked.error, None, "{clicked:?}");
    }
    let snapshot = text_of(&world.run("mcp__web__browser_snapshot", json!({})).await.content);
    assert!(snapshot.contains("Counted 2 times"), "{snapshot}");
    let shot = world.run("mcp__web__browser_take_screenshot", json!({"scale": "css", "type": "png"})).await;
    assert!(shot.content.iter().any(|part| matches!(part, Part::Image { .. })), "{shot:?}");
    world.mcp.close().await;
}
