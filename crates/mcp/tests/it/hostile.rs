//! Servers that lie, die, flood and fall silent. None of it harms more than the call.

use crate::support::{LONG, OneSecret, World, eventually, hostile, pair, said};
use mainpath_mcp::{State, Times};
use mainpath_tools::NoSecrets;
use mainpath_types::{EffectClass, Part, ToolSpec};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

#[tokio::test]
async fn a_server_that_dies_in_a_call_fails_the_call_and_the_next_one_starts_it_again() {
    let world = World::new(&hostile("h", "dies")).await;
    let (code, words) = world.say("mcp__h__do", json!({})).await;
    assert_eq!(code, "server_gone");
    assert_eq!(
        words,
        "The MCP server \"h\" died, or broke the connection, before it answered. Whether the call was carried out is not \
         known; the next call starts it again."
    );
    let (code, words) = world.say("mcp__h__do", json!({"die": false})).await;
    assert_eq!((code.as_str(), words.split(" of ").next()), ("ok", Some("call 1")), "{words}");
}

#[tokio::test]
async fn a_server_that_cannot_start_is_left_alone_for_a_while_and_says_why() {
    let world = World::new(&hostile("h", "exits")).await;
    assert!(world.failure("h").ends_with("; it said: there is no [31mlicence"), "{}", world.failure("h"));
    assert_eq!(world.names(), [""; 0]);
    let config = "[servers.h]\ncommand = \"/no/such/program\"\n";
    let world = World::new(config).await;
    let why = "its program \"/no/such/program\" cannot start: No such file or directory (os error 2)";
    assert_eq!(world.failure("h"), why);
}

#[tokio::test]
async fn a_server_that_never_comes_up_holds_nobody_for_longer_than_its_time() {
    let config = format!("{}startup_timeout_s = 1\n", hostile("h", "mute"));
    let world = tokio::time::timeout(LONG, World::new(&config)).await.expect("nobody is held up");
    assert_eq!(world.failure("h"), "it did not start within 1 s");
    // Nor does one that comes up and lists nothing.
    let config = format!("{}startup_timeout_s = 1\n", hostile("h", "mute-list"));
    let world = tokio::time::timeout(LONG, World::new(&config)).await.expect("nobody is held up");
    assert_eq!(world.failure("h"), "it did not list its tools within 1 s");
}

#[tokio::test]
async fn a_tool_that_the_server_changes_or_removes_is_not_the_one_that_was_shown() {
    let world = World::new(&hostile("h", "changes")).await;
    let shown = world.tools.specs();
    let changed = async |shown: &[ToolSpec]| {
        let output = world.tools.changed("mcp__h__do", "{}", shown, &NoSecrets).await;
        output.map(|output| said(&output).1)
    };
    assert_eq!((changed(&shown).await, changed(&[]).await), (None, None));
    std::fs::write(world.path("changed"), "").unwrap();
    let begin = "mcp__h__do is not the tool that was approved: ";
    let why = format!("{begin}its description or its arguments have changed. Nothing was done.");
    assert_eq!((changed(&shown).await, changed(&[]).await), (Some(why.clone()), Some(why)));
    std::fs::write(world.path("gone"), "").unwrap();
    let why = format!("{begin}its server does not list it any more. Nothing was done.");
    assert_eq!(changed(&shown).await, Some(why));
    assert_eq!(world.tools.changed("bash", "{\"command\":\"true\"}", &[], &NoSecrets).await, None);
}

#[tokio::test]
async fn a_server_that_ends_at_the_first_unknown_question_is_asked_in_the_old_way() {
    let world = World::new(&hostile("h", "strict")).await;
    assert!(matches!(world.state("h"), State::Ready { protocol, .. } if protocol == "2025-11-25"));
    assert_eq!(world.say("mcp__h__do", json!({"a": 1})).await, pair("ok", "{\"a\": 1}"));
}

#[tokio::test]
async fn a_server_that_ignores_an_unknown_question_starts_within_its_time() {
    for how in ["deaf", "late"] {
        let world = World::new(&format!("{}startup_timeout_s = 6\n", hostile("h", how))).await;
        let state = world.state("h");
        assert!(matches!(&state, State::Ready { protocol, .. } if protocol == "2025-11-25"), "{how}: {state:?}");
        assert_eq!(world.say("mcp__h__do", json!({"a": 1})).await, pair("ok", "{\"a\": 1}"), "{how}");
    }
}

