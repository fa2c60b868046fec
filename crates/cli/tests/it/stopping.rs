//! A stop, while real processes run.

use crate::support::*;
use mainpath_testkit::model_server::Answer;
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// Neither the shell nor what it started hears the first wish.
const DEAF: &str = "trap '' TERM; (while :; do echo beat >> beats; sleep 0.01; done) & echo $$ > pid; sleep 30";

#[test]
fn a_stopped_run_ends_only_when_nothing_of_its_tool_runs_any_more() {
    let answer = |n| if n == 1 { bash(DEAF) } else { Answer::text("Done after all.") };
    let (place, server) = (Place::new(), server(move |request| answer(request.n).into()));
    let mut process = place.start_run(&server, &["--yes", "--json", "Do it."]);
    wait_until("the tool runs", || place.text("pid").ends_with('\n') && !place.text("beats").is_empty());
    assert!(!place.tools().is_empty());
    place.ok(&["stop"]);
    process.event("call_cancelling");
    process.event("run_finished");
    assert_eq!(place.tools(), Vec::<u32>::new());
    let beats = place.text("beats");
    assert_eq!(process.end().code, 130);
    let ends: Vec<_> =
        place.events(&place.trace()).into_iter().filter(|event| event["type"] == "call_resolved").collect();
    assert_eq!(ends.iter().map(|end| &end["data"]["resolution"]).collect::<Vec<_>>(), ["interrupted"]);
    let resumed = place.run(&["resume", "--yes"]);
    assert_eq!((resumed.code, resumed.out.as_str()), (0, "Done after all.\n"), "{resumed:#?}");
    assert_eq!(server.violations(), Vec::<String>::new());
    assert_eq!(place.text("beats"), beats, "something went on");
}

#[test]
fn stopping_planning_and_summarising_send_no_request_though_something_waits_to_be_said() {
    let words = ["One.", "Two.", "Three.", "Four.", "Five."].map(Answer::text);
    let answers = [bash("echo first >> effects")].into_iter().chain(words).collect();
    let (place, server) = (Place::new(), scripted(answers));
    let model = server.model();
    assert_eq!(place.run(&["run", "--park", "--model", &model, "Do it."]).code, 5);
    let trace = place.trace();
    place.ok(&["approve", &trace]);
    place.ok(&["next", &trace, "Then this."]);
    place.ok(&["steer", &trace, "Rather that."]);
    assert_eq!(place.ok(&["stop", &trace]), format!("{trace} has stopped\n"));
    assert!(place.ok(&["goal", &trace, "add", "Mind the cat"]).contains("Mind the cat"));
    assert_eq!((server.requests().len(), place.text("effects").as_str()), (1, ""));
    // A summary asks for itself only.
    place.run(&["compact", &trace]).fails(1, "was not summarised");
    let told = |words: &str| server.requests().iter().any(|request| request.body().to_string().contains(words));
    assert!(told("outgrow the context window") && !told("Rather that.") && !told("Then this."));
    // What waits is said when somebody goes on.
    assert_eq!(place.run(&["resume", &trace]).code, 0);
    assert!(told("Rather that.") && told("Then this."));
    assert_eq!(server.violations(), Vec::<String>::new());
}

#[test]
fn what_a_resume_is_told_holds_though_something_was_said_before() {
    let write = Answer::call("write_text_file", serde_json::json!({"path": "written.txt", "content": "x"}));
    let (place, server) = (Place::new(), scripted(vec![Answer::text("One."), write, Answer::text("Two.")]));
    assert_eq!(place.run_on(&server, &["--yes", "Look around."]).code, 0);
    let trace = place.trace();
    place.ok(&["next", &trace, "Now write."]);
    let done = place.run(&["resume", &trace, "--mode", "read-only"]);
    assert_eq!((done.code, place.text("written.txt").as_str()), (0, ""), "{done:#?}");
}

/// A place whose `run_end` hook writes its process id to `pid` in the home, and hangs.
fn with_hanging_end() -> Place {
    let place = Place::new();
    let home = place.home.display();
    let command = format!("echo $$ > {home}/pid; exec sleep 600");
    place.config(&format!(
        "[[hooks]]\nname = \"guard\"\ncommand = [\"sh\", \"-c\", \"{command}\"]\non = [\"run_end\"]\ntimeout = \"10m\"\n"
    ));
    place
}

/// Waits until the hook of [`with_hanging_end`] is called.
fn hook_is_called(place: &Place) {
    let file = place.home.join("pid");
    wait_until("the hook is called", || std::fs::read_to_string(&file).is_ok_and(|pid| pid.ends_with('\n')));
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn a_stop_and_an_interrupt_end_a_hook_at_the_end_of_a_run_and_no_later_run() {
    let (place, server) = (with_hanging_end(), server(|_| Answer::text("Done.").into()));
    let mut args = vec!["Do it.".to_string()];
    for by_command in [true, false] {
        let args_of_run: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut process = place.start_run(&server, &args_of_run);
        hook_is_called(&place);
        let (asked, trace) = (Instant::now(), place.trace());
        match by_command {
            true => {
                let told = format!("the run of {trace} has ended; ending the hooks at its end\n");
                assert_eq!(place.ok(&["stop", &trace]), told);
            }
            false => process.signal(Signal::INT),
        }
        args = vec!["--trace".into(), trace, "More.".into()];
        let done = process.end();
        let told = "mainpath: the run has ended; ending the hooks at its end; Ctrl-C again leaves at once\n";
        assert_eq!(
            (done.err.matches(told).count(), done.err.contains("checkpoint")),
            (usize::from(!by_command), false)
        );
        let took = asked.elapsed();
        assert_eq!((done.code, done.out.as_str()), (0, "Done.\n"), "{done:#?}");
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
    let trace = place.trace();
    let ends: Vec<_> = place.events(&trace).into_iter().filter(|event| event["type"] == "run_finished").collect();
    assert_eq!(ends.iter().map(|end| &end["data"]["reason"]).collect::<Vec<_>>(), ["final", "final"]);
    place.run(&["stop", &trace]).fails(1, &format!("trace {trace} is not running"));
}

#[test]
fn the_time_limit_of_a_run_holds_for_the_hooks_at_its_end() {
    let (place, server) = (with_hanging_end(), server(|_| Answer::text("Done.").into()));
    let asked = Instant::now();
    let done = place.run_on(&server, &["--timeout", "2s", "Do it."]);
    let took = asked.elapsed();
    assert_eq!((done.code, done.out.as_str()), (0, "Done.\n"), "{done:#?}");
    assert!(done.err.contains("! The hook guard failed: "), "{done:#?}");
    assert!(took < Duration::from_secs(30), "{took:?}");
}

#[test]
fn a_stop_behind_an_unread_message_is_queued_and_the_message_waits() {
    let (place, server) = (Place::new(), scripted(vec![Answer::text("One."), Answer::text("Never.")]));
    assert_eq!(place.run_on(&server, &["Do it."]).code, 0);
    let trace = place.trace();
    place.ok(&["next", &trace, "More."]);
    let queued = format!("queued; {trace} reads it when it continues: mainpath resume {trace}\n");
    assert_eq!(place.ok(&["stop", &trace]), queued);
    assert_eq!(place.run(&["resume", &trace]).code, 130);
    let shown = place.ok(&["show", &trace]);
    assert!(shown.contains("\nunread: next, More.\n") && !shown.contains("unread: stop"), "{shown}");
    assert_eq!(server.count(), 1);
}
