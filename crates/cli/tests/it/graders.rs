//! Graders of suites: commands, addresses, models; and what becomes of those that fail.

use crate::evals::{ANSWERS, GRADES, judged, place, program, ran, report, results, suite};
use crate::support::*;
use mainpath_testkit::model_server::Answer;
use serde_json::{Value, json};

#[test]
fn a_command_gets_the_run_as_json_in_the_folder_of_the_project_and_no_secret() {
    let place = place();
    let trace = ran(&place, DEPLOYS, "Deploy it.");
    program(&place, "grade.sh", "cat > given.json\nenv > env.txt\npwd > pwd.txt\necho '{\"pass\": true}'\n");
    suite(
        &place,
        "s",
        "[[grader]]\nname = \"g\"\ncommand = [\"sh\", \"grade.sh\"]\nenv = { GRADER_KEY = \"k-{{secret:MY_TOKEN}}\" }\n",
    );
    let mut command = place.command(&["eval", "s", "--trust"]);
    command.env("MY_TOKEN", "tok-123456789").env("OTHER_API_KEY", "key-123456789").current_dir(place.root());
    command.args(["-C", place.work.to_str().unwrap()]);
    let done = finish(command, None);
    assert_eq!(done.code, 0, "{done:#?}");
    let given: Value = serde_json::from_str(&place.text("given.json")).unwrap();
    let run = &given["run"];
    assert_eq!((&given["version"], &given["suite"], &given["grader"]), (&json!(1), &json!("s"), &json!("g")));
    assert_eq!((run["trace_id"].as_str(), run["task"].as_str()), (Some(trace.as_str()), Some("Deploy it.")));
    assert_eq!(
        (&run["answer"], &run["finish"], &run["turns"], &run["calls"]),
        (&json!("Deployed."), &json!("final"), &json!(3), &json!(2))
    );
    let steps: Vec<&str> = run["steps"].as_array().unwrap().iter().map(|step| step["step"].as_str().unwrap()).collect();
    assert_eq!(steps, ["said", "answered", "answered", "answered"]);
    assert_eq!(run["steps"][2]["calls"][0]["rule"], "access.workspace-write");
    let env = place.text("env.txt");
    assert!(env.contains("GRADER_KEY=k-tok-123456789") && !env.contains("OTHER_API_KEY"), "{env}");
    assert!(!env.lines().any(|line| line.starts_with("MY_TOKEN=") || line.starts_with("MAINPATH_HOME=")), "{env}");
    assert_eq!(place.text("pwd.txt").trim(), place.work.to_str().unwrap());
}

#[test]
fn a_grader_that_crashes_never_ends_or_prints_nonsense_is_an_error_and_the_others_go_on() {
    let place = place();
    let trace = ran(&place, ANSWERS, "What is it?");
    let graders = [
        ("crashes", "echo broken >&2; exit 3", "exit code 3: broken"),
        ("is killed", "kill -9 $$", "sh: killed by signal 9: it printed nothing"),
        ("says why and is killed", "echo out of luck >&2; kill -9 $$", "sh: killed by signal 9: out of luck"),
        ("hangs", "sleep 1000", "it took longer than 1.0 s"),
        ("babbles", "echo nonsense", "its answer is not JSON: expected ident at line 1 column 2"),
        ("is silent", "exit 0", "it answered nothing"),
        ("exaggerates", "echo '{\"score\": 9}'", "its score is 9, and scores are from 0 to 1"),
        ("floods", "yes | head -c 6000000", "it answered with more than 4 MiB"),
        ("is well", "echo '{\"score\": 1, \"reason\": \"Fine.\"}'", ""),
    ];
    let mut text = String::from("[[check]]\nname = \"short\"\nexpect = { max_turns = 1 }\n");
    for (name, script, _) in graders {
        text += &format!("[[grader]]\nname = \"{name}\"\ncommand = [\"sh\", \"-c\", {script:?}]\n");
        // The others have to start in time.
        text += if name == "hangs" { "timeout = \"1s\"\n" } else { "" };
    }
    text += "[[grader]]\nname = \"is gone\"\ncommand = [\"./nowhere\"]\n";
    suite(&place, "s", &text);
    let found = report(&place, &["s", "--trust"]);
    let results = results(&found);
    for (name, _, wanted) in graders {
        let (_, outcome, score, reason) = results.iter().find(|one| one.0 == name).unwrap();
        match name {
            "is well" => assert_eq!((outcome.as_str(), score, reason.as_str()), ("passed", &json!(1.0), "Fine.")),
            _ => assert_eq!((outcome.as_str(), score, reason.as_str()), ("error", &Value::Null, wanted), "{name}"),
        }
    }
    let gone = results.last().unwrap();
    assert!(gone.1 == "error" && gone.3.contains("No such file"), "{gone:?}");
    assert_eq!((results[0].1.as_str(), found["passed"].as_bool()), ("passed", Some(false)));
    place.quiet();
    // An error is no knowledge: it is tried again. What was found is not.
    let again = report(&place, &["s"]);
    assert_eq!((again["graded"].as_u64(), again["known"].as_u64()), (Some(9), Some(2)));
    let shown = place.run(&["eval", "s"]);
    assert!(shown.out.contains(&format!("! {trace}: exit code 3: broken")), "{shown:#?}");
}

