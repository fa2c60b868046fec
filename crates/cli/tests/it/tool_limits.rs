//! Limits on single tools, and approvals that expire.

use crate::questions::{THREE_HOURS, age};
use crate::support::*;
use mainpath_testkit::model_server::Answer;
use serde_json::{Value, json};

/// The wire events of a run under this configuration.
fn events(config: &str, answers: Vec<Answer>) -> Vec<Value> {
    let (place, server) = (Place::new(), scripted(answers));
    place.config(config);
    let model = server.model();
    let done = place.run(&["run", "--yes", "--json", "-m", &model, "Do it."]);

    assert_eq!(done.code, 0, "{done:#?}");
    done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of_type<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == name).map(|event| &event["data"]).collect()
}

#[test]
fn a_tool_is_called_no_more_often_than_configured() {
    let answers = vec![bash("echo one"), bash("echo two"), Answer::text("Done.")];
    let events = events("[tool_limits.bash]\nmax_calls = 1\n", answers);
    let ends: Vec<Value> = of_type(&events, "observation_recorded")
        .iter()
        .map(|data| json!([data["resolution"], data["cause"]]))
        .collect();
    assert_eq!(ends, [json!(["ok", "result"]), json!(["skipped", "tool_cap"])]);
}

#[test]
fn a_person_is_told_why_a_call_was_skipped_or_ended() {
    let told = |config: &str, command: &str, words: &str| {
        let (place, server) = (Place::new(), scripted(vec![bash(command), bash(command), Answer::text("Done.")]));
        place.config(config);
        let done = place.run_on(&server, &["--yes", "Do it."]);
        assert!(done.code == 0 && done.err.contains(words), "{words}: {done:#?}");
    };
    let cap = "[tool_limits.bash]\nmax_calls = 1\n";
    told(cap, "echo one", "\n✗ bash was skipped: its calls of this run are used up (max_calls of the tool)\n");
    let time = "[tool_limits.bash]\ntimeout = \"300ms\"\n";
    told(time, "sleep 20", "s): its time limit was reached: [interrupted; the command and");
}

#[test]
fn a_call_beyond_the_rate_waits_for_its_time() {
    let answers = vec![bash("echo one"), bash("echo two"), Answer::text("Done.")];
    let events = events("[tool_limits.bash]\nrate = \"1/700ms\"\n", answers);
    let until = of_type(&events, "call_delayed")[0]["until"].as_u64().unwrap();
    assert_eq!((of_type(&events, "call_due").len(), of_type(&events, "action_started").len()), (1, 2));
    let log_time = |name: &str| events.iter().rfind(|event| event["type"] == name).unwrap()["ts"].as_str().unwrap();
    assert!(until > 0 && log_time("action_started") >= log_time("call_due"));
}

#[test]
fn an_approval_that_comes_too_late_is_a_denial() {
    let (place, server) = (Place::new(), scripted(vec![bash("echo done >> effects"), Answer::text("Then not.")]));
    let model = server.model();
    let parked = place.run(&["run", "--park", "--approval-timeout", "2h", "-m", &model, "Do it."]);
    assert_eq!(parked.code, 5, "{parked:#?}");
    age(&place, &place.trace(), THREE_HOURS);
    let shown = place.ok(&["show"]);
    assert!(shown.contains("call 2.0 (bash: echo done >> effects) expired: nobody answered by "), "{shown}");
    place.run(&["approve"]).fails(1, "call 2.0 (bash: echo done >> effects) expired: nobody answered by ");
    let done = place.run(&["resume", "--park"]);
    assert_eq!((done.code, done.out.as_str(), place.text("effects").as_str()), (0, "Then not.\n", ""), "{done:#?}");
    assert!(done.err.contains("✗ bash was denied: nobody answered in time\n"), "{done:#?}");
    let request = server.requests().pop().unwrap().body()["messages"].to_string();
    assert!(request.contains("Denied: nobody decided on this call in time."), "{request}");
}

#[test]
fn the_limits_of_the_configuration_are_among_a_tools_own() {
    let place = Place::new();
    assert!(place.ok(&["tools", "bash"]).contains("limits: none but the run's"));
    place.config("[tool_limits.bash]\nmax_calls = 3\nrate = \"2/1m\"\ntimeout = \"90s\"\n");
    let said = place.ok(&["tools", "bash"]);
    assert!(said.contains("limits: 3 calls in a run, 2 calls in 1m, 1m 30s"), "{said}");
}

#[test]
fn a_limit_that_cannot_be_read_is_told_with_its_place() {
    let place = Place::new();
    for (text, words) in [
        (
            "[tool_limits.bash]\nrate = \"often\"\n",
            "line 2: \"often\" is not a rate; write calls/time, such as \"10/1m\"",
        ),
        ("[tool_limits.bash]\nrate = \"0/1s\"\n", "line 2: \"0/1s\" would never let it run"),
        ("\n[tool_limits.bash]\ntimeout = \"soon\"\n", "line 3: \"soon\" is not a time"),
        ("[tool_limits.bash]\nmax = 1\n", "line 2: unknown field `max`"),
        ("mode = \"everything\"\n", "line 1: unknown variant `everything`"),
    ] {
        place.config(text);
        place.run(&["run", "-m", "scripted", "Do it."]).fails(1, words);
    }
}
