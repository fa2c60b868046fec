//! A run that was recorded is played again with real tools, as it was and otherwise.

use crate::support::*;
use mainpath_testkit::model_server::Answer;
use serde_json::{Value, json};

/// The calls that the models of a trace made, in order: tool and arguments.
fn calls(place: &Place, trace: &str) -> Vec<(String, Value)> {
    let events = place.events(trace);
    let finished = events.iter().filter(|event| event["type"] == "model_finished");
    let parts = finished.flat_map(|event| event["data"]["parts"].as_array().cloned().unwrap_or_default());
    let calls = parts.filter(|part| part["type"] == "tool_call");
    calls.map(|call| (call["name"].as_str().unwrap().into(), parsed(call["arguments"].as_str().unwrap()))).collect()
}

fn command(command: &str) -> (String, Value) {
    ("bash".into(), json!({ "command": command }))
}

/// A place with two folders, in which a run was recorded that looked into the old one.
fn recorded(answers: Vec<Answer>, protocol: &str) -> (Place, String) {
    let place = Place::new();
    for folder in ["old", "new"] {
        std::fs::create_dir(place.work.join(folder)).unwrap();
        std::fs::write(place.work.join(folder).join("a.txt"), format!("{folder}\n")).unwrap();
    }
    let server = scripted(answers);
    let done = place.run_on(&server, &["--yes", "--protocol", protocol, "Look."]);
    assert_eq!((done.code, done.out.as_str()), (0, "All in old/a.txt.\n"), "{done:#?}");
    assert_eq!((server.violations(), place.text("seen")), (vec![], "old\nfirst\n".into()));
    let trace = place.trace();
    (place, trace)
}

/// Plays the recording; gives the new trace.
fn play(place: &Place, model: &str, answer: &str) -> String {
    std::fs::remove_file(place.work.join("seen")).unwrap();
    let done = place.run(&["run", "--model", model, "--yes", "Look."]);
    assert_eq!((done.code, done.out.as_str()), (0, answer), "{done:#?}");
    newest(place)
}

fn is_played_as_it_was_and_otherwise((place, trace): (Place, String)) {
    let again = play(&place, &format!("playback:{trace}"), "All in old/a.txt.\n");
    let said = vec![command("cat old/a.txt >> seen"), command("echo first >> seen")];
    assert_eq!((calls(&place, &trace), calls(&place, &again)), (said.clone(), said));
    assert_eq!(place.text("seen"), "old\nfirst\n");
    place.ok(&["replay", &again]);

    let toml = "[[turn]]\nat = 2\ntext = \"Not old.\"\ncalls = [{ tool = \"bash\", args = { command = \"echo other >> seen\" } }]\n\
                [[replace]]\nfrom = \"old/\"\nto = \"new/\"\n";
    std::fs::write(place.work.join("other.toml"), toml).unwrap();
    let other = play(&place, &format!("playback:{trace}#other.toml"), "All in new/a.txt.\n");
    assert_eq!(calls(&place, &other), [command("cat new/a.txt >> seen"), command("echo other >> seen")]);
    assert_eq!(place.text("seen"), "new\nother\n");
    // What it was played from is in the log: the file is not needed to replay it.
    std::fs::remove_file(place.work.join("other.toml")).unwrap();
    let replayed = place.ok(&["replay", &other]);
    assert!(replayed.contains("3 requests"), "{replayed}");
    place.ok(&["verify", &other]);
}

#[test]
fn a_recording_is_played_as_it_was_and_with_another_turn_and_another_folder() {
    let answers = vec![bash("cat old/a.txt >> seen"), bash("echo first >> seen"), Answer::text("All in old/a.txt.")];
    is_played_as_it_was_and_otherwise(recorded(answers, "native"));
}

#[test]
fn a_recording_in_the_text_protocol_is_played_as_it_was_and_otherwise() {
    let action = |command: &str| {
        Answer::text(&json!({"type": "action", "tool": "bash", "args": {"command": command}}).to_string())
    };
    let last = Answer::text(&json!({"type": "final", "answer": "All in old/a.txt."}).to_string());
    let answers = vec![action("cat old/a.txt >> seen"), action("echo first >> seen"), last];
    is_played_as_it_was_and_otherwise(recorded(answers, "json"));
}

#[test]
fn substitutions_that_fit_no_recording_are_refused_in_one_line_and_nothing_is_begun() {
    let place = Place::new();
    place.run_on(&scripted(vec![Answer::text("Done.")]), &["Go."]);
    let trace = place.trace();
    std::fs::write(place.work.join("far.toml"), "[[turn]]\nat = 2\nfinal = \"a\"\n").unwrap();
    std::fs::write(place.work.join("odd.json"), "{\"turn\": [\n{\"at\": 1, \"txt\": \"a\"}]}").unwrap();
    let cases = [
        ("#far.toml", 2, "far.toml: turn 1: `at` is 2, and the last recorded turn is 1"),
        ("#odd.json", 2, "odd.json:2: unknown field `txt`"),
        ("#none.toml", 2, "cannot read none.toml: No such file or directory"),
        ("#", 2, "write playback:TRACE#FILE"),
    ];
    for (file, code, words) in cases {
        place.run(&["run", "--model", &format!("playback:{trace}{file}"), "Go."]).fails(code, words);
    }
    place.run(&["run", "--model", "playback:none#far.toml", "Go."]).fails(1, "there is no trace \"none\"");
    assert_eq!(place.traces(), [trace]);
}
