//! What a caller chooses of a run: its tools, its limits, what it is called; by flag and by file, and held on resume.

use crate::support::*;
use mainpath_testkit::model_server::{Answer, ModelServer};
use serde_json::{Value, json};

/// The tools that the model was told of in a request.
fn offered(server: &ModelServer, request: usize) -> Vec<String> {
    let body = server.requests()[request].body().clone();
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_string()).collect()
}

/// The results that the model has seen by its last request.
fn results(server: &ModelServer) -> Vec<String> {
    let body = server.requests().pop().unwrap().body().clone();
    let messages = body["messages"].as_array().unwrap().clone();
    let results = messages.iter().filter(|message| message["role"] == "tool");
    results.map(|message| message["content"].as_str().unwrap().to_string()).collect()
}

/// What is always there: it only looks back into the conversation.
const LOOKING_BACK: [&str; 4] = ["expand_window", "list_calls", "load_older_messages", "recall_result"];

fn with_looking_back(names: &[&str]) -> Vec<String> {
    let mut all: Vec<String> = names.iter().chain(&LOOKING_BACK).map(|name| name.to_string()).collect();
    all.sort();
    all
}

#[test]
fn the_tools_that_a_caller_names_are_all_that_there_are_and_stay_so_on_resume() {
    let (place, server) = (
        Place::new(),
        scripted(vec![
            Answer::call("write_text_file", json!({"path": "a.txt", "content": "x"})),
            bash("echo x > b.txt"),
            Answer::text("First."),
            bash("echo x > b.txt"),
            Answer::text("Second."),
            bash("echo x > b.txt"),
            Answer::text("Third."),
        ]),
    );
    // Aliases, patterns, commas, and the flag twice.
    let done = place.run_on(&server, &["--yes", "--tools", "read,execute_bash", "--tools", "g*p", "Do it."]);
    assert_eq!((done.code, done.out.as_str()), (0, "First.\n"), "{done:#?}");
    assert_eq!(offered(&server, 0), with_looking_back(&["bash", "grep", "read_text_file"]));
    assert!(results(&server)[0].contains("not among the tools of this run"), "{:?}", results(&server));
    assert_eq!((place.text("a.txt").as_str(), place.text("b.txt").as_str()), ("", "x\n"));
    std::fs::remove_file(place.work.join("b.txt")).unwrap();
    let again = place.run(&["run", "-c", "--yes", "Again."]);
    assert_eq!((again.code, place.text("b.txt").as_str()), (0, "x\n"), "{again:#?}");
    assert_eq!(offered(&server, 3), with_looking_back(&["bash", "grep", "read_text_file"]));
    // Others from here on.
    std::fs::remove_file(place.work.join("b.txt")).unwrap();
    let fewer = place.run(&["run", "-c", "--yes", "--tools", "write", "Again."]);
    assert_eq!((fewer.code, place.text("b.txt").as_str()), (0, ""), "{fewer:#?}");
    assert_eq!(offered(&server, 5), with_looking_back(&["write_text_file"]));
    place.ok(&["replay"]);
}

#[test]
fn a_profile_that_a_later_run_names_has_what_the_configuration_says_as_the_first_run_has() {
    let server = scripted(vec![Answer::text("Yes."), Answer::text("Yes again.")]);
    let place = Place::new();
    place.config("summary = \"rules\"\ninject_every = 3\nmax_context_chars = 90000\n[shares]\nsummary = 15\n[limits]\nmax_turns = 7\n");
    place.run_on(&server, &["--profile", "trace", "Look."]);
    place.run_on(&server, &["-c", "--profile", "trace", "And now?"]);
    let changes = place.events(&place.trace()).iter().filter(|event| event["type"] == "spec_changed").count();
    assert_eq!(changes, 1, "the second run changes nothing");
}

#[test]
fn the_configuration_names_them_as_well_and_a_flag_comes_before_it() {
    let (place, server) = (Place::new(), scripted(vec![Answer::text("One."), Answer::text("Two.")]));
    place.config("allowed_tools = [\"read\", \"mcp__github__*\"]\n");
    assert_eq!(place.run_on(&server, &["Do it."]).code, 0);
    assert_eq!(offered(&server, 0), with_looking_back(&["read_text_file"]));
    assert_eq!(place.run_on(&server, &["--tools", "grep", "Do it."]).code, 0);
    assert_eq!(offered(&server, 1), with_looking_back(&["grep"]));
}

