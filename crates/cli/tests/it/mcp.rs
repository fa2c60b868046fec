//! MCP servers from configuration to a model's call, each in its sandbox.

use crate::pty::Terminal;
use crate::support::*;
use mainpath_testkit::model_server::{Answer, ModelServer};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// A place with the fake server of the MCP tests in its workspace, where a sandbox can see it.
fn place() -> Place {
    let place = Place::new();
    std::fs::copy("../mcp/tests/servers/hostile.py", place.work.join("server.py")).unwrap();
    place
}

/// An entry that starts the fake in one of its ways.
fn entry(name: &str, how: &str) -> String {
    format!("[mcp.servers.{name}]\ncommand = \"/usr/bin/python3\"\nargs = [\"server.py\", {how:?}]\n")
}

fn in_repository(place: &Place, how: &str) {
    let json = json!({"mcpServers": {"theirs": {"command": "/usr/bin/python3", "args": ["server.py", how]}}});
    std::fs::write(place.work.join(".mcp.json"), json.to_string()).unwrap();
}

/// What the model was told last.
fn told(server: &ModelServer) -> String {
    let body = server.requests().pop().unwrap().body().clone();
    body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_string()
}

/// The tools that the model was told of in a request.
fn offered(server: &ModelServer, request: usize) -> Vec<String> {
    let body = server.requests()[request].body().clone();
    let tools = body["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_string()).collect()
}

#[test]
fn servers_are_listed_with_their_state_and_tools() {
    let place = place();
    let off = format!("{}disabled = true\n", entry("off", "echo"));
    place.config(&format!("{}{}{off}", entry("good", "echo"), entry("bad", "exits")));
    let done = place.run(&["mcp", "list"]);
    let lines: Vec<&str> = done.out.lines().collect();
    assert_eq!(done.code, 1, "{done:#?}");
    assert!(lines[0].starts_with("bad              failed") && lines[0].ends_with("it said: there is no [31mlicence"));
    assert_eq!(lines[1], "good             ready     hostile 1, protocol 2025-11-25");
    assert_eq!(lines[2].split_whitespace().collect::<Vec<_>>(), ["mcp__good__do", "Does", "it."]);
    assert!(lines[3].starts_with("off              disabled"), "{done:#?}");
    let json: Vec<Value> = place.run(&["mcp", "list", "--json"]).out.lines().map(parsed).collect();
    assert_eq!(json[1]["tools"], json!([{"name": "mcp__good__do", "description": "Does it."}]));
}

/// Whoever approved the call was shown another tool.
#[test]
fn an_approved_call_is_not_made_where_the_server_changed_the_tool_or_has_it_no_more() {
    for (change, result) in [
        (None, "{\"pay\": 1}"),
        (
            Some("changed"),
            "mcp__h__do is not the tool that was approved: its description or its arguments have changed. Nothing was done.",
        ),
        // The next process starts without the tool.
        (Some("gone"), "There is no tool \"mcp__h__do\"."),
    ] {
        let place = place();
        place.config(&entry("h", "changes"));
        let server = scripted(vec![Answer::call("mcp__h__do", json!({"pay": 1})), Answer::text("The end.")]);
        place.run_on(&server, &["--park", "Do it."]).fails(5, "needs approval");
        let trace = place.trace();
        if let Some(change) = change {
            std::fs::write(place.work.join(change), "").unwrap();
        }
        place.ok(&["approve", &trace]);
        let done = place.run(&["resume", &trace, "--park"]);
        assert_eq!((done.code, done.out.as_str()), (0, "The end.\n"), "{done:#?}");
        let told = told(&server);
        assert!(told.contains(result) && (change.is_none() || !told.contains("\"pay\"")), "{change:?}: {told}");
    }
}

#[test]
fn a_tool_is_called_by_hand() {
    let place = place();
    place.config(&entry("good", "echo"));
    assert_eq!(place.ok(&["mcp", "call", "good", "do", r#"{"x": 1}"#]), "{\"x\": 1}\n");
    assert_eq!(place.ok(&["mcp", "call", "good", "mcp__good__do"]), "{}\n");
    place.run(&["mcp", "call", "good", "nothing"]).fails(2, "the MCP server \"good\" has no tool \"nothing\"");
    place.run(&["mcp", "call", "none", "do"]).fails(2, "there is no MCP server \"none\"; see mainpath mcp list");
    place.config(&entry("good", "refuses"));
    place.run(&["mcp", "call", "good", "do"]).fails(1, "the call failed: server_error");
}

#[test]
fn a_server_of_a_repository_starts_only_once_its_very_entry_is_approved() {
    let place = place();
    in_repository(&place, "echo");
    let server = scripted(vec![Answer::text("Done.")]);
    let done = place.run_on(&server, &["Look."]);
    assert!(done.err.contains("the MCP server \"theirs\" of .mcp.json is not used until you approve it"), "{done:#?}");
    assert!(!offered(&server, 0).iter().any(|name| name.starts_with("mcp__")), "{:?}", offered(&server, 0));
    let shown = place.ok(&["mcp", "trust"]);
    assert!(shown.contains("  args: [\"server.py\",\"echo\"]\n  command: \"/usr/bin/python3\"\n"), "{shown}");
    place.run(&["mcp", "call", "theirs", "do"]).fails(1, "\"theirs\" is not approved; see mainpath mcp trust");
    place.run(&["mcp", "trust", "others"]).fails(2, "names no MCP server \"others\"");
    place.ok(&["mcp", "trust", "theirs"]);
    assert_eq!(place.ok(&["mcp", "trust"]), "no MCP server needs approval\n");
    assert_eq!(place.ok(&["mcp", "call", "theirs", "do"]), "{}\n");
    let server = scripted(vec![Answer::text("Done.")]);
    place.run_on(&server, &["Look."]);
    assert!(offered(&server, 0).contains(&"mcp__theirs__do".into()));
    // What was changed since is another entry.
    in_repository(&place, "silent");
    place.run(&["mcp", "call", "theirs", "do"]).fails(1, "\"theirs\" is not approved; see mainpath mcp trust");
    std::fs::write(place.work.join(".mcp.json"), "{").unwrap();
    let done = place.run(&["mcp", "list"]);
    assert!(done.code == 0 && done.err.contains(".mcp.json: EOF while parsing"), "{done:#?}");
}

#[test]
fn what_an_agent_starts_can_neither_approve_nor_call_nor_serve() {
    let place = place();
    in_repository(&place, "echo");
    for args in [["mcp", "trust", "theirs"].as_slice(), &["mcp", "call", "theirs", "do"], &["mcp", "serve"]] {
        let mut command = place.command(args);
        command.env("MAINPATH_CALL", "t1/tool/4.0");
        let done = finish(command, None);
        assert!(done.code == 1 && done.err.contains("agents cannot"), "{done:#?}");
    }
    assert!(!place.home.join("mcp-trust.json").exists());
}

#[test]
fn a_servers_tool_passes_the_gate_like_any_other() {
    let place = place();
    place.config(&entry("good", "echo"));
    let call = || Answer::call("mcp__good__do", json!({"x": 1}));
    // Undeclared, it counts as the worst: nobody can be asked, so it is denied.
    let server = scripted(vec![call(), Answer::text("Done.")]);
    place.run_on(&server, &["Do it."]);
    assert!(told(&server).starts_with("Denied ("), "{}", told(&server));
    let server = scripted(vec![call(), Answer::text("Done.")]);
    assert_eq!(place.run_on(&server, &["--yes", "Do it."]).code, 0);
    assert_eq!(told(&server), "{\"x\": 1}");
    // Rules name it as they name any tool.
    let server = scripted(vec![call(), Answer::text("Done.")]);
    place.run_on(&server, &["--yes", "--deny", "mcp__good__*", "Do it."]);
    assert!(told(&server).starts_with("Denied ("), "{}", told(&server));
    let server = scripted(vec![call(), Answer::text("Done.")]);
    place.run_on(&server, &["--allow", "mcp__good__do", "Do it."]);
    assert_eq!(told(&server), "{\"x\": 1}");
}

#[test]
fn a_call_through_the_search_is_judged_as_what_it_reaches() {
    let place = place();
    place.config(&format!("[mcp]\nsearch_above = 0\n{}", entry("good", "echo")));
    let through = || Answer::call("use_tool", json!({"name": "mcp__good__do", "arguments": {"x": 1}}));
    let answers = || vec![Answer::call("find_tools", json!({"query": "does"})), through(), Answer::text("Done.")];
    let server = scripted(answers());
    place.run_on(&server, &["--allow", "mcp__good__do", "Do it."]);
    assert_eq!(told(&server), "{\"x\": 1}");
    let names = offered(&server, 0);
    assert!(names.contains(&"find_tools".into()) && !names.contains(&"mcp__good__do".into()), "{names:?}");
    let server = scripted(answers());
    place.run_on(&server, &["--yes", "--deny", "mcp__good__do", "Do it."]);
    assert!(told(&server).starts_with("Denied ("), "{}", told(&server));
}

/// The tools of servers that a request offers.
fn of_servers(server: &ModelServer, request: usize) -> Vec<String> {
    offered(server, request).into_iter().filter(|name| name.contains("__")).collect()
}

#[test]
fn only_the_servers_tools_that_the_caller_names_are_offered_and_run() {
    let place = place();
    place.config(&format!("{}{}", entry("good", "echo"), entry("other", "echo")));
    let server = scripted(vec![
        Answer::call("mcp__good__do", json!({"x": 1})),
        Answer::call("mcp__other__do", json!({"x": 2})),
        bash("touch it"),
        Answer::text("Done."),
    ]);
    assert_eq!(place.run_on(&server, &["--yes", "--tools", "mcp__good__*", "Do it."]).code, 0);
    assert_eq!(of_servers(&server, 0), ["mcp__good__do"]);
    assert!(!offered(&server, 0).contains(&"bash".into()), "{:?}", offered(&server, 0));
    let messages = server.requests()[3].body()["messages"].to_string();
    assert!(messages.contains(r#"{\"x\": 1}"#) && !messages.contains(r#"{\"x\": 2}"#), "{messages}");
    assert_eq!(messages.matches("Denied (").count(), 2, "{messages}");
    assert!(!place.work.join("it").exists());
    // It stays so in the next run.
    let again = place.run(&["run", "-c", "--yes", "And again."]);
    assert_eq!(of_servers(&server, server.count() - 1), ["mcp__good__do"], "{again:#?}");
    place.ok(&["verify"]);
    place.ok(&["replay"]);
}

#[test]
fn a_search_finds_and_reaches_only_what_the_caller_and_the_rules_allow() {
    for (flags, own_prefix) in [
        (["--tools", "mcp__good__*"], false),
        (["--tools", "gh__*"], true),
        (["--tools", "gh__do"], true),
        (["--deny", "mcp__other__*"], false),
    ] {
        let place = place();
        let prefix = if own_prefix { "prefix = \"gh__\"\n" } else { "" };
        let good = if own_prefix { "gh__do" } else { "mcp__good__do" };
        let (one, other) = (entry("good", "echo"), entry("other", "echo"));
        place.config(&format!("[mcp]\nsearch_above = 0\n{one}{prefix}{other}"));
        let reach = |name: &str| Answer::call("use_tool", json!({"name": name, "arguments": {"x": 1}}));
        let server = scripted(vec![
            Answer::call("find_tools", json!({"query": ""})),
            Answer::call("find_tools", json!({"query": "other does"})),
            reach("mcp__other__do"),
            reach(good),
            Answer::text("Done."),
        ]);
        let done = place.run_on(&server, &[&["--yes"], &flags[..], &["Do it."]].concat());
        assert_eq!(done.code, 0, "{flags:?}: {done:#?}");
        assert!(
            ["find_tools", "use_tool"].iter().all(|name| offered(&server, 0).contains(&name.to_string())),
            "{flags:?}"
        );
        let told: Vec<String> = (1..5)
            .map(|n| {
                let body = server.requests()[n].body().clone();
                body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_string()
            })
            .collect();
        assert_eq!(told[0], format!("There are 1 tools.\n\nBy name: {good}."), "{flags:?}");
        assert!(told[1].starts_with("1 of 1 tools fit.") && !told[1].contains("mcp__other"), "{flags:?}: {}", told[1]);
        assert!(told[2].starts_with("Denied ("), "{flags:?}: {}", told[2]);
        assert_eq!(told[3], "{\"x\": 1}", "{flags:?}");
    }
}

#[test]
fn a_tool_that_comes_under_way_is_held_to_the_rules_and_to_what_the_caller_names() {
    for flags in [["--deny", "mcp__good__more"], ["--tools", "mcp__good__do,bash"]] {
        let place = place();
        place.config(&entry("good", "grows").replace("\"grows\"", "\"grows\", \"listed\""));
        let call = |n: u32| Answer::call("mcp__good__do", json!({ "n": n }));
        let late = Answer::call("mcp__good__more", json!({}));
        // The server answers in order: with the result of the second call its new list has come.
        let wait = bash("until [ -e listed ]; do sleep 0.02; done");
        let server = scripted(vec![call(1), wait, call(2), late, Answer::text("Done.")]);
        assert_eq!(place.run_on(&server, &[&["--yes"], &flags[..], &["Do it."]].concat()).code, 0);
        for request in 0..5 {
            assert_eq!(of_servers(&server, request), ["mcp__good__do"], "{flags:?}, request {request}");
        }
        assert!(told(&server).starts_with("Denied ("), "{flags:?}: {}", told(&server));
        place.ok(&["verify"]);
    }
}

#[test]
fn more_servers_come_with_a_file_for_one_run() {
    let place = place();
    let file = place.root().join("more.json");
    let json = json!({"mcpServers": {"more": {"command": "/usr/bin/python3", "args": ["server.py", "echo"]}}});
    std::fs::write(&file, json.to_string()).unwrap();
    let server = scripted(vec![Answer::text("Done.")]);
    place.run_on(&server, &["--mcp-config", file.to_str().unwrap(), "Look."]);
    assert!(offered(&server, 0).contains(&"mcp__more__do".into()));
    let server = scripted(vec![Answer::text("Done.")]);
    place.run_on(&server, &["--mcp-config", "none.json", "Look."]).fails(2, "none.json: there is no such file");
    place.config("[mcp.servers.a]\ncommand = \"/no/such/program\"\n");
    let done = place.run_on(&server, &["Look."]);
    let told = "! the MCP server \"a\" is not used: its program \"/no/such/program\" cannot start: No such file or directory (os error 2)\n";
    assert!(done.code == 0 && done.err.contains(told), "{done:#?}");
    place.config("[mcp.servers.a]\ncommand = \"x\"\nsandbx = \"full\"\n");
    place.run(&["run", "-m", "scripted", "x"]).fails(1, "unknown field `sandbx`");
}

#[test]
fn a_tool_that_a_server_adds_under_way_is_offered_from_the_next_turn_on() {
    let place = place();
    place.config(&entry("good", "grows"));
    // The model waits, each time in other words, until it is offered the tool.
    let server = server(|request| match request.count("assistant") {
        0 => Answer::call("mcp__good__do", json!({})).into(),
        _ if request.body()["tools"].to_string().contains("mcp__good__more") => Answer::text("Done.").into(),
        turn => bash(&format!("sleep 0.1; echo {turn}")).into(),
    });
    assert_eq!(place.run_on(&server, &["--yes", "Do it."]).code, 0);
    assert!(!offered(&server, 0).contains(&"mcp__good__more".into()));
    let last = server.count() - 1;
    assert!(offered(&server, last).contains(&"mcp__good__more".into()), "{:?}", offered(&server, last));
    place.ok(&["verify"]);
}

#[test]
fn a_server_is_confined_as_its_entry_says() {
    let place = place();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let outside = place.root().join("outside").display().to_string();
    let inside = place.work.join("inside").display().to_string();
    let own = place.home.join("planted").display().to_string();
    let reached = |more: &str| -> Value {
        place.config(&format!("{}{more}", entry("good", "reaches")));
        let args = json!({"paths": [inside, outside, own], "port": port}).to_string();
        let said = place.ok(&["mcp", "call", "good", "do", &args]);
        let _ = std::fs::remove_file(&inside);
        serde_json::from_str(&said).unwrap()
    };
    let usual = reached("");
    // What it writes beside the workspace is in a folder of temporary files that is its own.
    let is_there = |path: &str| std::path::Path::new(path).exists();
    assert!(usual[&inside] == "written" && !is_there(&outside), "{usual}");
    assert!(usual[&own] != "written" && usual["network"] != "reached", "{usual}");
    let only = reached("sandbox = \"read-only\"\nnetwork = true\n");
    assert!(only[&inside] != "written" && only["network"] == "reached", "{only}");
    // Outside the sandbox nothing comes from the workspace: it starts in the home.
    std::fs::copy(place.work.join("server.py"), place.root().join("server.py")).unwrap();
    let full = reached("sandbox = \"full\"\n");
    assert!(is_there(&outside) && full[&own] != "written", "{full}");
    assert!(!is_there(&own));
}

#[test]
fn what_a_server_is_given_is_kept_out_of_prompts_and_logs() {
    let place = place();
    let env = "env = { API_TOKEN = \"hunter2-hunter2\", PLAIN = \"plain\", MINE = \"${MINE_KEY}\" }\n";
    place.config(&format!("{}{env}[secrets]\nMINE_KEY = \"swordfish-swordfish\"\n", entry("good", "env")));
    let names = json!({"names": ["API_TOKEN", "PLAIN", "MINE", "MINE_KEY", "MAINPATH_HOME"]});
    let server = scripted(vec![Answer::call("mcp__good__do", names), Answer::text("Done.")]);
    assert_eq!(place.run_on(&server, &["--yes", "Do it."]).code, 0);
    let got: Value = serde_json::from_str(&told(&server)).unwrap();
    let hidden = |name: &str| got[name].as_str().unwrap().contains("secret");
    assert!(hidden("API_TOKEN") && hidden("MINE") && got["PLAIN"] == "plain", "{got}");
    assert!(got["MINE_KEY"].is_null() && got["MAINPATH_HOME"].is_null(), "{got}");
    let log = String::from_utf8(place.log(&place.trace())).unwrap();
    assert!(!log.contains("hunter2") && !log.contains("swordfish"));
}

#[test]
fn secrets_of_a_servers_address_and_of_its_last_words_are_not_told() {
    let place = Place::new();
    let said = r#"echo "no such key: $KEY" >&2; exit 1"#;
    place.config(&format!(
        "[mcp.servers.away]\nurl = \"http://127.0.0.1:1/mcp?key=${{FOO_API_KEY}}\"\n\
         [mcp.servers.path]\nurl = \"http://127.0.0.1:1/${{FOO_API_KEY}}/mcp?also=open-in-the-file\"\n\
         [mcp.servers.here]\ncommand = \"sh\"\nargs = [\"-c\", {said:?}]\nenv = {{ KEY = \"${{FOO_API_KEY}}\" }}\n"
    ));
    for args in [&["mcp", "list"][..], &["run", "-m", "scripted", "Hi."], &["doctor"]] {
        let mut command = place.command(args);
        command.env("FOO_API_KEY", "SECRETVAL-0123456789");
        let done = finish(command, None);
        let told = format!("{}{}", done.out, done.err);
        assert!(!told.contains("SECRETVAL") && !told.contains("open-in-the-file"), "{args:?}: {told}");
        assert!(args[0] == "doctor" || told.contains("http://127.0.0.1:1/mcp"), "{args:?}: {told}");
    }
}

/// A place with a server that never answers, and may take ten minutes to start.
fn with_silent_server() -> Place {
    let place = Place::new();
    place.config("[mcp.servers.mute]\ncommand = \"/bin/sleep\"\nargs = [\"600\"]\nstartup_timeout_s = 600\n");
    place
}

#[test]
fn the_time_limit_of_a_run_also_holds_while_its_servers_start() {
    let (place, server) = (with_silent_server(), scripted(vec![Answer::text("Done.")]));
    let why = "the time limit (2s) was reached while MCP servers were starting, so nothing was run";
    place.run_on(&server, &["--timeout", "2s", "Do it."]).fails(4, why);
    assert_eq!((place.traces(), server.count()), (Vec::new(), 0));
    place.quiet();
    // The server's own limit is shorter.
    place.config("[mcp.servers.mute]\ncommand = \"/bin/sleep\"\nargs = [\"600\"]\nstartup_timeout_s = 1\n");
    let done = place.run_on(&server, &["--timeout", "10m", "Do it."]);
    assert_eq!((done.code, done.out.as_str()), (0, "Done.\n"), "{done:#?}");
    // A trace that continues, with a limit of the configuration.
    place.config(
        "[limits]\ntimeout = \"2s\"\n[mcp.servers.mute]\ncommand = \"/bin/sleep\"\nargs = [\"600\"]\nstartup_timeout_s = 600\n",
    );
    place.run_on(&server, &["--continue", "--timeout", "2s", "More."]).fails(4, why);
    place.run_on(&server, &["Something else."]).fails(4, why);
}

#[test]
fn a_signal_ends_the_wait_for_servers_that_start() {
    let place = with_silent_server();
    let server = scripted(vec![]);
    for signal in [Signal::INT, Signal::TERM] {
        let mut process = place.start_run(&server, &["Do it."]);
        wait_until("the server starts", || !place.tools().is_empty());
        process.signal(signal);
        let asked = Instant::now();
        process.child.wait().unwrap();
        place.quiet();
        let took = asked.elapsed();
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
    assert_eq!(place.traces(), Vec::<String>::new());
}

#[test]
fn every_command_that_waits_for_servers_names_them_and_ends_at_once_when_interrupted() {
    let commands: [&[&str]; 7] = [
        &["run", "-m", "scripted:none.toml", "Do it."],
        &["serve", "--address", "127.0.0.1:0"],
        &["mcp", "serve"],
        &["mcp", "list"],
        &["mcp", "call", "mute", "do"],
        &["mcp", "list", "--json"],
        &["agent-core", "--mcp"],
    ];
    let started: Vec<(&[&str], Place, Process)> = commands
        .into_iter()
        .map(|args| {
            let place = with_silent_server();
            std::fs::write(place.work.join("none.toml"), "[[turn]]\nfinal = \"Done.\"\n").unwrap();
            let process = Process::start(place.command(args));
            (args, place, process)
        })
        .collect();
    for (args, place, mut process) in started {
        wait_until(&format!("{args:?}: the server starts"), || !place.tools().is_empty());
        std::thread::sleep(Duration::from_secs(3));
        let asked = Instant::now();
        process.signal(Signal::INT);
        let (done, took) = (process.end(), asked.elapsed());
        place.quiet();
        let told = done.err.matches("! waiting for MCP servers that have not answered yet: mute\n").count();
        assert_eq!((done.code, told), (130, 1), "{args:?}: {done:#?}");
        assert!(took < Duration::from_secs(10), "{args:?}: {took:?}");
    }
}

#[test]
fn an_interrupt_ends_the_wait_for_servers_of_a_conversation() {
    let (place, server) = (with_silent_server(), scripted(vec![]));
    let (program, model) = ([env!("CARGO_BIN_EXE_mainpath")], server.model());
    let mut terminal = Terminal::of_size((80, 160), &place, (&program, &[]), &[("MAINPATH_MODEL", &model)]);
    terminal.shows("Ctrl-D leaves\r\n›", 1);
    terminal.types("Do it.\r");
    wait_until("the server starts", || !place.tools().is_empty());
    terminal.types("\u{3}");
    terminal.shows("interrupted while MCP servers were starting, so nothing was run", 1);
    place.quiet();
    terminal.types("\u{4}");
    let (_, shown) = terminal.end();
    assert_eq!(place.traces(), Vec::<String>::new(), "{shown}");
}

#[test]
fn a_conversation_keeps_its_servers_from_message_to_message() {
    let place = place();
    place.config(&entry("good", "echo"));
    let call = || Answer::call("mcp__good__do", json!({"a": 1}));
    let server = scripted(vec![call(), Answer::text("One."), call(), Answer::text("Two.")]);
    let (program, model) = ([env!("CARGO_BIN_EXE_mainpath"), "chat", "--allow", "mcp__good__*"], server.model());
    let mut terminal = Terminal::of_size((80, 160), &place, (&program, &[]), &[("MAINPATH_MODEL", &model)]);
    terminal.shows("Ctrl-D leaves\r\n›", 1);
    let mut servers = Vec::new();
    for (number, text) in [(1, "First."), (2, "Second.")] {
        terminal.types(&format!("{text}\r"));
        terminal.shows("■ final", number);
        servers.push(place.tools());
    }
    terminal.types("\u{4}");
    let (code, shown) = terminal.end();
    place.quiet();
    assert_eq!((code, shown.matches("left out").count()), (0, 0), "{shown}");
    assert!(!servers[0].is_empty() && servers[0] == servers[1], "{servers:?}");
    assert_eq!(told_of_all(&server), ["{\"a\": 1}", "{\"a\": 1}"]);
}

/// The results of all calls, as the model was told last.
fn told_of_all(server: &ModelServer) -> Vec<String> {
    let body = server.requests().pop().unwrap().body().clone();
    let messages = body["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
    messages.map(|message| message["content"].as_str().unwrap().to_string()).collect()
}
