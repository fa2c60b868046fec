//! `rm`, `purge` and `erase`, on real files.

use crate::support::*;
use mainpath_testkit::model_server::Answer;
use mainpath_testkit::redis::Redis;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Whether any file below a folder holds this text.
fn holds(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holds(&path, text));
        } else {
            let bytes = std::fs::read(&path).unwrap();
            if bytes.windows(text.len()).any(|at| at == text.as_bytes()) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

fn script(place: &Place, text: &str) -> String {
    let file = place.root().join("script.json");
    std::fs::write(&file, text).unwrap();
    format!("scripted:{}", file.display())
}

/// All blobs as if they had been put an hour ago.
fn age_blobs(place: &Place) {
    let blobs = place.home.join("blobs");
    let Ok(folders) = std::fs::read_dir(blobs) else { return };
    for folder in folders.map(|folder| folder.unwrap().path()).filter(|path| path.is_dir()) {
        for blob in std::fs::read_dir(folder).unwrap() {
            let file = File::options().write(true).open(blob.unwrap().path()).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
        }
    }
}

#[test]
fn what_was_said_is_erased_from_every_file_and_the_chain_holds() {
    let place = Place::new();
    let server = scripted(vec![Answer::text("The pelican is fine."), Answer::text("Nothing else.")]);
    let long = format!("about the flamingo {}", "x".repeat(20_000));
    place.run_on(&server, &["the heron is secret"]);
    let trace = place.trace();
    let done = place.run_with(&["run", "--trace", &trace, "-"], long.as_bytes());
    assert_eq!(done.code, 0, "{done:#?}");
    age_blobs(&place);
    let none: Vec<String> = Vec::new();
    for word in ["heron", "pelican", "flamingo"] {
        assert_ne!(holds(&place.home, word), none, "{word} was said");
    }
    let out = place.ok(&["erase", &trace, "--message", "1", "--message", "3", "--yes", "--reason", "asked for"]);
    assert!(out.contains("2 events of ") && out.contains("\n1 blob with "), "{out}");
    assert_eq!(holds(&place.home, "heron"), none);
    assert_eq!(holds(&place.home, "flamingo"), none);
    let out = place.ok(&["verify", &trace]);
    assert!(out.contains("2 events were erased") && out.contains("the chain verifies"), "{out}");
    let out = place.ok(&["show", &trace]);
    assert!(out.contains("#1 user\n   (erased)") && out.contains("The pelican is fine."), "{out}");
    let out = place.ok(&["replay", &trace]);
    assert!(out.contains("2 requests contained messages that were erased since"), "{out}");
    assert!(place.ok(&["show", "--events", &trace]).contains("\"why\":\"asked for\""));
    // It can be gone on with, and what is left goes as well.
    let server = scripted(vec![Answer::text("Going on.")]);
    let model = server.model();
    let done = place.run(&["run", "--trace", &trace, "--model", &model, "go on"]);
    assert_eq!(done.code, 0, "{done:#?}");
    assert!(
        done.err.contains("! 2 events of this trace were erased; the model sees (erased) in their places"),
        "{}",
        done.err
    );
    let out = place.ok(&["erase", &trace, "--all", "--yes"]);
    assert!(out.contains("the log still verifies"), "{out}");
    for word in ["pelican", "Going on", "Nothing else"] {
        assert_eq!(holds(&place.home, word), none, "{word}");
    }
    place.ok(&["verify", &trace]);
    let again = place.run(&["erase", &trace, "--all", "--yes"]);
    assert_eq!((again.code, again.err.contains("nothing left to erase")), (1, true), "{again:#?}");
}

#[test]
fn an_erasure_names_the_tests_and_exports_that_keep_the_words() {
    let place = Place::new();
    place.run_on(&scripted(vec![Answer::text("The pelican is fine.")]), &["the heron is secret"]);
    let trace = place.trace();
    place.ok(&["test", "add", &trace, "--name", "kept"]);
    let out = place.ok(&["erase", &trace, "--all", "--yes"]);
    let folder = place.work.canonicalize().unwrap();
    let kept = format!("the test kept in {} keeps the words; mainpath test remove kept removes it\n", folder.display());
    assert!(out.contains(&kept), "{out}");
    assert!(out.ends_with("files that you have exported, and tests in other folders, keep the words\n"), "{out}");
}

#[test]
fn what_was_pinned_of_a_message_is_erased_with_it() {
    let (place, server) = (Place::new(), scripted(vec![Answer::text("Good."), Answer::text("And good.")]));
    place.run_on(&server, &["The pelican sleeps at the pier."]);
    let trace = place.trace();
    place.ok(&["pin", &trace, "--message", "1"]);
    place.ok(&["pin", &trace, "Keep tables in Markdown."]);
    let out = place.ok(&["erase", &trace, "--message", "1", "--yes"]);
    assert!(out.contains("2 events"), "{out}");
    for file in std::fs::read_dir(place.home.join("traces").join(&trace)).unwrap() {
        let file = file.unwrap().path();
        let bytes = if file.is_file() { std::fs::read(&file).unwrap() } else { Vec::new() };
        assert!(!String::from_utf8_lossy(&bytes).contains("pelican"), "{}", file.display());
    }
    assert!(place.ok(&["pin", &trace]).contains("Keep tables in Markdown."));
    place.ok(&["verify", &trace]);
    place.ok(&["replay", &trace]);
    assert_eq!(place.run_on(&server, &["-c", "Go on."]).code, 0);
    let last = server.requests().last().unwrap().body().to_string();
    assert!(last.contains("Keep tables in Markdown.") && !last.contains("pelican"), "{last}");
}

#[test]
fn a_call_and_its_result_are_erased_one_by_one() {
    let place = Place::new();
    let model = script(
        &place,
        r#"{"turn":[{"text":"looking","calls":[{"tool":"list_files","args":{"path":"."}}]},{"final":"done"}]}"#,
    );
    std::fs::write(place.work.join("heron.txt"), "").unwrap();
    place.ok(&["run", "--model", &model, "--yes", "look"]);
    let trace = place.trace();
    assert!(place.ok(&["show", &trace]).contains("heron.txt"));
    place.ok(&["erase", &trace, "--message", "3", "--yes"]);
    let shown = place.ok(&["show", &trace]);
    assert!(!shown.contains("heron.txt") && shown.contains("list_files Ok\n   (erased)"), "{shown}");
    place.ok(&["verify", &trace]);
    place.ok(&["replay", &trace]);
    let missing = place.run(&["erase", &trace, "--message", "99", "--yes"]);
    assert_eq!((missing.code, missing.err.contains("has no message 99; its last is 4")), (1, true), "{missing:#?}");
}

#[test]
fn a_trace_is_removed_but_not_while_it_runs() {
    let place = Place::new();
    let server = scripted(vec![Answer { delay_ms: 50_000, ..Answer::text("late") }]);
    let mut running = place.start_run(&server, &["work"]);
    wait_until("the trace is there", || !place.traces().is_empty() && !place.log(&place.trace()).is_empty());
    let trace = place.trace();
    for args in [vec!["rm", &trace, "--yes"], vec!["erase", &trace, "--all", "--yes"]] {
        let refused = place.run(&args);
        assert_eq!((refused.code, refused.err.contains("is being run by process")), (1, true), "{refused:#?}");
    }
    let out = place.ok(&["purge", "--keep", "0", "--yes"]);
    assert!(out.contains(&format!("{trace} is running and is kept")) && out.contains("0 traces were removed"), "{out}");
    running.child.kill().unwrap();
    running.end();
    let asked = place.run(&["rm", &trace]);
    assert_eq!((asked.code, asked.err.contains("give --yes")), (2, true), "{asked:#?}");
    assert_eq!(place.traces(), std::slice::from_ref(&trace));
    assert!(place.ok(&["rm", &trace, "--yes"]).contains("is removed"));
    assert!(place.traces().is_empty());
    let gone = place.run(&["show", &trace]);
    assert_eq!((gone.code, gone.err.contains("there is no trace")), (1, true), "{gone:#?}");
}

#[test]
fn a_purge_removes_by_rule_and_only_blobs_that_no_other_trace_names() {
    let place = Place::new();
    let server = scripted(vec![Answer::text("one"), Answer::text("two"), Answer::text("three")]);
    let (shared, own) = ("sss ".repeat(5_000), "ooo ".repeat(5_000));
    let mut traces: Vec<String> = Vec::new();
    for text in [&own, &shared, &shared] {
        let model = server.model();
        let done = place.run_with(&["run", "--model", &model, "-"], text.as_bytes());
        assert_eq!(done.code, 0, "{done:#?}");
        // Those of the same second have names in no order.
        traces.extend(place.traces().into_iter().find(|trace| !traces.contains(trace)));
    }
    age_blobs(&place);
    let dry = place.ok(&["purge", "--keep", "1", "--dry-run"]);
    assert!(dry.contains(&format!("{} would be removed", traces[0])), "{dry}");
    assert_eq!(place.traces().len(), 3);
    // Days that were taken for seconds would be all traces.
    for (rule, words) in [
        ("older_than = \"2\"", "line 2: \"2\" is not a time: it has no unit; write 2s, 2m, 2h or 2d"),
        ("keep = 0", "line 2: invalid value: integer `0`, expected a whole number, 1 or more"),
    ] {
        place.config(&format!("[retention]\n{rule}\n"));
        place.run(&["purge", "--yes"]).fails(1, words);
    }
    place
        .run(&["purge", "--older-than", "2", "--yes"])
        .fails(2, "invalid value '2' for '--older-than <TIME>': it has no unit; write 2s, 2m, 2h or 2d");
    place.config("[retention]\nkeep = 1\nolder_than = \"1h\"\n");
    assert!(place.ok(&["purge", "--yes"]).contains("0 traces were removed"), "they are young");
    place
        .run(&["purge", "--keep", "1"])
        .fails(2, "cannot ask whether to remove 2 traces (non-interactive): give --yes");
    let out = place.ok(&["purge", "--keep", "1", "--yes"]);
    assert!(out.contains("2 traces were removed") && out.contains("1 unreferenced blob was removed"), "{out}");
    assert_eq!(place.traces(), [traces[2].clone()]);
    assert!(place.ok(&["show", &traces[2]]).contains(&shared), "what another trace shared is still there");
    place.run_on(&server, &["work"]);
    place.config("[retention]\nkeep = 1\n");
    assert!(place.ok(&["purge"]).contains("1 trace was removed"), "the rule is consent enough");
    assert_eq!(place.traces().len(), 1);
    place.config("[retention]\nkeep = -1\n");
    let bad = place.run(&["purge"]);
    assert_eq!((bad.code, bad.err.contains("config.toml")), (1, true), "{bad:#?}");
}

#[test]
fn a_damaged_log_is_not_erased_but_can_be_removed() {
    let place = Place::new();
    let server = scripted(vec![Answer::text("one")]);
    place.run_on(&server, &["work"]);
    let trace = place.trace();
    let log = File::options().write(true).open(place.file(&trace, "events.jsonl")).unwrap();
    log.write_all_at(b"#", 400).unwrap();
    let refused = place.run(&["erase", &trace, "--all", "--yes"]);
    assert_eq!((refused.code, refused.err.contains("is damaged and stays as it is")), (1, true), "{refused:#?}");
    // Also when the one that they all began as is gone.
    place.ok(&["rm", &trace, "--yes"]);
    assert!(place.traces().is_empty());
}

/// A trace, a fork of it at its answer, a fork of that at the first message, and one that has nothing to do with them. In all of
/// them a heron was spoken of.
fn family(place: &Place) -> [String; 4] {
    let server = scripted(vec![
        Answer::text("The heron is fine."),
        Answer::text("A pelican."),
        Answer::text("Once more: a heron."),
        Answer::text("Another heron."),
    ]);
    let newest = |before: &[String]| place.traces().into_iter().find(|trace| !before.contains(trace)).unwrap();
    let mut traces = Vec::new();
    assert_eq!(place.run_on(&server, &["the heron is secret"]).code, 0);
    traces.push(newest(&traces));
    assert_eq!(place.run(&["fork", &traces[0], "--at", "2", "And who else?"]).code, 0);
    traces.push(newest(&traces));
    assert_eq!(place.run(&["fork", &traces[1], "--at", "1"]).code, 0);
    traces.push(newest(&traces));
    assert_eq!(place.run_on(&server, &["the heron is secret"]).code, 0);
    traces.push(newest(&traces));
    traces.try_into().unwrap()
}

fn sound(place: &Place, traces: &[&str]) {
    for trace in traces {
        place.ok(&["verify", trace]);
        place.ok(&["replay", trace]);
    }
}

#[test]
fn an_erasure_names_the_forks_that_hold_the_same_words() {
    let place = Place::new();
    let [trace, fork, second, other] = family(&place);
    let note =
        |trace: &str, kin: &str| format!("the same messages are in {trace}, {kin}; --forks erases them there too");
    let lines =
        |out: &str| out.lines().filter(|line| line.starts_with("the same")).map(String::from).collect::<Vec<_>>();
    let sorted = |mut notes: Vec<String>| {
        notes.sort();
        notes
    };
    // The answer is in the one fork only, the question in both.
    let out = place.ok(&["erase", &trace, "--message", "2", "--yes"]);
    assert_eq!(lines(&out), [note(&fork, "a fork of it")]);
    let out = place.ok(&["erase", &second, "--message", "1", "--yes"]);
    assert_eq!(
        sorted(lines(&out)),
        sorted(vec![
            note(&trace, "the trace that it was forked from"),
            note(&fork, "the trace that it was forked from")
        ])
    );
    // Where nothing is left, the others are named all the same.
    let again = place.run(&["erase", &trace, "--message", "2", "--yes"]);
    assert_eq!((again.code, lines(&again.out)), (1, vec![note(&fork, "a fork of it")]), "{again:#?}");
    let out = place.ok(&["erase", &fork, "--message", "2", "--yes"]);
    assert_eq!(lines(&out), Vec::<String>::new(), "what was said anew is another's");
    assert!(place.ok(&["show", &other]).contains("the heron is secret"));
    sound(&place, &[&trace, &fork, &second, &other]);
}

#[test]
fn with_forks_the_same_words_are_erased_everywhere_and_every_chain_holds() {
    let place = Place::new();
    let [trace, fork, second, other] = family(&place);
    let out = place.ok(&["erase", &second, "--message", "1", "--forks", "--yes", "--reason", "asked for"]);
    for trace in [&trace, &fork, &second] {
        assert!(out.contains(&format!("of {trace} erased; the log still verifies")), "{out}");
        assert!(!place.ok(&["show", trace]).contains("the heron is secret"), "{trace}");
        place.ok(&["verify", trace]);
        place.ok(&["replay", trace]);
    }
    assert!(place.ok(&["show", &other]).contains("the heron is secret"), "it was said there as well, by itself");
    assert!(!out.contains(&other), "{out}");
    // Also when the one that they all began as is gone.
    place.ok(&["rm", &trace, "--yes"]);
    let out = place.ok(&["erase", &fork, "--all", "--forks", "--yes"]);
    assert!(out.contains(&fork), "{out}");
    assert!(place.ok(&["show", &second]).contains("heron"), "its own answer is its own: {out}");
    let again = place.run(&["erase", &fork, "--all", "--forks", "--yes"]);
    assert_eq!((again.code, again.err.contains("nothing left to erase")), (1, true), "{again:#?}");
    sound(&place, &[&fork, &second]);
}

#[test]
fn where_one_of_the_forks_cannot_be_erased_none_is() {
    let place = Place::new();
    let [trace, fork, ..] = family(&place);
    let server = scripted(vec![Answer { delay_ms: 50_000, ..Answer::text("late") }]);
    let model = server.model();
    let mut running = place.start(&["run", "--trace", &fork, "--model", &model, "work"]);
    wait_until("it runs", || server.count() == 1);
    let refused = place.run(&["erase", &trace, "--message", "1", "--forks", "--yes"]);
    let words = refused.err.contains("nothing was erased") && refused.err.contains(&fork);
    assert_eq!((refused.code, words), (1, true), "{refused:#?}");
    assert!(place.ok(&["show", &trace]).contains("the heron is secret"));
    running.child.kill().unwrap();
    running.end();
    place.ok(&["erase", &trace, "--message", "1", "--forks", "--yes"]);
    assert!(!place.ok(&["show", &fork]).contains("the heron is secret"));
    place.ok(&["verify", &fork]);
}

#[test]
fn what_is_erased_or_removed_is_in_no_mirror_of_a_session_either() {
    let none: Vec<String> = Vec::new();
    let redis = Redis::start();
    for mirror in ["", "sqlite:chats.db", &redis.url()] {
        let place = Place::new();
        if !mirror.is_empty() {
            place.config(&format!(
                "[sessions]\nmirror = \"{mirror}\"\npassword = \"REDIS_PASS\"\n[secrets]\nREDIS_PASS = \"{}\"\n",
                Redis::PASSWORD
            ));
        }
        let kept = |word: &str| {
            let mut found = holds(&place.home, word);
            if mirror.starts_with("redis") {
                found.extend(redis.list("mainpath:session:chat").into_iter().filter(|message| message.contains(word)));
            }
            found
        };
        let server = scripted(vec![Answer::text("The heron is fine."), Answer::text("A pelican.")]);
        place.run_on(&server, &["--session", "chat", "the heron is secret"]);
        let trace = place.trace();
        // The log and at least one mirror.
        assert!(kept("heron").len() > 1, "{mirror}: {:?}", kept("heron"));
        let out = place.ok(&["erase", &trace, "--message", "1", "--yes"]);
        assert!(out.contains("1 event of "), "{out}");
        assert_eq!(kept("heron is secret"), none, "{mirror}");
        // It is written again, without them; and what waits goes with the trace.
        assert!(place.ok(&["session", "prepare", "chat"]).contains("The heron is fine."));
        assert!(kept("heron is fine").len() > 1, "{mirror}");
        let call = br#"[{"role":"user","content":"a stork"},{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f"}}],"content":"the stork"}]"#;
        assert_eq!(place.run_with(&["session", "persist", "chat"], call).code, 0);
        assert!(holds(&place.home, "the stork").iter().any(|file| file.contains("waiting")));
        place.ok(&["rm", &trace, "--yes"]);
        for word in ["heron", "stork"] {
            assert_eq!(kept(word), none, "{mirror}");
        }
    }
}

#[test]
fn all_of_a_trace_is_erased_with_what_waits_for_results() {
    let place = Place::new();
    place.ok(&["session", "new", "chat"]);
    let call = br#"[{"role":"user","content":"look"},{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f"}}],"content":"the heron"}]"#;
    assert_eq!(place.run_with(&["session", "persist", "chat"], call).code, 0);
    place.ok(&["erase", &place.trace(), "--all", "--yes"]);
    assert_eq!(holds(&place.home, "heron"), Vec::<String>::new());
    place.ok(&["verify", &place.trace()]);
}

#[test]
fn a_mirror_that_cannot_be_reached_is_named() {
    let place = Place::new();
    let server = scripted(vec![Answer::text("Fine.")]);
    place.run_on(&server, &["--session", "chat", "the heron is secret"]);
    let trace = place.trace();
    let Port { address, .. } = &Port::reserve();
    place.config(&format!("[sessions]\nmirror = \"redis://{address}/0\"\n"));
    let erased = place.run(&["erase", &trace, "--message", "1", "--yes"]);
    let words = format!("the messages may still be in a mirror: redis://{address}/0: ");
    assert!(erased.code == 1 && erased.err.contains(&words), "{erased:#?}");
    assert!(erased.out.contains("the log still verifies"), "{erased:#?}");
    assert_eq!(holds(&place.home, "heron"), Vec::<String>::new(), "the file of before is gone");
    let removed = place.run(&["rm", &trace, "--yes"]);
    assert!(removed.code == 1 && removed.err.contains(&words), "{removed:#?}");
    assert_eq!(place.traces(), Vec::<String>::new());
}

#[test]
fn a_purge_keeps_what_waits_for_somebody_or_belongs_to_a_session() {
    let place = Place::new();
    let newest = |before: &[String]| place.traces().into_iter().find(|trace| !before.contains(trace)).unwrap();
    let mut traces: Vec<String> = Vec::new();
    let (answering, asking) = (scripted(vec![Answer::text("one")]), scripted(vec![bash("date > now.txt")]));
    for (server, code, args) in [
        (&answering, 0, vec!["free"]),
        (&answering, 0, vec!["mailed"]),
        (&answering, 0, vec!["--session", "chat", "pointed to"]),
        (&asking, 5, vec!["--park", "asked"]),
    ] {
        let done = place.run_on(server, &args);
        assert_eq!(done.code, code, "{done:#?}");
        traces.push(newest(&traces));
    }
    place.ok(&["next", &traces[1], "still to be read"]);
    place.ok(&["session", "new", "over", "--ttl", "1ms", "--trace", &traces[0]]);
    let stays = [
        "1 trace is kept: it is waiting for an approval or an answer\n",
        "1 trace is kept: it has unread messages\n",
        "1 trace is kept: a session points to it\n",
    ];
    let dry = place.ok(&["purge", "--keep", "0", "--dry-run"]);
    assert!(dry.contains(&format!("{} would be removed\n", traces[0])) && !dry.contains(&traces[1]), "{dry}");
    let out = place.ok(&["purge", "--keep", "0", "--yes"]);
    for line in stays {
        assert!(dry.contains(line) && out.contains(line), "{line}: {out}");
    }
    assert!(out.contains("1 trace was removed\n"), "{out}");
    let mut left = place.traces();
    left.sort();
    let mut expected = traces[1..].to_vec();
    expected.sort();
    assert_eq!(left, expected);
    // Where nobody can tell what a session points to, nothing is removed.
    place.ok(&["session", "rm", "chat"]);
    std::fs::write(place.home.join("sessions/broken.json"), "{").unwrap();
    place.run(&["purge", "--keep", "0", "--yes"]).fails(1, "broken.json is not a session");
    place.ok(&["session", "rm", "broken"]);
    assert!(place.ok(&["purge", "--keep", "0", "--yes"]).contains("1 trace was removed\n"));
}

/// Plays a model that writes a file; what it is asked is the first goal of its plan.
const WRITES: &str = r#"{"turn":[
    {"text":"I write the heron.","calls":[{"tool":"write_text_file","args":{"path":"list.txt","content":"heron"}}]},
    {"final":"The pelican is done."}]}"#;