#[test]
fn a_tool_that_is_not_there_or_is_named_twice_is_one_line_and_nothing_begins() {
    let (place, server) = (Place::new(), scripted(vec![]));
    for (args, words) in [
        (&["--tools", "bsh"][..], "--tools: there is no tool \"bsh\"; did you mean \"bash\"?"),
        (&["--tools", "bash,execute_bash"], "--tools: bash is named twice"),
        (&["--tools", "bash", "--tools", "bash"], "--tools: bash is named twice"),
        (&["--tools", "read,,bash"], "--tools: \"\" is not a tool's name"),
        (&["--tools", "web_fetch"], "--tools: web_fetch is off here; to enable it see `mainpath tools web_fetch`"),
        (
            &["--rate", "bash=0/1s"],
            "\"0/1s\" would never let it run; deny the tool instead, such as --deny \"bash(*)\"",
        ),
        (&["--max-tokens", "-1"], "-1 is negative; give 0 or more"),
        (&["--timeout", "soon"], "write a time such as 90s, 10m, 24h or 7d"),
        (&["--timeout", "2"], "invalid value '2' for '--timeout <TIME>': it has no unit; write 2s, 2m, 2h or 2d"),
        (&["--rate", "bash=2/10"], "\"2/10\" is not a rate; write calls/time, such as \"10/1m\""),
        (&["--timeout", "5us"], "write at least 1ms, or 0 for no limit"),
        (&["--rate", "bash=2/10s", "--rate", "execute_bash=1/1s"], "--rate: bash is limited twice"),
        (&["--rate", "bsh=2/10s"], "--rate: there is no tool \"bsh\"; did you mean \"bash\"?"),
        (&["--rate", "2/10s"], "write a tool and its rate, such as bash=10/1m"),
        (&["--temperature", "3"], "expected a number from 0 to 2"),
        (&["--prompt", "../x"], "--prompt: \"../x\" is not a name of a file in "),
        (&["--prompt", "none"], "prompts/none.md cannot be read: No such file"),
    ] {
        place.run_on(&server, &[args, &["Do it."]].concat()).fails(2, words);
    }
    for (config, words) in [
        ("\nallowed_tools = [\"bsh\"]\n", "config.toml, line 2: allowed_tools: there is no tool \"bsh\""),
        (
            "\nallowed_tools = []\n",
            "config.toml, line 2: allowed_tools names no tool; name some, or leave it out for all",
        ),
        (
            "allowed_tools = [\"web_fetch\"]\n",
            "config.toml, line 1: allowed_tools: web_fetch is off here; to enable it see `mainpath tools web_fetch`",
        ),
        ("temperature = 3\n", "line 1: expected a number from 0 to 2"),
        (
            "model = \"scripted\"\n\n[shares]\nrecent = 90\n",
            "config.toml, line 3: [shares]: 10 + 20 + 90 + 20 is 140; together they may be at most 100, and only system may be 0",
        ),
        ("\nprompt = \"reviewer\"\n", "config.toml, line 2: prompt: "),
        (
            "\n[[hooks]]\nname = \"x\"\non = [\"run_end\"]\n",
            "config.toml, line 3: the hook \"x\" needs a command or a url",
        ),
        ("\n[hooks]\nname = \"x\"\n", "config.toml, line 2: there may be several of these; write [[hooks]]"),
        (
            "\n[tools.web_search]\nbackend = \"brave\"\n",
            "config.toml, line 2: [tools.web_search]: set key to the name of the secret that holds the key",
        ),
        ("context_window = 0\n", "line 1: invalid value: integer `0`, expected a whole number, 1 or more"),
        ("[retention]\nkeep = 0\n", "line 2: invalid value: integer `0`, expected a whole number, 1 or more"),
        ("[retention]\nolder_than = \"2\"\n", "line 2: \"2\" is not a time: it has no unit; write 2s, 2m, 2h or 2d"),
        ("modell = \"x\"\n", "line 1: unknown field `modell`; did you mean `model`?"),
        ("[limits]\nmax_turns = -1\n", "line 2: invalid value: integer `-1`, expected a whole number, 0 or more"),
        ("[limits]\ntimeout = \"soon\"\n", "line 2: \"soon\" is not a time"),
        ("[limits]\nmax_cost = \"much\"\n", "line 2: expected an amount in dollars, such as 2 or 0.50"),
        ("[limits]\nturns = 3\n", "line 2: unknown field `turns`"),
        (
            "[tool_limits.bash]\nmax_calls = 0\n",
            "line 2: invalid value: integer `0`, expected a whole number, 1 or more",
        ),
    ] {
        place.config(config);
        place.run_on(&server, &["Do it."]).fails(1, words);
    }
    for (config, words) in [
        ("\nfallback = [\"x\"]\n", "config.toml, line 2: unknown model \"x\"; the forms are: "),
        (
            "\n[mcp.servers.a]\nargs = [\"x\"]\n",
            "config.toml, line 2: the MCP server \"a\": it needs a command or a url",
        ),
    ] {
        place.config(config);
        place.run_on(&server, &["Do it."]).fails(2, words);
    }
    assert_eq!((place.traces(), server.requests().len()), (vec![], 0));
}

