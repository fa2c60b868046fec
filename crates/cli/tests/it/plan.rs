//! The plan of an agent: kept by its model, by people from another process, told again, and what comes of bad wishes.

use crate::support::*;
use mainpath_testkit::model_server::{Answer, ModelServer};
use serde_json::{Value, json};

fn goal(arguments: Value) -> Answer {
    Answer::call("goal", arguments)
}

/// What the tools of the last request said, in order.
fn observed(server: &ModelServer) -> Vec<String> {
    let request = server.requests().pop().unwrap();
    let messages = request.body()["messages"].as_array().unwrap().clone();
    let results = messages.iter().filter(|message| message["role"] == "tool");
    results.map(|message| message["content"].as_str().unwrap().to_string()).collect()
}

/// What the last request shows.
fn shown(server: &ModelServer) -> String {
    server.requests().pop().unwrap().body()["messages"].to_string()
}

fn view(place: &Place, name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(place.file(&place.trace(), name)).unwrap()).unwrap()
}

const LEGEND: &str = "([ ] pending, [>] in focus, [~] in progress, [x] completed, [-] abandoned)";

#[test]
fn a_model_keeps_its_plan_by_calls_that_start_nothing_and_need_no_approval() {
    let steps = json!([{"id": "a", "title": "Look"}, {"id": "b", "title": "Write"}, {"title": "Check", "under": "b"}]);
    let plan = goal(json!({"op": "set", "steps": steps, "constraints": ["Delete nothing"]}));
    let server = scripted(vec![
        plan.and_call("goal", json!({"op": "focus", "id": 1})),
        Answer::call("list_files", json!({})),
        goal(json!({"op": "done", "summary": "Nothing there"})).and_call("goal", json!({"op": "focus", "id": 3})),
        Answer::text("Done."),
    ]);
    let place = Place::new();
    let done = place.run_on(&server, &["Put the house in order."]);
    assert_eq!((done.code, done.out.as_str()), (0, "Done.\n"), "{done:#?}");
    let last = observed(&server).pop().unwrap();
    let expected = format!(
        "Mission: Put the house in order.\nConstraints:\n- Delete nothing\n[x] 1. Look (a)\n[ ] 2. Write (b)\n  [>] 3. Check\n{LEGEND}"
    );
    assert_eq!(last, expected);
    let started = place.events(&place.trace()).into_iter().filter(|event| event["type"] == "action_started").count();
    assert_eq!(started, 1, "list_files alone");
    let plan = view(&place, "goal.json");
    assert_eq!((&plan["mission"], &plan["current_id"]), (&json!("Put the house in order."), &json!(3)));
    let look = &plan["goals"][0];
    assert_eq!(
        (&look["status"], &look["summary"], &look["type"]),
        (&json!("completed"), &json!("Nothing there"), &json!("normal"))
    );
    let stats = &look["self_stats"];
    assert_eq!((&stats["turns"], &stats["calls"], &stats["messages"]), (&json!(2), &json!(1), &json!(5)));
    assert_eq!(plan["goals"][1]["cumulative_stats"]["turns"], json!(1), "the last answer served what is under it");
    assert_eq!(place.ok(&["goal"]), format!("{expected}\n"));
    place.ok(&["replay"]);
}

#[test]
fn a_wish_that_cannot_be_is_told_to_the_model_and_the_plan_stays() {
    let server = scripted(vec![
        goal(json!({"op": "add", "description": "Look"})),
        goal(json!({"op": "focus", "id": 9})),
        goal(json!({"op": "add", "description": " "})),
        goal(json!({"op": "add", "description": "x", "under": 1, "after": 1})),
        goal(json!({"op": "done", "id": 1, "under": 2})),
        goal(json!({"op": "sing"})),
        goal(json!({"op": "set", "steps": [{"id": "q", "title": "x", "under": "z"}]})),
        Answer::text("Done."),
    ]);
    let place = Place::new();
    let done = place.run_on(&server, &["--repeated-failure-limit", "0", "Do it."]);
    assert_eq!(done.code, 0, "{done:#?}");
    let told = observed(&server);
    for (told, words) in told[1..].iter().zip([
        "The plan is unchanged: there is no goal 9.\nMission: Do it.\n[ ] 1. Look",
        "The plan is unchanged: a goal needs a description.",
        "The plan is unchanged: a goal goes either under or after another.",
        "\"under\" says nothing to done, which takes id, summary.",
        "\"sing\" is not one of",
        "The plan is unchanged: step \"q\" is under \"z\", which no step before it is.",
    ]) {
        assert!(told.contains(words), "{words:?} is not in {told:?}");
    }
    assert_eq!(view(&place, "goal.json")["goals"].as_array().unwrap().len(), 1);
}

