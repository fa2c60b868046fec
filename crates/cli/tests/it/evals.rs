//! Evaluation: recorded runs, held against checks and given to graders; what they came to lies beside each log.

use crate::support::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Answers at once.
pub const ANSWERS: &str = "[[turn]]\nfinal = \"It is a heron.\"\nusage = { input = 50, output = 5 }\n";

/// A place with a file in its workspace.
pub fn place() -> Place {
    let place = Place::new();
    std::fs::write(place.work.join("plan.md"), "Deploy on Friday.\n").unwrap();
    place
}

/// Runs this script; gives the trace.
pub fn ran(place: &Place, script: &str, task: &str) -> String {
    let before = place.traces();
    let file = place.root().join("script.toml");
    std::fs::write(&file, script).unwrap();
    let model = format!("scripted:{}", file.display());
    let done = place.run(&["run", "--model", &model, "--mode", "workspace-write", task]);
    assert_eq!(done.code, 0, "{done:#?}");
    let new: Vec<String> = place.traces().into_iter().filter(|trace| !before.contains(trace)).collect();
    let [new] = new.as_slice() else { panic!("{new:?}") };
    new.clone()
}

pub fn suite(place: &Place, name: &str, text: &str) -> PathBuf {
    let folder = place.work.join(".mainpath/evals");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("{name}.toml"));
    std::fs::write(&file, text).unwrap();
    file
}

/// A program of the project that grades.
pub fn program(place: &Place, name: &str, script: &str) {
    std::fs::write(place.work.join(name), script).unwrap();
}

pub fn report(place: &Place, args: &[&str]) -> Value {
    let done = place.run(&[&["eval"], args, &["--json"]].concat());
    assert!(done.code <= 1, "{done:#?}");
    let report = parsed(&done.out);
    assert_eq!(report["passed"], done.code == 0, "{done:#?}");
    report
}