#[test]
fn a_flag_goes_back_to_asking_where_the_configuration_allows_more() {
    let (place, server) = (Place::new(), scripted(vec![bash("echo x > b.txt"), Answer::text("One.")]));
    place.config("mode = \"workspace-write\"\n");
    let done = place.run_on(&server, &["--mode", "ask", "Do it."]);
    assert!(
        done.code == 0 && done.err.contains("denied by builtin.headless") && place.text("b.txt").is_empty(),
        "{done:#?}"
    );
}

#[test]
fn a_tool_that_is_denied_altogether_is_not_offered_and_one_that_is_denied_in_part_is() {
    let (place, server) = (
        Place::new(),
        scripted(vec![
            bash("echo x > b.txt"),
            Answer::text("One."),
            Answer::text("Two."),
            Answer::text("Three."),
            Answer::text("Four."),
        ]),
    );
    let offers = |at: usize, tool: &str| offered(&server, at).iter().any(|name| name == tool);
    assert_eq!(place.run_on(&server, &["--yes", "--deny", "bash", "Do it."]).code, 0);
    assert!(!offers(0, "bash") && offers(0, "sandbox") && !place.work.join("b.txt").exists());
    // It holds, whoever resumes.
    assert_eq!(place.run(&["run", "-c", "--yes", "Again."]).code, 0);
    assert!(!offers(2, "bash"));
    assert_eq!(place.run_on(&server, &["--deny", "bash(git push *)", "--deny", "write(src/**)", "Do it."]).code, 0);
    assert!(offers(3, "bash") && offers(3, "write_text_file"));
    place.config("");
    std::fs::write(place.home.join("policy.toml"), "[[rule]]\ndecision = \"deny\"\nmatch = [\"*_text_file\"]\n")
        .unwrap();
    assert_eq!(place.run_on(&server, &["Do it."]).code, 0);
    let last = offered(&server, server.requests().len() - 1);
    assert!(last.contains(&"bash".into()) && !last.iter().any(|name| name.ends_with("_text_file")), "{last:?}");
}

#[test]
fn what_cannot_run_is_refused_before_anybody_is_asked() {
    let deploy = |input: Value| Answer::call("invoke_workflow", json!({"name": "deploy", "input": input}));
    let server = scripted(vec![
        Answer::call("http_request", json!({"method": "POST", "url": "http://other.test/x"})),
        Answer::call("http_request", json!({"method": "GET", "url": "http://allowed.test/x", "body": "a", "json": 1})),
        deploy(json!({"branch": 3})),
        deploy(json!({})),
        Answer::call("write_text_file", json!({"path": "a.txt"})),
        bash("echo a\0b"),
        Answer::text("None of it can be done."),
    ]);
    let place = Place::new();
    place.config(&format!(
        "[limits]\nrepeated_failure_limit = 0\n[tools.http_request]\nallow = [\"GET http://allowed.test/**\"]\n{}",
        workflow("http://127.0.0.1:1/deploy")
    ));
    // A call that anybody had to be asked about would end it with exit code 5.
    let done = place.run_on(&server, &["--park", "Do it."]);
    assert_eq!((done.code, done.out.as_str()), (0, "None of it can be done.\n"), "{done:#?}");
    let told = results(&server);
    for (told, words) in told.iter().zip([
        "POST http://other.test/x is not allowed here; allowed is: GET http://allowed.test/**.",
        "Give body or json, not both.",
        "Wrong input for the workflow deploy: at /branch: 3 is not of type string.",
        "Wrong input for the workflow deploy: \"branch\" is missing.",
        "Wrong arguments for write_text_file",
        "The command holds a NUL character",
    ]) {
        assert!(told.contains(words), "{words:?} is not in {told:?}");
    }
    assert_eq!(told.len(), 6);
}

