//! Presets: where they are found, which count, and what an agent that is made from one really gets.

use crate::support::*;
use mainpath_testkit::model_server::{Answer, ModelServer};
use serde_json::{Value, json};
use std::os::unix::fs::symlink;

/// What is always there: it only looks back into the conversation.
const LOOKING_BACK: [&str; 4] = ["expand_window", "list_calls", "load_older_messages", "recall_result"];

/// The tools that the model was told of in a request.
fn offered(server: &ModelServer, request: usize) -> Vec<String> {
    let body = server.requests()[request].body().clone();
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    let names = tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_string());
    names.filter(|name| !LOOKING_BACK.contains(&name.as_str())).collect()
}

/// The system text of a request.
fn system(server: &ModelServer, request: usize) -> String {
    server.requests()[request].body()["messages"][0]["content"].as_str().unwrap().into()
}

/// The results that the model has seen by its last request.
fn results(server: &ModelServer) -> Vec<String> {
    let body = server.requests().pop().unwrap().body().clone();
    let messages = body["messages"].as_array().unwrap().clone();
    let results = messages.iter().filter(|message| message["role"] == "tool");
    results.map(|message| message["content"].as_str().unwrap().to_string()).collect()
}

/// The spec that a trace has now.
fn spec(place: &Place, trace: &str) -> Value {
    let events = place.events(trace);
    events.iter().rfind(|event| event["type"] == "spec_changed").unwrap()["data"]["spec"].clone()
}

