//! `sandbox`: a command that can change nothing.

use crate::support::World;
use serde_json::json;

#[tokio::test]
async fn a_command_sees_the_workspace_and_changes_nothing() {
    let world = World::with(&[("a.txt", "old")]);
    let run = async |command: &str| world.say("sandbox", json!({"command": command})).await;
    assert_eq!(run("cat a.txt").await, ("ok".into(), "old".into()));
    let (code, text) = run("echo new > a.txt").await;
    assert!(code == "exit_code" && text.contains("Read-only file system"), "{code}: {text}");
    assert_eq!(run("echo kept > /tmp/of-the-cage && cat /tmp/of-the-cage").await, ("ok".into(), "kept\n".into()));
    assert_eq!(world.get("a.txt"), "old");
    assert!(!std::path::Path::new("/tmp/of-the-cage").exists());
}

#[tokio::test]
async fn it_has_no_network() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let world = World::new();
    let port = listener.local_addr().unwrap().port();
    let (code, _) = world.say("sandbox", json!({"command": format!("exec 3<>/dev/tcp/127.0.0.1/{port}")})).await;
    assert_eq!((code.as_str(), listener.accept().is_err()), ("exit_code", true));
}
