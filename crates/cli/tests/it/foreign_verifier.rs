//! The verifier that was written from docs/log-format.md alone says of a log what Mainpath says.

use crate::support::{Place, bash, finish, scripted};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mainpath_testkit::model_server::Answer;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::process::Command;

/// The exit code of the verifier, and what it says.
fn by_the_page(args: &[&str]) -> (i32, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/verify.py");
    let mut command = Command::new("python3");
    command.arg(script).args(args);
    let done = finish(command, None);
    let said = format!("{}{}", done.out, done.err);
    assert!(!said.contains("Traceback"), "{args:?}: {said}");
    (done.code, said)
}

/// Whether the verifier takes a trace for whole, and what it says.
fn verified(place: &Place, trace: &str) -> (bool, String) {
    let folder = place.file(trace, "events.jsonl").parent().unwrap().display().to_string();
    let (code, said) = by_the_page(&[&folder]);
    (code == 0, said)
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

/// A trace of one answer.
fn answered() -> (Place, String) {
    let place = Place::new();
    place.run_on(&scripted(vec![Answer::text("The end.")]), &["Do it."]);
    let trace = place.trace();
    (place, trace)
}

fn hash(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(bytes))
}

/// Adds a line to the log with a right chain and a right end: what anybody can do who can write the files.
fn add(place: &Place, trace: &str, name: &str, data: Option<&str>) {
    let file = place.file(trace, "events.jsonl");
    let mut log = std::fs::read_to_string(&file).unwrap();
    let last = log.lines().last().unwrap();
    let end = last.find("\"commit\":\"").unwrap() + 10 + 43 + 1;
    let (prev, id) = (hash(&last.as_bytes()[..end]), log.lines().count() + 1);
    let salt = URL_SAFE_NO_PAD.encode([7; 16]);
    let commit = hash(&[&[7; 16], data.unwrap_or_default().as_bytes()].concat());
    let head = format!(
        "{{\"v\":1,\"id\":{id},\"ts\":\"2026-11-22T02:45:00.123Z\",\"turn\":1,\"type\":\"{name}\",\"prev\":\"{prev}\",\"commit\":\"{commit}\""
    );
    let rest = match data {
        Some(data) => format!(",\"salt\":\"{salt}\",\"data\":{data}}}\n"),
        None => ",\"erased\":true}\n".into(),
    };
    log.push_str(&format!("{head}{rest}"));
    std::fs::write(&file, log).unwrap();
    let owner = format!("{{\"head\":{id},\"hash\":\"{}\"}}", hash(head.as_bytes()));
    std::fs::write(place.file(trace, "owner.lock"), owner).unwrap();
}

#[test]
fn a_mark_counts_only_with_a_later_erasure_that_names_it() {
    let named =
        |event: usize, kind: &str| format!("{{\"left\":[{{\"event\":{event},\"kind\":{kind}}}],\"by\":\"user\"}}");
    let kind = "{\"type\":\"trace_named\",\"data\":{\"name\":\"(erased)\",\"by\":\"user\"}}";
    let (place, trace) = answered();
    let count = place.events(&trace).len();
    add(&place, &trace, "erased", Some(&named(count + 2, kind)));
    add(&place, &trace, "trace_named", None);
    let (holds, said) = verified(&place, &trace);
    assert_eq!((holds, verified_here(&place, &trace)), (false, false), "named before it was written: {said}");
    add(&place, &trace, "erased", Some(&named(count + 2, kind)));
    let (holds, said) = verified(&place, &trace);
    assert_eq!((holds, verified_here(&place, &trace)), (true, true), "named later: {said}");
    assert!(said.contains("1 event was erased"), "{said}");
    // What an erased erasure would say of others counts for nothing.
    let (place, trace) = answered();
    add(&place, &trace, "trace_named", None);
    add(&place, &trace, "erased", None);
    let inner = named(count + 1, kind);
    add(&place, &trace, "erased", Some(&named(count + 2, &format!("{{\"type\":\"erased\",\"data\":{inner}}}"))));
    let (holds, said) = verified(&place, &trace);
    assert_eq!((holds, verified_here(&place, &trace)), (false, false), "{said}");
}