pub fn scores(place: &Place, trace: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(place.file(trace, "scores.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The results of the only run: name, outcome, score and reason of each.
pub fn results(report: &Value) -> Vec<(String, String, Value, String)> {
    let [run] = report["runs"].as_array().unwrap().as_slice() else { panic!("{report:#}") };
    let text = |value: &Value| value.as_str().unwrap().to_string();
    let of = |one: &Value| (text(&one["name"]), text(&one["outcome"]), one["score"].clone(), text(&one["reason"]));
    run["results"].as_array().unwrap().iter().map(of).collect()
}

const CHECKS: &str = r#"
description = "Looks before it writes."

[[check]]
name = "looks first"
[[check.expect.call]]
tool = "read_*"
[[check.expect.call]]
tool = "write_text_file"
args = { path = "deploy*" }
verdict = "allow"
rule = "access.*"

[[check]]
name = "no bash"
[[check.expect.never]]
tool = "bash"
[[check.expect.never]]
tool = "write_text_file"
verdict = "deny"

[[check]]
name = "small"
expect = { max_turns = 3, max_calls = 2, max_tokens = 477, max_cost = 0.01, max_time = "1m", max_verdicts = { allow = 2, deny = 0 } }

[[check]]
name = "ends well"
expect = { finish = "final", answer = { matches = "^Dep.*[.]$" } }
"#;

/// A suite whose grader is a model that follows this script.
pub fn judged(place: &Place, script: &str) {
    let file = place.root().join("judge.toml");
    std::fs::write(&file, script).unwrap();
    suite(
        place,
        "judged",
        &format!(
            "[[grader]]\nname = \"birds\"\nmodel = \"scripted:{}\"\nrubric = \"It names a bird.\"\ntimeout = \"20s\"\n",
            file.display()
        ),
    );
}

pub const GRADES: &str =
    "[[turn]]\nfinal = '{\"reason\": \"It names a heron.\", \"score\": 0.9}'\nusage = { input = 300, output = 20 }\n";

#[test]
fn checks_hold_or_say_what_does_not_and_where() {
    let place = place();
    let trace = ran(&place, DEPLOYS, "Deploy it.");
    let log = place.log(&trace);
    suite(&place, "careful", CHECKS);
    let done = place.run(&["eval", "careful"]);
    assert_eq!((done.code, done.err.as_str()), (0, ""), "{done:#?}");
    for line in ["✓ looks first", "✓ no bash", "✓ small", "✓ ends well"] {
        assert!(done.out.contains(line), "{done:#?}");
    }
    assert!(done.out.contains("careful: passed; 1 run, 4 graded now, 0 known\n"), "{done:#?}");
    assert_eq!(place.log(&trace), log, "nothing is ever written into the log");
    place.ok(&["verify", &trace]);
    place.ok(&["replay", &trace, "--dry-run"]);

    let cases = [
        ("expect = { max_turns = 2 }", "max_turns: at most 2 is expected, and it was 3"),
        ("expect = { max_calls = 1 }", "max_calls: at most 1 is expected, and it was 2"),
        ("expect = { max_tokens = 476 }", "max_tokens: at most 476 is expected, and it was 477"),
        (
            "expect = { max_verdicts = { allow = 1 } }",
            "max_verdicts: at most 1 allow is expected, and it was 2, such as write_text_file (access.workspace-write)",
        ),
        ("expect = { finish = \"stopped\" }", "finish: stopped is expected, and it was: final"),
        ("expect = { answer = { is = \"No.\" } }", "answer: \"No.\" is expected, and it was \"Deployed.\""),
        (
            "expect = { answer = { contains = \"heron\" } }",
            "answer: \"heron\" is expected in it, and it was \"Deployed.\"",
        ),
        (
            "expect = { answer = { schema = { type = \"object\" } } }",
            "answer: JSON is expected, and it was \"Deployed.\"",
        ),
        ("expect = { other_calls = \"none\" }", "call 1: read_text_file {\"path\":\"plan.md\"} is not expected"),
        ("[[check.expect.call]]\ntool = \"bash\"", "call 1: bash is expected, and was not called"),
        (
            "[[check.expect.call]]\ntool = \"write_*\"\n[[check.expect.call]]\ntool = \"read_*\"",
            "call 2: read_* is expected, and was not called",
        ),
        (
            "[[check.expect.call]]\ntool = \"write_*\"\nverdict = [\"ask\", \"deny\"]",
            "call 1: write_text_file: ask or deny is expected, and the rules say allow (access.workspace-write)",
        ),
        (
            "[[check.expect.call]]\ntool = \"write_*\"\nrule = \"my-*\"",
            "call 1: write_text_file: the rule my-* is expected to decide, and it was access.workspace-write",
        ),
        (
            "[[check.expect.never]]\ntool = \"*\"\nargs = { path = \"dep*\" }",
            "call 2: write_text_file {\"content\":\"now\",\"path\":\"deploy.txt\"} is never to be called so",
        ),
    ];
    for (check, wanted) in cases {
        suite(&place, "red", &format!("[[check]]\nname = \"red\"\n{check}\n"));
        let done = place.run(&["eval", "red"]);
        assert_eq!((done.code, done.err.as_str()), (1, ""), "{check}: {done:#?}");
        assert!(done.out.contains(&format!("{trace}: {wanted}\n")), "{check}: {done:#?}");
        assert!(done.out.contains("✗ red") && done.out.contains("red: failed;"), "{done:#?}");
    }
}

#[test]
fn a_suite_says_which_runs_it_means_and_names_on_the_command_line_come_instead() {
    let place = place();
    let deployed = ran(&place, DEPLOYS, "Deploy it.");
    let answered = ran(&place, ANSWERS, "What is it?");
    let check = "[[check]]\nname = \"any\"\nexpect = { max_turns = 99 }\n";
    let means = |runs: &str, args: &[&str]| -> Vec<String> {
        let file = suite(&place, "some", &format!("{check}[runs]\n{runs}\n"));
        let report = report(&place, &[&[file.to_str().unwrap()], args].concat());
        let runs = report["runs"].as_array().unwrap().iter();
        let mut traces: Vec<String> = runs.map(|run| run["trace_id"].as_str().unwrap().to_string()).collect();
        traces.sort();
        traces
    };
    let both = || {
        let mut both = vec![deployed.clone(), answered.clone()];
        both.sort();
        both
    };
    let (one, other) = (vec![deployed.clone()], vec![answered.clone()]);
    assert_eq!(means("", &[]), both());
    assert_eq!(means(&format!("traces = [\"{answered}\"]"), &[]), other);
    assert_eq!(means(&format!("traces = [\"{answered}\"]"), &[&deployed]), one);
    assert_eq!(means("query = 'tool=write_text_file and args~deploy'", &[]), one);
    assert_eq!(means("tool = \"read_text_file\"", &[]), one);
    assert_eq!(means("tool = [\"read_text_file\", \"bash\"]\nquery = 'verdict=allow'", &[]), one);
    assert_eq!(means("state = \"completed\"", &[]), both());
    assert_eq!(means("since = \"1h\"\nfolder = \".\"", &[]), both());
    assert_eq!(means("most = 1", &[]), other, "the newest");
    for nothing in [
        "state = [\"failed\"]",
        "agent = \"explore\"",
        "until = \"1h\"",
        "folder = \"/nowhere\"",
        "query = 'tool=bash'",
    ] {
        suite(&place, "some", &format!("{check}[runs]\n{nothing}\n"));
        place.run(&["eval", "some"]).fails(2, "the suite some means no run that there is");
    }
    place.run(&["eval", "some", "nowhere"]).fails(1, "there is no trace \"nowhere\"");
}

#[test]
fn what_was_graded_is_not_graded_again_until_the_check_the_grader_or_the_log_changes() {
    let place = place();
    let trace = ran(&place, ANSWERS, "What is it?");
    program(&place, "grade.sh", "cat > /dev/null\necho x >> counted\necho '{\"score\": 0.8, \"reason\": \"Good.\"}'\n");
    let text = |least: &str| {
        format!(
            "[[check]]\nname = \"short\"\nexpect = {{ max_turns = 1 }}\n[[grader]]\nname = \"style\"\ncommand = [\"sh\", \"grade.sh\"]\nleast = {least}\n"
        )
    };
    suite(&place, "s", &text("0.7"));
    let count = || place.text("counted").lines().count();
    let figures = |args: &[&str]| {
        let report = report(&place, args);
        (
            report["graded"].as_u64().unwrap(),
            report["known"].as_u64().unwrap(),
            report["passed"].as_bool().unwrap(),
            count(),
        )
    };
    place.run(&["eval", "s"]).fails(1, "you have not trusted it; read it, then add --trust");
    assert_eq!(count(), 0);
    assert_eq!(figures(&["s", "--trust"]), (2, 0, true, 1));
    assert_eq!(figures(&["s"]), (0, 2, true, 1));
    let kept = scores(&place, &trace);
    let heads: Vec<(&Value, &Value)> = kept.iter().map(|score| (&score["event"], &score["head"])).collect();
    let events = place.events(&trace).len();
    let verified = place.ok(&["verify", &trace]);
    for (event, head) in heads {
        assert_eq!(event, events);
        assert!(verified.contains(head.as_str().unwrap()), "{head}: {verified}");
    }
    // What is enough is no part of a grade; whoever changes the suite is asked anew.
    suite(&place, "s", &text("0.9"));
    place.run(&["eval", "s"]).fails(1, "it has changed since you trusted it; read it, then add --trust");
    assert_eq!(figures(&["s", "--trust"]), (0, 2, false, 1));
    assert_eq!(figures(&["s", "--again"]), (2, 0, false, 2));
    // The program that is called is part of it.
    program(&place, "grade.sh", "cat > /dev/null\necho x >> counted\necho '{\"score\": 1}'\n");
    place.run(&["eval", "s"]).fails(1, "it has changed since you trusted it");
    assert_eq!(figures(&["s", "--trust"]), (1, 1, true, 3));
    // The trace goes on.
    place.ok(&["run", "--trace", &trace, "More."]);
    assert_eq!(figures(&["s"]), (2, 0, false, 4));
    assert_eq!(scores(&place, &trace).len(), 7, "nothing that was found before is lost");
}

#[test]
fn what_is_erased_survives_neither_in_scores_nor_in_the_traces_of_grades() {
    let place = place();
    let trace = ran(&place, ANSWERS, "Which heron is it?");
    judged(&place, GRADES);
    let grade = report(&place, &["judged", "--trust"])["runs"][0]["results"][0]["trace"].as_str().unwrap().to_string();
    assert!(String::from_utf8(place.log(&grade)).unwrap().contains("heron"));
    assert_eq!(scores(&place, &trace).len(), 1);
    let out = place.ok(&["erase", &trace, "--message", "1", "--message", "2", "--yes"]);
    assert!(out.contains(&format!("of {grade} erased")), "{out}");
    assert!(!place.file(&trace, "scores.jsonl").exists());
    for (of, name) in
        [(&trace, "events.jsonl"), (&grade, "events.jsonl"), (&grade, "mailbox.jsonl"), (&grade, "wire.jsonl")]
    {
        let text = std::fs::read_to_string(place.file(of, name)).unwrap_or_default();
        assert!(!text.contains("heron"), "{of}/{name}: {text}");
    }
    place.ok(&["verify", &grade]);
    // What was erased is neither guessed nor given to anybody.
    suite(
        &place,
        "after",
        "[[check]]\nname = \"words\"\nexpect = { answer = { contains = \"heron\" } }\n[[check]]\nname = \"size\"\nexpect = { max_turns = 1 }\n\
         [[grader]]\nname = \"given\"\ncommand = [\"sh\", \"-c\", \"cat > given.json\"]\n",
    );
    let found = report(&place, &["after", "--trust"]);
    let of: Vec<(String, String, String)> =
        results(&found).into_iter().map(|(name, outcome, _, why)| (name, outcome, why)).collect();
    let is = |name: &str, outcome: &str, why: &str| (name.to_owned(), outcome.to_owned(), why.to_owned());
    assert_eq!(
        of,
        [
            is("words", "unjudged", "message 1 was erased"),
            is("size", "passed", ""),
            is("given", "unjudged", "message 1 was erased")
        ]
    );
    assert!(!place.work.join("given.json").exists());
    assert_eq!(found["passed"], false, "what nobody can judge shows nothing");
    // Erased again, there is nothing left to do.
    let again = place.run(&["erase", &trace, "--message", "1", "--yes"]);
    assert!(again.code == 1 && again.err.contains("nothing left to erase"), "{again:#?}");
}

#[test]
fn a_damaged_file_of_scores_is_passed_over_and_a_damaged_log_is_an_error() {
    let place = place();
    let trace = ran(&place, ANSWERS, "What is it?");
    suite(&place, "s", "[[check]]\nname = \"short\"\nexpect = { max_turns = 1 }\n");
    place.ok(&["eval", "s"]);
    let file = place.file(&trace, "scores.jsonl");
    let good = std::fs::read_to_string(&file).unwrap();
    for (bytes, graded) in [
        (format!("nonsense\n{good}{{\"v\": 1}}\n").into_bytes(), 0),
        (b"\xff\xfe\x00\n[1]\n".to_vec(), 1),
        (good.as_bytes()[..good.len() / 2].to_vec(), 1),
        (good.replace("\"v\":1", "\"v\":9").into_bytes(), 1),
    ] {
        std::fs::write(&file, &bytes).unwrap();
        let done = place.run(&["eval", "s"]);
        assert!(done.code == 0 && done.out.contains(&format!("1 run, {graded} graded now")), "{done:#?}");
        assert!(done.err.contains("it is no score, and is passed over") && done.err.lines().count() == 1, "{done:#?}");
        let done = place.run(&["eval", "s"]);
        assert!(done.out.contains("0 graded now, 1 known"), "{done:#?}");
    }
    // Something else in its place: the grade is told, and not kept.
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    let done = place.run(&["eval", "s"]);
    assert!(done.code == 0 && done.err.contains("short is not kept") && done.out.contains("✓ short"), "{done:#?}");
    place.ok(&["show", &trace]);
    std::fs::remove_dir(&file).unwrap();
    let log = place.file(&trace, "events.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, text.replacen("heron", "horse", 1)).unwrap();
    let other = ran(&place, ANSWERS, "And this?");
    let done = place.run(&["eval", "s", &trace, &other]);
    assert!(done.code == 1 && done.err.contains(&format!("! {trace}: its log is damaged")), "{done:#?}");
    assert!(done.out.contains("✗ short") && done.out.contains("1/2") && done.out.contains("1 error"), "{done:#?}");
}

#[test]
fn imported_runs_are_checked_as_far_as_somebody_recorded_them() {
    let place = place();
    let conversation = json!([
        {"role": "user", "content": "Which bird?"},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "look", "arguments": "{\"at\": \"pond\"}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "long legs"},
        {"role": "assistant", "content": "It is a heron."}
    ]);
    let file = place.root().join("said.json");
    std::fs::write(&file, conversation.to_string()).unwrap();
    place.ok(&["import", file.to_str().unwrap()]);
    program(&place, "grade.sh", "cat > given.json\necho '{\"score\": 1}'\n");
    suite(
        &place,
        "s",
        "[[check]]\nname = \"looks\"\n[[check.expect.call]]\ntool = \"look\"\nargs = { at = \"po*\" }\nresult = \"ok\"\n\
         [[check]]\nname = \"answer\"\nexpect = { answer = { contains = \"heron\" }, max_turns = 2 }\n\
         [[check]]\nname = \"rules\"\nexpect = { max_verdicts = { deny = 0 } }\n\
         [[check]]\nname = \"end\"\nexpect = { finish = \"final\" }\n\
         [[check]]\nname = \"cost\"\nexpect = { max_cost = 1.0 }\n\
         [[check]]\nname = \"time\"\nexpect = { max_time = \"1m\" }\n\
         [[grader]]\nname = \"g\"\ncommand = [\"sh\", \"grade.sh\"]\n",
    );
    let found = report(&place, &["s", "--trust"]);
    let of: Vec<(String, String, String)> =
        results(&found).into_iter().map(|(name, outcome, _, why)| (name, outcome, why)).collect();
    let is = |name: &str, outcome: &str, why: &str| (name.to_owned(), outcome.to_owned(), why.to_owned());
    assert_eq!(
        of,
        [
            is("looks", "passed", ""),
            is("answer", "passed", ""),
            is("rules", "unjudged", "it was imported: nobody recorded what rules said of its calls"),
            is("end", "unjudged", "it was imported: nobody recorded why it ended"),
            is("cost", "unjudged", "it was imported: nobody recorded what it used"),
            is("time", "unjudged", "it was imported: nobody recorded how long it worked"),
            is("g", "passed", ""),
        ]
    );
    let given: Value = serde_json::from_str(&place.text("given.json")).unwrap();
    assert_eq!((&given["run"]["imported"], &given["run"]["finish"]), (&json!(true), &Value::Null));
    assert_eq!(given["run"]["steps"][1]["calls"][0]["output"]["content"][0]["text"], "long legs");
}

#[test]
fn a_share_of_the_runs_is_enough_where_the_suite_says_so_and_ci_reads_it() {
    let place = place();
    let deployed = ran(&place, DEPLOYS, "Deploy <it> & \"go\".");
    ran(&place, ANSWERS, "What is it?");
    let text = |pass: &str, mean: &str| {
        format!(
            "{pass}\n[[check]]\nname = \"one turn <b>\"\nexpect = {{ max_turns = 1 }}\n[[check]]\nname = \"few\"\npass = 1.0\nexpect = {{ max_turns = 3 }}\n\
             [[grader]]\nname = \"g\"\ncommand = [\"sh\", \"-c\", \"grep -q heron && echo '{{\\\"score\\\": 0.9}}' || echo '{{\\\"score\\\": 0.2, \\\"reason\\\": \\\"</td><script>\\\"}}'\"]\n{mean}\n"
        )
    };
    let (junit, html) = (place.root().join("report.xml"), place.root().join("report.html"));
    let run = |text: &str| {
        suite(&place, "s", text);
        place.run(&["eval", "s", "--trust", "--junit", junit.to_str().unwrap(), "--html", html.to_str().unwrap()])
    };
    let done = run(&text("pass = 0.5", "mean = 0.5"));
    assert_eq!(done.code, 0, "{done:#?}");
    assert!(done.out.contains("1/2   50 % (wanted 50 %)  mean 0.55 (wanted 0.50)"), "{done:#?}");
    let done = run(&text("pass = 0.5", "mean = 0.6"));
    assert!(done.code == 1 && done.out.contains("✗ g ") && done.out.contains("✓ one turn <b>"), "{done:#?}");
    let done = run(&text("", ""));
    assert!(done.code == 1 && done.out.contains("✗ one turn <b>") && done.out.contains("✓ few"), "{done:#?}");
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("<testsuite name=\"mainpath eval s\" tests=\"3\" failures=\"2\">"), "{xml}");
    assert!(xml.contains("classname=\"check\" name=\"one turn &lt;b&gt;\"") && xml.contains(&deployed), "{xml}");
    let page = std::fs::read_to_string(&html).unwrap();
    assert!(page.matches("<svg").count() >= 4 && page.contains("default-src 'none'"), "{page}");
    assert!(
        !page.contains("<script")
            && !page.contains("<b>go")
            && page.contains("Deploy &lt;it&gt; &amp; &quot;go&quot;."),
        "{page}"
    );
    assert!(!page.contains("http:") && !page.contains("https:"), "nothing is loaded from elsewhere: {page}");
}

#[test]
fn what_is_no_suite_is_said_in_one_line_with_its_place() {
    let place = place();
    ran(&place, ANSWERS, "What is it?");
    let check = "[[check]]\nname = \"a\"\nexpect = { max_turns = 1 }\n";
    let grader = |more: &str| format!("[[grader]]\nname = \"g\"\n{more}\n");
    let cases = [
        ("[[check".to_owned(), 2, "s.toml:1: "),
        (format!("{check}what = 1\n"), 2, "s.toml:4: unknown field `what`"),
        (format!("what = 1\n{check}"), 2, "s.toml:1: unknown field `what`"),
        ("".into(), 2, "it has neither a [[check]] nor a [[grader]]"),
        ("[[check]]\nname = \"a\"\n".into(), 2, "a: it expects nothing"),
        (format!("{check}{check}"), 2, "two checks or graders are called \"a\""),
        ("[[check]]\nname = \" \"\nexpect = { max_turns = 1 }\n".into(), 2, "\" \" is not a name"),
        (format!("pass = 2\n{check}"), 2, "pass = 2 is out of range: it is a share from 0 to 1"),
        (format!("{check}[runs]\nquery = \"agrs=1\"\n"), 2, "runs.query, character 1: there is no field \"agrs\""),
        (format!("{check}[runs]\nsince = \"7\"\n"), 2, "runs.since: it has no unit; write 7s, 7m, 7h or 7d"),
        (
            format!("{check}[runs]\nstate = [\"completed\", \"faild\"]\n"),
            2,
            "runs.state: \"faild\" is none of running, waiting",
        ),
        (format!("{check}[runs]\nmost = 0\n"), 2, "runs.most: 0 runs are none"),
        ("[[check]]\nname = \"a\"\nexpect = { instructions = \"same\" }\n".into(), 2, "a: instructions is for tests"),
        (
            "[[check]]\nname = \"a\"\nexpect = { answer = { matches = \"(\" } }\n".into(),
            2,
            "a: answer.matches is no regular expression that can be used: at character 1",
        ),
        (
            "[[check]]\nname = \"a\"\nexpect = { answer = { schema = { type = 3 } } }\n".into(),
            2,
            "a: answer.schema cannot be used",
        ),
        ("[[check]]\nname = \"a\"\nexpect = { max_cost = -1.0 }\n".into(), 2, "a: max_cost is an amount in dollars"),
        ("[[check]]\nname = \"a\"\nexpect = { max_time = \"soon\" }\n".into(), 2, "s.toml:3: \"soon\" is not a time"),
        (grader(""), 2, "g: it needs one of command, url, model and host"),
        (
            grader("command = [\"a\"]\nurl = \"http://x/\""),
            2,
            "g: it has command and url: give one of command, url, model and host",
        ),
        (grader("model = \"scripted\""), 2, "g: a model needs a rubric"),
        (grader("command = [\"a\"]\nrubric = \"r\""), 2, "g: rubric goes with model only"),
        (grader("url = \"ftp://x/\""), 2, "\"ftp://x/\" cannot be used: only http and https are"),
        (grader("command = [\"a\"]\ntimeout = \"1\""), 2, "g: timeout: it has no unit"),
        (grader("command = [\"a\"]\nleast = 7"), 2, "g: least = 7 is out of range"),
        (grader("host = \"mine\""), 2, "the grader \"g\": this program has no grader \"mine\""),
        (grader("command = [\"a\"]\nenv = { A = \"{{secret:NOWHERE}}\" }"), 2, "the grader \"g\": NOWHERE is not set"),
        (grader("model = \"nowhere:x\"\nrubric = \"r\""), 2, "the grader \"g\": "),
    ];
    for (text, code, words) in cases {
        suite(&place, "s", &text);
        place.run(&["eval", "s", "--trust"]).fails(code, words);
    }
    place.run(&["eval", "nowhere"]).fails(1, "there is no suite \"nowhere\" in");
    place.run(&["eval", "./nowhere.toml"]).fails(1, "there is no suite ./nowhere.toml");
    place.run(&["eval", "../work"]).fails(2, "../work cannot be used: it is not a file");
    let file = suite(&place, "s", check);
    std::fs::File::create(&file).unwrap().set_len(2 << 20).unwrap();
    place.run(&["eval", "s"]).fails(2, "it is larger than 1 MiB");
    std::fs::remove_file(&file).unwrap();
    let secret = place.root().join("secret.toml");
    std::fs::write(&secret, "SECRET").unwrap();
    std::os::unix::fs::symlink(&secret, &file).unwrap();
    place.run(&["eval", "s"]).fails(2, "s.toml cannot be used: it is a link, which may lead out of the project");
    assert_eq!(place.run(&["eval", "--again"]).code, 2);
}

#[test]
fn suites_are_listed_and_only_people_trust_them() {
    let place = place();
    let done = place.run(&["eval"]);
    assert!(done.code == 0 && done.out.is_empty() && done.err.contains("there are no suites in"), "{done:#?}");
    suite(&place, "b", "description = \"Two.\"\n[[check]]\nname = \"a\"\nexpect = { max_turns = 1 }\n");
    suite(&place, "a", "nonsense");
    let out = place.ok(&["eval"]);
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("a  ") && lines[0].contains("! "), "{out}");
    assert!(lines[1].starts_with("b  ") && lines[1].ends_with("1 check, 0 graders Two."), "{out}");
    let listed = parsed(&place.ok(&["eval", "--json"]));
    assert_eq!(listed[1], json!({"name": "b", "description": "Two.", "checks": 1, "graders": 0}));
    let mut command = place.command(&["eval", "b", "--trust"]);
    command.env("MAINPATH_CALL", "t:1.0");
    finish(command, None).fails(1, "agents cannot trust suites");
}

#[test]
fn two_evaluations_at_once_lose_no_score() {
    let place = place();
    let trace = ran(&place, ANSWERS, "What is it?");
    let checks = |prefix: &str| -> String {
        (0..20).map(|n| format!("[[check]]\nname = \"{prefix}{n}\"\nexpect = {{ max_turns = {} }}\n", n + 1)).collect()
    };
    suite(&place, "one", &checks("a"));
    suite(&place, "other", &checks("b"));
    let mut under_way = [place.start(&["eval", "one"]), place.start(&["eval", "other"])];
    for process in &mut under_way {
        let done = process.end();
        assert!(done.code == 0 && done.err.is_empty(), "{done:#?}");
    }
    let mut names: Vec<String> =
        scores(&place, &trace).iter().map(|score| score["name"].as_str().unwrap().to_string()).collect();
    names.sort();
    let mut wanted: Vec<String> = (0..20).flat_map(|n| [format!("a{n}"), format!("b{n}")]).collect();
    wanted.sort();
    assert_eq!(names, wanted);
}

#[test]
fn a_trace_that_is_purged_takes_its_grades_along() {
    let place = place();
    let trace = ran(&place, ANSWERS, "What is it?");
    judged(&place, GRADES);
    report(&place, &["judged", "--trust"]);
    assert_eq!(place.traces().len(), 2);
    let log = place.file(&trace, "events.jsonl");
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3_600);
    std::fs::File::options().write(true).open(log).unwrap().set_modified(old).unwrap();
    place.ok(&["purge", "--older-than", "30m", "--yes"]);
    assert_eq!(place.traces(), Vec::<String>::new());
}

/// The blocks of a kind in a part of a page of the documentation.
fn blocks(page: &str, part: &str) -> Vec<(String, String)> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let text = std::fs::read_to_string(file).unwrap();
    let part = text.split(&format!("\n## {part}\n")).nth(1).unwrap().split("\n## ").next().unwrap();
    let blocks = part.split("\n```").skip(1).step_by(2);
    blocks.map(|block| block.split_once('\n').map(|(kind, text)| (kind.into(), text.into())).unwrap()).collect()
}

#[test]
fn the_walk_of_the_documentation_prints_what_it_says() {
    let place = Place::new();
    let programs = Path::new(env!("CARGO_BIN_EXE_mainpath")).parent().unwrap().display().to_string();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
    let mut printed = String::new();
    let mut typed = 0;
    for (kind, text) in blocks("evaluation.md", "A walk") {
        match kind.as_str() {
            "sh" => {
                let mut command = std::process::Command::new("sh");
                place.surround(&mut command);
                command.env("PATH", &path).args(["-c", &text]);
                let done = finish(command, None);
                printed = done.out;
                typed += 1;
            }
            "text" => {
                let ids = place.traces();
                let mut said = printed.clone();
                // Longer ids hold shorter ones.
                let mut ids: Vec<&String> = ids.iter().collect();
                ids.sort_by_key(|id| std::cmp::Reverse(id.len()));
                for id in ids {
                    let name = if id.contains('@') { "TRACE@grade-…" } else { "TRACE" };
                    said = said.replace(id.as_str(), name);
                }
                assert_eq!(said.trim_end(), text.trim_end(), "after block {typed}");
            }
            _ => {}
        }
    }
    assert!(typed >= 4, "{typed}");
    assert!(place.work.join("report.html").exists());
}