fn workflow(url: &str) -> String {
    let schema = "{ type = \"object\", properties = { branch = { type = \"string\" } }, required = [\"branch\"] }";
    ["deploy", "erase"]
        .map(|name| {
            format!("[tools.invoke_workflow.workflows.{name}]\ndescription = \"Does it.\"\nurl = \"{url}\"\ninput_schema = {schema}\n")
        })
        .concat()
}

#[test]
fn a_rule_for_the_arguments_of_a_call_allows_that_call_and_no_other() {
    let run = |name: &str| Answer::call("invoke_workflow", json!({"name": name, "input": {"branch": "main"}}));
    let server = scripted(vec![run("deploy"), run("erase"), Answer::text("Done.")]);
    let place = Place::new();
    let there = site("application/json", |_| "{\"ran\": true}".into());
    place.config(&workflow(&format!("http://{there}/run")));
    let done = place.run_on(&server, &["--allow", "invoke_workflow(name=deploy)", "Deploy."]);
    assert_eq!(done.code, 0, "{done:#?}");
    let told = results(&server);
    assert!(told[0].contains("\"ran\": true") && told[1].starts_with("Denied (builtin.headless)"), "{told:?}");
}

#[test]
fn every_limit_can_be_set_in_the_file_and_by_flag_and_0_takes_it_away() {
    let (place, server) = (Place::new(), scripted((0..6).map(|_| Answer::text("Done.")).collect()));
    let limits = |args: &[&str]| {
        assert_eq!(place.run_on(&server, &[args, &["Do it."]].concat()).code, 0);
        place.events(&newest(&place))[0]["data"]["spec"]["limits"].clone()
    };
    place.config(
        "[limits]\nmax_turns = 7\nmax_calls = 8\nmax_calls_per_turn = 2\nmax_context_chars = 60000\nmax_tokens = 90000\n\
         timeout = \"10m\"\ncall_timeout = \"20s\"\napproval_timeout = \"1h\"\nrepeated_failure_limit = 4\n\
         observation_max_len = 500\nbudget = \"soft\"\nrecovery = \"notify\"\n",
    );
    let set = json!({
        "turns": 7, "calls": 8, "calls_per_turn": 2, "context_chars": 60_000, "tokens": 90_000, "run_timeout_ms": 600_000,
        "call_timeout_ms": 20_000, "approval_timeout_ms": 3_600_000, "repeated_failures": 4, "observation_chars": 500,
        "budget": "soft", "recovery": "notify",
    });
    let as_set = |limits: &Value, set: &Value| {
        set.as_object()
            .unwrap()
            .iter()
            .filter(|(name, value)| limits[name.as_str()] != **value)
            .map(|(name, _)| name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(as_set(&limits(&[]), &set), [""; 0]);
    let flags = [
        "--max-turns",
        "9",
        "--max-calls",
        "0",
        "--max-calls-per-turn",
        "0",
        "--max-context-chars",
        "0",
        "--max-tokens",
        "0",
        "--timeout",
        "0s",
        "--call-timeout",
        "0ms",
        "--approval-timeout",
        "0",
        "--repeated-failure-limit",
        "0",
        "--observation-max-len",
        "0",
        "--budget",
        "hard",
        "--recovery",
        "rerun",
    ];
    let none = json!({
        "turns": 9, "calls": null, "calls_per_turn": null, "context_chars": null, "tokens": null, "run_timeout_ms": null,
        "call_timeout_ms": null, "approval_timeout_ms": null, "repeated_failures": null, "observation_chars": null,
        "budget": "hard", "recovery": "rerun",
    });
    assert_eq!(as_set(&limits(&flags), &none), [""; 0]);
    place.config("");
    let profiles = ["agent_core", "skills", "trace", "kernel"];
    let usual =
        profiles.map(|profile| limits(&["--protocol", "native", "--profile", profile])["repeated_failures"].clone());
    assert_eq!(usual, [2, 3, 5, 3].map(Value::from));
}

#[test]
fn a_run_has_a_name_a_user_a_prompt_and_a_temperature() {
    let (place, server) = (Place::new(), scripted((0..4).map(|_| Answer::text("Done.")).collect()));
    place.config("uid = \"u-1\"\ntemperature = 0.5\nprompt = \"herons\"\n");
    std::fs::create_dir_all(place.home.join("prompts")).unwrap();
    std::fs::write(place.home.join("prompts/herons.md"), "You count herons.\n").unwrap();
    let spec = || {
        place.events(&newest(&place)).iter().rfind(|event| event["type"] == "spec_changed").unwrap()["data"]["spec"]
            .clone()
    };
    assert_eq!(place.run_on(&server, &["--name", "Herons", "Count."]).code, 0);
    let body = server.requests()[0].body().clone();
    assert!(body["messages"][0]["content"].as_str().unwrap().starts_with("You count herons."), "{body}");
    assert_eq!(body["temperature"], json!(0.5));
    let about = |spec: Value| ["name", "uid", "prompt_name", "temperature"].map(|key| spec[key].clone());
    assert_eq!(about(spec()), [json!("Herons"), json!("u-1"), json!("herons"), json!(0.5)]);
    let meta = || -> Value {
        serde_json::from_slice(&std::fs::read(place.file(&newest(&place), "meta.json")).unwrap()).unwrap()
    };
    let described = |meta: Value| ["name", "uid", "prompt_name", "mode"].map(|key| meta[key].clone());
    assert_eq!(described(meta()), ["Herons", "u-1", "herons", "agent"].map(Value::from));
    // It stays so, but for what a flag says.
    place.config("");
    assert_eq!(place.run(&["run", "-c", "--temperature", "1", "--uid", "u-2", "Again."]).code, 0);
    assert_eq!(about(spec()), [json!("Herons"), json!("u-2"), json!("herons"), json!(1.0)]);
    let body = server.requests()[1].body().clone();
    assert!(body["messages"][0]["content"].as_str().unwrap().starts_with("You count herons."), "{body}");
    assert_eq!(place.run_on(&server, &["--system-prompt", "You count ducks.", "Count."]).code, 0);
    let body = server.requests()[2].body().clone();
    assert!(body["messages"][0]["content"].as_str().unwrap().starts_with("You count ducks."), "{body}");
    // One call of the model, and no tools.
    assert_eq!(place.run_on(&server, &["--call", "Count."]).code, 0);
    assert_eq!(
        (offered(&server, 3).len(), spec()["run_mode"].clone(), spec()["limits"]["turns"].clone()),
        (0, json!("call"), json!(1))
    );
    assert_eq!(meta()["mode"], "call");
}

#[test]
fn where_nothing_runs_by_itself_a_person_decides_on_every_call() {
    let (place, server) = (
        Place::new(),
        scripted(vec![
            Answer::call("list_files", json!({})),
            Answer::text("Nothing there."),
            Answer::call("list_files", json!({})),
            Answer::text("Denied."),
        ]),
    );
    let parked = place.run_on(&server, &["--park", "--no-auto-execute", "--allow", "list_files", "Look."]);
    assert_eq!(parked.code, 5, "{parked:#?}");
    place.ok(&["approve"]);
    assert_eq!(place.ok(&["resume", "--park"]), "Nothing there.\n");
    place.config("auto_execute_tools = false\n");
    assert_eq!(place.run_on(&server, &["Look."]).code, 0);
    assert!(results(&server)[0].starts_with("Denied (run.auto-execute-tools)"), "{:?}", results(&server));
}

#[test]
fn a_rate_by_flag_is_a_window_that_slides() {
    let answers = (0..5).map(|n| bash(&format!("echo {n}"))).chain([Answer::text("Done.")]).collect();
    let (place, server) = (Place::new(), scripted(answers));
    assert_eq!(place.run_on(&server, &["--yes", "--rate", "execute_bash=2/900ms", "Do it."]).code, 0);
    // As it is written: 2026-11-23T01:02:03.456Z, of which the last three numbers are enough here.
    let time = |event: &Value| {
        let text = event["ts"].as_str().unwrap().trim_end_matches('Z').to_string();
        let parts: Vec<f64> = text.split_once('T').unwrap().1.split(':').map(|part| part.parse().unwrap()).collect();
        ((parts[0] * 60.0 + parts[1]) * 60_000.0 + parts[2] * 1_000.0).round() as i64
    };
    let events = place.events(&place.trace());
    let starts: Vec<i64> = events.iter().filter(|event| event["type"] == "action_started").map(time).collect();
    assert_eq!(starts.len(), 5);
    assert!(starts.windows(3).all(|three| three[2] - three[0] >= 900), "{starts:?}");
}
