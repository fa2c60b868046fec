//! Hooks of the configuration: commands and addresses.

use crate::support::*;
use mainpath_testkit::model_server::Answer;

/// A place whose configuration names this shell script as a hook.
fn with_hook(script: &str, more: &str) -> Place {
    let place = Place::new();
    let file = place.home.join("guard.sh");
    std::fs::create_dir_all(&place.home).unwrap();
    std::fs::write(&file, script).unwrap();
    let file = file.display();
    place.config(&format!("[[hooks]]\nname = \"guard\"\ncommand = [\"sh\", \"{file}\"]\n{more}\n"));
    place
}

fn told(server: &mainpath_testkit::model_server::ModelServer) -> String {
    server.requests().pop().unwrap().body()["messages"].to_string()
}

#[test]
fn a_command_denies_what_it_is_told_of() {
    let script = r#"grep -q 'rm -r' && echo '{"decision": "deny", "reason": "Nothing is removed here."}'; exit 0"#;
    let place = with_hook(script, "on = [\"before_tool\"]\ntools = [\"bash\"]");
    let server = scripted(vec![bash("echo kept > kept"), bash("rm -r kept"), Answer::text("Done.")]);
    let done = place.run(&["run", "--yes", "-m", &server.model(), "Do it."]);
    assert_eq!((done.code, place.text("kept").as_str()), (0, "kept\n"), "{done:#?}");
    assert!(told(&server).contains("Denied (hook.guard): Nothing is removed here."), "{}", told(&server));
}

#[test]
fn an_address_denies_what_it_is_told_of() {
    let at = site("application/json", |event| match event.contains("rm -r") {
        true => r#"{"decision": "deny", "reason": "Nothing is removed here."}"#.into(),
        false => String::new(),
    });
    let place = Place::new();
    let config = format!("[[hooks]]\nname = \"guard\"\nurl = \"http://{at}/\"\non = [\"before_tool\"]\n");
    place.config(&config);
    let server = scripted(vec![bash("echo kept > kept"), bash("rm -r kept"), Answer::text("Done.")]);
    let done = place.run(&["run", "--yes", "-m", &server.model(), "Do it."]);
    assert_eq!((done.code, place.text("kept").as_str()), (0, "kept\n"), "{done:#?}");
    assert!(told(&server).contains("Denied (hook.guard): Nothing is removed here."), "{}", told(&server));
    place.config(&config.replace(&at, "127.0.0.1:1"));
    let server = scripted(vec![bash("rm -r kept"), Answer::text("Done.")]);
    place.run(&["run", "--yes", "-m", &server.model(), "Do it."]);
    assert!(told(&server).contains("The hook guard failed: 127.0.0.1 could not be reached"), "{}", told(&server));
    assert_eq!(place.text("kept"), "kept\n");
    place.config(&format!("{config}command = [\"true\"]\n"));
    place.run(&["run", "-m", "scripted", "x"]).fails(1, "the hook \"guard\" has both a command and a url; use one");
}

#[test]
fn a_command_that_fails_or_hangs_denies_unless_it_is_to_be_passed_over() {
    // Only the one that hangs has a short limit: the others have to start in time.
    for (script, limit, why) in [
        ("echo other; echo broken >&2; exit 3", "", "exit code 3: broken"),
        ("echo no disk; exit 3", "", "exit code 3: no disk"),
        ("exit 3", "", "exit code 3: it printed nothing"),
        ("echo no json", "", "its answer is not JSON"),
        ("sleep 1000", "timeout = \"300ms\"\n", "it took longer than 300ms"),
    ] {
        let on = format!("on = [\"before_tool\"]\n{limit}");
        let closed = with_hook(script, &on);
        let server = scripted(vec![bash("echo done > effects"), Answer::text("Done.")]);
        closed.run(&["run", "--yes", "-m", &server.model(), "Do it."]);
        let text = told(&server);
        assert!(text.contains(&format!("The hook guard failed: {why}")), "{text}");
        assert_eq!(closed.text("effects"), "", "{script}");
        let open = with_hook(script, &format!("{on}on_failure = \"open\"\n"));
        let done = open.run(&["run", "--yes", "-m", &server.model(), "Do it."]);
        assert_eq!(open.text("effects"), "done\n", "{done:#?}");
        assert!(done.err.contains(&format!("the hook guard failed: {why}")), "{done:#?}");
    }
}

