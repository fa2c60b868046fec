//! A `run` or `resume` that is refused has changed nothing: nothing is queued that the next run would find. And what people are
//! told to do helps.

use crate::support::*;
use mainpath_testkit::model_server::{Answer, Reply};

/// What a refusal must leave as it was.
fn kept(place: &Place, trace: &str) -> (Vec<u8>, Vec<u8>) {
    (place.log(trace), std::fs::read(place.file(trace, "mailbox.jsonl")).unwrap_or_default())
}

#[test]
fn a_refused_run_has_queued_nothing() {
    let place = Place::new();
    let server = scripted(vec![Answer::text("One."), Answer::text("Two.")]);
    assert_eq!(place.run_on(&server, &["--yes", "First."]).code, 0);
    let trace = place.trace();
    std::fs::write(place.work.join("bad.json"), "{").unwrap();
    std::fs::write(place.work.join("bad.toml"), "[[rule]]\nnonsense = 1\n").unwrap();
    let before = kept(&place, &trace);
    let refused: [&[&str]; 14] = [
        &["--model", "nosuch"],
        &["--model", "nosuch:model"],
        &["--model", "openai:gpt-5"],
        &["--model", "playback:nosuch"],
        &["--fallback", "nosuch"],
        &["--file", "nosuch.txt"],
        &["--image", "nosuch.png"],
        &["--output-schema", "bad.json"],
        &["--output-schema", "nosuch.json"],
        &["--policy", "bad.toml"],
        &["--allow", "bash("],
        &["--mcp-config", "nosuch.json"],
        &["-C", "nosuch"],
        &["--nosuch"],
    ];
    for flags in refused {
        for how in [&["--trace", trace.as_str()][..], &["-c"]] {
            let done = place.run(&[&["run"], how, flags, &["--yes", "Second."]].concat());
            assert!(matches!(done.code, 1..=3), "{flags:?}: {done:#?}");
            assert_eq!(kept(&place, &trace), before, "{flags:?} left something behind: {}", done.err);
        }
    }
    let done = place.run(&["run", "-c", "--yes", "Second."]);
    assert_eq!((done.code, done.out.as_str()), (0, "Two.\n"), "{done:#?}");
    assert_eq!(place.log(&trace).windows(7).filter(|at| *at == b"Second.").count(), 1);
}

#[test]
fn a_trace_that_is_being_run_takes_no_second_run_and_no_word_of_it() {
    let place = Place::new();
    let server = server(|_| Answer { delay_ms: 50_000, ..Answer::text("Late.") }.into());
    let mut process = place.start_run(&server, &["--yes", "--json", "First."]);
    process.event("model_request");
    let trace = place.trace();
    let before = kept(&place, &trace);
    for words in
        [&["run", "--trace", &trace, "--model", "scripted", "Second."][..], &["run", "-c", "Second."], &["resume"]]
    {
        let done = place.run(words);
        done.fails(1, "is being run by");
        assert!(!done.err.contains("mainpath resume"), "it cannot help: {}", done.err);
        assert_eq!(kept(&place, &trace).1, before.1, "{words:?}");
    }
}

#[test]
fn a_trace_killed_before_its_first_message_says_what_to_do_and_takes_one() {
    let server = scripted(vec![Answer::text("Answered.")]);
    // Cut down to what a kill at that moment leaves: no line at all, the spec alone, a torn first line.
    for keep in [0, 1, 2] {
        let place = Place::new();
        assert_eq!(place.run_on(&server, &["--yes", "First."]).code, 0);
        let trace = place.trace();
        let log = place.log(&trace);
        let line = log.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let events = place.events(&trace);
        assert_eq!((&events[0]["type"], &events[1]["type"]), (&"spec_changed".into(), &"message_queued".into()));
        std::fs::remove_dir_all(place.file(&trace, "")).unwrap();
        std::fs::create_dir(place.file(&trace, "")).unwrap();
        let left = [&log[..0], &log[..line], &log[..line / 2]][keep];
        std::fs::write(place.file(&trace, "events.jsonl"), left).unwrap();
        let done = place.run(&["resume"]);
        done.fails(1, &format!("mainpath run --trace {trace} \"TASK\""));
        for looks in [&["show"][..], &["verify"], &["replay"], &["ls"], &["export", "--format", "json"], &["context"]] {
            let done = place.run(looks);
            let said = format!("{}{}", done.out, done.err);
            assert!(
                done.code <= 1 && !said.contains("defect") && !said.contains("mainpath resume"),
                "{looks:?} {done:#?}"
            );
        }
        let done = place.run(&["run", "--trace", &trace, "--model", &server.model(), "--yes", "First."]);
        assert_eq!((done.code, done.out.as_str()), (0, "Answered.\n"), "{keep}: {done:#?}");
        place.ok(&["verify"]);
        place.ok(&["replay"]);
        assert_eq!(place.traces().len(), 1);
    }
}

#[test]
fn resume_is_recommended_only_where_it_helps() {
    // The run ends with an error that resuming meets again only if nothing was done about it, so it is recommended.
    let place = Place::new();
    let server = server(|_| Reply::Error { status: 400, headers: Vec::new(), body: "{}".into() });
    let done = place.run_on(&server, &["--yes", "First."]);
    assert_eq!(done.code, 1);
    let trace = place.trace();
    assert!(done.err.contains(&format!("mainpath resume {trace}")), "{done:#?}");
    // It ended with its final answer: there is nothing to carry on with.
    let place = Place::new();
    let server = scripted(vec![Answer::text("Answered.")]);
    let done = place.run_on(&server, &["--yes", "First."]);
    assert!(!done.err.contains("resume"), "{done:#?}");
    let trace = place.trace();
    place.run(&["resume"]).fails(1, &format!("continue with mainpath run --trace {trace} \"TASK\""));
    let done = place.run(&["stop"]);
    assert!(!done.err.contains("resume") && !done.out.contains("resume"), "{done:#?}");
    // It was cleared: nothing of it is left to go on with.
    place.ok(&["clear"]);
    let done = place.run(&["resume"]);
    assert!(done.code == 1 && done.err.contains(&format!("mainpath run --trace {trace} \"TASK\"")), "{done:#?}");
}
