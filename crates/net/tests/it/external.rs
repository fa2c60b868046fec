//! Tools of the owner's own: real commands under the launcher, real addresses.

use crate::server::{Server, reply};
use crate::support::{World, client, pair, said};
use mainpath_net::{External, ExternalConfig, NotReady};
use mainpath_policy::UrlFact;
use mainpath_tools::{Tools, Workspace};
use mainpath_types::{EffectClass, Origin};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

fn secret(name: &str) -> Option<String> {
    (name == "TOOL_KEY").then(|| "t-1".into())
}

/// A configuration of the tool `own` with these fields beside the needed ones.
fn config(more: Value) -> ExternalConfig {
    let mut config = json!({
        "name": "own", "description": "Does something.",
        "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"], "additionalProperties": false}
    });
    more.as_object().unwrap().iter().for_each(|(name, value)| config[name] = value.clone());
    serde_json::from_value(config).unwrap()
}

fn made(more: Value) -> Result<World, NotReady> {
    let tool = External::new(&client(&[]), &config(more), &secret)?;
    let (tools, schema) = (Tools::new(), config(json!({})).input_schema.0);
    tools.put("own", tool.doc(), schema, Arc::new(tool)).unwrap();
    Ok(World::new(tools))
}

fn shell(script: &str) -> World {
    made(json!({"command": ["sh", "-c", script]})).unwrap()
}

const TEXT: &str = "some \"text\"\n";

async fn say(world: &World) -> (String, String) {
    world.say("own", json!({"text": TEXT})).await
}

#[tokio::test]
async fn a_command_gets_the_arguments_as_json_and_its_output_is_the_result() {
    let world = made(json!({"command": ["sh", "-c", "cat; echo; echo $0 $KEY; pwd", "a b"], "env": {"KEY": "<{{secret:TOOL_KEY}}>"}})).unwrap();
    let folder = world.path("").canonicalize().unwrap();
    let text = format!("{}\na b <t-1>\n{}\n", json!({"text": TEXT}), folder.display());
    assert_eq!(say(&world).await, pair("ok", text));
    assert_eq!(say(&shell("exit 0")).await, pair("ok", "[no output]"));
    let doc = world.tools.doc("own").unwrap();
    assert_eq!(
        (doc.description.as_str(), doc.effect, doc.origin),
        ("Does something.", EffectClass::SideEffecting, Origin::Workspace)
    );
    let (code, text) = world.say("own", json!({"text": 5, "x": 1})).await;
    assert_eq!((code.as_str(), text.starts_with("Wrong arguments for own:")), ("invalid_arguments", true), "{text}");
}

#[tokio::test]
async fn a_command_that_fails_says_why() {
    assert_eq!(
        say(&shell("echo out; echo err >&2; exit 3")).await,
        pair("exit_code", "own failed: exit code 3.\nerr\n\nout")
    );
    assert_eq!(say(&shell("kill -9 $$")).await, pair("signal", "own failed: killed by signal 9."));
    let missing = made(json!({"command": ["no-such-program-here"]})).unwrap();
    let (code, text) = say(&missing).await;
    assert_eq!((code.as_str(), text.as_str()), ("launch", "own failed: No such file or directory (os error 2)."));
}

