//! A mistake in the configuration while something runs: who looks, steers or stops goes on.

use crate::support::*;
use mainpath_testkit::model_server::Answer;

/// A command that runs until the file `go` is there.
const WAITS: &str = "echo x >> began; while [ ! -e go ]; do sleep 0.02; done";

/// Each is wrong in another way, in `config.toml` or `models.toml`; the words say where.
const MISTAKES: [(&str, &str, &str); 4] = [
    ("config.toml", "model = \"scripted\"\nmodle = \"x\"\n", "config.toml, line 2: unknown field `modle`"),
    ("config.toml", "model =\n", "config.toml, line 1: "),
    ("config.toml", "[redact]\npatterns = [\"(\"]\n", "config.toml, line 2: redact.patterns: "),
    ("models.toml", "model = 7\n", "models.toml, line 1: "),
];

/// Success, with at most one line about what was passed over, which holds this.
#[track_caller]
fn goes_on(done: &Done, words: &str) {
    let told: Vec<&str> =
        done.err.lines().filter(|line| line.ends_with("; no agent starts until you fix that")).collect();
    assert!(done.code == 0 && told.iter().all(|line| line.contains(words)) && told.len() < 2, "{words}: {done:#?}");
}

#[test]
fn whoever_looks_steers_or_stops_is_not_kept_from_it_and_no_agent_starts() {
    for (file, text, words) in MISTAKES {
        let place = Place::new();
        let server = scripted(vec![bash(WAITS), bash("sleep 50"), Answer::text("Never.")]);
        let mut process = place.start_run(&server, &["--yes", "Do it."]);
        wait_until("the tool runs", || place.text("began") == "x\n");
        let trace = place.trace();
        let path = place.home.join(file);
        std::fs::write(&path, text).unwrap();
        let looks = [&["ls"][..], &["show"], &["context"], &["stats"], &["verify"], &["export"], &["goal"]];
        let says = [&["steer", &trace, "Be quick."][..], &["next", &trace, "Then rest."], &["goal", "add", "Rest"]];
        for args in looks.iter().chain(&says) {
            let done = place.run(args);
            goes_on(&done, words);
            if file == "config.toml" {
                assert!(done.err.contains(words), "{args:?}: {done:#?}");
            }
        }
        goes_on(&place.run(&["interrupt"]), words);
        wait_until("the second call runs", || server.count() == 2 && !place.tools().is_empty());
        for args in [&["run", "Do it."][..], &["resume", &trace]] {
            let refused = place.run(args);
            assert!(refused.code == 1 && refused.err.contains(words), "{args:?}: {refused:#?}");
        }
        let doctor = place.run(&["doctor"]);
        assert!(doctor.code == 1 && doctor.out.contains(words), "{doctor:#?}");
        goes_on(&place.run(&["stop"]), words);
        assert_eq!(process.end().code, 130);
        // Nobody drives it any more: to drive it takes all that is configured.
        let watched = place.run(&["watch"]);
        assert!(watched.code == 130 && watched.err.contains("Be quick."), "{watched:#?}");
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn what_is_decided_on_a_call_is_sent_whatever_the_configuration_is() {
    let place = Place::new();
    let server = scripted(vec![bash("echo done > effects"), Answer::text("Done.")]);
    assert_eq!(place.run_on(&server, &["--park", "Do it."]).code, 5);
    place.config("modle = \"x\"\n");
    let words = "config.toml, line 1: unknown field `modle`";
    goes_on(&place.run(&["approve", "--for", "trace"]), words);
    place.config("");
    assert_eq!(place.run(&["resume"]).code, 0);
    assert_eq!(place.text("effects"), "done\n");
}

#[test]
fn the_secrets_of_a_configuration_with_a_mistake_elsewhere_are_kept_out_of_mail() {
    let place = Place::new();
    let server = scripted(vec![Answer::text("Done.")]);
    assert_eq!(place.run_on(&server, &["Do it."]).code, 0);
    let trace = place.trace();
    place.config("modle = \"x\"\n[secrets]\nDEPLOY = \"correct-horse-battery\"\n");
    let sent = place.run(&["next", &trace, "Log in with correct-horse-battery."]);
    goes_on(&sent, "unknown field `modle`");
    let mail = std::fs::read_to_string(place.file(&trace, "mailbox.jsonl")).unwrap();
    assert!(mail.contains("{{secret:DEPLOY}}") && !mail.contains("correct-horse"), "{mail}");
}