#[tokio::test]
async fn a_call_that_is_never_answered_ends_with_its_time_and_the_server_stays() {
    let world = World::new(&hostile("h", "silent")).await;
    let mut ctx = world.context("mcp__h__do");
    ctx.timeout = Some(Duration::from_millis(300));
    let output = world.run_in(&ctx, "mcp__h__do", json!({})).await;
    assert_eq!(said(&output), pair("timeout", "The call was ended: it took longer than 300ms."));
    assert_eq!(world.say("mcp__h__do", json!({"wait": false})).await, pair("ok", "{\"wait\": false}"));
}

#[tokio::test]
async fn a_server_that_gives_no_sign_of_life_after_a_late_call_is_started_again() {
    let times = Times { life_sign: Duration::from_millis(200), ..Times::default() };
    let world = World::within(times, tempfile::tempdir().unwrap(), &hostile("h", "stuck")).await;
    let mut ctx = world.context("mcp__h__do");
    ctx.timeout = Some(Duration::from_millis(100));
    let first = pids(&world);
    assert_eq!(first.len(), 1);
    assert_eq!(world.run_in(&ctx, "mcp__h__do", json!({})).await.error.as_deref(), Some("timeout"));
    eventually("the stuck server is ended", || pids(&world).is_empty()).await;
    let ctx = {
        let mut ctx = world.context("mcp__h__do");
        ctx.timeout = Some(Duration::from_secs(2));
        ctx
    };
    assert_eq!(world.run_in(&ctx, "mcp__h__do", json!({})).await.error.as_deref(), Some("timeout"));
    assert!(pids(&world).iter().all(|pid| !first.contains(pid)));
}

/// The processes that work in the workspace.
fn pids(world: &World) -> Vec<u32> {
    let here = world.path("");
    let all =
        std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    all.filter(|pid| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.join("") == here)).collect()
}

#[tokio::test]
async fn a_call_that_is_cancelled_is_cancelled_at_the_server_and_progress_is_told() {
    let world = World::new(&hostile("h", "cancel")).await;
    let ctx = world.context("mcp__h__do");
    let running = world.run_in(&ctx, "mcp__h__do", json!({}));
    let cancelling = async {
        eventually("progress", || !world.progress.lock().unwrap().is_empty()).await;
        ctx.cancel.cancel();
    };
    let (output, ()) = tokio::join!(running, cancelling);
    assert_eq!(said(&output), pair("interrupted", "The call was interrupted."));
    assert_eq!(*world.progress.lock().unwrap(), "1/2 begun\n");
    eventually("the server knows", || world.path("cancelled").exists()).await;
}

#[tokio::test]
async fn a_long_answer_is_cut_and_kept_whole_and_one_that_is_too_long_ends_the_connection() {
    let world = World::new(&hostile("h", "megabytes")).await;
    let output = world.run("mcp__h__do", json!({"bytes": 1_000_000})).await;
    let wanted = format!(
        "{}\n[970000 more characters were left out]\n[whole text text/plain; charset=utf-8, 1000000 bytes: kept as an artifact]",
        "m".repeat(30_000)
    );
    assert!(said(&output) == pair("ok", wanted), "{}", said(&output).1.len());
    let kept = world.blobs.get(&output.artifacts[0].hash).unwrap();
    assert!(kept == "m".repeat(1_000_000).into_bytes());
    assert_eq!(world.say("mcp__h__do", json!({})).await.0, "server_gone");
    assert_eq!(world.say("mcp__h__do", json!({"bytes": 3})).await, pair("ok", "mmm"));
    let world = World::new(&hostile("h", "line")).await;
    assert_eq!(world.say("mcp__h__do", json!({})).await.0, "server_gone");
}

#[tokio::test]
async fn garbage_between_the_answers_is_passed_over() {
    let world = World::new(&hostile("h", "garbage")).await;
    for _ in 0..3 {
        assert_eq!(world.say("mcp__h__do", json!({})).await, pair("ok", "still here"));
    }
}

#[tokio::test]
async fn an_answer_that_is_none_and_a_refusal_are_errors_of_the_server() {
    let world = World::new(&format!("{}timeout_s = 5\n", hostile("h", "wrong"))).await;
    let mut ctx = world.context("mcp__h__do");
    ctx.timeout = Some(Duration::from_secs(5));
    let output = world.run_in(&ctx, "mcp__h__do", json!({})).await;
    assert_eq!(said(&output).0, "server_error", "{output:?}");
    let world = World::new(&hostile("h", "refuses")).await;
    let (code, words) = world.say("mcp__h__do", json!({})).await;
    let begin = "The MCP server \"h\" refused the call: -32602 no[2J such thing zzz";
    assert!(code == "server_error" && words.starts_with(begin) && words.len() < 2_100, "{words}");
}