#[test]
fn an_answer_whose_plan_quotes_the_task_can_be_erased_after_the_task() {
    let place = Place::new();
    let model = script(&place, WRITES);
    place.ok(&["run", "--model", &model, "--yes", "Write down what the flamingo of the Meier company said"]);
    let trace = place.trace();
    age_blobs(&place);
    let none: Vec<String> = Vec::new();
    place.ok(&["erase", &trace, "--message", "1", "--yes"]);
    assert_eq!(holds(&place.home, "flamingo"), none);
    let log = String::from_utf8(place.log(&trace)).unwrap();
    assert!(log.contains("I write the heron."), "the answer stays: {log}");
    let shown = place.ok(&["show", &trace]);
    assert!(
        shown.contains("erased in part: these words are what event ") && shown.contains("I write the heron."),
        "{shown}"
    );
    place.ok(&["erase", &trace, "--message", "2", "--yes"]);
    assert_eq!(holds(&place.home.join("traces").join(&trace), "I write the heron"), none);
    let shown = place.ok(&["show", &trace]);
    assert!(!shown.contains("I write the heron") && !shown.contains("erased in part"), "{shown}");
    assert!(shown.contains("The pelican is done."), "{shown}");
    place.ok(&["verify", &trace]);
    place.ok(&["replay", &trace]);
    place.ok(&["erase", &trace, "--all", "--yes"]);
    for word in ["heron", "pelican", "flamingo"] {
        assert_eq!(holds(&place.home, word), none, "{word}");
    }
    place.ok(&["verify", &trace]);
    let again = place.run(&["erase", &trace, "--all", "--yes"]);
    assert_eq!((again.code, again.err.contains("nothing left to erase")), (1, true), "{again:#?}");
}

