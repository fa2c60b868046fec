//! Processes in the background, under real runs.

use crate::pty::Terminal;
use crate::support::*;
use mainpath_testkit::model_server::Answer;
use rustix::process::Signal;
use serde_json::json;

/// The seconds of a `sleep` that no other test run on this machine has.
fn mark(n: u32) -> String {
    format!("{n}.{}", std::process::id())
}

/// A server that never ends; each beat is a line of output and a line of a file. `mark` names it among all processes.
fn beats(mark: &str) -> String {
    format!("sleep {mark} & while :; do echo beat | tee -a beats; sleep 0.01; done")
}

/// Whether it runs, in whatever namespace.
fn runs(mark: &str) -> bool {
    let wanted = format!("sleep\0{mark}\0");
    let mut entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.any(|entry| std::fs::read(entry.path().join("cmdline")).is_ok_and(|words| words == wanted.as_bytes()))
}

fn background(command: &str) -> Answer {
    Answer::call("bash", json!({"command": command, "background": true}))
}

fn output(id: &str) -> Answer {
    Answer::call("process_output", json!({"id": id, "wait_s": 60}))
}

/// What a request tells of the last call.
fn told(request: &mainpath_testkit::model_server::RecordedRequest) -> String {
    let messages = request.body()["messages"].as_array().unwrap();
    messages.last().unwrap()["content"].as_str().unwrap_or_default().into()
}

#[test]
fn a_process_lives_across_turns_and_ends_with_the_program() {
    let (place, mark) = (Place::new(), mark(86411));
    let server = scripted(vec![
        background(&beats(&mark)),
        output("2.0"),
        Answer::call("process_list", json!({})),
        Answer::text("Done."),
    ]);
    let done = place.run_on(&server, &["--yes", "Serve."]);
    assert_eq!((done.code, done.out.as_str()), (0, "Done.\n"), "{done:#?}");
    let requests = server.requests();
    assert_eq!(told(&requests[1]), "Started in the background; its id is 2.0.");
    let seen = told(&requests[2]);
    assert!(seen.starts_with("beat\n") && seen.ends_with("[process 2.0: running]"), "{seen}");
    assert!(told(&requests[3]).starts_with("2.0 (running, "), "{}", told(&requests[3]));
    wait_until("the process is gone", || !runs(&mark));
}

#[test]
fn a_process_lives_from_message_to_message_of_a_conversation_and_ends_with_it() {
    let (place, mark) = (Place::new(), mark(86431));
    let list = Answer::call("process_list", json!({}));
    let server = scripted(vec![background(&beats(&mark)), Answer::text("One."), list, Answer::text("Two.")]);
    let (program, model) = ([env!("CARGO_BIN_EXE_mainpath"), "chat", "--yes"], server.model());
    let mut terminal = Terminal::of_size((80, 160), &place, (&program, &[]), &[("MAINPATH_MODEL", &model)]);
    terminal.shows("Ctrl-D leaves\r\n›", 1);
    for (number, text) in [(1, "First."), (2, "Second.")] {
        terminal.types(&format!("{text}\r"));
        terminal.shows("■ final", number);
    }
    assert!(told(&server.requests()[3]).starts_with("2.0 (running, "), "{}", told(&server.requests()[3]));
    terminal.types("\u{4}");
    let (code, shown) = terminal.end();
    assert_eq!(code, 0, "{shown}");
    wait_until("the process is gone", || !runs(&mark));
}

#[test]
fn a_long_wait_without_news_is_no_circle_and_no_failure() {
    let place = Place::new();
    // So many equal results of another call would end a run with this limit. The last wait is longer than a call may take.
    let waits = [1, 1, 1, 1, 60].map(|wait_s| Answer::call("process_output", json!({"id": "2.0", "wait_s": wait_s})));
    let sleep = format!("sleep {}", mark(86414));
    let answers = std::iter::once(background(&sleep)).chain(waits).chain([Answer::text("Still at it.")]);
    let server = scripted(answers.collect());
    let flags = ["--yes", "--call-timeout", "5s", "--repeated-failure-limit", "2"];
    let done = place.run_on(&server, &[&flags[..], &["Build it."]].concat());
    assert_eq!((done.code, done.out.as_str()), (0, "Still at it.\n"), "{done:#?}");
    let quiet = "[no new output]\n[process 2.0: running]";
    assert!(
        (2..7).all(|n| told(&server.requests()[n]) == quiet),
        "{:?}",
        server.requests().iter().map(told).collect::<Vec<_>>()
    );
    place.ok(&["replay"]);
}

