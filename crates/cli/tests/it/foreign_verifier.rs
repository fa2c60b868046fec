//! The verifier that was written from docs/log-format.md alone says of a log what Mainpath says.

use crate::support::{Place, bash, scripted};
use mainpath_testkit::model_server::Answer;
use std::path::Path;
use std::process::Command;

/// Whether the verifier takes a trace for whole, and what it says.
fn verified(place: &Place, trace: &str) -> (bool, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/verify.py");
    let folder = place.file(trace, "events.jsonl").parent().unwrap().to_path_buf();
    let done = Command::new("python3").arg(script).arg(folder).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    (done.status.success(), said)
}

/// The same of Mainpath itself.
fn verified_here(place: &Place, trace: &str) -> bool {
    place.run(&["verify", trace]).code == 0
}

#[test]
fn a_log_that_holds_was_erased_was_torn_or_was_changed_is_told_apart_by_both() {
    let place = Place::new();
    let server = scripted(vec![bash("echo done >> effects"), Answer::text("The end.")]);
    place.ok(&["run", "-m", &server.model(), "--yes", "Do it, dear colleague."]);
    let trace = place.trace();
    let agree = |expected: bool, what: &str| {
        let (holds, said) = verified(&place, &trace);
        assert_eq!((holds, verified_here(&place, &trace)), (expected, expected), "{what}: {said}");
    };
    agree(true, "as it was written");
    place.ok(&["erase", &trace, "--message", "1", "--yes"]);
    agree(true, "with an erased message");
    let file = place.file(&trace, "events.jsonl");
    let log = std::fs::read_to_string(&file).unwrap();
    assert!(log.contains("\"erased\":true"), "{log}");
    assert!(!log.contains("dear colleague"), "{log}");
    std::fs::write(&file, log.replacen("The end.", "The END.", 1)).unwrap();
    agree(false, "with a changed word");
    let lines: Vec<&str> = log.lines().collect();
    std::fs::write(&file, format!("{}\n", lines[..lines.len() - 1].join("\n"))).unwrap();
    agree(false, "without its last line");
    std::fs::write(&file, [&lines[..2], &lines[3..]].concat().join("\n") + "\n").unwrap();
    agree(false, "without a line in between");
    std::fs::write(&file, &log).unwrap();
    agree(true, "as it was");
}