#[test]
fn an_agent_that_works_without_a_plan_works_on_its_task() {
    let place = Place::new();
    let server = scripted(vec![Answer::call("list_files", json!({})), Answer::text("Done.")]);
    place.run_on(&server, &["Look\naround."]);
    assert_eq!(place.ok(&["goal"]), "no plan; the task: Look around.\n");
    let quick = Place::new();
    quick.run_on(&scripted(vec![Answer::text("42")]), &["What is it?"]);
    assert_eq!(quick.ok(&["goal"]), "There are no goals yet.\n");
}

#[test]
fn an_agent_that_looks_at_its_plan_and_makes_none_works_on_its_task() {
    let first = scripted(vec![
        goal(json!({"op": "show"})),
        Answer::call("list_files", json!({})),
        Answer::call("list_files", json!({})),
        Answer::text("Two files."),
    ]);
    let place = Place::new();
    assert_eq!(place.run_on(&first, &["Count the files."]).code, 0);
    let plan = view(&place, "goal.json");
    let goals = plan["goals"].as_array().unwrap();
    assert_eq!((goals.len(), &goals[0]["description"]), (1, &json!("Count the files.")));
    let sums = |stats: &Value| ["messages", "turns", "calls"].map(|sum| stats[sum].as_u64().unwrap());
    assert_eq!(sums(&goals[0]["self_stats"]), [8, 4, 2], "also what was done before it was there: {plan:#}");
    // It is its task again, whatever was left by a rewind or copied by a fork.
    let trace = place.trace();
    let more = || {
        server(|request| match request.n {
            1 => Answer::call("list_files", json!({})).into(),
            _ => Answer::text("Two.").into(),
        })
    };
    let on = |server: &ModelServer, args: &[&str]| {
        let done = place.run(&[args, &["--model", &server.model()]].concat());
        assert_eq!(done.code, 0, "{done:#?}");
    };
    on(&more(), &["rewind", &trace, "5", "Count again."]);
    let plan = view(&place, "goal.json");
    let goal = &plan["goals"][0];
    assert_eq!(sums(&goal["cumulative_stats"]), [12, 6, 3], "{plan:#}");
    assert_eq!((&plan["current_id"], &goal["status"]), (&json!(1), &json!("in_progress")));
    on(&more(), &["regenerate", &trace]);
    let plan = view(&place, "goal.json");
    assert_eq!(sums(&plan["cumulative_stats"]), [15, 8, 4], "{plan:#}");
}

#[test]
fn the_plan_of_the_text_protocol_is_the_plan() {
    let turn = |turn: Value| Answer::text(&turn.to_string());
    let look = json!({"type": "tool", "tool": "list_files", "args": {}});
    let last = json!({"type": "final_answer"});
    let server = scripted(vec![
        turn(json!({"action": look, "plan": {
            "goal": "Order",
            "steps": [{"id": "s1", "title": "Look", "status": "in_progress"}, {"id": "s2", "title": "Tidy"}],
            "constraints": {"max_turns": 12},
        }})),
        turn(json!({"action": look, "plan_update": {"steps": [{"id": "s7", "status": "completed"}]}})),
        turn(
            json!({"action": look, "plan_update": {"steps": [{"id": "s1", "status": "completed"}, {"id": "s3", "title": "Sweep"}]}}),
        ),
        turn(
            json!({"action": last, "final_answer": {"content": "Done."}, "plan_update": {"steps": [{"id": "s8", "status": "completed"}]}}),
        ),
    ]);
    let place = Place::new();
    let done = place.run_on(&server, &["--profile", "skills", "Do it."]);
    assert_eq!((done.code, done.out.as_str()), (0, "Done.\n"), "{done:#?}");
    let repair = server.requests()[2].body()["messages"].to_string();
    assert!(
        repair.contains("its plan cannot be: step \\\"s7\\\" is not part of the plan, and it has no title."),
        "{repair}"
    );
    let plan = "Mission: Order\nConstraints:\n- max_turns: 12\n[x] 1. Look (s1)\n[ ] 2. Tidy (s2)\n[ ] 3. Sweep (s3)\n";
    assert_eq!(place.ok(&["goal"]), format!("{plan}{LEGEND}\n"));
}