#[test]
fn a_hook_that_cannot_be_one_is_told_with_its_place() {
    for (more, words) in [
        ("on = []", "the hook \"guard\" is never called"),
        ("on = [\"before_tools\"]", "unknown variant `before_tools`"),
        ("on = [\"run_end\"]\nonly = 1", "unknown field `only`"),
    ] {
        let place = with_hook("true", more);
        place.run(&["run", "-m", "scripted", "x"]).fails(1, words);
        // Looking needs no hooks.
        assert_eq!(place.run(&["ls"]).code, 0);
    }
}

#[test]
fn a_hook_and_a_limit_take_aliases_and_patterns_and_a_name_of_no_tool_is_told_with_its_place() {
    let script = r#"echo '{"decision": "deny", "reason": "Not here."}'"#;
    for tools in ["execute_bash", "ba*"] {
        let place = with_hook(script, &format!("on = [\"before_tool\"]\ntools = [\"write\", \"{tools}\"]"));
        let server = scripted(vec![bash("echo done > effects"), Answer::text("Done.")]);
        place.run(&["run", "--yes", "-m", &server.model(), "Do it."]);
        assert!(told(&server).contains("Denied (hook.guard): Not here."), "{tools}: {}", told(&server));
    }
    let place = Place::new();
    place.config("[tool_limits.execute_bash]\nmax_calls = 1\n[tool_limits.\"*\"]\nmax_calls = 9\n");
    let server = scripted(vec![bash("echo one"), bash("echo two >> effects"), Answer::text("Done.")]);
    place.run(&["run", "--yes", "-m", &server.model(), "Do it."]);
    assert_eq!(place.text("effects"), "");
    for (config, words) in [
        (
            "[[hooks]]\nname = \"guard\"\non = [\"before_tool\"]\ncommand = [\"true\"]\ntools = [\"bsh\"]\n",
            "config.toml, line 5: the hook \"guard\": there is no tool \"bsh\"; did you mean \"bash\"?",
        ),
        (
            "\n[tool_limits.nosuch]\nmax_calls = 1\n",
            "config.toml, line 2: tool_limits: there is no tool \"nosuch\"; those of MCP servers",
        ),
        ("[tool_limits.bash]\n[tool_limits.execute_bash]\n", "line 2: tool_limits: bash has two limits"),
    ] {
        place.config(config);
        place.run(&["run", "-m", "scripted", "x"]).fails(1, words);
    }
    place.config("[tool_limits.mcp__x__y]\nmax_calls = 1\n[tool_limits.feishu_bot]\nmax_calls = 1\n");
    assert_eq!(place.run(&["ls"]).code, 0);
}

#[test]
fn two_hooks_of_one_name_are_refused_with_the_place_of_the_second() {
    let place = Place::new();
    let guard = "name = \"guard\"\ncommand = [\"true\"]\n";
    let (hook, context) = (format!("[[hooks]]\n{guard}on = [\"run_end\"]\n"), format!("[[context_hooks]]\n{guard}"));
    place.config(&format!("{hook}{context}"));
    place.ok(&["doctor"]);
    for (config, words) in [
        (format!("{hook}{hook}"), "config.toml, line 6: two hooks have the name \"guard\""),
        (format!("{context}{context}"), "config.toml, line 5: two context hooks have the name \"guard\""),
    ] {
        place.config(&config);
        place.run(&["run", "-m", "scripted", "Do it."]).fails(1, words);
        place.run(&["run", "-m", "scripted", "x"]).fails(1, words);
    }
}