fn nested(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

#[test]
fn both_verifiers_take_new_members_that_are_json() {
    let (place, trace) = answered();
    let new = format!("\"new\":{},\"half\":\"\\ud83d\\ude00\"", nested(126));
    add(&place, &trace, "trace_named", Some(&format!("{{\"name\":\"x\",\"by\":\"user\",{new}}}")));
    let (holds, said) = verified(&place, &trace);
    assert_eq!((holds, verified_here(&place, &trace)), (true, true), "{said}");
}

#[test]
fn both_verifiers_refuse_what_is_no_event() {
    for (name, data) in [
        ("data", "{}"),
        ("type", "{}"),
        ("erased", "{}"),
        ("erased", "{\"left\":[1],\"by\":\"user\"}"),
        ("erased", "{\"left\":[{\"event\":1,\"kind\":{\"type\":\"trace_named\"}}],\"by\":\"user\"}"),
        ("trace_named", "{\"name\":NaN,\"by\":\"user\"}"),
        ("trace_named", "{\"name\":\"\\ud800\",\"by\":\"user\"}"),
        // Unknown members are checked too.
        ("trace_named", "{\"name\":\"x\",\"by\":\"user\"}\t"),
        ("trace_named", " {\"name\":\"x\",\"by\":\"user\"}"),
        ("trace_named", "{\"name\":\"x\",\"by\":\"user\",\"new\":\"\\ud800\"}"),
        ("trace_named", &format!("{{\"name\":\"x\",\"by\":\"user\",\"new\":{}}}", nested(127))),
        ("trace_named", &format!("{{\"name\":\"x\",\"by\":\"user\",\"new\":{}}}", nested(3_000))),
    ] {
        let (place, trace) = answered();
        add(&place, &trace, name, Some(data));
        let (holds, said) = verified(&place, &trace);
        assert_eq!((holds, verified_here(&place, &trace)), (false, false), "{name} {data}: {said}");
    }
    let (place, trace) = answered();
    let (log, mail) = (place.file(&trace, "events.jsonl"), place.file(&trace, "mailbox.jsonl"));
    let whole = std::fs::read_to_string(&log).unwrap();
    let long = whole.replacen("\"id\":2,", &format!("\"id\":{},", "9".repeat(5_000)), 1);
    std::fs::write(&log, long).unwrap();
    assert_eq!((verified(&place, &trace).0, verified_here(&place, &trace)), (false, false));
    std::fs::write(&log, &whole).unwrap();
    assert_eq!((verified(&place, &trace).0, verified_here(&place, &trace)), (true, true));
    std::fs::write(&mail, "{\"id\":1,\"at\":1,\"from\":\"user\",\"urgent\":false,\"body\":nonsense}\n").unwrap();
    assert_eq!((verified(&place, &trace).0, verified_here(&place, &trace)), (false, false));
}

#[test]
fn a_note_of_the_end_that_says_nothing_is_taken_as_none_by_both() {
    let (place, trace) = answered();
    let (owner, count) = (place.file(&trace, "owner.lock"), place.events(&trace).len());
    for said in [
        "[]",
        "null",
        "7",
        "{\"head\":\"x\"}",
        "{\"hash\":\"x\"}",
        "{\"head\":29,\"hash\":5}",
        "{\"head\":null}",
        "{\"head\":NaN}",
        "{\"head\":-1}",
        "{\"head\":1.5}",
        "",
        "\u{1b}[2J",
        "{\"hash\":\"\\ud800\",\"head\":99}",
        &format!("{{\"head\":{},\"pid\":\"x\"}}", count + 9),
        &format!("{{\"head\":{},\"pid\":4294967296}}", count + 9),
        &format!("{{\"head\":{},\"epoch\":-1}}", count + 9),
        &format!("{{\"head\":{},\"placed\":1}}", count + 9),
        &format!("\u{feff}{{\"head\":{}}}", count + 9),
        &format!("{{\"head\":1,\"head\":{}}}", count + 9),
        &format!("{{\"head\":{},\"new\":\"\\ud800\"}}", count + 9),
        &format!("{{\"head\":{},\"new\":\"{}\"}}", count + 9, "x".repeat(256)),
    ] {
        std::fs::write(&owner, said).unwrap();
        let (holds, told) = verified(&place, &trace);
        assert_eq!((holds, verified_here(&place, &trace)), (true, true), "{said:?}: {told}");
    }
    for said in [
        format!("{{\"head\":{}}}", count + 1),
        format!("{{\"head\":{count},\"hash\":\"x\"}}"),
        // Only the first 256 bytes count, and a new member may be there twice.
        format!("{{\"head\":{},\"new\":1,\"new\":2}}{}x", count + 1, " ".repeat(256)),
    ] {
        std::fs::write(&owner, &said).unwrap();
        let (holds, told) = verified(&place, &trace);
        assert_eq!((holds, verified_here(&place, &trace)), (false, false), "{said:?}: {told}");
    }
}

#[test]
fn what_a_log_says_steers_no_terminal_and_what_is_no_file_keeps_nobody_waiting() {
    let (place, trace) = answered();
    let folder = place.file(&trace, "events.jsonl").parent().unwrap().display().to_string();
    let evil = "\\u001b[2J\\u001b[32mthe chain verifies\\u202e";
    let data = format!(
        "{{\"seq\":9,\"role\":\"user\",\"parts\":[{{\"type\":\"stored_text\",\"hash\":\"{evil}\",\"bytes\":1}}]}}"
    );
    add(&place, &trace, "message_imported", Some(&data));
    let (code, said) = by_the_page(&[&folder]);
    assert!(code == 1 && said.contains("blob <U+001B>[2J<U+001B>[32mthe chain verifies<U+202E> is missing"), "{said}");
    let pipe = place.root().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let key = "A".repeat(43);
    for (args, code, words) in [
        (vec!["--signed", "--key", &key, "--witness", "/dev/zero", &folder], 2, "is not a file"),
        (vec!["--signed", "--key", &key, "--witness", pipe.to_str().unwrap(), &folder], 2, "is not a file"),
        (vec!["--signed", "--key", &key, "--witness", place.work.to_str().unwrap(), &folder], 2, "is not a file"),
        (vec!["--signed", "--key", &key, "--witness", "/nowhere", &folder], 2, "cannot be read"),
        (vec!["--signed", "--key", "nonsense", &folder], 2, "is no public key"),
        (vec!["/nowhere"], 2, "has no events.jsonl"),
        (vec![place.work.to_str().unwrap()], 2, "has no events.jsonl"),
    ] {
        let (ended, said) = by_the_page(&args);
        assert!(ended == code && said.contains(words), "{args:?}: {ended} {said}");
    }
    for name in ["signatures.jsonl", "mailbox.jsonl", "owner.lock", "events.jsonl"] {
        let file = place.file(&trace, name);
        for make in ["mkfifo", "mkdir"] {
            let _ = std::fs::remove_file(&file);
            assert!(Command::new(make).arg(&file).status().unwrap().success());
            let (code, said) = by_the_page(&["--signed", "--key", &key, &folder]);
            assert!(code > 0, "{name}: {said}");
            place.run(&["verify", &trace]);
            let _ = std::fs::remove_file(&file).or_else(|_| std::fs::remove_dir(&file));
        }
    }
}