#[tokio::test]
async fn a_flood_of_notifications_is_looked_at_once_in_a_while() {
    let world = World::new(&hostile("h", "floods")).await;
    assert_eq!(world.say("mcp__h__do", json!({})).await, pair("ok", "flooded"));
    assert_eq!(world.say("mcp__h__do", json!({})).await, pair("ok", "flooded"));
    assert_eq!(world.names(), ["mcp__h__do"]);
    let world = World::new(&hostile("h", "noise")).await;
    assert_eq!(world.say("mcp__h__do", json!({})).await, pair("ok", "{}"));
}

#[tokio::test]
async fn a_tool_with_an_unusable_schema_is_left_out_and_named_once() {
    let world = World::new(&hostile("h", "schemas")).await;
    assert_eq!(world.names(), ["mcp__h__deep", "mcp__h__do", "mcp__h__double"]);
    let notices = world.notices();
    let about = |tool: &str| notices.iter().filter(|line| line.contains(&format!("{tool}\""))).count();
    let counts = ["not-object", "no-schema", "remote", "large", "pattern"].map(about);
    assert_eq!(counts, [1; 5], "{notices:#?}");
    let large =
        "the MCP server \"h\": its tool \"large\" is left out: its schema: it has 100034 bytes; 65536 is the most";
    assert!(notices.contains(&large.into()), "{notices:#?}");
    // What it would take years to check is not checked.
    assert_eq!(world.say("mcp__h__double", json!({})).await, pair("ok", "{}"));
    let refused = "Wrong arguments for mcp__h__double: the schema asks for more work than any check may take. Expected: a (any, \
                   optional).";
    assert_eq!(world.say("mcp__h__double", json!({"a": {}})).await, pair("invalid_arguments", refused));
}

#[tokio::test]
async fn names_are_made_to_fit_and_descriptions_are_cleaned() {
    let world = World::new(&hostile("h", "names")).await;
    let x = "x".repeat(49);
    let names = ["mcp__h________etc_passwd_", "mcp__h___", "mcp__h__a_b", "mcp__h__a_b_", "mcp__h__speaks"];
    let found = world.names();
    assert_eq!(found.len(), 6, "{found:?}");
    for name in names.iter().map(|name| name.to_string()).chain([format!("mcp__h__{x}_")]) {
        let made =
            found.iter().any(|found| *found == name || (found.starts_with(&name) && found.len() == name.len() + 6));
        assert!(made, "{name} {found:?}");
    }
    assert_eq!(world.notices(), ["the MCP server \"h\": it names the tool \"a_b\" twice; the first is used"]);
    let doc = world.tools.doc("mcp__h__speaks").unwrap();
    assert_eq!(doc.description, format!("Fine.[2J{}…", "y".repeat(1_992)));
    assert_eq!(world.tools.doc("mcp__h__a_b").unwrap().description, "A tool of the MCP server h.");
}

#[tokio::test]
async fn a_server_that_calls_itself_harmless_is_believed_only_where_the_person_says_so() {
    let world = World::new(&hostile("h", "harmless")).await;
    assert_eq!(world.tools.doc("mcp__h__erase_all").unwrap().effect, EffectClass::SideEffecting);
    let world = World::new(&format!("{}trust_annotations = true\n", hostile("h", "harmless"))).await;
    assert_eq!(world.tools.doc("mcp__h__erase_all").unwrap().effect, EffectClass::ReadOnly);
}

#[tokio::test]
async fn a_tool_never_takes_the_place_of_another() {
    let with_prefix = |name: &str, how: &str| format!("{}prefix = \"ba\"\n", hostile(name, how).replace("how", how));
    let bash = format!("{}prefix = \"b_\"\n", hostile("g", "shadow"));
    let world = World::new(&format!("{}{bash}", with_prefix("h", "shadow"))).await;
    assert_eq!(world.names(), ["b_bash", "b_do", "b_read", "babash", "bado", "baread"]);
    // Two servers with one prefix: the first to come keeps the names.
    let both = format!("{}{}", with_prefix("a", "dies"), with_prefix("b", "silent"));
    let world = World::new(&both).await;
    assert_eq!(world.names(), ["bado"]);
    let notices = world.notices();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].ends_with("its tool \"bado\" is left out: another tool has that name"), "{notices:?}");
    let kernel = World::new(&format!("{}prefix = \"read_text_\"\n", hostile("h", "many"))).await;
    assert!(kernel.notices().iter().all(|notice| !notice.contains("another tool")));
}

#[tokio::test]
async fn the_number_of_tools_and_of_pages_is_limited() {
    let world = World::new(&hostile("h", "many")).await;
    assert_eq!(world.names(), ["find_tools", "use_tool"]);
    assert_eq!(world.notices(), ["the MCP server \"h\": it has more than 512 tools; the others are left out"]);
    let State::Ready { tools, .. } = world.state("h") else { panic!() };
    assert_eq!(tools.len(), 512);
    let world = World::new(&hostile("h", "endless-pages")).await;
    assert_eq!(world.names(), ["mcp__h__do"]);
    let world = World::new(&hostile("h", "no-list")).await;
    assert_eq!(world.failure("h"), "it does not list its tools: Mcp error: -32603: not today");
}

