//! The official reference servers.

use crate::support::{World, installed, pair, said};
use serde_json::json;

fn node(name: &str, package: &str, args: &str) -> String {
    let script = installed(&format!("node_modules/{package}/dist/index.js"));
    format!("[servers.{name}]\ncommand = \"node\"\nargs = [{script:?}, {args}]\n")
}

#[tokio::test]
async fn dump() {
    let world = World::new(&node("every", "@modelcontextprotocol/server-everything", "")).await;
    println!("{:#?}", world.state("every"));
    println!("{:?}", world.notices());
    println!("{:?}", world.run("mcp__every__echo", json!({"message": "hi"})).await);
}