/// An agent that looks at its plan, and ends.
const LOOKS_AT_ITS_PLAN: &str = r#"{"turns": [
    {"calls": [{"tool": "goal", "args": {"op": "add", "description": "one"}}]},
    {"calls": [{"tool": "goal", "args": {"op": "show"}}]},
    {"final": "Done."}]}"#;

#[test]
fn a_task_of_several_lines_is_erased_from_the_plan_from_what_showed_it_and_from_summaries() {
    for task in ["Note:\n- the  flamingo of the Meier company\n\nTell nobody.", "解雇张三，周一通知 flamingo"]
    {
        let place = Place::new();
        let model = script(&place, LOOKS_AT_ITS_PLAN);
        place.ok(&["run", "--model", &model, "--yes", task]);
        let trace = place.trace();
        assert!(
            String::from_utf8(place.log(&trace)).unwrap().matches("flamingo").count() > 2,
            "the plan and its tool say it"
        );
        place.ok(&["compact", &trace]);
        age_blobs(&place);
        place.ok(&["erase", &trace, "--message", "1", "--yes"]);
        assert_eq!(holds(&place.home, "flamingo"), Vec::<String>::new(), "{task:?}");
        place.ok(&["verify", &trace]);
        place.ok(&["replay", &trace]);
    }
}