#[test]
fn an_address_grades_and_one_that_fails_is_an_error() {
    let place = place();
    ran(&place, ANSWERS, "What is it?");
    let at = site("application/json", |body| {
        let asked: Value = serde_json::from_str(body).unwrap();
        json!({"score": if asked["run"]["answer"] == "It is a heron." { 0.75 } else { 0.0 }, "reason": "By post."})
            .to_string()
    });
    let odd = site("text/plain", |_| "<html>".into());
    suite(
        &place,
        "s",
        &format!(
            "[[grader]]\nname = \"post\"\nurl = \"http://{at}/grade\"\n[[grader]]\nname = \"odd\"\nurl = \"http://{odd}/\"\n\
             [[grader]]\nname = \"closed\"\nurl = \"http://127.0.0.1:1/\"\n"
        ),
    );
    let results = results(&report(&place, &["s", "--trust"]));
    assert_eq!(results[0], ("post".into(), "passed".into(), json!(0.75), "By post.".into()));
    assert!(results[1].1 == "error" && results[1].3.starts_with("its answer is not JSON"), "{results:?}");
    assert!(results[2].1 == "error" && results[2].3.contains("could not be reached"), "{results:?}");
}

#[test]
fn a_model_grades_by_its_rubric_in_a_trace_that_can_be_looked_at() {
    let place = place();
    let trace = ran(&place, ANSWERS, "What is it?");
    judged(&place, GRADES);
    let found = report(&place, &["judged", "--trust"]);
    assert_eq!(results(&found), [("birds".into(), "passed".into(), json!(0.9), "It names a heron.".into())]);
    let grade = found["runs"][0]["results"][0]["trace"].as_str().unwrap();
    assert!(grade.starts_with(&format!("{trace}@grade-")), "{grade}");
    let shown = place.ok(&["show", grade]);
    assert!(
        shown.contains("What is it?") && shown.contains("It is a heron.") && shown.contains("\"score\": 0.9"),
        "{shown}"
    );
    let spec = &place.events(grade)[0]["data"]["spec"];
    assert!(spec["instructions"].as_str().unwrap().contains("It names a bird."), "{spec:#}");
    assert_eq!(spec["tools"], json!([]), "a grader has no tools");
    let grades = &spec["relations"]["context"]["grades"];
    assert_eq!((&grades["suite"], &grades["grader"]), (&json!("judged"), &json!("birds")));
    assert_eq!(spec["relations"]["parent_trace"], trace.as_str());
    assert_eq!(grades["event"], place.events(&trace).len());
    // It is no run of its own: not in the list, not the latest, not graded.
    assert_eq!(place.ok(&["ls", "--json"]).lines().count(), 1);
    assert_eq!(report(&place, &["judged"])["runs"].as_array().unwrap().len(), 1);
    assert_eq!(place.traces().len(), 2);
    let out = place.ok(&["rm", &trace, "--yes"]);
    assert!(out.contains(grade) && place.traces().is_empty(), "{out}");
}

#[test]
fn a_model_that_gives_no_grade_is_an_error_with_its_trace() {
    let place = place();
    ran(&place, ANSWERS, "What is it?");
    for (script, wanted) in [
        ("[[turn]]\nfinal = \"Very good!\"\n[[turn]]\nfinal = \"Really.\"\n", "the model gave no grade: "),
        ("[[turn]]\nerror = { kind = \"auth\", message = \"no key\" }\n", "the model gave no grade: model_error"),
    ] {
        judged(&place, script);
        let results = results(&report(&place, &["judged", "--trust", "--again"]));
        let (_, outcome, _, reason) = &results[0];
        assert!(outcome == "error" && reason.starts_with(wanted) && reason.contains("@grade-"), "{reason}");
    }
}

#[test]
fn what_a_model_without_a_price_cost_is_not_taken_for_nothing() {
    let place = place();
    let server = scripted(vec![Answer::text("Done.")]);
    assert_eq!(place.run_on(&server, &["--yes", "Do it."]).code, 0);
    suite(&place, "s", "[[check]]\nname = \"cheap\"\nexpect = { max_cost = 1.0 }\n");
    let first = place.trace();
    let (_, outcome, _, why) = results(&report(&place, &["s", &first])).remove(0);
    assert_eq!(
        (outcome.as_str(), why.as_str()),
        ("unjudged", "nobody knows what it cost: a model that answered had no price")
    );
    let price = "[[model]]\nname = \"openai-compatible:*\"\nprice = { input = 1_000_000, output = 2_000_000 }\n";
    std::fs::write(place.home.join("models.toml"), price).unwrap();
    assert_eq!(place.run_on(&server, &["--yes", "Do it."]).code, 0);
    let second = place.traces().into_iter().find(|trace| *trace != first).unwrap();
    let (_, outcome, ..) = results(&report(&place, &["s", &second])).remove(0);
    assert_eq!(outcome, "passed");
}