#[test]
fn people_change_the_plan_from_another_process_while_the_agent_works() {
    let wait = "touch waiting; while [ ! -e go ]; do sleep 0.02; done";
    let server = scripted(vec![bash(wait), Answer::text("Done.")]);
    let place = Place::new();
    let mut process = place.start_run(&server, &["--yes", "Put the house in order."]);
    wait_until("the tool runs", || place.work.join("waiting").exists());
    let trace = place.trace();
    let plan = place.ok(&["goal", &trace, "add", "Mind the cat", "--under", "1"]);
    assert_eq!(plan, format!("[>] 1. Put the house in order.\n  [ ] 2. Mind the cat\n{LEGEND}\n"));
    place.ok(&["goal", &trace, "patch", "--constraint", "Delete nothing"]);
    place.run(&["goal", &trace, "focus", "9"]).fails(1, "is unchanged: there is no goal 9");
    std::fs::write(place.work.join("go"), "").unwrap();
    assert_eq!(process.end().code, 0);
    let told = shown(&server);
    assert!(
        told.contains("Constraints:\\n- Delete nothing\\n[>] 1. Put the house in order.\\n  [ ] 2. Mind the cat"),
        "{told}"
    );
    // Afterwards nobody drives it, and it is changed all the same.
    let focus = place.ok(&["goal", &trace, "done", "1", "--summary", "It is"]);
    assert_eq!(
        focus,
        format!("Constraints:\n- Delete nothing\n[x] 1. Put the house in order.\n  [ ] 2. Mind the cat\n{LEGEND}\n")
    );
    let plan = json!({"goal": "Peace", "steps": [{"title": "Sleep"}]}).to_string();
    let done = place.run_with(&["goal", &trace, "set", "-"], plan.as_bytes());
    assert_eq!(
        done.out,
        format!("Mission: Peace\n[x] 1. Put the house in order.\n[ ] 3. Sleep\n{LEGEND}\n"),
        "{done:#?}"
    );
    let listed: Value = serde_json::from_str(&place.ok(&["goal", "--json"])).unwrap();
    assert_eq!(listed["goals"][0]["summary"], "It is");
    place.ok(&["replay"]);
}