#[test]
fn all_is_erased_after_the_task_alone_was_also_in_forks() {
    let place = Place::new();
    let model = script(&place, WRITES);
    place.ok(&["run", "--model", &model, "--yes", "Write down what the flamingo of the Meier company said"]);
    let trace = place.trace();
    place.ok(&["fork", &trace, "--no-run"]);
    place.ok(&["erase", &trace, "--message", "1", "--forks", "--yes"]);
    place.ok(&["erase", &trace, "--all", "--forks", "--yes"]);
    let none: Vec<String> = Vec::new();
    for word in ["I write the heron", "pelican", "flamingo"] {
        assert_eq!(holds(&place.home, word), none, "{word}");
    }
    for trace in place.traces() {
        place.ok(&["verify", &trace]);
    }
}

#[test]
fn nothing_that_an_agent_was_told_is_left_when_all_is_erased() {
    let place = Place::new();
    let server = scripted(vec![Answer::text("Done.")]);
    let told = ["--instructions", "My client is the heron", "--name", "heron", "--agent-type", "of the heron"];
    place.run_on(
        &server,
        &[&told[..], &["--context", "client=heron", "--context", "more={\"a\":\"heron\"}", "Do it."]].concat(),
    );
    let trace = place.trace();
    let none: Vec<String> = Vec::new();
    assert_ne!(holds(&place.home, "heron"), none);
    place.ok(&["erase", &trace, "--all", "--yes"]);
    assert_eq!(holds(&place.home, "heron"), none);
    place.ok(&["verify", &trace]);
    place.ok(&["replay", &trace]);
}