#[test]
fn a_process_dies_with_a_program_that_is_killed() {
    let (place, mark) = (Place::new(), mark(86412));
    let server = scripted(vec![background(&beats(&mark)), Answer { delay_ms: 50_000, ..Answer::text("Never.") }]);
    let process = place.start_run(&server, &["--yes", "Serve."]);
    // A shell's child goes by the shell's name until it is executed: a beat may come first.
    wait_until("the next turn begins and the process runs", || {
        server.count() == 2 && !place.text("beats").is_empty() && runs(&mark)
    });
    assert!(process.kill().1);
    wait_until("the process is gone", || !runs(&mark));
}

#[test]
fn a_stopped_run_leaves_no_process_behind_and_the_next_one_is_told() {
    let (place, mark) = (Place::new(), mark(86413));
    let server = scripted(vec![background(&beats(&mark)), bash("sleep 30"), output("2.0"), Answer::text("Gone.")]);
    let mut process = place.start_run(&server, &["--yes", "--json", "Serve."]);
    wait_until("the process runs", || runs(&mark));
    place.ok(&["stop"]);
    process.event("run_finished");
    assert_eq!(process.end().code, 130);
    wait_until("the process is gone", || !runs(&mark));
    let resumed = place.run(&["resume", "--yes"]);
    assert_eq!((resumed.code, resumed.out.as_str()), (0, "Gone.\n"), "{resumed:#?}");
    let seen = told(server.requests().last().unwrap());
    let words = "There is no background process 2.0. If it was started before Mainpath was, it ended with Mainpath's last process; ";
    assert!(seen.starts_with(words), "{seen}");
}

/// Changes that a background command made to a repository are checked when the run ends normally and when a signal ends the program.
#[test]
fn what_a_process_has_left_for_git_is_moved_aside_when_the_run_ends() {
    for is_signalled in [false, true] {
        let (place, mark) = (Place::new(), mark(86412));
        let plants = format!(
            "git init -q n\nprintf '[core]\\n\\tfsmonitor = touch ran\\n' >> n/.git/config\necho planted\nsleep {mark}\n"
        );
        std::fs::write(place.work.join("n.sh"), plants).unwrap();
        // The model is a script: the program ends as soon as it has answered.
        let script = place.root().join("script.toml");
        let delay = if is_signalled { 50_000 } else { 0 };
        std::fs::write(
            &script,
            format!(
                "[[turn]]\ncalls = [{{ tool = \"bash\", args = {{ command = \"sh n.sh\", background = true }} }}]\n\
                 [[turn]]\ncalls = [{{ tool = \"process_output\", args = {{ id = \"2.0\", wait_s = 60 }} }}]\n\
                 [[turn]]\ndelay_ms = {delay}\nfinal = \"Done.\"\n"
            ),
        )
        .unwrap();
        let model = format!("scripted:{}", script.display());
        let mut run = place.start(&["run", "--model", &model, "--mode", "workspace-write", "--json", "Start it."]);
        if is_signalled {
            (0..3).for_each(|_| drop(run.event("model_request")));
            wait_until("it has planted", || place.text("n/.git/config").contains("fsmonitor"));
            run.signal(Signal::TERM);
        }
        let done = run.end();
        assert!(!runs(&mark), "{done:#?}");
        let config = place.text("n/.git/config");
        assert!(config.contains("[core]") && !config.contains("fsmonitor"), "{config} {done:#?}");
        assert_eq!(done.err.matches("n/.git/config").count(), 1, "{done:#?}");
    }
}