#[tokio::test]
async fn files_that_are_none_are_said_to_be_none() {
    let world = World::new(&hostile("h", "files")).await;
    let output = world.run("mcp__h__do", json!({})).await;
    assert!(output.content.iter().all(|part| matches!(part, Part::Text { .. })), "{output:?}");
    assert_eq!(output.artifacts.len(), 16);
    assert!(said(&output).1.ends_with("[more than 16 files were left out]"), "{output:?}");
}

#[tokio::test]
async fn a_result_that_breaks_the_tools_own_promise_says_so() {
    let world = World::new(&hostile("h", "promises")).await;
    let words = "see there\n{\n  \"n\": \"three\"\n}\n[this is not what the tool's own schema promises: at /n: \"three\" is not of \
                 type integer]";
    assert_eq!(world.say("mcp__h__do", json!({})).await, pair("ok", words));
}

#[tokio::test]
async fn a_server_may_know_the_workspace_and_gets_nothing_else() {
    let world = World::new(&hostile("h", "asks")).await;
    let root = world.path("").display().to_string();
    let roots = json!({"roots": [{"uri": format!("file://{}", root.trim_end_matches('/'))}]});
    let (code, words) = world.say("mcp__h__do", json!({})).await;
    let got: serde_json::Value = serde_json::from_str(&words).unwrap();
    assert_eq!((code.as_str(), got), ("ok", json!({"e1": {"action": "decline"}, "r1": roots, "s1": -32601})));
}

#[tokio::test]
async fn a_changed_list_changes_the_registry() {
    let world = World::new(&hostile("h", "grows")).await;
    let changes = world.mcp.changes();
    assert_eq!(world.names(), ["mcp__h__do"]);
    world.run("mcp__h__do", json!({})).await;
    eventually("the new tool is there", || world.names() == ["mcp__h__do", "mcp__h__more"]).await;
    eventually("it is told", || changes.has_changed().unwrap()).await;
}

#[tokio::test]
async fn a_server_gets_the_environment_but_no_secret_that_its_entry_does_not_name() {
    // Cargo sets it for tests; it stands for a secret here.
    assert!(std::env::var("CARGO_MANIFEST_DIR").is_ok());
    let names = ["CARGO_MANIFEST_DIR", "MAINPATH_CALL", "MCP_NAMED", "MCP_DEFAULT", "HOME"];
    let entry =
        format!("{}env = {{ MCP_NAMED = \"<${{HOME}}>\", MCP_DEFAULT = \"${{MCP_NONE:-d}}\" }}\n", hostile("h", "env"));
    let world = World::new(&entry).await;
    let (_, words) = world.say("mcp__h__do", json!({"names": names})).await;
    let got: serde_json::Value = serde_json::from_str(&words).unwrap();
    let home = std::env::var("HOME").unwrap();
    let wanted = json!({
        "CARGO_MANIFEST_DIR": null, "MAINPATH_CALL": "mcp/h", "MCP_NAMED": format!("<{home}>"), "MCP_DEFAULT": "d", "HOME": home,
    });
    assert_eq!(got, wanted);
    let world = World::new(&format!("{}env = {{ A = \"${{MCP_NONE}}\" }}\n", hostile("h", "env"))).await;
    assert_eq!(world.failure("h"), "the environment variable MCP_NONE is not set");
}

#[tokio::test]
async fn secrets_are_revealed_to_the_server_and_hidden_in_what_it_says() {
    let world = World::new(&hostile("h", "echo")).await;
    let mut ctx = world.context("mcp__h__do");
    ctx.secrets = Arc::new(OneSecret("hunter2"));
    let output = world.run_in(&ctx, "mcp__h__do", json!({"key": "<secret:1>", "n": "hunter2"})).await;
    assert_eq!(said(&output), pair("ok", "{\"key\": \"<secret:1>\", \"n\": \"<secret:1>\"}"));
}

#[tokio::test]
async fn a_server_that_may_have_to_be_installed_first_says_what_that_needs() {
    // Nothing is asked for over the network, and nothing of that name is there.
    let world =
        World::new("[servers.h]\ncommand = \"npx\"\nargs = [\"--offline\", \"-y\", \"no-such-package\"]\n").await;
    let hint = "; it may have to be installed first, which needs the network: network = true in its entry";
    assert!(world.failure("h").ends_with(hint), "{}", world.failure("h"));
}