#[test]
fn where_a_log_is_a_link_nothing_is_erased_and_of_a_folder_that_is_one_only_the_link_is_removed() {
    let place = Place::new();
    let server = scripted(vec![Answer::text("The pelican.")]);
    place.run_on(&server, &["the heron"]);
    let trace = place.trace();
    let (log, kept) = (place.file(&trace, "events.jsonl"), place.root().join("kept.jsonl"));
    std::fs::rename(&log, &kept).unwrap();
    std::os::unix::fs::symlink(&kept, &log).unwrap();
    let before = std::fs::read(&kept).unwrap();
    let refused = place.run(&["erase", &trace, "--all", "--yes"]);
    assert!(
        refused.code == 1 && refused.err.contains("is a link, and what it leads to would keep the words"),
        "{refused:#?}"
    );
    assert!(log.is_symlink());
    assert_eq!(std::fs::read(&kept).unwrap(), before);
    std::fs::remove_file(&log).unwrap();
    std::fs::rename(&kept, &log).unwrap();
    let (folder, elsewhere) = (place.home.join("traces").join(&trace), place.root().join("elsewhere"));
    std::fs::remove_file(folder.join("owner.lock")).unwrap();
    std::fs::rename(&folder, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &folder).unwrap();
    place.ok(&["rm", &trace, "--yes"]);
    assert!(!folder.is_symlink() && elsewhere.join("events.jsonl").is_file());
    assert!(!elsewhere.join("owner.lock").exists(), "nothing is left in a folder that is somebody else's");
}

#[test]
fn what_to_erase_is_asked_for_by_both_its_ways() {
    let place = Place::new();
    place.run(&["erase", "x"]).fails(2, "--all");
}