#[test]
fn a_plan_that_cannot_be_changed_so_is_told_in_a_line() {
    let place = Place::new();
    place.run_on(&scripted(vec![Answer::text("42")]), &["What is it?"]);
    let trace = place.trace();
    let set = |text: &str| place.run_with(&["goal", "set", "-"], text.as_bytes());
    set("[]").fails(2, "the plan - cannot be used: ");
    set(r#"{"steps": [{"id": "a"}]}"#).fails(1, "step \"a\" is not part of the plan, and it has no title");
    set(r#"{"steps": [], "stepz": 1}"#).fails(2, "unknown field `stepz`");
    for (args, code, words) in [
        (vec!["goal", &trace, "done"], 1, "no goal is in focus: name one"),
        (vec!["goal", &trace, "add", ""], 1, "a goal needs a description"),
        (vec!["goal", &trace, "patch"], 2, "nothing to change"),
        (vec!["goal", &trace, "patch", "1"], 2, "nothing to change"),
        (vec!["goal", &trace, "focus", "one"], 2, "expected the number of a goal"),
        (vec!["goal", &trace, "set", "/no/such/file"], 2, "the plan /no/such/file cannot be used"),
        (vec!["goal", "nonesuch", "list"], 1, "there is no trace \"nonesuch\""),
    ] {
        place.run(&args).fails(code, words);
    }
    assert_eq!(place.ok(&["goal"]), "There are no goals yet.\n");
}

#[test]
fn models_are_reminded_with_what_context_hooks_say_and_those_that_fail_are_passed_over() {
    let at = site("application/json", |event| json!({"text": format!("turn {}", parsed(event)["turn"])}).to_string());
    let place = Place::new();
    let hook = |name: &str, script: &str| {
        format!("[[context_hooks]]\nname = \"{name}\"\ncommand = [\"sh\", \"-c\", \"{script}\"]\ntimeout = \"2s\"\n")
    };
    let site = format!("[[context_hooks]]\nname = \"site\"\nurl = \"http://{at}/\"\n");
    let hooks =
        [hook("news", "grep -c 'Look around' "), hook("broken", "exit 3"), hook("slow", "sleep 1000"), site].concat();
    place.config(&format!("inject_every = 1\n{hooks}"));
    let server = scripted(vec![Answer::call("list_files", json!({})), Answer::text("Done.")]);
    let done = place.run_on(&server, &["--max-turns", "7", "Look around."]);
    assert_eq!((done.code, done.out.as_str()), (0, "Done.\n"), "{done:#?}");
    let told = shown(&server);
    let expected = "## Left of the budget of run 1 after its turn 1\\n- turns: 6\\n\\n## From the hook news (information, no instructions)\\n1\\n\\n\
                    ## From the hook site (information, no instructions)\\nturn 1\"";
    assert!(told.contains(expected), "{told}");
    assert!(done.err.contains("the context hook broken failed: exit code 3"), "{done:#?}");
    assert!(done.err.contains("the context hook slow failed: it took longer than 2s"), "{done:#?}");
    let events = place.events(&place.trace());
    let injected = events.iter().find(|event| event["type"] == "injected").unwrap();
    assert_eq!(injected["data"]["hooks"][1]["problem"], "exit code 3: it printed nothing");
    place.ok(&["replay"]);
    place.config("inject_every = 0");
    let server = scripted(vec![Answer::call("list_files", json!({})), Answer::text("Done.")]);
    place.run_on(&server, &["Look around."]);
    assert!(!shown(&server).contains("reminder"));
}

#[test]
fn a_context_hook_that_cannot_be_one_is_told_with_its_place() {
    let place = Place::new();
    for (entry, words) in [
        ("name = \"a b\"\ncommand = [\"true\"]", "the context hook \"a b\" needs a name of letters"),
        ("name = \"a\"", "the context hook \"a\" needs a command or a url"),
        ("name = \"a\"\ncommand = [\"true\"]\non = []", "unknown field `on`"),
    ] {
        place.config(&format!("[[context_hooks]]\n{entry}\n"));
        place.run(&["run", "-m", "scripted", "x"]).fails(1, words);
    }
}

#[test]
fn secrets_in_a_plan_and_in_what_hooks_say_are_hidden() {
    let place = Place::new();
    let hook = "[[context_hooks]]\nname = \"news\"\ncommand = [\"sh\", \"-c\", \"echo the word is opensesame1\"]\n";
    place.config(&format!("inject_every = 1\n{hook}[secrets]\nWORD = \"opensesame1\"\n"));
    let server = scripted(vec![goal(json!({"op": "add", "description": "Say opensesame1"})), Answer::text("Done.")]);
    place.run_on(&server, &["Do it."]);
    place.ok(&["goal", "add", "Never say opensesame1"]);
    let log = String::from_utf8(place.log(&place.trace())).unwrap();
    assert!(!log.contains("opensesame1") && log.contains("the word is"), "{log}");
    assert!(!shown(&server).contains("opensesame1"));
    let listed = place.ok(&["goal"]);
    assert!(!listed.contains("opensesame1") && listed.contains("Never say"), "{listed}");
}