#[test]
fn what_a_hook_has_changed_is_shown_with_its_name() {
    let script = r#"echo '{"arguments": {"command": "echo mild > effects"}}'"#;
    let place = with_hook(script, "on = [\"before_tool\"]\ntools = [\"bash\"]");
    let server = scripted(vec![bash("echo wild > effects"), Answer::text("Done.")]);
    let done = place.run(&["run", "--yes", "-m", &server.model(), "Do it."]);
    assert_eq!(place.text("effects"), "mild\n");
    let line = "arguments changed by hook guard: echo mild > effects";
    assert!(done.err.contains(line), "{done:#?}");
    assert!(place.ok(&["show"]).contains(line), "{}", place.ok(&["show"]));
}

/// A hook that changes one command alone.
const SWAPS: &str = r#"grep -q '"command":"echo six' && echo '{"arguments": {"command": "touch swapped"}}'; exit 0"#;

#[test]
fn what_a_hook_makes_of_approved_arguments_runs_only_where_rules_allow_it() {
    let place = with_hook(SWAPS, "on = [\"before_tool\"]\ntools = [\"bash\"]");
    let server = scripted(vec![bash("echo five > effects"), Answer::text("Done.")]);
    place.run(&["run", "--park", "-m", &server.model(), "Do it."]);
    place.ok(&["approve", "--arguments", r#"{"command": "echo six > effects"}"#]);
    let done = place.run(&["resume", "--park"]);
    assert!(done.code == 0 && place.text("effects").is_empty() && !place.work.join("swapped").exists(), "{done:#?}");
    let granted = granted(&place);
    // What was approved is on record, and what the hook would have made of it.
    assert_eq!(granted["data"]["arguments"], r#"{"command": "echo six > effects"}"#);
    let why = "Hook guard changed the arguments to {\"command\":\"touch swapped\"}, which nobody has approved. Approve those instead.";
    assert_eq!(granted["data"]["verdict"]["reason"], why);
    assert!(told(&server).contains("which nobody has approved"), "{}", told(&server));
}

#[test]
fn what_a_hook_makes_of_approved_arguments_is_told_where_rules_allow_it() {
    let place = with_hook(SWAPS, "on = [\"before_tool\"]\ntools = [\"bash\"]");
    let server = scripted(vec![bash("echo five > effects"), Answer::text("Done.")]);
    place.run(&["run", "--park", "--allow", "bash(touch *)", "-m", &server.model(), "Do it."]);
    place.ok(&["approve", "--arguments", r#"{"command": "echo six > effects"}"#]);
    let done = place.run(&["resume", "--park"]);
    assert!(done.code == 0 && place.work.join("swapped").exists(), "{done:#?}");
    assert!(done.err.contains("arguments changed by hook guard: touch swapped"), "{done:#?}");
    let granted = granted(&place);
    assert_eq!(granted["data"]["changed_by"], serde_json::json!(["guard"]));
    assert!(told(&server).contains("were changed by the owner's rules"), "{}", told(&server));
}

#[test]
fn a_denied_call_is_made_after_all_with_what_its_hook_makes_of_it_once_that_is_approved() {
    let script = r#"echo '{"arguments": {"command": "echo mild > effects"}}'"#;
    let place = with_hook(script, "on = [\"before_tool\"]\ntools = [\"bash\"]");
    let server = scripted(vec![bash("echo wild > effects"), Answer::text("No."), Answer::text("Done.")]);
    place.run(&["run", "-m", &server.model(), "Do it."]);
    place.ok(&["approve", "--call", "2.0"]);
    let done = place.run(&["resume"]);
    let why = "Hook guard changed the arguments to {\"command\":\"echo mild > effects\"}, which nobody has approved.";
    assert!(done.err.contains(why) && place.text("effects").is_empty(), "{done:#?}");
    place.ok(&["approve", "--call", "2.0", "--arguments", r#"{"command": "echo mild > effects"}"#]);
    let done = place.run(&["resume"]);
    assert_eq!((done.code, place.text("effects").as_str()), (0, "mild\n"), "{done:#?}");
}

/// The approval that the log has.
fn granted(place: &Place) -> serde_json::Value {
    place.events(&place.trace()).into_iter().find(|event| event["type"] == "approval_granted").unwrap()
}
