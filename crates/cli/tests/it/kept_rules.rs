//! The rules that a run was given lie in its log: whoever goes on with it is held to them.

use crate::support::*;
use mainpath_testkit::model_server::Answer;

/// Runs that make the same call again and again, each ended by its turns.
fn over_and_over(command: &'static str) -> mainpath_testkit::model_server::ModelServer {
    server(move |request| match request.n % 2 {
        1 => bash(command).into(),
        _ => Answer::text("The end.").into(),
    })
}

#[test]
fn what_was_denied_or_asked_stays_so_in_every_later_run() {
    let (place, server) = (Place::new(), over_and_over("echo x >> effects"));
    let rules = ["--deny", "bash(echo *)", "--ask", "bash(ls *)", "--yes", "Do it."];
    let done = place.run_on(&server, &rules);
    assert_eq!((done.code, place.text("effects").as_str()), (0, ""), "{done:#?}");
    assert!(done.err.contains("denied by run.deny.1"), "{done:#?}");
    let trace = place.trace();
    for args in [
        &["run", "--trace", &trace, "--yes", "Again."][..],
        &["regenerate", &trace],
        &["rewind", &trace, "--to", "2", "Differently."],
        &["fork", &trace, "--at", "4", "Elsewhere."],
    ] {
        let done = place.run(args);
        assert!(done.err.contains("denied by run.deny.1"), "{args:?}: {done:#?}");
        assert_eq!(place.text("effects"), "", "{args:?}");
    }
    // Replayed under them as well, and told by who looks.
    assert!(place.ok(&["policy", "replay", &trace]).contains("0 would be decided differently now"));
}

#[test]
fn what_was_allowed_holds_for_who_goes_on_after_a_crash_and_after_an_approval() {
    let place = Place::new();
    std::fs::write(place.work.join("more.toml"), "[[rule]]\ndecision = \"deny\"\nmatch = \"bash(touch *)\"\n").unwrap();
    let server = scripted(vec![
        bash("mkdir here").and_call("bash", serde_json::json!({"command": "touch never"})),
        bash("echo x >> effects"),
        bash("echo x >> effects"),
        Answer::text("The end."),
    ]);
    let args = ["--allow", "bash(mkdir *)", "--policy", "more.toml", "--park", "Do it."];
    place.run_on(&server, &args).fails(5, "needs approval");
    // The file says something else by now; the run goes on under what it said then.
    std::fs::write(place.work.join("more.toml"), "what is this").unwrap();
    let trace = place.trace();
    assert_eq!((place.work.join("here").is_dir(), place.work.join("never").exists()), (true, false));
    place.ok(&["approve", &trace, "--for", "trace"]);
    let done = place.run(&["resume", &trace, "--park"]);
    assert_eq!((done.code, place.text("effects").as_str()), (0, "x\nx\n"), "{done:#?}");
    let spec = place.events(&trace).into_iter().find(|event| event["type"] == "spec_changed").unwrap();
    let rules = &spec["data"]["spec"]["rules"];
    assert_eq!(
        (rules["allow"][0].as_str(), rules["files"][0]["name"].as_str()),
        (Some("bash(mkdir *)"), Some("more.toml"))
    );
}

#[test]
fn a_yes_holds_for_the_task_and_a_new_task_needs_its_own() {
    let (place, server) = (Place::new(), over_and_over("echo x >> effects"));
    place.run_on(&server, &["--yes", "Do it."]);
    let trace = place.trace();
    assert_eq!(place.text("effects"), "x\n");
    let done = place.run(&["regenerate", &trace]);
    assert_eq!((done.code, place.text("effects").as_str()), (0, "x\nx\n"), "{done:#?}");
    let done = place.run(&["run", "--trace", &trace, "Something else."]);
    assert!(done.err.contains("denied by builtin.headless"), "{done:#?}");
    assert_eq!(place.text("effects"), "x\nx\n");
}

#[test]
fn rules_that_cannot_be_read_when_a_run_goes_on_decide_nothing() {
    let place = Place::new();
    let server = scripted(vec![bash("echo x >> effects"), Answer::text("The end.")]);
    assert_eq!(place.run_on(&server, &["--park", "Do it."]).code, 5);
    let trace = place.trace();
    let before = place.log(&trace);
    let user = place.home.join("policy.toml");
    for (text, told) in [
        ("garbage [[", "policy.toml, line 1: "),
        ("[[rule]]\ndecision = \"allow\"\nmatch = [\"bash(\"]\n", "policy.toml, line 3: "),
    ] {
        std::fs::write(&user, text).unwrap();
        let done = place.run(&["resume", &trace, "--yes"]);
        done.fails(1, told);
        assert_eq!((place.log(&trace) == before, place.text("effects").as_str()), (true, ""), "{done:#?}");
    }
    std::fs::remove_file(&user).unwrap();
    assert_eq!(place.run(&["resume", &trace, "--yes"]).out, "The end.\n");
    assert_eq!(place.text("effects"), "x\n");
}