#[tokio::test]
async fn a_command_that_reads_nothing_and_one_that_floods_are_both_borne() {
    let world = shell("exec <&-; yes 0123456789");
    let long = made(json!({"command": ["sh", "-c", "head -c 6000000 /dev/zero | tr '\\0' x; echo >&2"]})).unwrap();
    let output = long.run("own", json!({"text": "x".repeat(300_000)})).await;
    let (code, text) = said(&output);
    let note = "x\n[only the first 30000 of 4194304 characters are shown; all that was read is kept]\n[the answer is longer; only its first 4194304 bytes were read]";
    assert_eq!((code.as_str(), text.ends_with(note)), ("ok", true), "{}", &text[text.len() - 300..]);
    assert_eq!(output.artifacts[0].bytes, 4 << 20);
    // One without an end is ended with its call.
    let ctx = world.context("own");
    let (cancel, tools) = (ctx.cancel.clone(), world.tools.clone());
    let call = tokio::spawn(async move { tools.run("own", r#"{"text":""}"#, &ctx).await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    cancel.cancel();
    assert_eq!(said(&call.await.unwrap()).0, "interrupted");
}

#[tokio::test]
async fn what_a_stopped_command_has_started_is_dead_when_the_call_returns() {
    let world = shell("(sleep 1000 & echo $! > child; wait) & echo begun > begun; wait");
    let ctx = world.context("own");
    let (cancel, tools, begun) = (ctx.cancel.clone(), world.tools.clone(), world.path("child"));
    let call = tokio::spawn(async move { tools.run("own", r#"{"text":""}"#, &ctx).await });
    while !std::fs::read_to_string(&begun).is_ok_and(|text| text.ends_with('\n')) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    cancel.cancel();
    assert_eq!(said(&call.await.unwrap()), pair("interrupted", "own failed: it was ended."));
    let working = || {
        let folder = world.path("").canonicalize().unwrap();
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        processes.filter(|entry| entry.path().join("cwd").read_link().is_ok_and(|cwd| cwd == folder)).count()
    };
    assert_eq!(working(), 0);
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended() {
    let world = made(json!({"command": ["sh", "-c", "echo begun; sleep 1000"], "timeout_s": 1})).unwrap();
    assert_eq!(say(&world).await, pair("timeout", "own failed: it was ended after 1s.\nbegun"));
}

#[tokio::test]
async fn a_command_is_confined_and_has_the_network_only_if_the_owner_says_so() {
    let outside = tempfile::tempdir_in("/var/tmp").unwrap();
    let script =
        format!("touch inside; touch {}/outside 2>/dev/null && echo escaped; echo done", outside.path().display());
    let world = shell(&script);
    assert_eq!(say(&world).await, pair("ok", "done\n"));
    assert!(world.path("inside").exists() && !outside.path().join("outside").exists());
    let server = Server::new(|_| reply(200, &[], "")).await;
    let connect =
        format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{}' 2>/dev/null && echo connected || echo alone", server.port);
    assert_eq!(say(&shell(&connect)).await, pair("ok", "alone\n"));
    let open = made(json!({"command": ["sh", "-c", connect], "network": true})).unwrap();
    assert_eq!(say(&open).await, pair("ok", "connected\n"));
}

#[tokio::test]
async fn an_address_gets_the_arguments_and_answers_with_a_text() {
    let server = Server::new(|request| match request.path.as_str() {
        "/do" => reply(200, &[("content-type", "text/plain; charset=utf-8")], "result é"),
        _ => reply(503, &[], "not now"),
    })
    .await;
    let world = made(json!({"url": server.url("/do"), "headers": {"X-Key": "{{secret:TOOL_KEY}}"}, "effect": "read-only", "rate": "3/1s"})).unwrap();
    assert_eq!(say(&world).await, pair("ok", "result é"));
    let [request] = server.seen().try_into().unwrap();
    assert_eq!((request.method.as_str(), request.header("x-key")), ("POST", Some("t-1")));
    assert_eq!(serde_json::from_str::<Value>(&request.body).unwrap(), json!({"text": TEXT}));
    let doc = world.tools.doc("own").unwrap();
    assert_eq!((doc.effect, doc.origin, doc.rate.unwrap().calls), (EffectClass::ReadOnly, Origin::Web, 3));
    let folder = tempfile::tempdir().unwrap();
    let planned = world.tools.plan("own", r#"{"text":""}"#, &Workspace::new(folder.path(), vec![]).unwrap()).unwrap();
    assert_eq!(planned.facts.urls, [UrlFact { method: "POST".into(), url: server.url("/do") }]);
    let busy = made(json!({"url": server.url("/busy")})).unwrap();
    assert_eq!(say(&busy).await, pair("unavailable", "own answered with HTTP 503: not now"));
}

#[test]
fn what_is_wrong_or_missing_is_said() {
    let told = |more| made(more).err().unwrap().to_string();
    let choose = "the tool \"own\": give either a command with its program, or a url";
    assert_eq!(told(json!({})), choose);
    assert_eq!(told(json!({"command": ["a"], "url": "http://a.test"})), choose);
    assert_eq!(told(json!({"command": []})), choose);
    let unset = "the tool \"own\": NOPE is not set; set that variable, or NOPE under [secrets]";
    assert_eq!(told(json!({"command": ["a"], "env": {"K": "{{secret:NOPE}}"}})), unset);
    let field = |value: Value| serde_json::from_value::<ExternalConfig>(value).unwrap_err().to_string();
    let base = json!({"name": "a", "description": "", "command": ["a"]});
    let with = |schema: Value| {
        field(
            serde_json::from_value({
                let mut base = base.clone();
                base["input_schema"] = schema;
                base
            })
            .unwrap(),
        )
    };
    assert!(
        with(json!("schema.json"))
            .starts_with("the schema schema.json cannot be used: write its whole path, from / on")
    );
    assert!(with(json!("/no/such.json")).starts_with("the schema /no/such.json cannot be used: No such file"));
    assert!(with(json!({"type": 7})).starts_with("the schema cannot be used: it is not a valid JSON Schema"));
}