fn write(place: &Place, file: &str, text: &str) {
    let file = place.work.join(file);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

/// A file in the home of the person.
fn write_own(place: &Place, file: &str, text: &str) {
    let file = place.root().canonicalize().unwrap().join(file);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

fn listed(place: &Place) -> Vec<Value> {
    place.ok(&["agents", "--json"]).lines().map(parsed).collect()
}

fn of(place: &Place, name: &str) -> Value {
    listed(place).into_iter().find(|line| line["name"] == name).unwrap()
}

#[test]
fn an_explorer_is_offered_reading_tools_its_instructions_and_fifteen_turns_and_stays_one_on_resume() {
    let (place, server) = (
        Place::new(),
        scripted(vec![bash("echo x > a.txt"), Answer::text("First."), bash("echo x > a.txt"), Answer::text("Second.")]),
    );
    let done = place.run_on(&server, &["--agent", "explore", "--yes", "Look."]);
    assert_eq!((done.code, done.out.as_str()), (0, "First.\n"), "{done:#?}");
    let reading = ["glob", "goal", "grep", "list_files", "read_text_file"];
    assert_eq!(offered(&server, 0), reading);
    let words = "You work as the agent \"explore\". Its instructions:\nYou explore the files of the folder";
    assert!(system(&server, 0).contains(words), "{}", system(&server, 0));
    assert_eq!(
        results(&server),
        ["Denied (preset explore: bash): A call of bash is denied by the preset explore: bash.".to_string()]
    );
    let trace = place.trace();
    let begun = spec(&place, &trace);
    assert_eq!(begun["limits"]["turns"], 15);
    assert_eq!(
        begun["rules"]["deny"],
        json!(["write_text_file", "edit_text_file", "bash", "agent"].map(|tool| format!("{tool} # preset explore")))
    );
    assert_eq!(begun["preset"]["name"], "explore");
    assert_eq!((&begun["preset"]["source"], &begun["preset"]["skills"]), (&json!("builtin"), &json!(["planning"])));
    assert_eq!(begun["relations"]["agent_type"], "explore");
    // Whoever looks is told.
    assert!(place.ok(&["show"]).contains("\nagent   explore\n"));
    // From the index; without one the list would be read from the logs.
    place.ok(&["index", "rebuild"]);
    assert_eq!(parsed(&place.ok(&["ls", "--json"]))["agent"], "explore");
    assert_eq!(parsed(&place.ok(&["ls", "--search", "Look", "--json"]))["agent"], "explore");
    assert_eq!(parsed(&place.ok(&["context", "--json"]))["agent"], "explore");
    assert!(place.ok(&["context"]).lines().next().unwrap().ends_with(" · agent explore"));
    // Another run, whoever starts it.
    let again = place.run(&["run", "-c", "--yes", "Again."]);
    assert_eq!((again.code, again.out.as_str(), place.text("a.txt").as_str()), (0, "Second.\n", ""), "{again:#?}");
    assert_eq!(offered(&server, 2), reading);
    assert_eq!(spec(&place, &trace)["preset"], begun["preset"]);
    place.run(&["run", "-c", "--agent", "default", "Again."]).fails(
        1,
        "the trace is the agent explore, and an agent keeps its preset; start a new trace for the agent default",
    );
    assert_eq!(place.run(&["run", "-c", "--agent", "explore", "Again."]).code, 0);
    place.ok(&["replay"]);
}

#[test]
fn the_agents_that_come_with_mainpath_are_as_they_are_documented() {
    let place = Place::new();
    let told: Vec<Value> = listed(&place)
        .iter()
        .map(|line| {
            json!([
                line["name"],
                line["tools"],
                line["denied_tools"],
                line["limits"]["turns"],
                line["temperature"],
                line["skills"]
            ])
        })
        .collect();
    let changing = ["write_text_file", "edit_text_file", "bash", "agent"];
    let looking = ["read_text_file", "glob", "grep", "list_files", "goal"];
    assert_eq!(
        told,
        [
            json!([
                "analyst",
                ["read_text_file", "glob", "grep", "web_search", "web_fetch", "goal"],
                changing,
                25,
                0.3,
                ["planning", "research"]
            ]),
            json!(["default", null, [], 30, null, ["planning", "research", "browser"]]),
            json!(["evaluate", looking, changing, 15, null, ["planning"]]),
            json!(["explore", looking, changing, 15, null, ["planning"]]),
        ]
    );
    assert!(listed(&place).iter().all(|line| line["standing"] == "ready" && line["layer"] == "builtin"));
}

#[test]
fn an_agents_own_file_says_everything_and_flags_come_before_it() {
    let (place, server) = (Place::new(), scripted(vec![Answer::text("Yes.")]));
    write_own(
        &place,
        "home/agents/careful.md",
        "---\nname: careful\ndescription: Takes care.\ntools: [read, grep, bash]\ndenied_tools: bash(rm *)\nmax_turns: 4\n\
         max_calls: 9\nmax_tokens: 50000\ntimeout: 90s\ntemperature: 0.8\nskills: [research]\n---\nTake care.\n",
    );
    place.config("allowed_tools = [\"g*\", \"read\"]\ntemperature = 0.1\n[limits]\nmax_turns = 3\nmax_calls = 100\n");
    assert_eq!(place.run_on(&server, &["--agent", "careful", "--instructions", "Be brief.", "Go."]).code, 0);
    assert_eq!(offered(&server, 0), ["grep", "read_text_file"], "no more than the configuration allows");
    assert_eq!(server.requests()[0].body()["temperature"], 0.8);
    let said = system(&server, 0);
    assert!(said.contains("You work as the agent \"careful\". Its instructions:\nTake care.\n\n"), "{said}");
    assert!(said.ends_with("Be brief."), "{said}");
    let begun = spec(&place, &place.trace());
    let limits = ["turns", "calls", "tokens", "run_timeout_ms"].map(|name| begun["limits"][name].as_u64().unwrap());
    assert_eq!(limits, [3, 9, 50_000, 90_000], "the narrower of both");
    assert_eq!(begun["rules"]["deny"], json!(["bash(rm *) # preset careful"]));
    let args = ["--agent", "careful", "--max-turns", "8", "--temperature", "0.2", "--tools", "list_files", "Go."];
    assert_eq!(place.run_on(&server, &args).code, 0);
    assert_eq!(
        (offered(&server, 1), &server.requests()[1].body()["temperature"]),
        (vec!["list_files".into()], &json!(0.2))
    );
    assert_eq!(spec(&place, &newest(&place))["limits"]["turns"], 8);
    place
        .run_on(&server, &["--agent", "explore", "--tools", "read,execute_bash", "Go."])
        .fails(2, "--tools: the preset explore denies bash");
}

#[test]
fn an_agent_with_a_model_uses_it_and_a_flag_comes_before_it() {
    let (place, own) = (Place::new(), scripted(vec![Answer::text("Mine.")]));
    let other = scripted(vec![Answer::text("Other.")]);
    write_own(&place, "home/agents/local.md", &format!("---\nmodel: {}\neffort: low\n---\n", own.model()));
    place.config(&format!("model = {:?}\n", other.model()));
    assert_eq!(place.ok(&["run", "--agent", "local", "Go."]), "Mine.\n");
    assert_eq!(own.requests()[0].body()["reasoning_effort"], "low");
    assert_eq!(place.ok(&["run", "--agent", "local", "--model", &other.model(), "Go."]), "Other.\n");
    assert_eq!(place.ok(&["run", "Go."]), "Other.\n");
}

#[test]
fn the_files_of_other_programs_are_read_and_what_has_no_effect_is_told() {
    let place = Place::new();
    let claude = "---\nname: reviewer\ndescription: Use it when: code is done. <example>user: \"x\"</example>\n\
                  tools: Read, Grep, Bash(git *), NotebookEdit, mcp__github\ndisallowedTools: Write\nmodel: sonnet\n\
                  permissionMode: bypassPermissions\nmaxTurns: 7\nskills: a, b\ncolor: red\nmood: good\n---\n\nReview it.\n";
    write_own(&place, ".claude/agents/reviewer.md", claude);
    let codex = "name = \"checker\"\ndescription = \"Checks.\"\nmodel = \"gpt-5.5\"\nmodel_reasoning_effort = \"xhigh\"\n\
                 sandbox_mode = \"read-only\"\nnickname_candidates = [\"Ann\"]\ndeveloper_instructions = \"\"\"\nCheck it.\n\"\"\"\n";
    write_own(&place, ".codex/agents/checker.toml", codex);
    let table = "{\n\t\"helper\": {\"allowed_tools\": [\"read\", \"grep_content\"], \"denied_tools\": null, \"max_iterations\": 40,\n\
                 \t\t\"temperature\": 0.5, \"skills\": [\"x\"], \"system_prompt\": \"Be \\u00e9 \\ud83d\\ude00 \\/ kind.\"}\n}\n";
    write_own(&place, "presets.json", table);
    let crew = "writer:\n  role: >\n    A writer\n  goal: To write.\n  backstory: You wrote before.\n  max_iter: 5\n  \
                max_execution_time: 60\n  allow_delegation: false\n  llm: openai/gpt-4o\n";
    write_own(&place, "config/agents.yaml", crew);
    let root = place.root().canonicalize().unwrap();
    let told = |name: &str| {
        let line = of(&place, name);
        let notes: Vec<String> = line["notes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|note| format!("{}: {}", note["line"], note["text"].as_str().unwrap()))
            .collect();
        assert_eq!((&line["standing"], &line["layer"]), (&json!("ready"), &json!("user")), "{line}");
        (line, notes)
    };
    let (reviewer, notes) = told("reviewer");
    assert_eq!(reviewer["source"], root.join(".claude/agents/reviewer.md").display().to_string());
    assert_eq!(reviewer["tools"], json!(["read_text_file", "grep", "bash", "mcp__github__*"]));
    assert_eq!((&reviewer["commands"], &reviewer["denied_tools"]), (&json!(["git *"]), &json!(["write_text_file"])));
    assert_eq!((&reviewer["limits"]["turns"], &reviewer["skills"]), (&json!(7), &json!(["a", "b"])));
    assert_eq!(
        notes,
        [
            "3: its front matter is not YAML: mapping values are not allowed in this context; read line by line instead",
            "4: there is no tool like NotebookEdit here; left out",
            "6: model sonnet: not a model's name here (PROVIDER:NAME); the usual model is used",
            "7: permissionMode bypassPermissions has no effect: a preset approves nothing",
            "10: color has no effect here",
            "11: mood is not known here; it has no effect",
        ]
    );
    let (checker, notes) = told("checker");
    assert_eq!(checker["denied_tools"], json!(["write_text_file", "edit_text_file", "bash"]));
    assert_eq!((&checker["effort"], &checker["model"]), (&json!("high"), &json!(null)));
    assert_eq!(
        notes,
        [
            "3: model gpt-5.5: not a model's name here (PROVIDER:NAME); the usual model is used",
            "4: model_reasoning_effort: xhigh is taken as high; there are low, medium and high",
            "5: sandbox_mode read-only: denies write_text_file, edit_text_file, bash",
            "6: nickname_candidates has no effect here",
        ]
    );
    assert!(place.ok(&["agents", "show", "checker"]).ends_with("\n\n  │ Check it.\n"));
    let (helper, notes) = told("helper");
    assert_eq!((&helper["tools"], notes), (&json!(["read_text_file", "grep"]), vec![]));
    assert_eq!((&helper["limits"]["turns"], &helper["temperature"]), (&json!(40), &json!(0.5)));
    assert!(place.ok(&["agents", "show", "helper"]).ends_with("\n  │ Be é 😀 / kind.\n"));
    let (writer, _) = told("writer");
    assert_eq!((&writer["description"], &writer["limits"]["time_ms"]), (&json!("A writer"), &json!(60_000)));
    let shown = place.ok(&["agents", "show", "writer"]);
    assert!(shown.ends_with("\n  │ You are A writer.\n  │ Your goal: To write.\n  │ You wrote before.\n"), "{shown}");
}

#[test]
fn commands_that_an_agent_is_held_to_are_the_only_ones_whatever_else_allows_more() {
    let (place, server) = (
        Place::new(),
        scripted(vec![
            bash("rm a.txt"),
            bash("git --version"),
            Answer::text("Done."),
            bash("rm a.txt"),
            Answer::text("Again."),
        ]),
    );
    write_own(&place, ".claude/agents/git.md", "---\nname: git\ntools: Bash(git:*)\n---\n");
    std::fs::write(place.work.join("a.txt"), "kept").unwrap();
    let done = place.run_on(&server, &["--agent", "git", "--yes", "--allow", "bash(*)", "Go."]);
    assert_eq!(done.code, 0, "{done:#?}");
    let told = results(&server);
    assert_eq!(
        told[0],
        "Denied (preset: commands git *): The command \"rm a.txt\" is not among the commands that this agent may run: bash(git *)."
    );
    assert!(told[1].contains("git version"), "{told:?}");
    assert_eq!(place.run(&["run", "-c", "--yes", "--allow", "bash(rm *)", "Go."]).code, 0);
    assert_eq!(place.text("a.txt"), "kept");
}

#[test]
fn a_repository_s_agent_counts_only_when_it_is_trusted_and_only_as_it_was_then() {
    let (place, server) = (Place::new(), scripted(vec![Answer::text("Yes.")]));
    std::fs::create_dir_all(place.work.join(".git")).unwrap();
    std::fs::create_dir_all(place.work.join("sub")).unwrap();
    let file = ".claude/agents/helper.md";
    write(&place, file, "---\nname: helper\ntools: Read\n---\nHelp.\n");
    let path = place.work.join(file).display().to_string();
    let run = |args: &[&str]| {
        let mut command = place.command(&[&["run", "--model", &server.model()], args].concat());
        command.current_dir(place.work.join("sub"));
        finish(command, None)
    };
    let refused = |why: &str| {
        run(&["--agent", "helper", "Go."]).fails(
            1,
            &format!(
                "the preset helper ({path}) comes with this repository, and {why}; read it with `mainpath agents show \
                 helper`, then `mainpath agents trust helper`"
            ),
        );
    };
    refused("you have not trusted it");
    assert_eq!(
        (&of(&place, "helper")["standing"], &of(&place, "helper")["distrust"]),
        (&json!("untrusted"), &json!("not_yet"))
    );
    assert!(place.ok(&["agents", "trust"]).contains("  │ Help.\n"), "what waits is shown");
    refused("you have not trusted it");
    // What an agent calls is not a person's word.
    let mut by_agent = place.command(&["agents", "trust", "helper"]);
    by_agent.env("MAINPATH_CALL", "x");
    finish(by_agent, None).fails(1, "agents cannot trust agents; run this command yourself");
    let trusted = place.ok(&["agents", "trust", "helper"]);
    assert!(trusted.contains("tools     read_text_file\n") && trusted.contains("  │ Help.\n"), "{trusted}");
    assert!(trusted.ends_with(&format!("{path} is trusted in its present text; trust it again after a change\n")));
    assert_eq!(run(&["--agent", "helper", "Go."]).code, 0);
    assert_eq!(offered(&server, 0), ["read_text_file"]);
    write(&place, file, "---\nname: helper\n---\nHelp.\n");
    refused("it has changed since you trusted it");
    place.ok(&["agents", "trust", "helper"]);
    assert_eq!(run(&["--agent", "helper", "Go."]).code, 0);
    assert_eq!(place.ok(&["agents", "trust", "--revoke", "helper"]), "helper is no longer trusted\n");
    refused("you have not trusted it");
    place
        .run(&["agents", "trust", "explore"])
        .fails(2, "nothing to trust in the preset explore: it is not a repository's");
}

#[test]
fn a_faulty_agent_of_a_repository_is_not_trusted_and_its_fault_is_told() {
    let place = Place::new();
    std::fs::create_dir_all(place.work.join(".git")).unwrap();
    let file = ".mainpath/agents/odd.md";
    write(&place, file, "---\nmax_turns: x\ntemperature: y\n---\n");
    let path = place.work.join(file).display().to_string();
    let fault = format!("{path}, line 2: max_turns: expected a whole number, 0 or more, not \"x\"");
    place
        .run(&["agents", "trust", "odd"])
        .fails(2, &format!("the preset odd is faulty; mend it before you trust it: {fault} (and 1 more)"));
    assert_eq!(of(&place, "odd")["standing"], "untrusted", "nothing is trusted");
    assert!(!place.home.join("trusted-agents.json").exists());
    let listed = place.ok(&["agents"]);
    let told = format!("untrusted and faulty: mend it before you trust it\n  ! {fault}\n");
    assert!(listed.contains(&told), "{listed}");
    assert!(place.ok(&["agents", "trust"]).ends_with("what is faulty has to be mended before it can be trusted\n"));
    // What else is in a file can be used; it is said what cannot.
    let both = json!({"fine": {"description": "x"}, "odd": {"temperature": "y"}});
    write(&place, "presets.json", &both.to_string());
    std::fs::remove_file(place.work.join(file)).unwrap();
    let trusted = place.run(&["agents", "trust", "fine"]);
    assert_eq!((trusted.code, trusted.err.as_str()), (0, "! odd in it is faulty and cannot be used\n"), "{trusted:#?}");
    assert_eq!(of(&place, "fine")["standing"], "ready");
    assert_eq!(of(&place, "odd")["standing"], "faulty");
}

#[test]
fn the_first_of_a_name_counts_and_what_it_hides_is_named_but_what_is_not_trusted_hides_nothing() {
    let place = Place::new();
    std::fs::create_dir_all(place.work.join(".git")).unwrap();
    write(&place, ".mainpath/agents/explore.md", "---\ndescription: near\n---\n");
    write_own(&place, "home/agents/explore.md", "---\ndescription: own\n---\n");
    let root = place.root().canonicalize().unwrap();
    let own = root.join("home/agents/explore.md").display().to_string();
    let told = || {
        let named = listed(&place).into_iter().filter(|line| line["name"] == "explore");
        named.map(|line| json!([line["description"], line["standing"], line["shadows"]])).collect::<Vec<_>>()
    };
    assert_eq!(told(), [json!(["near", "untrusted", []]), json!(["own", "ready", ["builtin"]])]);
    assert!(place.ok(&["agents", "show", "explore"]).contains("about     own\n"));
    place.ok(&["agents", "trust", "explore"]);
    assert_eq!(told(), [json!(["near", "ready", [own, "builtin"]])]);
    assert!(place.ok(&["agents"]).contains(&format!("  hides {own}\n  hides builtin\n")));
}

#[test]
fn what_is_wrong_in_an_agent_s_file_is_a_line_with_its_place_and_the_agent_is_refused() {
    let (place, server) = (Place::new(), scripted(vec![]));
    for (text, line, wrong) in [
        ("---\ntols: read\n---\n", 2, "there is no field \"tols\"; did you mean \"tools\"?"),
        ("---\ndescription: x\ntools: raed\n---\n", 3, "tools: there is no tool \"raed\"; did you mean \"read\"?"),
        ("---\ntools:\n---\n", 2, "tools names no tool; write [] for none, or leave the line out"),
        ("---\ntools: [{read: true}]\n---\n", 2, "tools: expected names of tools"),
        ("---\nmax_turns: many\n---\n", 2, "max_turns: expected a whole number, 0 or more, not \"many\""),
        ("---\nmax_turns: -1\n---\n", 2, "max_turns: expected a whole number, 0 or more, not \"-1\""),
        ("---\nlimits:\n  timeout: 90\n---\n", 3, "timeout: it has no unit; write 90s, 90m, 90h or 90d, not \"90\""),
        ("---\nmax_cost: much\n---\n", 2, "max_cost: expected an amount in dollars, such as 2 or 0.50, not \"much\""),
        ("---\ntemperature: 3\n---\n", 2, "temperature: expected a number from 0 to 2"),
        ("---\nmodel: gpt\n---\n", 2, "model: \"gpt\" is not a model; write PROVIDER:NAME"),
        ("---\nmodel: opnai:gpt\n---\n", 2, "model: unknown model \"opnai:gpt\" (did you mean \"openai:gpt\"?)"),
        ("---\ntools: read\ntools: bash\n---\n", 3, "tools stands here for the second time"),
        ("---\nname: \"x; rm -rf ~\"\n---\n", 1, "the name \"x; rm -rf ~\" is not 1 to 64 letters, digits"),
        ("---\ndescription: a: b\n---\n", 2, "its front matter is not YAML"),
        ("no front matter", 1, "it does not begin with front matter (a line with ---)"),
    ] {
        write_own(&place, "home/agents/odd.md", text);
        let name = if text.contains("rm -rf") { "_x_ rm -rf _" } else { "odd" };
        let file = place.home.join("agents/odd.md").display().to_string();
        let refused = place.run_on(&server, &["--agent", name, "Go."]);
        refused.fails(2, &format!("the preset {name} cannot be used: {file}, line {line}: {wrong}"));
        let listed = of(&place, name);
        assert_eq!(listed["standing"], "faulty");
        assert!(place.ok(&["agents"]).contains(&format!("  ! {file}, line {line}: {wrong}")), "{text}");
    }
    write_own(&place, "home/agents/odd.md", "---\nmax_turns: x\ntemperature: y\n---\n");
    place.run_on(&server, &["--agent", "odd", "Go."]).fails(2, " (and 1 more)");
    place
        .run_on(&server, &["--agent", "explor", "Go."])
        .fails(2, "there is no preset \"explor\"; did you mean \"explore\"?");
    place
        .run_on(&server, &["--agent", "x", "Go."])
        .fails(2, "there is no preset \"x\"; they are: odd, analyst, default, evaluate, explore");
    assert_eq!(place.traces(), Vec::<String>::new(), "nothing has begun");
}

#[test]
fn files_that_are_no_agents_are_passed_over_in_a_line_each_and_nothing_waits_for_them() {
    let place = Place::new();
    std::fs::create_dir_all(place.work.join(".git")).unwrap();
    write(&place, ".mainpath/agents/large.md", &format!("---\nname: large\n---\n{}", "x".repeat(256 * 1024)));
    std::fs::write(place.work.join(".mainpath/agents/bytes.md"), [0xff, 0xfe]).unwrap();
    write(&place, ".mainpath/agents/notes.txt", "not looked at");
    write_own(&place, "elsewhere.md", "---\nname: elsewhere\n---\n");
    symlink("../../../elsewhere.md", place.work.join(".mainpath/agents/link.md")).unwrap();
    symlink("nowhere", place.work.join(".mainpath/agents/gone.md")).unwrap();
    let pipe = place.work.join(".mainpath/agents/pipe.md");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    write(&place, "presets.json", "{\"button\": {\"colour\": \"red\"}, \"version\": 3}");
    write(&place, "config/agents.yaml", "- a\n- b\n");
    let done = place.run(&["agents"]);
    let folder = place.work.display();
    assert_eq!(done.code, 0, "{done:#?}");
    let lines: Vec<&str> = done.err.lines().collect();
    assert_eq!(
        lines,
        [
            format!("! {folder}/.mainpath/agents/link.md: it is a link that leads out of the project"),
            format!("! {folder}/.mainpath/agents/bytes.md: it is not UTF-8 text"),
            format!("! {folder}/.mainpath/agents/large.md: it is larger than 256 KiB"),
            format!("! {folder}/.mainpath/agents/pipe.md: it is not a file"),
            format!("! {folder}/presets.json: it holds no presets"),
            format!("! {folder}/config/agents.yaml: it holds no presets"),
        ]
    );
    assert_eq!(listed(&place).len(), 4);
}

#[test]
fn the_example_of_an_agent_is_one() {
    let place = Place::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/agents/release-notes.md");
    write_own(&place, "home/agents/release-notes.md", &std::fs::read_to_string(file).unwrap());
    let found = of(&place, "release-notes");
    let told = ["standing", "faults", "notes", "tools", "denied_tools", "commands"].map(|field| found[field].clone());
    assert_eq!(
        told,
        [
            json!("ready"),
            json!([]),
            json!([]),
            json!(["read_text_file", "glob", "grep", "bash", "edit_text_file"]),
            json!(["write_text_file", "web_fetch"]),
            json!(["git log *", "git diff *", "git tag *"]),
        ]
    );
    assert_eq!(
        found["limits"],
        json!({"turns": 12, "calls": null, "tokens": null, "money": 500_000, "time_ms": 600_000})
    );
}

#[test]
fn in_a_folder_that_holds_the_home_the_person_s_own_agents_need_trust_too() {
    let place = Place::new();
    write_own(&place, ".claude/agents/mine.md", "---\nname: mine\n---\n");
    write_own(&place, "home/agents/kept.md", "---\nname: kept\n---\n");
    let root = place.root().display().to_string();
    let told = |args: &[&str]| {
        let lines = place.ok(&[&["agents", "--json"], args].concat());
        let lines: Vec<Value> = lines.lines().map(parsed).collect();
        ["mine", "kept"].map(|name| lines.iter().find(|line| line["name"] == name).unwrap()["standing"].clone())
    };
    assert_eq!(told(&[]), ["ready", "ready"]);
    assert_eq!(told(&["-C", &root]), ["untrusted", "ready"], "an agent could write the one, and never the other");
}

#[test]
fn what_a_repository_says_of_an_agent_stands_in_one_line_and_is_shown_before_it_is_trusted() {
    let place = Place::new();
    let folder = place.work.join(".mainpath/agents");
    std::fs::create_dir_all(&folder).unwrap();
    let text = "---\ndescription: \"harmless\\nfrom      built in\\nstanding  trusted\"\ntools: [bash]\n---\nDo.\n";
    for name in ["forge", "explore"] {
        std::fs::write(folder.join(format!("{name}.md")), text).unwrap();
    }
    let shown = place.ok(&["agents", "show", "forge"]);
    assert!(shown.contains("\nabout     harmless from built in standing trusted\n"), "{shown}");
    assert_eq!(shown.lines().filter(|line| line.starts_with("from ")).count(), 1, "{shown}");
    // One with the name of a built-in agent is shown as well, though it is not the one that is used.
    let shown = place.ok(&["agents", "show", "explore"]);
    assert!(
        shown.contains("\ntools     bash\n") && shown.contains("until it is trusted, this one is used:"),
        "{shown}"
    );
    assert!(shown.contains("\nfrom      built in\n"), "{shown}");
}
